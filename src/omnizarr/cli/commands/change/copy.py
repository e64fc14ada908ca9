"""`omnizarr copy`: copies an array, a group or a whole store."""

from __future__ import annotations

import click

from omnizarr.cli.options import StoreOptions, location_argument, output_options, parse_pair, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.plans import FORMATS, PlanOptions, array_options, parse_format, plan_options, run_plan

__all__ = ["command"]


@click.command()
@location_argument("source")
@location_argument("target")
@click.option("--chunks", metavar="LENGTHS", help="Chunk lengths: 100,100, or time=-1,lat=10; -1 is all.")
@click.option("--shards", metavar="LENGTHS", help="Shard lengths, in the same form, or none.")
@click.option("--codecs", metavar="JSON", help="Compressors: a name such as zstd, a JSON object or list, or none.")
@click.option("--dtype", metavar="TYPE", help="Data type of the copy.")
@click.option("--zarr-format", type=click.Choice(FORMATS), help="Generation of the copy.")
@click.option("--include", multiple=True, metavar="PATTERN", help="Copy only nodes with such a name or path.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out nodes with such a name or path.")
@click.option("--source-requests", type=click.IntRange(1), default=None, help="Reads in flight per task.")
@click.option("--target-requests", type=click.IntRange(1), default=None, help="Writes in flight per task.")
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
    dtype: str | None,
    zarr_format: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    source_requests: int | None,
    target_requests: int | None,
    target_option: tuple[str, ...],
    run_options: PlanOptions,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Copy the array or group at SOURCE to TARGET.

    Stored objects are copied as they are, unless an option changes their
    encoding. Nothing is replaced without --force. After a crash, the same
    command with --resume continues; after a finished copy, it copies the
    objects whose length differs. The options of the store are those of
    SOURCE; --target-option gives those of TARGET.

    \b
    Examples:
      omnizarr copy weather.zarr backup.zarr
      omnizarr copy weather.zarr weather.zip --verify
      omnizarr copy weather.zarr new.zarr --chunks time=-1,lat=10 --codecs zstd
      omnizarr copy weather.zarr s3://bucket/weather.zarr --include 'wind_*'
    """
    from omnizarr.tools import copy

    plan = copy(
        storage.open(source).node,
        target,
        include=include,
        exclude=exclude,
        zarr_format=parse_format(zarr_format),
        force=run_options.force,
        resume=run_options.resuming,
        verify=run_options.verify,
        source_requests=source_requests or 0,
        target_requests=target_requests or 0,
        storage_options=dict(parse_pair(text, "--target-option") for text in target_option) or None,
        **array_options(chunks, shards, codecs, dtype),
    )
    return run_plan(plan, run_options, output)
