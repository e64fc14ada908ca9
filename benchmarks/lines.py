"""Elements out of long arrays of one dimension: slices, steps, indices and masks."""

from __future__ import annotations

from benchmarks.field import Field, say


def lines(field: Field) -> None:
    """Every kind of key on every codec; the first result of each cell is compared with NumPy's."""
    scale, folder = field.scale, str(field.folder)
    say(f"making {scale.line:,} uint16 in chunks of 1 MiB with {field.maker.name}")
    kinds: list[str] = field.maker.ask("lines.make", folder=folder, length=scale.line, codecs=list(scale.line_codecs))
    checked: set[tuple[str, str]] = set()

    def measure(row: str, name: str) -> float | None:
        codec, _, kind = row.partition(": ")
        first = (row, name) not in checked
        seconds: float | None = field.contestants[name].ask(
            "lines.take", folder=folder, codec=codec, kind=kind, count=scale.indices, check=first
        )
        checked.add((row, name))
        return seconds

    field.take_turns("lines", [f"{codec}: {kind}" for codec in scale.line_codecs for kind in kinds], measure)
