"""Draws the results as an SVG chart: for each row, the time of every library relative to omnizarr's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

LEFT, WIDTH, ROW, RIGHT = 290, 560, 15, 30
LEAST, MOST = 0.1, 100.0  # the ends of the axis; values beyond are drawn there
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
COLOURS = (
    "#d95f02",
    "#7570b3",
    "#e7298a",
    "#66a61e",
    "#a6761d",
    "#666666",
)  # distinguishable with most colour vision deficiencies

Cells = Mapping[str, Mapping[str, float | None]]


def svg(tables: Mapping[str, Cells], own: str, bounds: Sequence[str]) -> str:
    """One panel per table. `own` is the vertical line at 1; a library to its right takes longer. `bounds` are columns
    that are not libraries; the chart omits them."""
    rows = [row for cells in tables.values() for row in cells.values()]
    peers = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in (own, *bounds)]
    colours = dict(zip(peers, COLOURS, strict=False))
    parts: list[str] = []
    y = 60
    for title, cells in tables.items():
        drawn = {name: row for name, row in cells.items() if row.get(own) and any(map(row.get, peers))}
        if not drawn:
            continue
        top = y + 8
        parts.append(_text(10, y, title, "font-weight='bold'"))
        for name, row in drawn.items():
            y += ROW
            parts.append(_text(LEFT - 10, y + 4, name, "text-anchor='end'"))
            parts.append(f"<line x1='{LEFT}' x2='{LEFT + WIDTH}' y1='{y}' y2='{y}' stroke='#eeeeee'/>")
            parts += [
                _dot(_x(value / (row[own] or 1)), y, colours[peer], f"{peer}: {value / (row[own] or 1):.2f}")
                for peer in peers
                if (value := row.get(peer))
            ]
        bottom = y + 8
        for tick in TICKS:
            look = "stroke='#1b9e77' stroke-width='2'" if tick == 1 else "stroke='#dddddd'"
            parts.insert(0, f"<line x1='{_x(tick)}' x2='{_x(tick)}' y1='{top}' y2='{bottom}' {look}/>")
            parts.append(_text(_x(tick), bottom + 10, f"{tick:g}×", "text-anchor='middle' fill='#888888'"))
        y = bottom + 36
    legend = [_text(10, 20, f"Time relative to {own} (the line at 1×): a library to the right of it takes longer")]
    for number, (name, colour) in enumerate(colours.items()):
        legend += [_dot(LEFT + 100 * number, 36, colour, name), _text(LEFT + 8 + 100 * number, 40, name)]
    width = LEFT + WIDTH + RIGHT
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {y}' width='{width}' height='{y}' "
        "font-family='sans-serif' font-size='11'>\n"
        f"<rect width='{width}' height='{y}' fill='white'/>\n" + "\n".join([*legend, *parts]) + "\n</svg>\n"
    )


def _x(ratio: float) -> float:
    """The horizontal position of a ratio on the logarithmic axis."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + WIDTH * share, 1)


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f"<text x='{x}' y='{y}' {more}>{escape(text)}</text>"


def _dot(x: float, y: float, colour: str, title: str) -> str:
    return f"<circle cx='{x}' cy='{y}' r='4' fill='{colour}' fill-opacity='0.8'><title>{escape(title)}</title></circle>"
