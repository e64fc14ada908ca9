"""`omnizarr statistics`: stores statistics of chunks, for reductions and searches that skip chunks."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import CANNOT, NO, YES, message
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Column, Output

__all__ = ["command"]


@click.command()
@location_argument()
@click.option("--check", is_flag=True, help="Only count stale statistics. Exit code 1 if there are any.")
@click.option("--remove", is_flag=True, help="Erase the statistics.")
@store_options
@output_options()
def command(location: str, check: bool, remove: bool, storage: StoreOptions, output: Output) -> int:
    """Store statistics of the chunks of the array at LOCATION.

    For a group, of all arrays below it. `info --stats` and the methods min,
    max, mean and find of arrays then read only chunks that have changed.
    Writes through omnizarr keep the statistics up to date. After writes by
    other programs, and after copies, run the command again: it reads only
    chunks whose statistics are stale.

    \b
    Examples:
      omnizarr statistics weather.zarr/temperature
      omnizarr statistics weather.zarr --check
      omnizarr statistics weather.zarr --remove
    """
    from omnizarr.cli.progress import progress
    from omnizarr.tools.chunk_statistics import build_statistics, check_statistics, remove_statistics

    if check and remove:
        raise click.UsageError("--check and --remove exclude each other")
    node = storage.open(location, writable=not check).node
    if check:
        results = check_statistics(node)
    elif remove:
        results = remove_statistics(node)
    else:
        with progress("reading", bytes=True) as report:
            results = build_statistics(node, progress=report)
    for result in results:
        if result.failed:
            message("error", f"{result.path}: {result.reason}")
    if output.form == "json":
        output.json(results)
    elif remove:
        count = sum(result.reason is None for result in results)
        output.line(f"erased the statistics of {count:,} array{'s' * (count != 1)}")
    else:
        rows = []
        for result in results:
            state = result.state
            numbers = ["", "", "", ""] if state is None else [state.chunks, state.absent, state.fresh, state.stale]
            note = result.reason or ("no statistics" if state is None else "")
            rows.append([f"/{result.path}", *(f"{number:,}" if number != "" else "" for number in numbers), note])
        output.table(_COLUMNS, rows, noun="arrays")
    if any(result.failed for result in results):
        return CANNOT
    usable = [result for result in results if result.reason is None]
    complete = all(result.state is not None and not result.state.stale for result in usable)
    return NO if check and not complete else YES


_COLUMNS = (
    Column("array", "name"),
    Column("chunks", right=True),
    Column("absent", right=True, rank=2),
    Column("up to date", right=True),
    Column("stale", right=True),
    Column("note", rank=1),
)
