"""`omnizarr ls`: lists the members of a group, one per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Column, Output

if TYPE_CHECKING:
    from omnizarr.tools.describe import AnyMember

__all__ = ["command", "print_members"]

_MOST_NAMES = 1000  # on a terminal

_COLUMNS = (
    Column("kind"),
    Column("type"),
    Column("shape"),
    Column("chunks", rank=2),
    Column("size", right=True, rank=1),
    Column("name", "name"),
)


@click.command()
@location_argument()
@click.option("-l", "--long", "long", is_flag=True, help="Also show kind, data type, shape, chunks and logical size.")
@click.option("-R", "--recursive", is_flag=True, help="List all nodes below the group, with their paths.")
@store_options
@output_options(jsonl=True)
def command(location: str, long: bool, recursive: bool, storage: StoreOptions, output: Output) -> None:
    """List the members of the group at LOCATION, one per line.

    For scripts: names without decoration, in order. An array lists itself.

    \b
    Examples:
      omnizarr ls weather.zarr
      omnizarr ls -l weather.zarr
      omnizarr ls -R --jsonl s3://bucket/weather.zarr | jq -r .path
    """
    from omnizarr.nodes import Array
    from omnizarr.tools.describe import describe_member, iterate_members

    node = storage.open(location).node
    if isinstance(node, Array):
        print_members([describe_member(node.basename or "/", node)], long, output)
    elif recursive or long or output.form != "text":
        listed = iterate_members(node, None if recursive else 1)
        if output.form == "jsonl":
            for member in listed:  # as they are found: a hierarchy may be large
                output.jsonl(member)
        else:
            print_members(sorted(listed, key=lambda member: member.path.split("/")), long, output)
    else:
        _print_names(list(node.keys()), output)


def print_members(members: list[AnyMember], long: bool, output: Output) -> None:
    """Prints nodes in the form that the user chose."""
    if output.form == "json":
        output.json(members)
    elif output.form == "jsonl":
        for member in members:
            output.jsonl(member)
    elif long:
        output.table(_COLUMNS, [_cells(member) for member in members], noun="nodes")
    else:
        _print_names([member.path or "/" for member in members], output)


def _print_names(names: list[str], output: Output) -> None:
    shown = names[:_MOST_NAMES] if output.cuts else names
    for name in shown:
        output.line(name)
    if len(shown) < len(names):
        output.line(f"… and {len(names) - len(shown):,} more (--full shows all)", "dim")


def _cells(member: AnyMember) -> list[str]:
    from omnizarr.cli.texts import lengths_text, short_reason
    from omnizarr.display.texts import human_bytes
    from omnizarr.tools.describe import ArrayMember, UnreadableMember

    if isinstance(member, ArrayMember):
        lengths = (lengths_text(member.shape), lengths_text(member.chunks))
        return ["array", member.type, *lengths, human_bytes(member.nbytes), member.path or "/"]
    if isinstance(member, UnreadableMember):
        return ["unreadable", "", "", "", "", f"{member.path}  ({short_reason(member.error)})"]
    return ["group", "", "", "", "", member.path or "/"]
