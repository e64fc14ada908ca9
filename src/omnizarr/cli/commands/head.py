"""`omnizarr head`: shows the first elements of an array, or of each array of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnizarr.cli.exit_codes import CANNOT, YES, message
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Column, Output

if TYPE_CHECKING:
    from omnizarr.tools.first_elements import FirstElements

__all__ = ["command"]


@click.command()
@location_argument()
@click.option("-n", "--lines", type=click.IntRange(min=1), default=8, show_default=True, help="Number of rows.")
@store_options
@output_options()
def command(location: str, lines: int, storage: StoreOptions, output: Output) -> int:
    """Show the first elements of the array at LOCATION.

    The last two dimensions are rows and columns; the others are at index 0.
    LOCATION may have a selection. For a group, the first elements of each of
    its arrays are shown.

    \b
    Examples:
      omnizarr head weather.zarr/temperature
      omnizarr head 'weather.zarr/temperature[12, 90:]' -n 3
      omnizarr head weather.zarr
    """
    from omnizarr.errors import ChunkError
    from omnizarr.nodes import Array
    from omnizarr.tools.first_elements import first_elements

    opened = storage.open(location, select=True)
    code = YES
    if isinstance(opened.node, Array):
        shown = [first_elements(opened.array, opened.selection, rows=lines)]
    else:
        shown = []
        for array in opened.array_members():
            try:
                shown.append(first_elements(array, opened.selection, rows=1))
            except ChunkError as error:  # the other arrays are still of interest
                message("error", str(error))
                code = CANNOT
    if output.form == "json":
        output.json(shown[0] if isinstance(opened.node, Array) else shown)
    elif isinstance(opened.node, Array):
        _print_table(shown[0], output)
    else:
        _print_rows(shown, output)
    return code


def _print_table(first: FirstElements, output: Output) -> None:
    shown = f"[{first.selection}]" if first.selection else ""  # nothing for an array without dimensions
    output.line(f"{first.name}{shown} of {first.size}, {first.type}", "name")
    if not first.values:
        output.line("no elements")
        return
    columns = [Column("", "dim", right=True), *(Column(title, right=True) for title in first.columns)]
    if not any(first.columns):  # one column of values: no titles
        width = max(len(text) for text in first.rows)
        for title, row in zip(first.rows, first.values, strict=True):
            output.line(f"{title.rjust(width)}  {row[0]}")
        return
    cells = [[title, *row] for title, row in zip(first.rows, first.values, strict=True)]
    output.table(columns, cells, keep_empty=True)


def _print_rows(shown: list[FirstElements], output: Output) -> None:
    columns = [Column("name", "name"), Column("type"), Column("first elements")]
    rows = [[first.name, first.type, ", ".join(first.values[0]) if first.values else ""] for first in shown]
    output.table(columns, rows, noun="arrays")
