"""`omnizarr consolidate`: stores copies of all metadata of a group in one document."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, dry_run_option, location_argument, output_options, store_options
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.command()
@location_argument()
@dry_run_option
@store_options
@output_options(full=False)
def command(location: str, dry_run: bool, storage: StoreOptions, output: Output) -> int:
    """Store copies of the metadata of all nodes below the group at LOCATION.

    Readers then open the hierarchy with one request. Consolidate again after
    another program has changed it.

    \b
    Examples:
      omnizarr consolidate weather.zarr
    """
    from omnizarr.api.hierarchy import consolidate_metadata
    from omnizarr.errors import NodeTypeError
    from omnizarr.nodes import Array

    node = storage._replace(use_consolidated=False).open(location, writable=not dry_run).node
    if isinstance(node, Array):
        raise NodeTypeError(f"`{location}` is an array; only groups have consolidated metadata", path=node.path)
    count = len(node.members(max_depth=None))
    if not dry_run:
        consolidate_metadata(node.store, path=node.path, zarr_format=node.zarr_format)
    if output.form == "json":
        output.json({"nodes": count, "dry_run": dry_run})
    else:
        output.line(f"{'would copy' if dry_run else 'copied'} the metadata of {count:,} nodes")
    return YES
