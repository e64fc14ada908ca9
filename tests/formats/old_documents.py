"""Canonical v1 and v2 documents for tests, and helpers that parse them."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr
from omnizarr._json import Json, Problems
from omnizarr.formats import NodeModel, ReadOptions, dialect_for
from omnizarr.model import ArrayModel

__all__ = [
    "array_v1",
    "array_v2",
    "fill_of",
    "messages",
    "model",
    "parse",
    "problem_paths",
    "store_of",
    "warning_paths",
]


def array_v2(*without: str, **changes: Any) -> dict[str, Any]:
    """A `.zarray` with changed members, and without the members in `without`."""
    document: dict[str, Any] = {
        "zarr_format": 2,
        "shape": [10, 6],
        "chunks": [4, 3],
        "dtype": "<i2",
        "compressor": {"id": "zlib", "level": 1},
        "fill_value": 7,
        "order": "C",
        "filters": None,
        "dimension_separator": ".",
        **changes,
    }
    return {name: value for name, value in document.items() if name not in without}


def array_v1(*without: str, **changes: Any) -> dict[str, Any]:
    """A `meta`."""
    document: dict[str, Any] = {
        "zarr_format": 1,
        "shape": [10, 6],
        "chunks": [4, 3],
        "dtype": "<i2",
        "compression": "zlib",
        "compression_opts": 1,
        "fill_value": 7,
        "order": "C",
        **changes,
    }
    return {name: value for name, value in document.items() if name not in without}


def _documents(document: Any, attributes: Any) -> tuple[Any, dict[str, Json]]:
    generation = 1 if isinstance(document, dict) and "compression" in document else 2
    keys = ("meta", "attrs") if generation == 1 else (".zarray", ".zattrs")
    return generation, {keys[0]: document} | ({} if attributes is None else {keys[1]: attributes})


def parse(
    document: Any, attributes: Any = None, *, generation: Any = None, read_options: ReadOptions | None = None
) -> tuple[NodeModel | None, Problems]:
    """The array that a document describes, and its problems and warnings."""
    guess, documents = _documents(document, attributes)
    if generation is not None and generation != guess:
        documents = dict(zip(("meta", "attrs"), documents.values(), strict=False))
    problems = Problems()
    return dialect_for(generation or guess, read_options).parse("", documents, problems), problems


def model(document: Any, **options: Any) -> ArrayModel:
    """The array that a valid document describes."""
    node, problems = parse(document, **options)
    assert isinstance(node, ArrayModel), problems.found
    return node


def problem_paths(document: Any, attributes: Any = None, **options: Any) -> list[str]:
    """The JSON paths of the problems."""
    node, problems = parse(document, attributes, **options)
    assert (node is None) == bool(problems.found)
    return [problem.path for problem in problems.found]


def messages(document: Any, **options: Any) -> str:
    """The messages of the problems."""
    return "\n".join(problem.message for problem in parse(document, **options)[1].found)


def warning_paths(document: Any, **options: Any) -> list[str]:
    """The JSON paths of the warnings about a valid document."""
    node, problems = parse(document, **options)
    assert node is not None, problems.found
    return [problem.path for problem in problems.warnings]


def fill_of(dtype: Any, fill_value: Any, **changes: Any) -> Any:
    """The fill value of a `.zarray`."""
    array = model(array_v2(dtype=dtype, fill_value=fill_value, **changes))
    return None if array.fill is None else array.fill[()]


def store_of(document: dict[str, Any], **chunks: bytes) -> omnizarr.MemoryStore:
    """A store with an array and its chunks by key; the argument `c0_0` means the key `0.0`."""
    import json

    store = omnizarr.MemoryStore()
    store.set("meta" if document["zarr_format"] == 1 else ".zarray", json.dumps(document).encode())
    for name, data in chunks.items():
        store.set(name[1:].replace("_", "."), data)
    return store


def chunk(*elements: Any, dtype: str = "<i2") -> bytes:
    """Elements as bytes."""
    return np.array(elements, dtype).tobytes()
