"""`omnizarr import`: makes an array, or a hierarchy, of a file."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.plans import FORMATS, array_options, lengths, parse_format
from omnizarr.cli.progress import progress

__all__ = ["command"]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@location_argument()
@click.option("--kind", type=click.Choice(["npy", "raw", "csv", "hdf5", "netcdf", "tiff"]), help="Kind of FILE.")
@click.option("--dtype", metavar="TYPE", help="Data type of a raw or csv file.")
@click.option("--shape", metavar="LENGTHS", help="Shape of a raw file.")
@click.option("--delimiter", default=",", show_default=True, help="Delimiter of a csv file.")
@click.option("--chunks", metavar="LENGTHS", help="Chunk lengths, or auto.")
@click.option("--shards", metavar="LENGTHS", help="Shard lengths, auto or none.")
@click.option("--codecs", metavar="JSON", help="Compressors: a name such as zstd, a JSON object or list, or none.")
@click.option("--zarr-format", type=click.Choice(FORMATS), default="3", show_default=True, help="Generation.")
@click.option("--force", is_flag=True, help="Replace what is at LOCATION.")
@click.option("--dry-run", is_flag=True, help="Say what would be imported, and write nothing.")
@store_options
@output_options(full=False)
def command(
    file: str,
    location: str,
    kind: str | None,
    dtype: str | None,
    shape: str | None,
    delimiter: str,
    chunks: str | None,
    shards: str | None,
    codecs: str | None,
    zarr_format: str,
    force: bool,
    dry_run: bool,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Make an array at LOCATION of FILE.

    HDF5 and netCDF files give a group with all their datasets; they need
    h5py. TIFF files need tifffile. Elements are copied in parts, so files
    may be larger than memory.

    \b
    Examples:
      omnizarr import image.npy image.zarr --chunks 512,512
      omnizarr import counts.raw counts.zarr --dtype u2 --shape 100,200
      omnizarr import table.csv table.zarr
      omnizarr import weather.nc weather.zarr
    """
    from omnizarr.tools.files import import_file

    with progress("importing", bytes=True) as report:
        result = import_file(
            file,
            location,
            kind=kind,
            dtype=dtype,
            shape=None if shape is None else lengths(shape, "--shape"),
            delimiter=delimiter,
            zarr_format=parse_format(zarr_format),
            force=force,
            dry_run=dry_run,
            storage_options=storage.storage_options or None,
            progress=report,
            **array_options(chunks, shards, codecs, None),
        )
    if output.form == "json":
        output.json(result)
    else:
        for path, text in result.arrays.items():
            output.line(f"{'would import' if dry_run else 'imported'} {path or '/'}: {text}")
    return YES
