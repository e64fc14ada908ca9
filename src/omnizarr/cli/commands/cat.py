"""`omnizarr cat`: prints the elements of an array."""

from __future__ import annotations

import click

from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.progress import progress

__all__ = ["command"]


@click.command()
@location_argument()
@click.option(
    "--csv", "form", flag_value="csv", help="Comma-separated values: the indices of each element, and its value."
)
@click.option("--npy", "form", flag_value="npy", help="A file of NumPy, which numpy.load reads.")
@click.option("--raw", "form", flag_value="raw", help="The bytes of the elements: C order, little-endian.")
@store_options
@output_options(full=False)
def command(location: str, form: str | None, storage: StoreOptions, output: Output) -> None:
    """Print the elements of the array at LOCATION, or of a selection.

    As text: the elements of the last dimension in one line, with an empty
    line after each plane. The array is read block by block, so it may be
    larger than memory.

    \b
    Examples:
      omnizarr cat 'weather.zarr/temperature[0, 100:103, ::60]'
      omnizarr cat weather.zarr/lat --csv
      omnizarr cat weather.zarr/temperature --npy > temperature.npy
    """
    import sys

    from omnizarr.cli import elements_output
    from omnizarr.tools.elements import Elements

    if form is not None and output.form == "json":
        raise click.UsageError(f"--json and --{form} exclude each other.")
    opened = storage.open(location, select=True)
    elements = Elements(opened.array, opened.selection)
    if form in ("npy", "raw"):
        if sys.stdout.isatty():
            raise click.UsageError(f"--{form} prints bytes, which a terminal cannot show: redirect them to a file.")
        if elements.dtype.hasobject:
            raise click.UsageError(f"--{form}: elements of type {opened.array.data_type.name} have no fixed size.")
    with progress("reading", bytes=True) as report:
        if output.form == "json":
            elements_output.write_json(elements, report)
        elif form == "csv":
            names = opened.array.dimension_names if opened.selection is None else None
            elements_output.write_csv(elements, names, report)
        elif form == "npy":
            elements_output.write_npy(elements, report)
        elif form == "raw":
            elements_output.write_raw(elements, report)
        else:
            elements_output.write_text(elements, report)
