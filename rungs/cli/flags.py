"""From settings to flags, and from the flags that were given back to settings."""

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rungs.settings import Endpoint, Settings, env_name

__all__ = ["add_settings", "bench_of", "endpoint_of", "settings_of"]


def add_settings(sub: argparse.ArgumentParser, names: Sequence[str], of: type = Settings) -> None:
    """A flag for each of these fields, with its choices, variable and default in the help."""
    by_name = {f.name: f for f in fields(of)}
    for name in names:
        f = by_name[name]
        default = f.default if f.default != "" else "none"
        sub.add_argument(
            f"--{f.metadata['flag']}",
            dest=name,
            type=type(f.default),
            choices=f.metadata["choices"] or None,
            metavar=None if f.metadata["choices"] else f.metadata["flag"].upper().replace("-", "_"),
            help=f"{f.metadata['help']} ({env_name(f)}; default: {default})",
        )


def settings_of(args: argparse.Namespace) -> Settings:
    """A flag that was given, else its variable, else the default."""
    given = {f.name: getattr(args, f.name, None) for f in fields(Settings)}
    return Settings.from_environment(given)


def endpoint_of(args: argparse.Namespace) -> Endpoint:
    """The same for the language model that judges."""
    return Endpoint.from_environment({f.name: getattr(args, f.name, None) for f in fields(Endpoint)})


def bench_of(args: argparse.Namespace) -> Any:
    """A workbench with the settings in force."""
    from rungs.workbench import Workbench

    return Workbench(settings_of(args))
