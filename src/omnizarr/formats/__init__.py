"""The generations of Zarr, each a dialect around the one model. Nobody outside this folder asks which one it is."""

from __future__ import annotations

from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel
from omnizarr.formats.detect import (
    Found,
    Look,
    Verdict,
    again,
    candidates,
    detect,
    dialect,
    name_of,
    occupant,
    telling,
)
from omnizarr.formats.document_keys import is_entry_point
from omnizarr.formats.read_options import DEFAULT, ReadOptions

__all__ = [
    "DEFAULT",
    "Child",
    "Dialect",
    "Documents",
    "Found",
    "Kind",
    "Look",
    "NodeModel",
    "ReadOptions",
    "Verdict",
    "again",
    "candidates",
    "detect",
    "dialect",
    "is_entry_point",
    "name_of",
    "occupant",
    "telling",
]
