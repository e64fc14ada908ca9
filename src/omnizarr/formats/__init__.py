"""The generations of Zarr, and N5: one dialect each, around the common model. Code outside this folder does not
distinguish them."""

from __future__ import annotations

from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel
from omnizarr.formats.detect import (
    DetectedNode,
    Detection,
    NoNode,
    PossibleNode,
    candidate_keys,
    confirm_node,
    consolidated_candidate_key,
    detect,
    detect_consolidated_group,
    dialect_for,
    identify_dialect,
    identifying_keys,
    is_root,
    lowercase_dialect,
    root_keys,
)
from omnizarr.formats.read_options import DEFAULT_READ_OPTIONS, ReadOptions

__all__ = [
    "DEFAULT_READ_OPTIONS",
    "Child",
    "DetectedNode",
    "Detection",
    "Dialect",
    "Documents",
    "Kind",
    "NoNode",
    "NodeModel",
    "PossibleNode",
    "ReadOptions",
    "candidate_keys",
    "confirm_node",
    "consolidated_candidate_key",
    "detect",
    "detect_consolidated_group",
    "dialect_for",
    "identify_dialect",
    "identifying_keys",
    "is_root",
    "lowercase_dialect",
    "root_keys",
]
