"""The ``rungs`` command. Errors are one line and exit code 2; ``--debug`` shows where they come from."""

import argparse
import os
import sys
from collections.abc import Sequence

from rungs.cli.output import check_outputs
from rungs.cli.parser import make_parser
from rungs.errors import RungsError, SettingsError
from rungs.terminal import printable

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 a measurement FAILED, 2 an error the user can mend."""
    parser = make_parser()
    args = parser.parse_args(argv)
    _quiet_libraries()
    try:
        _check_text(args)
        check_outputs(args)
        return args.run(args)
    except RungsError as error:
        if args.debug:
            raise
        print(printable(f"rungs: {' '.join(str(error).split())}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rungs: stopped; what was finished is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (
        Exception
    ) as error:  # a library's own, or a defect of ours: still one line, and never a measurement's exit code
        if args.debug:
            raise
        said = " ".join(str(error).split())[:300]
        print(
            printable(f"rungs: {type(error).__name__}: {said}; run it again with --debug to see where"), file=sys.stderr
        )
        return 2


def _check_text(args: argparse.Namespace) -> None:
    """No model and no file takes bytes that are no text."""
    for name, value in vars(args).items():
        try:
            str(value if isinstance(value, str) else "").encode()
        except UnicodeEncodeError:
            raise SettingsError(f"{name} {value!r} is not UTF-8; check the encoding of the terminal") from None


def _quiet_libraries() -> None:
    """Before anything heavy is imported: no telemetry, no chatter on stdout."""
    for name, value in {
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "RAGAS_DO_NOT_TRACK": "true",
        "ANONYMIZED_TELEMETRY": "false",
        "TOKENIZERS_PARALLELISM": "false",
        "GRPC_VERBOSITY": "ERROR",
    }.items():
        os.environ.setdefault(name, value)
