"""Where the values of a variable are still to be read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xarray import Variable

from omnizarr.integrations.xarray.lazy_array import LazyArray
from omnizarr.nodes import Array

__all__ = ["location_text", "stored_sources"]

_PARTS = ("array", "_array", "value", "args", "kwargs", "_source", "_parts")
"""Attributes that hold what an object wraps: arrays of xarray, nodes and tasks of dask, views of omnizarr."""


_LIBRARIES = ("xarray", "dask", "omnizarr")


def location_text(location: str, path: str) -> str:
    """A location in a form that begins with the form of every location above it."""
    return f"{location.rstrip('/')}/{path}".rstrip("/") + "/"


def stored_sources(variable: Variable) -> Iterator[str]:
    """The locations of the arrays of omnizarr and zarr-python that the variable reads from, also in tasks of dask.

    Arrays that a function of a task has in a closure are not found.
    """
    data = variable._data
    graph = getattr(data, "__dask_graph__", None)
    waiting: list[Any] = [data] if graph is None else [dict(graph())]
    known: set[int] = set()
    objects: list[Any] = []  # keeps the objects alive, so that no other gets the identity of one
    while waiting:
        item = waiting.pop()
        if item is None or isinstance(item, (str, bytes, int, float)) or id(item) in known:
            continue
        known.add(id(item))
        objects.append(item)
        if isinstance(item, LazyArray):
            item = item.omnizarr_array
        if isinstance(item, Array):
            yield location_text(item.store.location, item.path)
        elif type(item).__module__.startswith("zarr.") and hasattr(item, "store_path"):
            yield location_text(str(item.store_path).removeprefix("file://"), "")
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            waiting.extend(item)
        elif type(item).__module__.partition(".")[0] in _LIBRARIES:
            waiting.extend(getattr(item, name, None) for name in _PARTS)
