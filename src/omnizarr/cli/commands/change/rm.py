"""`omnizarr rm`: erases an array or a group."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, dry_run_option, location_argument, output_options, store_options
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.command()
@location_argument()
@click.option("-r", "--recursive", is_flag=True, help="Erase a group with all nodes below it.")
@dry_run_option
@store_options
@output_options(full=False)
def command(location: str, recursive: bool, dry_run: bool, storage: StoreOptions, output: Output) -> int:
    """Erase the array or group at LOCATION, for good.

    A group that has members is erased only with -r.

    \b
    Examples:
      omnizarr rm weather.zarr/humidity
      omnizarr rm weather.zarr -r --dry-run
    """
    from omnizarr.errors import ArgumentError
    from omnizarr.nodes import Group
    from omnizarr.nodes.create.node import erase_node

    node = storage.open(location, writable=not dry_run).node
    members = [path for path, _ in node.members(max_depth=None)] if isinstance(node, Group) else []
    if members and not (recursive or dry_run):
        raise ArgumentError(f"the group `{location}` has {len(members)} nodes below it", hint="-r erases them, too")
    if not dry_run:
        erase_node(node._context)
    if output.form == "json":
        output.json({"path": node.path, "nodes": 1 + len(members), "dry_run": dry_run})
    else:
        output.line(f"{'would erase' if dry_run else 'erased'} {location} ({_count(1 + len(members))})")
    return YES


def _count(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes:,} nodes"
