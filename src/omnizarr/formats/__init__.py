"""The generations of Zarr, each a dialect around the one model. Nobody outside this folder asks which one it is."""

from __future__ import annotations

from omnizarr.errors import ArgumentError
from omnizarr.formats.contract import Dialect, Documents, Node
from omnizarr.formats.detect import Verdict, candidates, detect, foreign, suspects
from omnizarr.formats.v3 import V3

__all__ = ["Dialect", "Documents", "Node", "Verdict", "candidates", "detect", "dialect", "foreign", "suspects"]

_DIALECTS: dict[object, Dialect] = {3: V3()}


def dialect(zarr_format: object) -> Dialect:
    """The dialect of a generation, by the name that users give it."""
    found = None if isinstance(zarr_format, bool) else _DIALECTS.get(zarr_format)
    if found is None:
        known = ", ".join(repr(name) for name in _DIALECTS)
        raise ArgumentError(f"`zarr_format`: expected one of {known}, found {zarr_format!r}", argument="zarr_format")
    return found
