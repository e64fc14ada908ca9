"""`omnizarr append`: appends the elements of a file to an array."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, dry_run_option, location_argument, output_options, store_options
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.command()
@location_argument()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--axis", type=int, default=0, show_default=True, help="Axis that grows.")
@dry_run_option
@store_options
@output_options(full=False)
def command(location: str, file: str, axis: int, dry_run: bool, storage: StoreOptions, output: Output) -> int:
    """Append the elements of FILE (npy) to the array at LOCATION.

    The rows appear all at once, and rows that other programs append at the
    same time are kept.

    \b
    Examples:
      omnizarr append weather.zarr/t2m today.npy
      omnizarr append weather.zarr/t2m today.npy --axis 1
    """
    from omnizarr.tools.files import read_npy

    array = storage.open(location, writable=not dry_run).array
    data = read_npy(file)
    old = array.shape
    new = _appended(old, data.shape, axis) if dry_run else array.append(data, axis=axis)
    if output.form == "json":
        output.json({"shape": new, "appended": data.shape, "dry_run": dry_run})
    else:
        output.line(f"{'would append' if dry_run else 'appended'} {data.shape}: {old} → {new}")
    return YES


def _appended(old: tuple[int, ...], rows: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The shape that `append` would leave. Raises as it would."""
    from omnizarr.errors import ArgumentError

    rank = len(old)
    if not -rank <= axis < rank:
        raise ArgumentError(f"`axis`: expected an integer from {-rank} to {rank - 1}, found {axis}", argument="axis")
    axis %= rank
    if len(rows) != rank or rows[:axis] + rows[axis + 1 :] != old[:axis] + old[axis + 1 :]:
        raise ArgumentError(f"`data`: expected a shape like {old} except on axis {axis}, found {rows}", argument="data")
    return (*old[:axis], old[axis] + rows[axis], *old[axis + 1 :])
