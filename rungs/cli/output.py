"""What a command prints, and the files it was asked to write."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rungs.errors import SettingsError
from rungs.terminal import printable

__all__ = ["check_outputs", "make_console", "print_json", "print_table", "progress_bar", "show"]


def print_json(data: Any) -> None:
    """What ``--json`` prints."""
    print(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1))


def show(result: Any, args: argparse.Namespace) -> int:
    """A result as lines or, where asked for, as JSON."""
    if args.json:
        print_json(result.to_dict())
    else:
        print(printable(result.summary(), keep="\n"))
    return 0


def make_console() -> Any:
    """Where lines in colour and tables are printed."""
    from rich.console import Console

    # A file or a pipe has no width; a terminal keeps its own, and tables fold to it.
    width = None if sys.stdout.isatty() else 200
    return Console(width=width, soft_wrap=not sys.stdout.isatty(), highlight=False)


def print_table(console: Any, header: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """A table without frames, its cells safe for a terminal."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        grid.add_column(name, overflow="fold")
    for row in cells:
        grid.add_row(*(printable(cell) for cell in row))
    console.print(grid, soft_wrap=False)


def progress_bar(items: Sequence[Any], quiet: bool) -> Iterable[Any]:
    """The items, with a bar on stderr."""
    from tqdm.auto import tqdm

    return tqdm(items, unit="query", disable=quiet or len(items) < 2)


_INPUTS = ("golden", "queries", "run_file", "source", "answers", "runs", "baseline", "file")
_OUTPUTS = ("save", "save_judged", "ledger", "out", "picture", "write", "judgements")


def check_outputs(args: argparse.Namespace) -> None:
    """Before minutes are spent: a file that was asked for can lie where it was asked for, and is none that is read."""
    read = [one for name in _INPUTS for one in _paths(getattr(args, name, None)) if one.is_file()]
    for name in _OUTPUTS:
        path, flag = getattr(args, name, None), f"--{name.replace('_', '-')}"
        if not isinstance(path, Path) or path == Path():
            continue
        if not path.parent.is_dir():
            raise SettingsError(f"{flag} {path}: there is no folder {path.parent}; make it, or check the path")
        if path.is_dir():
            raise SettingsError(f"{flag} {path} is a folder; name a file")
        if path.is_file() and any(path.samefile(one) for one in read):
            raise SettingsError(f"{flag} {path} is read by this command; name another file to write")


def _paths(value: Any) -> list[Path]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Path)]
