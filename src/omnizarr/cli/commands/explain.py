"""`omnizarr explain`: what a read would cost."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.command()
@location_argument()
@store_options
@output_options(full=False)
def command(location: str, storage: StoreOptions, output: Output) -> int:
    """Tell what a read of LOCATION[selection] would cost, without reading it.

    Requests, bytes, decoded chunks, read amplification and memory, from the
    sizes of chunks and the indexes of shards; then advice.

    \b
    Examples:
      omnizarr explain 'weather.zarr/temperature[0]'
      omnizarr explain 'weather.zarr/temperature[:, 90, 180]' --json
    """
    opened = storage.open(location, select=True)
    explanation = opened.array.explain[... if opened.selection is None else opened.selection]
    if output.form == "json":
        output.json(explanation)
        return YES
    for line in str(explanation).split("\n"):
        output.line(line, "warning" if line.startswith("advice") else "plain")
    return YES
