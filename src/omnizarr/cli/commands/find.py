"""`omnizarr find`: finds nodes by name, type or attribute."""

from __future__ import annotations

from typing import Any

import click

from omnizarr.cli.commands.ls import print_members
from omnizarr.cli.exit_codes import NO, YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.command()
@location_argument()
@click.option("-n", "--name", "names", multiple=True, metavar="PATTERN", help="Name, or path with /, such as 't*'.")
@click.option(
    "-t", "--type", "types", multiple=True, metavar="TYPE", help="array, group, unreadable, or a data type: 'float*'."
)
@click.option(
    "-a", "--attr", "attributes", multiple=True, metavar="K[=V]", help="Attribute, optionally with its value."
)
@click.option("-l", "--long", "long", is_flag=True, help="Also show kind, data type, shape, chunks and logical size.")
@store_options
@output_options(jsonl=True)
def command(
    location: str,
    names: tuple[str, ...],
    types: tuple[str, ...],
    attributes: tuple[str, ...],
    long: bool,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Find nodes at and below LOCATION by name, type or attribute.

    Prints the paths of the nodes that match one of the names, one of the
    types, and all attributes. Exits with 1 if there are none.

    \b
    Examples:
      omnizarr find weather.zarr --name 'wind_*'
      omnizarr find weather.zarr --type 'float*' --attr units=K
      omnizarr find weather.zarr --type unreadable
    """
    from omnizarr.tools.search import find_nodes

    node = storage.open(location).node
    nodes = find_nodes(node, names=names, types=types, attributes=[_attribute(text) for text in attributes])
    if output.form == "jsonl":
        count = 0
        for member in nodes:
            output.jsonl(member)
            count += 1
        return YES if count else NO
    members = sorted(nodes, key=lambda member: member.path.split("/"))
    print_members(members, long, output)
    return YES if members else NO


def _attribute(text: str) -> tuple[Any, ...]:
    import json

    name, separator, value = text.partition("=")
    if not separator:
        return (name,)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
