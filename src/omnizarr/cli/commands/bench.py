"""`omnizarr bench`: measures how fast an array is read in the usual patterns."""

from __future__ import annotations

import click

from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Column, Output
from omnizarr.cli.progress import progress

__all__ = ["command"]

_COLUMNS = (
    Column("pattern", "name"),
    Column("first selection", rank=1),
    Column("reads", right=True, rank=2),
    Column("time", right=True),
    Column("rate", right=True),
    Column("amplification", right=True),
)


@click.command()
@location_argument()
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="Time per pattern."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Chooses the random places.")
@store_options
@output_options()
def command(location: str, seconds: float, seed: int, storage: StoreOptions, output: Output) -> None:
    """Measure how fast the array at LOCATION is read in the usual patterns.

    Amplification is the number of decoded bytes divided by the number of
    returned bytes, as `omnizarr explain` counts them: 1 is best. Files are
    probably in the cache of the operating system, so the rates for local
    files are those of decoding.

    \b
    Examples:
      omnizarr bench weather.zarr/temperature
      omnizarr bench s3://bucket/weather.zarr/temperature --seconds 5
    """
    from omnizarr.cli.texts import duration_text
    from omnizarr.display.texts import human_bytes
    from omnizarr.tools.bench import bench

    array = storage.open(location).array
    with progress("measuring") as report:
        results = bench(array, seconds=seconds, seed=seed, progress=report)
    if output.form == "json":
        output.json(results)
        return
    rows = [
        [
            result.name,
            f"[{result.selection}]",
            str(result.reads),
            duration_text(result.seconds),
            f"{human_bytes(int(result.rate))}/s",
            f"{result.amplification:,.1f}" if result.amplification < 1000 else f"{result.amplification:,.0f}",
        ]
        for result in results
    ]
    output.table(_COLUMNS, rows)
