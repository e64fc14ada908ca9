"""Turns results into Markdown: for the terminal, and for docs/benchmarks.md between its markers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

Cells: TypeAlias = dict[str, dict[str, float | None]]
"""A table: row, library, and seconds (or bytes); None where a library has no result."""
Results: TypeAlias = dict[str, Any]

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results: written by `python -m benchmarks --write-docs` -->", "<!-- end of results -->"

TITLES = {
    "read": ("Read everything", "ms", 1e3),
    "write": ("Write everything into a fresh folder", "ms", 1e3),
    "windows": ("60 random windows of 32³", "ms", 1e3),
    "plane": ("One plane", "ms", 1e3),
    "points": ("60 single elements", "ms", 1e3),
    "small": ("Five elements out of one chunk, per call", "µs", 1e6),
    "import": ("Import, beyond NumPy's own", "ms", 1e3),
    "memory": ("Most memory added by reading a whole array", "MiB", 2.0**-20),
}
OWN, LIMIT = "omnizarr", "limit"


def markdown(results: Results) -> str:
    """All tables, under a paragraph that says where they come from."""
    machine, settings, versions = results["machine"], results["settings"], results["versions"]
    own, peers = (", ".join(f"{name} {version}" for name, version in versions[side].items()) for side in versions)
    head = (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}. {settings['side']}³ uint16, "
        f"{settings['threads']} threads for everybody, warm cache, best of up to {settings['rounds']} rounds.\n"
        f"Here: {own or 'not measured'}. Peers: {peers or 'none'}."
    )
    return "\n\n".join([head, *(table(what, cells) for what, cells in results["cells"].items())])


def table(what: str, cells: Cells) -> str:
    """One measurement: a row per layout, a column per library, then the two ratios that matter."""
    title, unit, factor = TITLES[what]
    libraries = list(dict.fromkeys(library for row in cells.values() for library in row))
    peers = [library for library in libraries if library not in (OWN, LIMIT)]
    columns = [library for library in (OWN, *peers, LIMIT) if library in libraries]
    ratios = {}
    if OWN in libraries and peers:
        ratios["best peer / omnizarr"] = peers
    lines = [f"### {title} ({unit})", ""]
    with_limit = OWN in libraries and LIMIT in libraries
    names = ["", *columns, *ratios, *(["omnizarr / limit"] if with_limit else [])]
    lines += ["| " + " | ".join(names) + " |", "|---|" + "---:|" * (len(names) - 1)]
    for row, found in cells.items():
        values = [_number(found.get(column), factor) for column in columns]
        own = found.get(OWN)
        if ratios:
            others = [value for peer in peers if (value := found.get(peer)) is not None]
            values.append(f"{min(others) / own:.2f}" if own and others else "–")
        if with_limit:
            limit = found.get(LIMIT)
            values.append(f"{own / limit:.2f}" if own and limit else "–")
        lines.append("| " + " | ".join([row, *values]) + " |")
    return "\n".join(lines)


def _number(value: float | None, factor: float) -> str:
    if value is None:
        return "–"
    scaled = value * factor
    return f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.3g}"


def write_docs(text: str) -> None:
    """Replaces what stands between the markers."""
    page = DOCUMENT.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
