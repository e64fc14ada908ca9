"""Formats results as Markdown, for the terminal and for docs/."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from benchmarks.chart import svg

Cells: TypeAlias = dict[str, dict[str, float | None]]
"""A table: by row and library, seconds (or bytes); None if a library has no result."""
Results: TypeAlias = dict[str, Any]

DOCS = Path(__file__).resolve().parent.parent / "docs"
BEGIN, END = "<!-- results: written by `python -m benchmarks --write-docs` -->", "<!-- end of results -->"
OWN, REFERENCE = "omnizarr", "zarr"
LIMIT, PROMISE = "limit", "promise"  # columns that are not libraries


class Title(NamedTuple):
    """The title of a table, and the unit of its figures."""

    text: str
    unit: str
    factor: float
    reference: bool = False
    """Whether the table also has a column for the ratio to zarr-python."""


TITLES = {
    "read": Title("Read everything", "ms", 1e3),
    "write": Title("Write everything into a fresh folder", "ms", 1e3),
    "windows": Title("60 random windows of 32³", "ms", 1e3),
    "plane": Title("One plane", "ms", 1e3),
    "middle-plane": Title("One plane across the middle axis", "ms", 1e3),
    "points": Title("60 single elements", "ms", 1e3),
    "lines": Title("Out of one dimension in chunks of 1 MiB", "ms", 1e3),
    "many": Title("Many small arrays in a group", "ms", 1e3, reference=True),
    "element": Title("One element out of few or many chunks, per call", "µs", 1e6),
    "growth": Title("Few stored chunks of many possible ones", "ms", 1e3, reference=True),
    "small": Title("Five elements out of one chunk, per call", "µs", 1e6),
    "open": Title("Open a small array in a folder, per call", "µs", 1e6),
    "import": Title("Import, beyond NumPy's own", "ms", 1e3),
    "memory": Title("Most memory added", "MiB", 2.0**-20),
}


def markdown(results: Results) -> str:
    """A paragraph on machine, settings and versions, then all tables."""
    machine, settings, versions = results["machine"], results["settings"], results["versions"]
    own, peers = (", ".join(f"{name} {version}" for name, version in versions[side].items()) for side in versions)
    head = (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}. {settings['side']}³ and "
        f"{settings['line']:,} uint16, {settings['threads']} threads per library, warm cache, best of up to "
        f"{settings['rounds']} rounds.\n"
        f"Here: {own or 'not measured'}. Peers: {peers or 'none'}."
    )
    return "\n\n".join([head, *(table(name, cells) for name, cells in results["cells"].items())])


def table(name: str, cells: Cells) -> str:
    """One table: a column per library, then the ratios."""
    title = TITLES[name]
    libraries = list(dict.fromkeys(library for row in cells.values() for library in row))
    peers = [library for library in libraries if library not in (OWN, LIMIT, PROMISE)]
    columns = [library for library in (OWN, *peers, LIMIT, PROMISE) if library in libraries]
    # name, numerators, denominators; the best of each counts
    ratios: list[tuple[str, list[str], list[str]]] = []
    if OWN in libraries:
        if peers:
            ratios.append(("best peer / omnizarr", peers, [OWN]))
        if title.reference and REFERENCE in libraries:
            ratios.append((f"{REFERENCE} / omnizarr", [REFERENCE], [OWN]))
        ratios += [(f"omnizarr / {bound}", [OWN], [bound]) for bound in (LIMIT, PROMISE) if bound in libraries]
    header = ["", *columns, *(heading for heading, _, _ in ratios)]
    rows = []
    for row, times in cells.items():
        values = [_number(times.get(column), title.factor) for column in columns]
        values += [_ratio(times, above, below) for _, above, below in ratios]
        rows.append([row, *values])
    return f"### {title.text} ({title.unit})\n\n" + markdown_table(header, rows)


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is text, and whose other columns are numbers."""
    lines = [header, *rows]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], "|---|" + "---:|" * (len(header) - 1), *text[1:]])


def _ratio(times: dict[str, float | None], above: list[str], below: list[str]) -> str:
    best = [min((v for name in names if (v := times.get(name))), default=None) for names in (above, below)]
    return f"{best[0] / best[1]:.2f}" if best[0] and best[1] else "–"


def _number(value: float | None, factor: float) -> str:
    if value is None:
        return "–"
    scaled = value * factor
    return f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.3g}"


def write_docs(results: Results, *, quick: bool) -> None:
    """Replaces the tables and the chart of docs/benchmarks.md. A quick run writes to docs/quick/ instead, which is not
    under version control."""
    page = DOCS / ("quick/benchmarks.md" if quick else "benchmarks.md")
    page.parent.mkdir(exist_ok=True)
    times = {TITLES[name].text: cells for name, cells in results["cells"].items() if name != "memory"}
    page.with_suffix(".svg").write_text(svg(times, OWN, (LIMIT, PROMISE)), encoding="utf-8")
    shown = f"![times of all libraries, relative to omnizarr's](benchmarks.svg)\n\n{markdown(results)}"
    text = f"# A quick look\n\n{BEGIN}\n{END}\n" if quick else page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{shown}\n\n{END}{after}", encoding="utf-8")
