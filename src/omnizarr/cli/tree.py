"""`omnizarr tree`: what lies below a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from omnizarr.nodes import Tree

__all__ = ["command", "draw"]


@click.command()
@click.argument("location")
@click.option("--path", help="Start at this group inside the location.")
@click.option("--level", type=click.IntRange(min=0), help="Show this many levels; all, if not given.")
@click.option("--no-consolidated", is_flag=True, help="Look at the documents, not at consolidated metadata.")
def command(location: str, path: str | None, level: int | None, no_consolidated: bool) -> None:
    """Draws the arrays and groups below LOCATION.

    Each array is shown with its shape and its data type. What cannot be read is shown with the reason.
    """
    from omnizarr.api import open, tree
    from omnizarr.cli.terminal import coloured, echo

    node = open(location, path=path, mode="r", use_consolidated=False if no_consolidated else None)
    found = tree(node, level=level)
    if coloured():
        draw(found)
    else:
        for line in str(found).split("\n"):
            echo(line)


def draw(tree: Tree) -> None:
    """Prints a tree in colours; without them it is the text of the tree."""
    from rich.console import Console
    from rich.tree import Tree as Drawing

    top = Drawing(_label(tree.name, tree.root), guide_style="dim")
    branches = {"": top}
    for path, node in tree.members:  # a group comes before its members
        parent, _, name = path.rpartition("/")
        branches[path] = branches[parent].add(_label(name, node))
    # Wider than any line: those that do not fit are wrapped by the terminal and not cut off here.
    Console(width=2**16).print(top, no_wrap=True)


def _label(name: str, node: Any) -> Any:
    from rich.text import Text

    from omnizarr.cli.terminal import printable
    from omnizarr.nodes import Array, UnreadableNode
    from omnizarr.nodes.tree import label

    name = printable(name)
    text = Text(printable(label(name, node)), style="cyan" if isinstance(node, Array) else "", end="")
    text.stylize("red" if isinstance(node, UnreadableNode) else "bold default", 0, len(name))
    return text
