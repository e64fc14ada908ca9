"""Loading the variables of a dataset together, so that requests to a remote store overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xarray import DataArray, Dataset, DataTree, Variable

from omnizarr.engine.pool import run
from omnizarr.integrations.xarray.lazy_array import LazyArray

__all__ = ["load"]

_MOST_VARIABLES = 32  # loaded at a time


def load(data: Any) -> None:
    """Loads all variables of a dataset, a data array or a tree into memory.

    xarray's own `load` reads one variable after another, except for those of dask. This loads variables from remote
    stores at the same time.
    """
    remote = [variable for variable in _variables(data) if _is_remote(variable)]
    run(remote, lambda: Variable.load, min(_MOST_VARIABLES, len(remote)))
    data.load()


def _variables(data: Any) -> Iterator[Variable]:
    if isinstance(data, DataTree):
        nodes: Iterable[Any] = (node.dataset for node in data.subtree)
    else:
        nodes = (data,)
    known: set[int] = set()  # the nodes of a tree share inherited coordinates
    for node in nodes:
        if isinstance(node, DataArray):
            variables = [node.variable, *(coordinate.variable for coordinate in node.coords.values())]
        else:
            assert isinstance(node, Dataset)
            variables = list(node.variables.values())
        for variable in variables:
            if id(variable) not in known:
                known.add(id(variable))
                yield variable


def _is_remote(variable: Variable) -> bool:
    """Whether a variable is still in a remote store. xarray wraps its array for lazy indexing, decoding and caching."""
    data = variable._data
    while data is not None:
        if isinstance(data, LazyArray):
            return bool(data.omnizarr_array.store.remote)
        data = getattr(data, "array", None)
    return False
