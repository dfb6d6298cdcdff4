"""Commands that lead out of here: to another project, to the notebooks."""

import argparse
import os
import sys
from pathlib import Path

from rungs.errors import SettingsError

__all__ = ["do_copy", "do_lab"]


def do_copy(args: argparse.Namespace) -> int:
    from rungs.copying import copy_rung, import_hint

    written = copy_rung(args.rung, args.dest, overwrite=args.overwrite)
    for path in written:
        print(path)
    print(import_hint(args.rung, args.dest), file=sys.stderr)
    return 0


def do_lab(args: argparse.Namespace) -> int:
    notebooks = Path(__file__).parent.parent.parent / "notebooks"
    if not notebooks.is_dir():
        raise SettingsError(
            "the notebooks are in the repository, not in the installed package; run `make lab` in a clone"
        )
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", f"--notebook-dir={notebooks}", *args.rest])
