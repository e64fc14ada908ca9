"""The keys of the documents of each generation, and what distinguishes kinds of `zarr.json`: all that detection needs
before a dialect is imported."""

from __future__ import annotations

import re

from omnizarr._json import Json, is_integer
from omnizarr.formats.contract import key_below

__all__ = [
    "CORE_URI",
    "OWN_PREFIXES",
    "PLANS_PREFIX",
    "QUARANTINE_PREFIX",
    "STATISTICS_ATTRIBUTE",
    "STATISTICS_PREFIX",
    "is_entry_point",
    "is_n5_array",
    "is_n5_root",
    "n5_key",
    "prerelease_kind",
    "v1_keys",
    "v2_consolidated_key",
    "v2_keys",
    "v3_key",
]

CORE_URI = re.compile(r"\Ahttps://purl\.org/zarr/spec/(protocol/)?core/")
"""The beginning of the `zarr_format` of a draft, which is the URI of a core specification."""

PLANS_PREFIX = ".omnizarr-plan/"
"""The prefix of the journals of plans that write to a store. It is not part of any hierarchy."""

QUARANTINE_PREFIX = ".omnizarr-quarantine/"
"""The prefix of values that `repair` took out of a hierarchy, and of what is needed to put them back."""

STATISTICS_PREFIX = ".omnizarr-statistics/"
"""The prefix of the statistics of an array, below the prefix of its chunks. It is a hierarchy of its own."""

STATISTICS_ATTRIBUTE = "omnizarr_statistics"
"""The attribute of an array whose statistics are kept. Its value is their path below the array."""

OWN_PREFIXES = (PLANS_PREFIX, QUARANTINE_PREFIX)
"""The prefixes at the root of a store that belong to no hierarchy."""


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


def n5_key(path: str) -> str:
    """`attributes.json`"""
    return key_below(path, "attributes.json")


def is_n5_array(document: Json) -> bool:
    """Whether an `attributes.json` describes an array of N5 and not a group (K3)."""
    return isinstance(document, dict) and "dimensions" in document and "dataType" in document


def is_n5_root(document: Json) -> bool:
    """Whether an `attributes.json` has the version of N5, which the root of a hierarchy has (K6)."""
    return isinstance(document, dict) and isinstance(document.get("n5"), str)


def is_entry_point(document: Json) -> bool:
    """Whether a `zarr.json` is the entry point of a draft's hierarchy, not the document of a node: its `zarr_format` is
    the URI of a core specification."""
    version = document.get("zarr_format") if isinstance(document, dict) else None
    return isinstance(version, str) and CORE_URI.match(version) is not None


_NODE_URIS = {"https://purl.org/zarr/spec/v3#array": "array", "https://purl.org/zarr/spec/v3#group": "group"}


def prerelease_kind(document: Json) -> str | None:
    """The kind of node if a `zarr.json` is from February 2023 (§1.7), else None. At first `zarr_format` was a URI;
    later arrays still had the separator of chunk keys in `chunk_grid`."""
    version = document.get("zarr_format") if isinstance(document, dict) else None
    if isinstance(version, str):
        return _NODE_URIS.get(version)
    if not is_integer(version) or document.get("node_type") != "array" or "chunk_key_encoding" in document:
        return None
    grid = document.get("chunk_grid")
    configuration = grid.get("configuration", grid) if isinstance(grid, dict) else None
    return "array" if version == 3 and isinstance(configuration, dict) and "separator" in configuration else None
