"""Cache of the v3 members that many arrays have in common: data type, fill value, chunk keys and codecs; and grids.

A hierarchy may hold thousands of arrays. Their documents differ in shape and attributes, but rarely in the rest.
"""

from __future__ import annotations

import marshal
from dataclasses import dataclass, field
from typing import Any

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.chunk_keys import ChunkKeys, parse_chunk_keys
from omnizarr.codecs import ArrayCodec, Bytes, Chain, Codec, parse_codecs
from omnizarr.dtypes import DataType, Scalar, parse_data_type
from omnizarr.formats.zarr_python_types import is_structured, parse_packed_fill, with_byte_order
from omnizarr.grids import Grid, Regular, parse_grid

__all__ = ["SharedMembers", "parse_shared_grid", "parse_shared_members"]

_MEMBERS = ("data_type", "fill_value", "chunk_key_encoding", "codecs")
_MOST_ENTRIES = 64  # few hierarchies need more than ten
_LONGEST_KEY = 4096  # bytes; longer members rarely repeat


@dataclass(frozen=True, slots=True)
class SharedMembers:
    """The parsed members; None for one that is missing or invalid."""

    data_type: DataType | None
    fill: Scalar | None
    keys: ChunkKeys | None
    codecs: tuple[Codec, ...] | None
    chains: dict[tuple[int, ...], Chain] = field(default_factory=dict)
    """The bound codecs, by chunk shape."""
    derived: dict[tuple[tuple[int, ...], Grid], dict[str, Any]] = field(default_factory=dict)
    """`ArrayModel.shared`, by shape and grid."""

    def derived_for(self, shape: tuple[int, ...], grid: Grid) -> dict[str, Any]:
        """`ArrayModel.shared` of the arrays with these members and this shape and grid."""
        if not self.shareable or not isinstance(grid, Regular):
            return {}
        if len(self.derived) >= _MOST_ENTRIES:
            self.derived.clear()
        return self.derived.setdefault((shape, grid), {})

    @property
    def shareable(self) -> bool:
        """Whether arrays may share this object: it is complete, and its fill value cannot be modified in place."""
        if self.data_type is None or self.fill is None or self.keys is None or self.codecs is None:
            return False
        return self.data_type.dtype.kind in "biufc"


_cache: dict[tuple[int | None, int, bytes], SharedMembers] = {}
_grids: dict[tuple[tuple[int, ...] | None, int, bytes], Grid] = {}


def _key_of(value: Json) -> bytes | None:
    """Bytes that are equal for equal JSON, and tell 1, 1.0 and true apart; None if the value is long, or no JSON.
    `marshal` takes a fourth of the time of `repr`; its version 2 has no references, which depend on the memory."""
    try:
        key = marshal.dumps(value, 2)
    except ValueError:
        return None
    return key if len(key) <= _LONGEST_KEY else None


def parse_shared_grid(value: Json, shape: tuple[int, ...] | None, problems: Problems) -> Grid | None:
    """The chunk grid of an array, from the cache if an earlier document had the same for the same shape."""
    text = _key_of(value)
    key = (shape, Registry.changes, text or b"")
    grid = _grids.get(key) if text is not None else None
    if grid is None:
        before = len(problems.found), len(problems.warnings)
        grid = parse_grid(value, shape, "$.chunk_grid", problems)
        if isinstance(grid, Regular) and text is not None and (len(problems.found), len(problems.warnings)) == before:
            if len(_grids) >= _MOST_ENTRIES:
                _grids.clear()
            _grids[key] = grid
    return grid


def parse_shared_members(document: dict[str, Json], rank: int | None, problems: Problems) -> SharedMembers:
    """The shared members of an array of that rank, from the cache if an earlier document had the same."""
    text = _key_of([document.get(name) for name in _MEMBERS])
    if text is None:
        return _parse(document, rank, problems)
    key = (rank, Registry.changes, text)
    members = _cache.get(key)
    if members is None:
        before = len(problems.found), len(problems.warnings)
        members = _parse(document, rank, problems)
        if members.shareable and (len(problems.found), len(problems.warnings)) == before:
            if len(_cache) >= _MOST_ENTRIES:
                _cache.clear()
            _cache[key] = members
    return members


def _parse(document: dict[str, Json], rank: int | None, problems: Problems) -> SharedMembers:
    data_type: DataType | None = None
    keys: ChunkKeys | None = None
    fill: Scalar | None = None
    if "data_type" in document:
        data_type = parse_data_type(document["data_type"], "$.data_type", problems)
    if "chunk_key_encoding" in document:
        keys = parse_chunk_keys(document["chunk_key_encoding"], "$.chunk_key_encoding", problems)
    structured = is_structured(document.get("data_type"))
    packed_fill = document.get("fill_value") if structured else None
    if "fill_value" in document and data_type is not None and not isinstance(packed_fill, str):
        fill = _parse_fill(document["fill_value"], data_type, problems)
    codecs = _parse_codecs(document.get("codecs"), rank, problems)
    if structured and codecs is not None and data_type is not None:
        codecs = with_byte_order(codecs, data_type, problems)
        if isinstance(packed_fill, str):
            fill = parse_packed_fill(packed_fill, codecs, data_type, "$.fill_value", problems)
    return SharedMembers(data_type, fill, keys, codecs)


def _parse_fill(value: Json, data_type: DataType, problems: Problems) -> Scalar | None:
    """The fill value. GDAL writes null if the data has no missing value, and zarrita.js if the caller gives none; both
    leave the choice to the reader (A6)."""
    if value is None:
        problems.warn("$.fill_value", "null is read as the default fill value", rule="A6")
        return data_type.default_fill()
    return call_extension("data type", data_type.name, "$.fill_value", problems, data_type.parse_fill, value)


def _parse_codecs(value: Json, rank: int | None, problems: Problems) -> tuple[Codec, ...] | None:
    """The codecs; if there are none, elements are stored plainly. Until July 2023 documents could leave the member out
    (§1.7), and GDAL did."""
    before = len(problems.found)
    if value is None or value == []:
        problems.warn("$.codecs", "there are none: little-endian `bytes` is assumed", rule="§1.7")
        value = [Bytes("little").to_json()]
    codecs = parse_codecs(value, "$.codecs", problems)
    if len(problems.found) > before:
        return None
    if rank is None:
        return codecs
    return tuple(codec.resolved(rank) if isinstance(codec, ArrayCodec) else codec for codec in codecs)
