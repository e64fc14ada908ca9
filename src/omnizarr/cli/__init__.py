"""The command line, `omnizarr`: one file per subcommand, loaded when it is asked for. The commands call the library and
print what it says; nothing else in omnizarr imports this package."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line with these arguments, or with those of the process, and ends it with an exit code."""
    from omnizarr.cli.program import program  # click is loaded only by those who use the command line

    program(arguments, prog_name="omnizarr")
