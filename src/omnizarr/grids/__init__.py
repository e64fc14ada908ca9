"""Chunk grids: how an array is divided into chunks. One module per registered name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omnizarr._extension import call_extension, find_registered, parse_extension
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of
from omnizarr.grids.contract import Axis, Grid
from omnizarr.grids.regular import Regular

if TYPE_CHECKING:
    from omnizarr.grids.rectilinear import Rectilinear

__all__ = ["Axis", "Grid", "Rectilinear", "Regular", "chunk_grids", "parse_grid"]


chunk_grids: Registry[type[Grid]] = Registry("chunk grid", "omnizarr.chunk_grids", subclass_of(Grid))
chunk_grids.register(Regular.name, Regular)
chunk_grids.offer("rectilinear", f"{__name__}.rectilinear:Rectilinear")  # lazy import: few arrays have it


def parse_grid(value: Json, shape: Sequence[int] | None, path: str, problems: Problems) -> Grid | None:
    """The grid of a `chunk_grid` member, a name or an object (R13); adds to `problems` if it is invalid."""
    extension = parse_extension(value, path, problems, kind="chunk grid", ignorable=False)
    grid = extension and find_registered(extension, chunk_grids, problems)
    if not extension or not grid:
        return None
    return call_extension("chunk grid", extension.name, path, problems, grid.parse, extension.configuration, shape)


def __getattr__(name: str) -> Any:
    if name != "Rectilinear":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from omnizarr.grids.rectilinear import Rectilinear

    globals()[name] = Rectilinear
    return Rectilinear
