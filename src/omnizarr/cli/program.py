"""The click program of the command `omnizarr`: finds the subcommand, and turns errors into messages and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from omnizarr import __version__
from omnizarr.cli.exit_codes import CANNOT, INTERRUPTED, USAGE, YES, discard_output, message, report, show_warnings

__all__ = ["COMMANDS", "program"]

COMMANDS: dict[str, dict[str, str]] = {
    "Look": {
        "info": "Describe an array, or a group and its arrays.",
        "tree": "Draw the hierarchy below a group.",
        "ls": "List the members of a group.",
        "find": "Find nodes by name, type or attribute.",
        "attrs": "Show or change the attributes of a node.",
        "head": "Show the first elements of an array.",
        "cat": "Print the elements of an array.",
    },
    "Change": {
        "copy": "Copy an array, a group or a whole store.",
        "rechunk": "Copy arrays into other chunks.",
        "pyramid": "Make lower resolutions of images and rasters.",
        "migrate": "Turn a hierarchy into one of another generation.",
        "create": "Create an array or a group.",
        "append": "Append the elements of a file to an array.",
        "import": "Make an array of a file: npy, raw, csv, HDF5, netCDF, TIFF.",
        "export": "Write an array to a file of these kinds.",
        "mv": "Move or rename an array or a group.",
        "rm": "Erase an array or a group.",
        "repair": "Repair damaged chunks, and what crashed writers left.",
        "statistics": "Store minima, maxima and sums of chunks, to skip chunks.",
        "consolidate": "Store copies of all metadata of a group in one document.",
    },
    "Show": {
        "view": "Show a hierarchy in the browser, or compare two.",
        "serve": "Serve locations over HTTP, as stored and as plain Zarr v3 or v2.",
    },
    "Measure": {
        "bench": "Measure how fast an array is read.",
    },
    "Check": {
        "validate": "Check a hierarchy against the rules of the format.",
        "diff": "Compare two hierarchies or arrays.",
        "checksum": "Print a digest of the content.",
        "explain": "Tell what a read would cost, without reading.",
        "advise": "Propose chunks, shards and codecs for an access pattern.",
        "conformance": "Read one array, as the tests of zarr-conformance-tests ask for.",
    },
    "Setup": {
        "demo": "Show the library at work, in a few seconds.",
        "doctor": "Show what this installation has and lacks.",
        "completion": "Print a script for completion in a shell.",
    },
}
"""The subcommands with their short help, by section. `omnizarr --help` prints them without loading any of them. Each is
a module of `omnizarr.cli.commands`, or of its folder `change`, with a `command`."""


class _Program(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        folder = "change." if cmd_name in COMMANDS["Change"] else ""
        command = import_module(f"omnizarr.cli.commands.{folder}{cmd_name}{'_' * iskeyword(cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.list_commands(ctx):
            from difflib import get_close_matches  # lazy import: mistyped commands only

            similar = get_close_matches(name, self.list_commands(ctx), n=1, cutoff=0.5)
            hint = f" Did you mean '{similar[0]}'?" if similar else ""
            if not similar and ("/" in name or "." in name):  # a location
                hint = f" Did you mean 'omnizarr info {name}'?"
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with 1, which means "no" here
            raise _ClosedPipeError from None

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **keywords: Any) -> Any:  # type: ignore[override]
        """Runs the program and exits with its exit code: 0 yes, 1 no, 2 usage, 3 cannot, 130 interrupted."""
        words = list(sys.argv[1:] if args is None else args)
        debug = "--debug" in words[: words.index("--") if "--" in words else None]  # before or after the subcommand
        words = [argument for argument in words if not (debug and argument == "--debug")]
        if sys.stdout is None:  # Python found it closed: `omnizarr … >&-`
            message("error", "standard output is closed")
            sys.exit(CANNOT)
        try:
            with show_warnings():
                code = super().main(words, prog_name, **(keywords | {"standalone_mode": False}))
            sys.stdout.flush()
        except (click.exceptions.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except click.ClickException as error:
            error.show()
            code = USAGE
        except (_ClosedPipeError, BrokenPipeError):
            code = discard_output()
        except Exception as error:
            if debug:
                raise
            code = report(error)
            if isinstance(error, OSError):  # perhaps of standard output: do not fail again at exit
                discard_output()
        sys.exit(code if isinstance(code, int) else YES)


class _ClosedPipeError(Exception):
    """The reader of standard output ended first."""


@click.command(cls=_Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="omnizarr %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def program(context: click.Context, debug: bool) -> None:
    """Look at Zarr arrays and groups of all generations, and check them.

    LOCATION is a path or a URL of a store, with the path of an array or a
    group in it: data/weather.zarr/temperature, s3://bucket/weather.zarr, or
    weather.zip/temperature. Commands that read elements also take a selection:
    'weather.zarr/temperature[0, 100:103, ::360]'.

    \b
    Examples:
      omnizarr info weather.zarr
      omnizarr tree s3://bucket/weather.zarr --anon
      omnizarr info weather.zarr/temperature --json

    Exit codes: 0 yes, 1 no (differs, invalid, not found), 2 wrong usage,
    3 cannot (unreadable, refused, failed), 130 interrupted.
    """
    if context.invoked_subcommand is None:
        from omnizarr.cli.start import print_start  # lazy import: without a command only

        print_start()
