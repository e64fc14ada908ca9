"""Chunk grids: how an array is cut into chunks; one file per registered name."""

from __future__ import annotations

from collections.abc import Sequence

from omnizarr._extension import find, parse_extension
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.grids.contract import Axis, Grid
from omnizarr.grids.regular import Regular

__all__ = ["Axis", "Grid", "Regular", "chunk_grids", "parse_grid"]


chunk_grids: Registry[type[Grid]] = Registry("chunk grid", "omnizarr.chunk_grids")
chunk_grids.register(Regular.name, Regular)


def parse_grid(value: Json, shape: Sequence[int] | None, path: str, problems: Problems) -> Grid | None:
    """Reads a `chunk_grid` member, as a name or as an object (R13); adds to `problems` if it is wrong."""
    extension = parse_extension(value, path, problems, kind="chunk grid", ignorable=False)
    grid = extension and find(extension, chunk_grids, problems)
    return grid.parse(extension.configuration, shape, path, problems) if extension and grid else None
