"""Draws `reading.svg`, the chart of the README, from the table "Read everything" in `benchmarks.md`.

`python docs/make_chart.py` writes the file. With `--check` it only reports whether the file is up to date.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
CHART = DOCS / "reading.svg"
TABLE = "### Read everything (ms)"
OWN = "omnizarr"
COLOURS = {  # colour-blind safe; the same as in benchmarks.svg
    "tensorstore": "#d95f02",
    "zarrs": "#7570b3",
    "fused": "#e7298a",
    "zarrista": "#66a61e",
    "zarr": "#a6761d",
}
LABELS = {"zarrs": "zarrs (in zarr-python)", "fused": "zarr-python, fused", "zarr": "zarr-python"}

WIDTH, LEFT, RIGHT, TOP, ROW = 830, 200, 24, 76, 22
LEAST, MOST = 0.8, 100.0
TICKS = (1, 2, 5, 10, 20, 50, 100)


def times() -> dict[str, dict[str, float]]:
    """The milliseconds of each library, by layout."""
    _, _, rest = (DOCS / "benchmarks.md").read_text(encoding="utf-8").partition(TABLE)
    lines = [line for line in rest.partition("###")[0].splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {
        layout: {name: float(cell) for name, cell in zip(header[1:], cells, strict=True) if name in (OWN, *COLOURS)}
        for layout, *cells in rows
    }


def label(layout: str) -> str:
    """The name of a layout in words: `shard_zstd_32_128` is `zstd 32³ in shards of 128³`."""
    sharded = re.fullmatch(r"shard_(\w+)_(\d+)_(\d+)", layout)
    if sharded:
        return "{} {}³ in shards of {}³".format(*sharded.groups())
    codec, _, side = layout.partition("_")
    return f"{'uncompressed' if codec == 'raw' else codec} {side}³"


def x(ratio: float) -> float:
    """The horizontal position of a ratio on the logarithmic axis."""
    share = math.log(ratio / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)


def text(x: float, y: float, content: str, style: str = "") -> str:
    return f"<text x='{x}' y='{y}' {style}>{content}</text>"


def dot(x: float, y: float, peer: str, title: str) -> str:
    return f"<circle cx='{x}' cy='{y}' r='5' fill='{COLOURS[peer]}' fill-opacity='0.85'><title>{title}</title></circle>"


def svg() -> str:
    """The chart: one row per layout, one dot per library."""
    layouts = times()
    bottom = TOP + ROW * len(layouts)
    parts = [
        text(
            12,
            22,
            "Time to read a whole array, relative to omnizarr (further right is slower)",
            "font-size='15' font-weight='bold'",
        )
    ]
    lines = []
    start = 12
    for peer in COLOURS:
        name = LABELS.get(peer, peer)
        parts += [dot(start + 5, 42, peer, name), text(start + 15, 46, name)]
        start += 38 + 7 * len(name)
    for row, (layout, cells) in enumerate(layouts.items()):
        y = TOP + ROW * row + 3
        lines.append(f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y}' y2='{y}' stroke='#eeeeee'/>")
        parts.append(text(LEFT - 12, y + 4, label(layout), "text-anchor='end'"))
        ratios = {peer: cells[peer] / cells[OWN] for peer in COLOURS}
        parts += [dot(x(ratio), y, peer, f"{peer}: {ratio:.2f}") for peer, ratio in ratios.items()]
    for tick in TICKS:
        style = "stroke='#1b9e77' stroke-width='2'" if tick == 1 else "stroke='#dddddd'"
        lines.append(f"<line x1='{x(tick)}' x2='{x(tick)}' y1='{TOP - 8}' y2='{bottom - 8}' {style}/>")
        name = "1× (omnizarr)" if tick == 1 else f"{tick}×"
        parts.append(text(x(tick), bottom + 10, name, "text-anchor='middle' fill='#555555'"))
    height = bottom + 24
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}' "
        "font-family='sans-serif' font-size='13'>\n"
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>\n" + "\n".join([*lines, *parts]) + "\n</svg>\n"
    )


if __name__ == "__main__":
    drawn = svg()
    if sys.argv[1:] == ["--check"]:
        up_to_date = CHART.exists() and drawn == CHART.read_text(encoding="utf-8")
        sys.exit(0 if up_to_date else f"{CHART.name} is out of date: run {__file__}")
    CHART.write_text(drawn, encoding="utf-8")
