"""Conventions that a node follows, in their own terms: CF, OME-Zarr, GeoZarr, anndata, and references of kerchunk."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from omnizarr.nodes import Array, Group
from omnizarr.tools.describe import ArrayInfo, GroupInfo
from omnizarr.tools.recognize.contract import Recognized

__all__ = ["Recognized", "recognize"]

_SIGNS = {
    "ome": ("ome", "multiscales", "plate", "well"),
    "geozarr": ("zarr_conventions", "multiscales", "proj:", "spatial:"),
    "anndata": ("encoding-type",),
    "cf": ("Conventions", "units", "standard_name", "calendar", "cell_methods", "grid_mapping"),
}
"""The attributes, or their beginnings, that a convention needs. Its module is imported only if there is one of them."""


def recognize(node: Array | Group, info: ArrayInfo | GroupInfo) -> tuple[Recognized, ...]:
    """The conventions that a node follows. Reads nothing but the first and last element of time coordinates."""
    conventions: list[Recognized | None] = []
    if type(getattr(node.store, "inner", node.store)).__name__ == "ReferenceStore":  # importing the class takes 10 ms
        conventions.append(_module("kerchunk").recognize(node))
    for name, signs in _SIGNS.items():
        group = name == "cf" and isinstance(info, GroupInfo)  # its coordinates have the attributes
        if group or any(attribute.startswith(signs) for attribute in info.attributes):
            module = _module(name)
            conventions.append(module.recognize(node, info) if name == "cf" else module.recognize(info))
    return tuple(convention for convention in conventions if convention is not None)


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")
