"""Many small arrays in one group: creating, opening and listing them."""

from __future__ import annotations

import itertools

from benchmarks.field import Field


def many(field: Field) -> None:
    """zarr-python's pipelines open in the same way, so one of them stands for all three."""
    scale, folder = field.scale, str(field.folder)
    field.maker.ask("many.make", path=f"{folder}/arrays", count=scale.arrays)
    field.maker.ask("many.make", path=f"{folder}/members", count=scale.members)
    created = itertools.count()
    rows = {
        f"open and read {scale.arrays:,} arrays": ("many.read", "arrays", scale.arrays),
        f"create {scale.arrays:,} arrays": ("many.create", "created", scale.arrays),
        f"list {scale.members:,} names": ("many.keys", "members", scale.members),
        f"list {scale.members:,} nodes": ("many.items", "members", scale.members),
    }

    def measure(row: str, name: str) -> float | None:
        action, where, count = rows[row]
        place = f"{folder}/{where}" if where != "created" else f"{folder}/created-{next(created)}"
        seconds: float | None = field.contestants[name].ask(action, path=place, count=count)
        return seconds

    field.take_turns("many", list(rows), measure, field.those("omnizarr", "tensorstore", "zarrista", "zarr"))
