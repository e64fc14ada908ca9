"""Whether cost grows with the work: arrays that could have millions of chunks, and have few."""

from __future__ import annotations

import itertools

from benchmarks.field import Field

FEW, MILLIONS = 10, 10_000_000
STORED = 1000


def growth(field: Field) -> None:
    """One element out of few and of very many chunks; then counting and resizing."""
    folder, possible = field.folder, field.scale.possible
    for chunks in (FEW, MILLIONS):
        field.maker.ask("growth.make", path=str(folder / f"chunks-{chunks}"), chunks=chunks, stored=FEW)

    def element(row: str, name: str) -> float | None:
        chunks = FEW if row == rows[0] else MILLIONS
        seconds: float | None = field.contestants[name].ask(
            "growth.element", path=str(folder / f"chunks-{chunks}"), chunks=chunks
        )
        return seconds

    rows = [f"one element out of {FEW} chunks", f"one element out of {MILLIONS:,} chunks"]
    field.take_turns("element", rows, element)

    field.maker.ask("growth.make", path=str(folder / "sparse"), chunks=possible, stored=STORED)
    sparse = itertools.count()

    def whole(row: str, name: str) -> float | None:
        asked = field.contestants[name]
        if row.startswith("count"):
            seconds: float | None = asked.ask("growth.count", path=str(folder / "sparse"))
            return seconds
        fresh = str(folder / f"sparse-{next(sparse)}")
        field.maker.ask("growth.make", path=fresh, chunks=possible, stored=STORED)
        seconds = asked.ask("growth.shrink" if "half" in row else "growth.grow", path=fresh, chunks=possible)
        return seconds

    stored = f"{STORED:,} of {possible:,} chunks"
    rows = [f"count {stored}", f"resize to half, {stored}", f"resize by one more, {stored}"]
    field.take_turns("growth", rows, whole, field.those("omnizarr", "tensorstore", "zarr"))
