"""The program behind the command `omnizarr`: finds the subcommand that is asked for, and turns an error of the library
into one message and an exit code."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import click

from omnizarr import __version__
from omnizarr.cli.terminal import printable
from omnizarr.errors import OmnizarrError, OmnizarrWarning

__all__ = ["program"]

_COMMANDS = ("info", "tree")
"""Each is a module of this package with a `command`. Such a module imports nothing but click until its command runs, so
that `omnizarr --help` can ask all of them what they do and still be quick."""


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
                _say("error", str(error))
                ctx.exit(1)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say("warning", str(message))


def _say(kind: str, text: str) -> None:
    click.echo(f"{kind}: " + "\n".join(printable(line) for line in text.split("\n")), err=True)


@click.command(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="omnizarr %(version)s")
def program() -> None:
    """Looks at Zarr arrays and groups.

    LOCATION is a path or a URL such as file:///data/weather.zarr.
    """
