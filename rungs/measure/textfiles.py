"""Text and JSON files: read with errors that name the line, written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rungs.errors import GoldenError, RungsError

__all__ = ["json_lines", "read_text", "write_json", "write_lines", "write_text"]


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


def json_lines(path: Path, trouble: type[RungsError], text: str | None = None) -> Iterator[tuple[int, Any]]:
    """The JSON value of each line that is not blank, with its number."""
    # not splitlines(): U+2028 and its like are legal inside a JSON string and must not shift the numbering
    for number, line in enumerate((read_text(path, trouble) if text is None else text).split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            said = f"{error.msg} at column {error.colno}"
            raise trouble(f"{path}:{number}: not valid JSON ({said}); write one JSON object per line") from None
        except RecursionError:
            raise trouble(
                f"{path}:{number}: not valid JSON (nested too deep); write one JSON object per line"
            ) from None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """`write_text`, of lines without their ends."""
    write_text(path, (line + "\n" for line in lines))


def write_json(path: Path, data: Any, trouble: type[RungsError]) -> None:
    """`write_text`, of one JSON value; parent folders are made."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise trouble(f"{path}: cannot be written ({error.strerror}); check the folder") from None
    write_text(path, (text, "\n"), trouble)


def write_text(path: Path, pieces: Iterable[str], trouble: type[RungsError] = GoldenError) -> None:
    """Write a text; a reader never sees half of it, and a crash leaves the one before.

    Raises
    ------
    trouble
        When it cannot be written.
    """
    whole = path.resolve()  # a link stays a link
    temporary = None
    try:
        mode = whole.stat().st_mode & 0o777 if whole.exists() else 0o644
        handle, temporary = tempfile.mkstemp(dir=whole.parent, prefix=f".{whole.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
        Path(temporary).chmod(mode)
        Path(temporary).replace(whole)
    except OSError as error:
        raise trouble(f"{path}: cannot be written ({error.strerror}); check the folder") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
