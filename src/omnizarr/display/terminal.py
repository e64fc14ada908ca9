"""Coloured text for terminals, by rich: summaries and trees."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from omnizarr.display.texts import MOST_ATTRIBUTES, by_path, digits, label, shortened

__all__ = ["coloured_tree", "node_panel", "printable", "summary_table"]


def printable(text: str) -> str:
    """`text` with escapes for control characters and lone surrogates.

    Names and attributes in a file are untrusted: control characters in them could change the state of the terminal. A
    file name can contain a lone surrogate, which cannot be encoded.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def summary_table(rows: Iterable[tuple[str, Any]]) -> Any:
    """A table of titles and values."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for title, value in rows:  # a title may be the name of an attribute, which rich must not take for markup
        table.add_row(Text(printable(shortened(title))), Text(printable(shortened(str(value)))))
    return table


def node_panel(node: Any) -> Any:
    """The summary of a node, or the tree of a group whose members are known, and its attributes, in a frame."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    contents = summary_table(item for item in node.info.items if item[0] not in ("Name", "Type"))  # in the title
    if not hasattr(node, "shape") and (members := node._known_members()) is not None:
        contents = coloured_tree(node.basename or "/", node, sorted(members, key=by_path))
    attributes = node.attrs.asdict()
    parts = [contents]
    if attributes:
        parts += [Text("Attributes", style="bold"), summary_table(islice(attributes.items(), MOST_ATTRIBUTES))]
        if len(attributes) > MOST_ATTRIBUTES:
            parts.append(Text(f"… and {digits(len(attributes) - MOST_ATTRIBUTES)} more"))
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
    text = Text(printable(label(name, node)), style="cyan" if hasattr(node, "shape") else "", end="")
    text.stylize("red" if hasattr(node, "reason") else "bold default", 0, len(name))
    return text
