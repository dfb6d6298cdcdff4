"""Take a rung into another project: its module, and the modules of this package that it imports."""

import ast
import keyword
import re
from importlib import resources
from itertools import takewhile
from pathlib import Path

from rungs.errors import SettingsError

__all__ = ["RUNGS", "copy_rung", "import_hint", "imported_modules"]

RUNGS = ("dense", "lexical", "lexical_bm25s", "names", "routing", "fusion", "grep", "tokenizer", "hits")
"""Modules that work outside this package; a test copies each one and uses it there."""


def imported_modules(source: str) -> set[str]:
    """The modules of this package that a module's source imports, by name without ``rungs.``.

    >>> sorted(imported_modules("from rungs.hits import make_hit\\nimport rungs.tokenizer"))
    ['hits', 'tokenizer']
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "rungs" and not node.level:
            rest = node.module.split(".")[1:]
            found.update([".".join(rest)] if rest else (alias.name for alias in node.names))
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            found.update(name.split(".", 1)[1] for name in names if name.startswith("rungs."))
    return found


def copy_rung(rung: str, destination: Path, *, overwrite: bool = False) -> list[Path]:
    """Copy a rung, with what it imports from here, into a folder of another project.

    ``from rungs.hits import …`` becomes ``from .hits import …``, so the folder is a package of its own.

    Parameters
    ----------
    rung
        One of `RUNGS`.
    destination
        The folder; created when missing.
    overwrite
        Replace files that are already there with other content; what is there already as it should be is left alone.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    SettingsError
        When there is no such rung, or a file is in the way; nothing is written then.
    """
    if rung not in RUNGS:
        raise SettingsError(f"no rung {rung!r} to copy; choose one of {', '.join(RUNGS)}")
    if destination.exists() and not destination.is_dir():
        raise SettingsError(f"{destination} is a file; give a folder to copy into")
    sources = {f"{name}.py": _relative(source) for name, source in _closure(rung).items()}
    if not (destination / "__init__.py").exists():
        sources["__init__.py"] = ""
    sources = {name: text for name, text in sources.items() if not _holds(destination / name, text)}
    in_the_way = [name for name in sources if (destination / name).exists()]
    if in_the_way and not overwrite:
        raise SettingsError(f"{destination / in_the_way[0]} exists; choose another folder, or add --overwrite")
    destination.mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        (destination / name).write_text(text, encoding="utf-8", newline="\n")
    return [destination / name for name in sorted(sources)]


def import_hint(rung: str, destination: Path) -> str:
    """How to import a rung from the folder it was copied into, in one line.

    The line works in the working directory where the folder is below it; otherwise it says what must be on the path.
    """
    here, folder = Path.cwd().resolve(), destination.resolve()
    above = here if here in folder.parents else folder.parent
    parts = folder.relative_to(above).parts
    packages = list(takewhile(_is_name, reversed(parts)))[::-1]
    if not packages:
        return f"{folder.name!r} is no name that Python can import; rename the folder first"
    root = above.joinpath(*parts[: len(parts) - len(packages)])
    line = f"from {'.'.join(packages)}.{rung} import …"
    return f"import it here as: {line}" if root == here else f"with {root} on PYTHONPATH, import it as: {line}"


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def _is_name(part: str) -> bool:
    return part.isidentifier() and not keyword.iskeyword(part)


def _closure(rung: str) -> dict[str, str]:
    """Sources of a rung and of everything of this package it imports, however indirectly."""
    sources: dict[str, str] = {}
    waiting = [rung]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name] = resources.files("rungs").joinpath(f"{name}.py").read_text(encoding="utf-8")
            waiting.extend(imported_modules(sources[name]))
    return sources


def _relative(source: str) -> str:
    return re.sub(r"^(\s*)from rungs\.(\w+) import", r"\1from .\2 import", source, flags=re.MULTILINE)
