"""`omnizarr mv`: moves or renames an array or a group in its hierarchy."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, dry_run_option, location_argument, output_options, store_options
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.command()
@location_argument()
@click.argument("target")
@dry_run_option
@store_options
@output_options(full=False)
def command(location: str, target: str, dry_run: bool, storage: StoreOptions, output: Output) -> int:
    """Move the array or group at LOCATION to TARGET, in the same hierarchy.

    TARGET must not exist. Between hierarchies, use copy and then rm.

    \b
    Examples:
      omnizarr mv weather.zarr/t2m weather.zarr/temperature
      omnizarr mv weather.zarr/t2m weather.zarr/surface/temperature
    """
    from omnizarr.errors import ArgumentError
    from omnizarr.nodes.move import move_node

    node = storage.open(location, writable=not dry_run).node
    root = location.rstrip("/").removesuffix(node.path)
    new = target.rstrip("/").removeprefix(root)
    if not node.path or not target.startswith(root) or not new:
        raise ArgumentError(
            f"`{target}` does not lie in the hierarchy of `{location}`",
            argument="target",
            hint="copy it with `omnizarr copy`, then erase the old node with `omnizarr rm`",
        )
    if not dry_run:
        move_node(node._context.at(""), node.path, new)
    if output.form == "json":
        output.json({"from": node.path, "to": new, "dry_run": dry_run})
    else:
        output.line(f"{'would move' if dry_run else 'moved'} {node.path} to {new}")
    return YES
