"""`omnizarr tree`: draws the hierarchy below a group."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output, shortened, write
from omnizarr.cli.styles import styled

if TYPE_CHECKING:
    from omnizarr.tools.describe import AnyMember, ArrayMember, GroupInfo

__all__ = ["command"]

_MOST_SIBLINGS = 40  # of one group on a terminal


@click.command()
@location_argument()
@click.option("-L", "--level", type=click.IntRange(min=0), help="Number of levels to show (default: all).")
@click.option("--html", is_flag=True, help="Print a page of HTML, with groups that fold.")
@store_options
@output_options()
def command(location: str, level: int | None, html: bool, storage: StoreOptions, output: Output) -> None:
    """Draw the arrays and groups below LOCATION as a tree.

    Arrays are shown with dimensions, data type, chunks and logical size,
    unreadable nodes with the reason.

    \b
    Examples:
      omnizarr tree weather.zarr
      omnizarr tree weather.zarr -L 1
      omnizarr tree weather.zarr --html > weather.html
    """
    from omnizarr.nodes import Array
    from omnizarr.tools.describe import describe_group, describe_member

    node = storage.open(location).node
    if html:
        write(_page(node, level))
        return
    root: ArrayMember | GroupInfo
    members: tuple[AnyMember, ...] = ()
    if isinstance(node, Array):
        root = describe_member(node.path, node)
    else:
        root = describe_group(node, level)
        members = root.members or ()
    if output.form == "json":
        output.json(root)
        return
    label = f"/{node.path}"
    _print(label, f"{label} {_details(root)}" if isinstance(node, Array) else label, output, "")
    for indent, name, member in _lines(members, output):
        if member is None:
            write(f"{styled(indent, 'dim')}{styled(name, 'dim')}")
        else:
            _print(name, f"{name} {_details(member)}".rstrip(), output, indent, bad=member.node_type == "unreadable")


def _lines(members: Sequence[AnyMember], output: Output) -> Iterator[tuple[str, str, AnyMember | None]]:
    """The indent, the name and the member of each line, in the order of a tree. Without a member, the name says how
    many are left out."""
    from omnizarr.display.texts import by_path, printable

    children: dict[str, list[AnyMember]] = {}
    for member in sorted(members, key=lambda member: by_path((member.path, None))):
        children.setdefault(member.path.rpartition("/")[0], []).append(member)
    # A stack instead of recursion, because hierarchies can be deeper than Python's limit.
    stack: list[tuple[str, deque[AnyMember | None], int]] = []

    def push(path: str, indent: str) -> None:
        below = children.get(path, [])
        hidden = len(below) - _MOST_SIBLINGS if output.cuts and len(below) > _MOST_SIBLINGS else 0
        shown: list[AnyMember | None] = [*below[:_MOST_SIBLINGS], None] if hidden else [*below]
        stack.append((indent, deque(shown), hidden))

    push("", "")
    while stack:
        indent, siblings, hidden = stack[-1]
        if not siblings:
            stack.pop()
            continue
        sibling = siblings.popleft()
        branch = f"{indent}{'├── ' if siblings else '└── '}"
        if sibling is None:
            yield branch, f"… and {hidden:,} more (--full shows all)", None
            continue
        yield branch, printable(sibling.path.rpartition("/")[2]), sibling
        push(sibling.path, indent + ("│   " if siblings else "    "))


def _details(member: Any) -> str:
    from omnizarr.cli.texts import lengths_text, short_reason
    from omnizarr.display.texts import human_bytes

    if member.node_type == "unreadable":
        return f"(unreadable: {short_reason(member.error)})"
    if member.node_type == "group":
        return ""
    names = member.dimension_names or (None,) * len(member.shape)
    lengths = [
        str(length) if name is None else f"{name} {length}" for name, length in zip(names, member.shape, strict=True)
    ]
    parts = [f"({', '.join(lengths)}) {member.type}", human_bytes(member.nbytes)]
    parts.append(f"chunks {lengths_text(member.chunks)}")
    if member.shards is not None:
        parts.append(f"shards {lengths_text(member.shards)}")
    return ", ".join(parts)


def _print(name: str, text: str, output: Output, indent: str, *, bad: bool = False) -> None:
    """Prints the line of a node, cut to the width of a terminal."""
    from omnizarr.display.texts import printable

    line = printable(text)
    if output.cuts:
        line = shortened(line, output.width - len(indent))
    shown = line[: len(printable(name))]
    write(f"{styled(indent, 'dim')}{styled(shown, 'bad' if bad else 'name')}{line[len(shown) :]}")


def _page(node: Any, level: int | None) -> str:
    from html import escape

    from omnizarr.api import tree
    from omnizarr.display.html import tree_html
    from omnizarr.tools.describe import describe_member

    drawing = tree(node, level=level)
    title = escape(f"{node.store.location}/{node.path}".rstrip("/")).encode("utf-8", "backslashreplace").decode()
    body = tree_html(
        drawing.name,
        drawing.root,
        drawing.members,
        limit=None,
        details=lambda array: _details(describe_member("", array)),
    )
    head = f'<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{title}</title>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>'
