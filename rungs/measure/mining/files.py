"""Files of one JSON object a line, and what of them may be shown on a terminal."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rungs.errors import CorpusError, GoldenError

__all__ = ["counts", "json_lines", "printable", "read_text", "write_text"]


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or none."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as error:
        raise GoldenError(f"{path}: cannot be written ({error.strerror}); check the path") from None


def read_text(path: Path, trouble: type[CorpusError] | type[GoldenError]) -> str:
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
    path: Path, trouble: type[CorpusError] | type[GoldenError], text: str | None = None
) -> Iterator[tuple[int, Any]]:
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


def counts(counted: Mapping[str, int]) -> str:
    """Reasons and how often each held, the most frequent first."""
    most_first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {reason}" for reason, n in most_first) or "none"


def printable(text: str) -> str:
    """Text from a corpus or a history as one that cannot drive the terminal: control characters become visible."""
    shown = (c if c.isprintable() else "    " if c == "\t" else f"\\x{ord(c):02x}" for c in text)
    return "".join(shown).encode("utf-8", "backslashreplace").decode("utf-8")
