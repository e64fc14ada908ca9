"""Which other programs can read a hierarchy, from the table `readers.json`.

For each program and generation the table lists the data types, codecs, grids, chunk keys and further features that it
reads. A name that ends in `*` stands for all names that begin so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from omnizarr.codecs import BytesCodec, Codec, Sharding, Transpose
from omnizarr.codecs.array_to_bytes.n5_block import N5Block
from omnizarr.dtypes import DataType
from omnizarr.dtypes.lookup import from_numpy
from omnizarr.dtypes.record import Record
from omnizarr.dtypes.record_padding import has_padding, leaf_types
from omnizarr.dtypes.struct_ import Struct
from omnizarr.formats import Dialect
from omnizarr.model.array import ArrayModel, every_codec
from omnizarr.tools.validation.findings import ReaderVerdict
from omnizarr.tools.validation.nodes import CheckedNode

__all__ = ["reader_verdicts"]

_MOST_REASONS = 5  # per program


@cache
def _table() -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = json.loads(files(__package__).joinpath("readers.json").read_text(encoding="utf-8"))
    return table


def reader_verdicts(dialect: Dialect, nodes: Sequence[CheckedNode]) -> tuple[ReaderVerdict, ...]:
    """One verdict per program and range of versions."""
    return tuple(_verdict(row, dialect, nodes) for row in _table())


def _verdict(row: dict[str, Any], dialect: Dialect, nodes: Sequence[CheckedNode]) -> ReaderVerdict:
    zarr_format = str(dialect.zarr_format)
    program, versions, sources = row["program"], row["versions"], tuple(row["sources"])
    reads = row["generations"].get(zarr_format)
    if reads is None:
        known = ", ".join(_generation_name(name) for name in row["generations"])
        reason = f"reads {known}, not {_generation_name(zarr_format)}"
        return ReaderVerdict(program, versions, False, (reason,), sources)
    reasons: dict[str, str] = {}
    for node in nodes:
        if node.kind == "array" and node.array is None:
            reasons.setdefault("an invalid document", f"/{node.path}")
        for feature in [] if node.array is None else _missing(reads, dialect, node):
            reasons.setdefault(feature, f"/{node.path}")
    texts = [f"{feature} (`{path}`)" for feature, path in reasons.items()]
    if len(texts) > _MOST_REASONS:
        texts[_MOST_REASONS:] = [f"and {len(texts) - _MOST_REASONS} more"]
    note = row.get("notes", {}).get(zarr_format)
    return ReaderVerdict(program, versions, not texts, (*texts, *([note] if note else [])), sources)


def _generation_name(name: str) -> str:
    return {"n5": "N5"}.get(name, f"v{name}" if name.isdigit() else f"the draft of {name[-4:]}")


def _missing(reads: dict[str, Any], dialect: Dialect, node: CheckedNode) -> Iterator[str]:
    """What a program lacks to read an array."""
    array = node.array
    assert array is not None
    for kind, name in _types(array.data_type):
        if not _has(reads["types"], kind):
            yield f"has no data type `{name}`"
    for codec in _codecs(array):
        if codec.name != "numpy.bytes" and not _has(reads["codecs"], codec.name):
            yield f"has no codec `{codec.name}`"
    if array.grid.name not in reads["grids"]:
        yield f"has no chunk grid `{array.grid.name}`"
    if not _has(reads["chunk_keys"], array.chunk_keys.name):
        yield f"has no chunk key encoding `{array.chunk_keys.name}`"
    for feature in _features(dialect, node, array):
        if feature not in reads["features"]:
            yield f"has no {feature}"


def _types(data_type: DataType) -> Iterator[tuple[str, str]]:
    """The data type and, of records, those of the fields: each as the table names it, and by its own name."""
    kind = type(data_type).__name__.lower()
    yield kind if kind in ("raw", "record", "objects") else data_type.name, data_type.name
    if isinstance(data_type, Struct):
        for _, field in data_type.fields:
            yield from _types(field)
    elif isinstance(data_type, Record):
        for _, leaf in leaf_types(data_type.dtype):
            field_type = from_numpy(leaf)
            if field_type is not None:
                yield from _types(field_type)


def _codecs(array: ArrayModel) -> Iterator[Codec]:
    for codec in every_codec(array.codecs):
        yield codec
        if isinstance(codec, N5Block) and codec.compressor is not None:
            yield codec.compressor


def _features(dialect: Dialect, node: CheckedNode, array: ArrayModel) -> Iterator[str]:
    dimensions = dialect.dimension_names(array)
    names = [name for name in dimensions or () if name is not None]
    if len(set(names)) < len(names):
        yield "equal dimension names"
    if has_padding(array.dtype):
        yield "padding in records"
    own = [document for key, document in node.documents.items() if key.endswith(".zarray")]
    if any(isinstance(document, dict) and document.get("filters") for document in own):
        yield "filters"
    for transformer in array.storage_transformers:
        yield "draft sharding" if transformer.type == "indexed" else f"storage transformer `{transformer.name}`"
    codecs = array.codecs
    for index, codec in enumerate(codecs):
        if isinstance(codec, Sharding):
            if any(isinstance(other, BytesCodec) for other in codecs[index + 1 :]):
                yield "codecs after shards"
            if any(isinstance(other, Transpose) for other in codecs[:index]):
                yield "transposed shards"


def _has(names: Sequence[str], name: str) -> bool:
    return any(known == name or (known.endswith("*") and name.startswith(known[:-1])) for known in names)
