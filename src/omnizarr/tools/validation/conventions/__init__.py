"""Checks of conventions for attributes and the arrangement of arrays: what CF, OME-Zarr, GeoZarr and anndata add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TypeAlias

from omnizarr.tools.validation.conventions.hierarchy_view import HierarchyView
from omnizarr.tools.validation.findings import Finding
from omnizarr.tools.validation.nodes import CheckedNode, Hierarchy

__all__ = ["CONVENTIONS", "convention_findings"]

CONVENTIONS = {"cf": "CF", "ome": "OME-Zarr", "geozarr": "GeoZarr", "anndata": "anndata"}
"""The names of conventions, for arguments and for people."""

_Check: TypeAlias = Callable[[HierarchyView], None]


def convention_findings(name: str, hierarchy: Hierarchy, nodes: Sequence[CheckedNode]) -> list[Finding]:
    """The findings of one convention about the readable nodes of a hierarchy."""
    view = HierarchyView(name, hierarchy, nodes)
    check: _Check = import_module(f"{__name__}.{name}").check
    check(view)
    return view.findings
