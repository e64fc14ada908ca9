"""Where the documents of each generation lie, and what tells a draft's entry point from a node's document: enough to
find out which generation is there before anything of it is loaded."""

from __future__ import annotations

import re

from omnizarr._json import Json, is_integer
from omnizarr.formats.contract import key_below

__all__ = ["CORE", "is_entry_point", "prerelease_kind", "v1_keys", "v2_consolidated_key", "v2_keys", "v3_key"]

CORE = re.compile(r"\Ahttps://purl\.org/zarr/spec/(protocol/)?core/")
"""What the address of a core specification starts with, by which a draft says its version."""


def v1_keys(path: str) -> tuple[str, str]:
    """`meta` and `attrs`"""
    return key_below(path, "meta"), key_below(path, "attrs")


def v2_keys(path: str) -> tuple[str, str, str]:
    """`.zarray`, `.zgroup` and `.zattrs`"""
    return key_below(path, ".zarray"), key_below(path, ".zgroup"), key_below(path, ".zattrs")


def v2_consolidated_key(path: str) -> str:
    """`.zmetadata`"""
    return key_below(path, ".zmetadata")


def v3_key(path: str) -> str:
    """`zarr.json`"""
    return key_below(path, "zarr.json")


def is_entry_point(document: Json) -> bool:
    """Whether a `zarr.json` is the entry point of a draft's hierarchy and not the document of a node: its `zarr_format`
    is the address of a specification of the core."""
    version = document.get("zarr_format") if isinstance(document, dict) else None
    return isinstance(version, str) and CORE.match(version) is not None


_NODES = {"https://purl.org/zarr/spec/v3#array": "array", "https://purl.org/zarr/spec/v3#group": "group"}


def prerelease_kind(document: Json) -> str | None:
    """What a `zarr.json` describes, if it is one of February 2023 (§1.7): at first `zarr_format` was an address, and
    later arrays still had the separator of chunk keys in their grid."""
    version = document.get("zarr_format") if isinstance(document, dict) else None
    if isinstance(version, str):
        return _NODES.get(version)
    if not is_integer(version) or document.get("node_type") != "array" or "chunk_key_encoding" in document:
        return None
    grid = document.get("chunk_grid")
    configuration = grid.get("configuration", grid) if isinstance(grid, dict) else None
    return "array" if version == 3 and isinstance(configuration, dict) and "separator" in configuration else None
