"""`omnizarr doctor`: shows what this installation has and lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnizarr.cli.exit_codes import NO, YES
from omnizarr.cli.options import output_options
from omnizarr.cli.output import Output

if TYPE_CHECKING:
    from omnizarr.cli.styles import Style
    from omnizarr.tools.doctor import Examination

__all__ = ["command"]


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False), default=".")
@output_options()
def command(directory: str, output: Output) -> int:
    """Show what this installation has, what it lacks, and how to install it.

    Versions, codecs, stores, the compiled kernel, optional packages, and
    whether locks work in DIRECTORY (default: the current one). Exits with 1
    if something does not work; a missing optional package is no problem.

    \b
    Examples:
      omnizarr doctor
      omnizarr doctor /mnt/shared --json
    """
    from omnizarr.tools.doctor import examine

    checks = examine(directory)
    if output.form == "json":
        output.json(checks)
    else:
        _print(checks, output)
    return NO if any(check.state == "problem" for check in checks) else YES


def _print(checks: list[Examination], output: Output) -> None:
    from omnizarr.cli.output import write
    from omnizarr.cli.styles import styled
    from omnizarr.cli.wrapping import wrapped
    from omnizarr.display.texts import printable

    styles: dict[str, Style] = {"ok": "good", "missing": "dim", "problem": "bad"}
    marks = {"ok": "✓", "missing": "–", "problem": "✗"}
    area = ""
    for check in checks:
        if check.area != area:
            if area:
                output.line()
            area = check.area
            output.line(area.capitalize(), "name")
        text = printable(f"{check.name}: {check.text}")
        text = wrapped(text, output.width - 4, "    ") if output.terminal else text
        write(f"  {styled(marks[check.state], styles[check.state])} {text}")
        if check.remedy is not None and check.state != "ok":
            write(f"      {styled(printable(check.remedy), 'warning' if check.state == 'problem' else 'dim')}")
