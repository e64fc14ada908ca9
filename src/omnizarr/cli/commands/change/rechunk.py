"""`omnizarr rechunk`: copies arrays into other chunks, within a limit of memory."""

from __future__ import annotations

import click

from omnizarr.cli.options import StoreOptions, location_argument, output_options, parse_pair, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.plans import PlanOptions, array_options, plan_options, run_plan, size

__all__ = ["command"]


@click.command()
@location_argument("source")
@location_argument("target")
@click.option("--chunks", metavar="LENGTHS", help="Chunk lengths: 100,100, or time=-1,lat=10; -1 is all.")
@click.option("--shards", metavar="LENGTHS", help="Shard lengths, in the same form, or keep. Default: no shards.")
@click.option("--codecs", metavar="JSON", help="Compressors: a name such as zstd, a JSON object or list, or none.")
@click.option("--max-memory", metavar="SIZE", default="1GB", show_default=True, help="Memory for elements.")
@click.option("--target-option", multiple=True, metavar="K=V", help="Option of the store of TARGET.")
@plan_options
@store_options
@output_options(full=False)
def command(
    source: str,
    target: str,
    chunks: str | None,
    shards: str | None,
    codecs: str | None,
    max_memory: str,
    target_option: tuple[str, ...],
    run_options: PlanOptions,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Copy the array or group at SOURCE to TARGET, in other chunks.

    Elements are copied in one pass if memory is large enough, else through
    temporary arrays in TARGET. Arrays of a group that have none of the named
    dimensions are copied as they are. With --processes or --dask, the limit
    holds for each process.

    \b
    Examples:
      omnizarr rechunk weather.zarr series.zarr --chunks time=-1,lat=10,lon=10
      omnizarr rechunk weather.zarr/t2m t2m.zarr --chunks 1,90,90 --shards 24,180,360
      omnizarr rechunk weather.zarr series.zarr --chunks time=-1 --max-memory 4GB --dry-run
    """
    from omnizarr.tools import rechunk

    options = array_options(chunks, None if shards == "keep" else shards, codecs, None)
    if shards == "keep":
        options["shards"] = "keep"
    plan = rechunk(
        storage.open(source).node,
        target,
        max_memory=size(max_memory, "--max-memory"),
        force=run_options.force,
        resume=run_options.resuming,
        verify=run_options.verify,
        storage_options=dict(parse_pair(text, "--target-option") for text in target_option) or None,
        **options,
    )
    return run_plan(plan, run_options, output)
