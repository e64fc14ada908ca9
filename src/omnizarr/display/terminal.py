"""Coloured text for terminals, by rich: summaries and trees."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from omnizarr.display.texts import MOST_ATTRIBUTES, by_path, digits, label, printable, shortened

__all__ = ["coloured_tree", "node_panel", "summary_table"]


def summary_table(rows: Iterable[tuple[str, Any]]) -> Any:
    """A table of titles and values."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    _add_rows(table, rows)
    return table


def _add_rows(table: Any, rows: Iterable[tuple[str, Any]]) -> None:
    from rich.text import Text

    for title, value in rows:  # a title may be the name of an attribute, which rich must not take for markup
        table.add_row(Text(printable(shortened(title))), Text(printable(shortened(str(value)))))


def node_panel(node: Any) -> Any:
    """The summary of a node, or the tree of a group whose members are known, and its attributes, in a frame."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    attributes = node.attrs.asdict()
    if not hasattr(node, "shape") and (members := node._known_members()) is not None:
        parts = [coloured_tree(node.basename or "/", node, sorted(members, key=by_path))]
        table = summary_table(())
    else:  # the name and the type are in the title, and the attributes below
        table = summary_table(item for item in node.info.items if item[0] not in ("Name", "Type", "Attributes"))
        parts = []
    if attributes:  # in the same table, so that all values begin in one column
        table.add_row(Text("Attributes", style="bold default"))
        _add_rows(table, islice(attributes.items(), MOST_ATTRIBUTES))
        if len(attributes) > MOST_ATTRIBUTES:
            table.add_row(Text(f"… and {digits(len(attributes) - MOST_ATTRIBUTES)} more", style="default"))
    parts += [table] * (table.row_count > 0)
    title = Text.assemble((type(node).__name__, "dim"), " ", (printable(node.name), "bold"))
    return Panel(Group(*parts), title=title, title_align="left", border_style="dim", expand=False)


def coloured_tree(name: str, root: Any, members: Iterable[tuple[str, Any]]) -> Any:
    """The tree with coloured names; the members are in the order of their paths."""
    from rich.tree import Tree as Drawing

    top = Drawing(_coloured_label(name, root), guide_style="dim")
    branches = {"": top}
    for path, node in members:  # a group comes before its members
        parent, _, last = path.rpartition("/")
        branches[path] = branches[parent].add(_coloured_label(last, node))
    return top


def _coloured_label(name: str, node: Any) -> Any:
    from rich.text import Text

    name = printable(name)
    text = Text(label(name, node), style="cyan" if hasattr(node, "shape") else "", end="")
    text.stylize("red" if hasattr(node, "reason") else "bold default", 0, len(name))
    return text
