"""Canonical documents of the drafts for tests, and helpers that parse them."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import pytest

import omnizarr
from omnizarr import MemoryStore
from omnizarr._json import Problems
from omnizarr.formats import NodeModel, ReadOptions, dialect_for
from omnizarr.model import ArrayModel

__all__ = [
    "CORE_2020",
    "CORE_2022",
    "DRAFTS",
    "YEARS",
    "array",
    "both",
    "conventions",
    "dumped",
    "entry",
    "hierarchy",
    "keys",
    "parsed",
    "problem_paths",
    "read",
    "store_of",
    "warning_paths",
]

Year = Literal[2020, 2022]

DRAFTS: Any = ["3-draft-2020", "3-draft-2022"]
both = pytest.mark.parametrize("draft", DRAFTS)
YEARS: dict[str, Any] = {"3-draft-2020": 2020, "3-draft-2022": 2022}


def conventions(zarr_format: Any) -> dict[str, Any]:
    """The options with which the draft of 2020 has filters, shards and objects; none for other generations."""
    return {"conventions": "zarr-python-2"} if zarr_format == "3-draft-2020" else {}


CORE_2020 = "https://purl.org/zarr/spec/protocol/core/3.0"
CORE_2022 = "https://purl.org/zarr/spec/core/3.0"


def entry(year: Year, *without: str, **changes: Any) -> dict[str, Any]:
    """An entry point with changed members, and without the members in `without`."""
    if year == 2020:
        document: dict[str, Any] = {
            "zarr_format": CORE_2020,
            "metadata_encoding": CORE_2020,
            "metadata_key_suffix": ".json",
            "extensions": [],
        }
    else:
        document = {
            "zarr_format": CORE_2022,
            "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
            "extensions": [],
        }
    document |= changes
    return {name: value for name, value in document.items() if name not in without}


def array(year: Year, *without: str, **changes: Any) -> dict[str, Any]:
    """A canonical array document."""
    document: dict[str, Any] = {
        "shape": [10, 6],
        "data_type": "<i2" if year == 2020 else "int16",
        "chunk_grid": {"type": "regular", "chunk_shape": [4, 3], "separator": "/"},
        "chunk_memory_layout": "C",
        "fill_value": 7,
        "extensions": [],
        "attributes": {"a": 1},
        **changes,
    }
    return {name: value for name, value in document.items() if name not in without}


def parsed(
    document: Any, year: Year, path: str = "a", kind: str = "array", **read_options: Any
) -> tuple[NodeModel | None, Problems]:
    """The node that a document describes, and its problems and warnings."""
    draft = dialect_for(f"3-draft-{year}", ReadOptions(**read_options))
    problems = Problems()
    return draft.parse(path, {draft.keys(path)[kind == "group"]: document}, problems), problems


def read(document: Any, year: Year, **read_options: Any) -> ArrayModel:
    node, problems = parsed(document, year, **read_options)
    assert isinstance(node, ArrayModel), problems.found
    return node


def dumped(node: NodeModel, year: Year, path: str = "a") -> Any:
    (document,) = dialect_for(f"3-draft-{year}").dump(path, node).values()
    return document


def problem_paths(document: Any, year: Year, kind: str = "array", path: str = "a", **read_options: Any) -> list[str]:
    """The JSON paths of the problems of a document; empty if it is valid."""
    node, problems = parsed(document, year, path, kind, **read_options)
    assert (node is None) == bool(problems)
    return [problem.path for problem in problems.found]


def warning_paths(document: Any, year: Year, kind: str = "array", path: str = "a", **read_options: Any) -> list[str]:
    """The JSON paths of the warnings about a valid document."""
    node, problems = parsed(document, year, path, kind, **read_options)
    assert node is not None, problems.found
    return [problem.path for problem in problems.warnings]


def store_of(documents: dict[str, Any]) -> MemoryStore:
    """A store with these documents as JSON; bytes are stored unchanged."""
    store = MemoryStore()
    for key, document in documents.items():
        store.set(key, document if isinstance(document, bytes) else json.dumps(document).encode())
    return store


def keys(store: MemoryStore) -> list[str]:
    return sorted(store.list())


def hierarchy(draft: Any) -> omnizarr.Group:
    """A hierarchy with the group `/foo/bar` and the array `/foo/baz/qux`; the groups between are implicit."""
    root = omnizarr.create_group(MemoryStore(), zarr_format=draft)
    root.create_group("foo/bar", attributes={"a": 1})
    root.create_array("foo/baz/qux", data=np.arange(6, dtype="i4"), chunks=4)
    return root
