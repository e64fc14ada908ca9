"""Canonical v3 documents for tests, and helpers that parse them."""

from __future__ import annotations

import copy
from typing import Any

from omnizarr._json import Problems
from omnizarr.formats import NodeModel, dialect_for

__all__ = [
    "LITTLE",
    "array_document",
    "dumped",
    "group_document",
    "parsed",
    "problem_paths",
    "sharding",
    "warning_paths",
]

LITTLE: dict[str, Any] = {"name": "bytes", "configuration": {"endian": "little"}}


def array_document(*without: str, **changes: Any) -> dict[str, Any]:
    """A canonical array document with changed members, and without the members in `without`."""
    document: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [10, 6],
        "data_type": "int16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 7,
        "codecs": [copy.deepcopy(LITTLE), {"name": "gzip", "configuration": {"level": 1}}],
        "attributes": {"a": 1},
        "storage_transformers": [],
        **changes,
    }
    return {name: value for name, value in document.items() if name not in without}


def group_document(*without: str, **changes: Any) -> dict[str, Any]:
    """A canonical group document."""
    document: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}, **changes}
    return {name: value for name, value in document.items() if name not in without}


def sharding(**changes: Any) -> dict[str, Any]:
    """A sharding codec that fits the array of `array_document`."""
    configuration = {
        "chunk_shape": [2, 3],
        "codecs": [copy.deepcopy(LITTLE)],
        "index_codecs": [copy.deepcopy(LITTLE), {"name": "crc32c"}],
        "index_location": "end",
        **changes,
    }
    return {"name": "sharding_indexed", "configuration": configuration}


def parsed(document: Any, path: str = "") -> tuple[NodeModel | None, Problems]:
    """The node that a document describes, and its problems and warnings."""
    v3 = dialect_for(3)
    problems = Problems()
    return v3.parse(path, {v3.keys(path)[0]: document}, problems), problems


def dumped(node: NodeModel, path: str = "") -> Any:
    (document,) = dialect_for(3).dump(path, node).values()
    return document


def problem_paths(document: Any) -> list[str]:
    """The JSON paths of the problems of a document; empty if it is valid."""
    node, problems = parsed(document)
    assert (node is None) == bool(problems)
    return [problem.path for problem in problems.found]


def warning_paths(document: Any, path: str = "") -> list[str]:
    """The JSON paths of the warnings about a valid document."""
    node, problems = parsed(document, path)
    assert node is not None, problems.found
    return [problem.path for problem in problems.warnings]
