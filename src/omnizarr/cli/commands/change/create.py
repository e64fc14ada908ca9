"""`omnizarr create`: creates an array or a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import (
    StoreOptions,
    dry_run_option,
    location_argument,
    output_options,
    parse_pair,
    store_options,
)
from omnizarr.cli.output import Output
from omnizarr.cli.plans import FORMATS, array_options, lengths, parse_format

if TYPE_CHECKING:
    from omnizarr.nodes import Group

__all__ = ["command"]


@click.command()
@location_argument()
@click.option("--shape", metavar="LENGTHS", help="Shape of an array, such as 100,200. Without it: a group.")
@click.option("--dtype", metavar="TYPE", help="Data type of the array.  [default: float64]")
@click.option("--chunks", metavar="LENGTHS", help="Chunk lengths, or auto.")
@click.option("--shards", metavar="LENGTHS", help="Shard lengths, auto or none.")
@click.option("--codecs", metavar="JSON", help="Compressors: a name such as zstd, a JSON object or list, or none.")
@click.option("--fill-value", metavar="JSON", help="Fill value.")
@click.option("--dimensions", metavar="NAMES", help="Names of the dimensions: time,lat,lon.")
@click.option("--attribute", "attributes", multiple=True, metavar="K=V", help="An attribute; may be repeated.")
@click.option(
    "--zarr-format", type=click.Choice(FORMATS), help="Generation.  [default: that of the group above, else 3]"
)
@click.option("--force", is_flag=True, help="Replace what is at LOCATION.")
@dry_run_option
@store_options
@output_options(full=False)
def command(
    location: str,
    shape: str | None,
    dtype: str | None,
    chunks: str | None,
    shards: str | None,
    codecs: str | None,
    fill_value: str | None,
    dimensions: str | None,
    attributes: tuple[str, ...],
    zarr_format: str | None,
    force: bool,
    dry_run: bool,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Create an array at LOCATION, or a group if there is no --shape.

    \b
    Examples:
      omnizarr create weather.zarr --attribute title=Weather
      omnizarr create weather.zarr/t2m --shape 24,180,360 --dtype f4 --dimensions time,lat,lon
    """
    from omnizarr.api.create_nodes import create_array, create_group
    from omnizarr.api.location import resolve
    from omnizarr.store import MemoryStore

    options: dict[str, Any] = array_options(chunks, shards, codecs, None)
    values = dict(parse_pair(text, "--attribute") for text in attributes)
    common: dict[str, Any] = {"attributes": values, "overwrite": force}
    for option, value in (("--chunks", chunks), ("--dtype", dtype), ("--shards", shards), ("--codecs", codecs)):
        if value is not None and shape is None:
            raise click.UsageError(f"{option} needs --shape")
    if not force:
        _check_free(location, storage)
    above = None if dry_run else _group_above(location, storage)
    if above is None or zarr_format is not None:
        common["zarr_format"] = parse_format(zarr_format or "3")
    store, path = (MemoryStore(), "") if dry_run else resolve(location, storage.storage_options or None)
    if above is not None:
        store, path = above.store, f"{above.path}/{location.rstrip('/').rpartition('/')[2]}".lstrip("/")
        common.setdefault("zarr_format", above.zarr_format)
    if shape is None:
        node: Any = create_group(store, path=path, **common)
    else:
        if fill_value is not None:
            options["fill_value"] = parse_pair(f"x={fill_value}")[1]
        if dimensions is not None:
            options["dimension_names"] = dimensions.split(",")
        sizes = lengths(shape, "--shape")
        node = create_array(store, name=path, shape=sizes, dtype=dtype or "float64", **options, **common)
    if output.form == "json":
        output.json({"path": node.path, "kind": "group" if shape is None else "array", "dry_run": dry_run})
    else:
        what = "the group" if shape is None else f"the array {node.shape} of {node.dtype}"
        output.line(f"{'would create' if dry_run else 'created'} {what} at {location}")
    return YES


def _check_free(location: str, storage: StoreOptions) -> None:
    from omnizarr.errors import NodeExistsError, OmnizarrError

    try:
        node = storage.open(location).node
    except OmnizarrError:
        return  # nothing is there, or something that creating reports
    raise NodeExistsError(f"there is {node!r} already", hint="--force replaces it, with all nodes below it")


def _group_above(location: str, storage: StoreOptions) -> Group | None:
    """The group that is to hold the node, if it exists."""
    from omnizarr.errors import OmnizarrError
    from omnizarr.nodes import Group

    parent = location.rstrip("/").rpartition("/")[0]
    try:
        node = storage.open(parent, writable=True).node if parent else None
    except OmnizarrError:
        return None
    return node if isinstance(node, Group) else None
