"""`omnizarr tree`: draws the hierarchy below a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from omnizarr.display.tree import Tree

__all__ = ["command", "draw"]


@click.command()
@click.argument("location")
@click.option("--path", help="Path of the group in the store.")
@click.option("--level", type=click.IntRange(min=0), help="Number of levels to show (default: all).")
@click.option("--no-consolidated", is_flag=True, help="Read each node's own metadata, not consolidated metadata.")
def command(location: str, path: str | None, level: int | None, no_consolidated: bool) -> None:
    """Draw the arrays and groups below LOCATION as a tree.

    Arrays are shown with their shape and data type, unreadable nodes with the reason.
    """
    from omnizarr.api import open, tree
    from omnizarr.cli.terminal import coloured, echo

    node = open(location, path=path, mode="r", use_consolidated=False if no_consolidated else None)
    drawing = tree(node, level=level)
    if coloured():
        draw(drawing)
    else:
        for line in str(drawing).split("\n"):
            echo(line)


def draw(tree: Tree) -> None:
    """Prints a tree in colours."""
    from rich.console import Console

    # Wider than any line, so that rich does not cut off long lines: the terminal wraps them.
    Console(width=2**16).print(tree, no_wrap=True)
