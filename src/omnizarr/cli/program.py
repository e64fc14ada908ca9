"""The click program of the command `omnizarr`: finds the subcommand, and reports errors and warnings of the library."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import click

from omnizarr import __version__
from omnizarr.display.terminal import printable
from omnizarr.errors import OmnizarrError, OmnizarrWarning

__all__ = ["program"]

_COMMANDS = ("info", "tree")
"""The subcommands: each is a module of this package with a `command`. These modules import only click until the command
runs, so that `omnizarr --help`, which loads all of them, stays fast."""


class _Program(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"omnizarr.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("default", OmnizarrWarning)
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except OmnizarrError as error:
                _print_message("error", str(error))
                ctx.exit(1)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _print_message("warning", str(message))


def _print_message(kind: str, text: str) -> None:
    click.echo(f"{kind}: " + "\n".join(printable(line) for line in text.split("\n")), err=True)


@click.command(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="omnizarr %(version)s")
def program() -> None:
    """Inspect Zarr arrays and groups of all format versions.

    LOCATION is a path or a URL, such as data/weather.zarr or
    s3://bucket/weather.zarr.
    """
