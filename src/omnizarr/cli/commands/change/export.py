"""`omnizarr export`: writes an array to a file."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, dry_run_option, location_argument, output_options, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.progress import progress

__all__ = ["command"]


@click.command()
@location_argument()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--kind", type=click.Choice(["npy", "raw", "csv", "hdf5", "netcdf", "tiff"]), help="Kind of FILE.")
@click.option("--delimiter", default=",", show_default=True, help="Delimiter of a csv file.")
@click.option("--force", is_flag=True, help="Replace FILE.")
@dry_run_option
@store_options
@output_options(full=False)
def command(
    location: str,
    file: str,
    kind: str | None,
    delimiter: str,
    force: bool,
    dry_run: bool,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Write the array at LOCATION to FILE.

    The end of the name tells the kind: .npy, .raw, .csv, .h5, .nc or .tif.
    HDF5 and netCDF files take groups, too; they need h5py or netCDF4, and
    TIFF files tifffile.

    \b
    Examples:
      omnizarr export weather.zarr/temperature t.npy
      omnizarr export 'weather.zarr/temperature[0]' t.csv
      omnizarr export weather.zarr weather.nc
    """
    from omnizarr.tools.files import export_file

    opened = storage.open(location, select=True)
    with progress("exporting", bytes=True) as report:
        result = export_file(
            opened.node,
            file,
            kind=kind,
            selection=opened.selection,
            delimiter=delimiter,
            force=force,
            dry_run=dry_run,
            progress=report,
        )
    if output.form == "json":
        output.json(result)
    else:
        for path, text in result.arrays.items():
            output.line(f"{'would export' if dry_run else 'exported'} {path or '/'}: {text}")
    return YES
