"""`omnizarr checksum`: a digest of the content."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.progress import progress

__all__ = ["command"]


@click.command()
@location_argument()
@click.option("--data-only", is_flag=True, help="Leave out attributes.")
@click.option("--dandi", is_flag=True, help="Print the digest of the stored files that the DANDI archive uses.")
@store_options
@output_options(full=False)
def command(location: str, data_only: bool, dandi: bool, storage: StoreOptions, output: Output) -> int:
    """Print a digest of the array or group at LOCATION.

    It covers elements, names, types, dimensions and attributes. It is equal
    for equal content, whatever its chunks, codecs, store and generation.
    --dandi prints the digest of the package zarr_checksum, which covers the
    stored files.

    \b
    Examples:
      omnizarr checksum weather.zarr
      omnizarr checksum weather.zarr/temperature --data-only
      omnizarr checksum weather.zarr --dandi
    """
    from omnizarr.tools import checksum, dandi_checksum

    node = storage.open(location).node
    with progress("hashing", bytes=True) as report:
        if dandi:
            prefix = f"{node.path}/" if node.path else ""
            result = dandi_checksum(node.store, prefix, progress=report)
        else:
            result = checksum(node, attributes=not data_only, progress=report)
    if output.form == "json":
        output.json(result)
    else:
        output.line(result.digest)
    return YES
