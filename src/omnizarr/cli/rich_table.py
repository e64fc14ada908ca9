"""Tables on a terminal, by rich."""

from __future__ import annotations

from collections.abc import Sequence

from omnizarr.cli.styles import Column

__all__ = ["print_table"]

_STYLES = {"title": "cyan", "name": "bold", "dim": "dim", "good": "green", "bad": "red", "warning": "yellow"}


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, cut: bool) -> None:
    """Prints a table. With `cut`, it has the width of the terminal; otherwise the terminal wraps its lines."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    indexes = _fitting(columns, rows, console.width) if cut else list(range(len(columns)))
    if not cut:
        console.width = max(console.width, sum(_widths(columns, rows)) + 2 * len(columns))
    left_out = [column.title for index, column in enumerate(columns) if index not in indexes]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for column in (columns[index] for index in indexes):
        table.add_column(
            column.title,
            style=_STYLES.get(column.style, ""),
            justify="right" if column.right else "left",
            overflow="ellipsis",
            no_wrap=True,
        )
    for row in rows:  # `Text`, because rich would take brackets in a string for markup
        table.add_row(*(Text(row[index]) for index in indexes))
    console.print(table, soft_wrap=not cut)
    if left_out:
        console.print(Text(f"left out: {', '.join(left_out)} (widen the terminal, or --full)", style="dim"))


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The columns that fit side by side without cutting a cell, except those that are never left out."""
    widths = _widths(columns, rows)
    indexes = list(range(len(columns)))
    while sum(widths[index] + 2 for index in indexes) - 2 > width:
        last = max(indexes, key=lambda index: (columns[index].rank, index))
        if not columns[last].rank:
            break
        indexes.remove(last)
    return indexes


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max([len(column.title), *(len(row[index]) for row in rows)]) for index, column in enumerate(columns)]
