"""Text and JSON files: read with errors that name the line, written whole or not at all."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rungs.errors import GoldenError, RungsError

__all__ = ["json_lines", "parse_json", "read_text", "write_json", "write_lines", "write_text"]

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_text(path: Path, trouble: type[RungsError]) -> str:
    """The text of a UTF-8 file, or an error of the kind wanted that says what is wrong with it."""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise trouble(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise trouble(f"{path}:{line}: not UTF-8; save the file as UTF-8") from None


def json_lines(
    path: Path, trouble: type[RungsError], text: str | None = None, *, halves: bool = False
) -> Iterator[tuple[int, Any]]:
    """The JSON value of each line that is not blank, with its number; ``halves`` as for `parse_json`."""
    # not splitlines(): U+2028 and its like are legal inside a JSON string and must not shift the numbering
    for number, line in enumerate((read_text(path, trouble) if text is None else text).split("\n"), 1):
        if line.strip():
            yield number, parse_json(line, path, trouble, "write one JSON object per line", number, halves=halves)


def parse_json(
    text: str,
    path: Path,
    trouble: type[RungsError],
    advice: str,
    number: int | None = None,
    *,
    halves: bool = False,
    **loads: Any,
) -> Any:
    """The value of a JSON text, of line ``number`` or of the whole file; ``loads`` is for `json.loads`.

    Half of a surrogate pair, which JSON can spell and no file can hold, is let through by ``halves`` only.
    """
    try:
        value = json.loads(text, **loads)
        if not halves and _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        said, number = f"{error.msg} at column {error.colno}", number or error.lineno
    except UnicodeEncodeError:
        said = r"half of a surrogate pair, \ud800 to \udfff"
    except RecursionError:
        said = "nested too deep"
    except ValueError:  # what int() refuses
        said = f"a number of more than {sys.get_int_max_str_digits()} digits"
    raise trouble(f"{path}{f':{number}' if number else ''}: not valid JSON ({said}); {advice}")


def write_lines(
    path: Path, lines: Iterable[str], trouble: type[RungsError] = GoldenError, *, keep: bool = False
) -> None:
    """`write_text`, of lines without their ends."""
    write_text(path, (line + "\n" for line in lines), trouble, keep=keep)


def write_json(path: Path, data: Any, trouble: type[RungsError]) -> None:
    """`write_text`, of one JSON value; parent folders are made."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise trouble(f"{path}: cannot be written ({error.strerror}); check the folder") from None
    write_text(path, (text, "\n"), trouble)


def write_text(
    path: Path, pieces: Iterable[str], trouble: type[RungsError] = GoldenError, *, keep: bool = False
) -> None:
    """Write a text; a reader never sees half of it, and a crash leaves the one before.

    Parameters
    ----------
    keep
        Leave what there is in a file ``<name>.<something>.partial`` next to it when interrupted, though not after an error.

    Raises
    ------
    trouble
        When it cannot be written.
    """
    whole = path.resolve()  # a link stays a link
    temporary = None
    try:
        mode = whole.stat().st_mode & 0o777 if whole.exists() else 0o644
        handle, temporary = tempfile.mkstemp(
            dir=whole.parent, prefix=f"{'' if keep else '.'}{whole.name}.", suffix=".partial" if keep else ""
        )
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
        Path(temporary).chmod(mode)
        Path(temporary).replace(whole)
    except OSError as error:
        raise trouble(f"{path}: cannot be written ({error.strerror}); check the folder") from None
    except KeyboardInterrupt:
        temporary = None if keep else temporary
        raise
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
