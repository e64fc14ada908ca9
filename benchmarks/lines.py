"""Elements out of long arrays of one dimension: slices, steps, indices and masks."""

from __future__ import annotations

from benchmarks.field import Field, say
from benchmarks.report import LIMIT
from benchmarks.work.lines import CHUNK


def lines(field: Field) -> None:
    """Every kind of key on every codec; the first result of each cell is compared with NumPy's."""
    scale, folder = field.scale, str(field.folder)
    say(f"making {scale.line:,} uint16 in chunks of 1 MiB with {field.maker.name}")
    kinds: list[str] = field.maker.ask("lines.make", folder=folder, length=scale.line, codecs=list(scale.line_codecs))
    checked: set[tuple[str, str]] = set()

    def measure(row: str, name: str) -> float | None:
        codec, _, kind = row.partition(": ")
        if name == LIMIT:  # all chunks are decoded; where they need not be, there is none
            decoded = codec != "raw" and kind != "slices"
            return (
                field.run_limit(f"{folder}/line_{codec}", scale.line, CHUNK, "line", codec, 2)[0] if decoded else None
            )
        first = (row, name) not in checked
        seconds: float | None = field.contestants[name].ask(
            "lines.take", folder=folder, codec=codec, kind=kind, count=scale.indices, check=first
        )
        checked.add((row, name))
        return seconds

    rows = [f"{codec}: {kind}" for codec in scale.line_codecs for kind in kinds]
    field.take_turns("lines", rows, measure, [*field.contestants, *([LIMIT] if field.limit else [])])
