"""`ArrayInfo` and `GroupInfo`: printable summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ArrayInfo", "GroupInfo", "human_readable_size"]


def human_readable_size(size: int) -> str:
    """A number of bytes with a unit of 1024 bytes or more."""
    if size < 1024:
        return str(size)
    power = min((size.bit_length() - 1) // 10, 5)
    return f"{size / 1024**power:.1f}{'KMGTP'[power - 1]}"


def byte_info(size: int) -> str:
    """A number of bytes, and the same in larger units."""
    return str(size) if size < 1024 else f"{size} ({human_readable_size(size)})"


def _lines(width: int, rows: list[tuple[str, Any]]) -> str:
    return "\n".join(f"{name:{width}} : {value}" for name, value in rows)


@dataclass(kw_only=True)
class GroupInfo:
    """A summary of a group."""

    _name: str
    _type: str = "Group"
    _zarr_format: Any
    _read_only: bool
    _store_type: str
    _count_members: int | None = None
    _count_arrays: int | None = None
    _count_groups: int | None = None

    def __repr__(self) -> str:
        rows: list[tuple[str, Any]] = [
            ("Name", self._name),
            ("Type", self._type),
            ("Zarr format", self._zarr_format),
            ("Read-only", self._read_only),
            ("Store type", self._store_type),
        ]
        counts = {"members": self._count_members, "arrays": self._count_arrays, "groups": self._count_groups}
        rows += [(f"No. {name}", count) for name, count in counts.items() if count is not None]
        return _lines(11, rows)


@dataclass(kw_only=True, frozen=True, slots=True)
class ArrayInfo:
    """A summary of an array."""

    _type: str = "Array"
    _zarr_format: Any
    _data_type: Any
    _fill_value: object
    _shape: tuple[int, ...]
    _shard_shape: Any = None
    _chunk_shape: tuple[int, ...] | None = None
    _order: str
    _read_only: bool
    _store_type: str
    _filters: tuple[Any, ...] = ()
    _serializer: Any = None
    _compressors: tuple[Any, ...] = ()
    _count_bytes: int | None = None
    _count_bytes_stored: int | None = None
    _count_chunks_initialized: int | None = None

    def __repr__(self) -> str:
        size, stored, chunks = self._count_bytes, self._count_bytes_stored, self._count_chunks_initialized
        rows: list[tuple[str, Any, bool]] = [
            ("Type", self._type, True),
            ("Zarr format", self._zarr_format, True),
            ("Data type", self._data_type, True),
            ("Fill value", self._fill_value, True),
            ("Shape", self._shape, True),
            ("Shard shape", self._shard_shape, self._shard_shape is not None),
            ("Chunk shape", "<variable>" if self._chunk_shape is None else self._chunk_shape, True),
            ("Order", self._order, True),
            ("Read-only", self._read_only, True),
            ("Store type", self._store_type, True),
            ("Filters", self._filters, True),
            ("Serializer", self._serializer, self._serializer is not None),
            ("Compressors", self._compressors, True),
            ("No. bytes", byte_info(size or 0), size is not None),
            ("No. bytes stored", byte_info(stored or 0), stored is not None),
            ("Storage ratio", f"{size / stored:.1f}" if size is not None and stored else "", bool(size and stored)),
            (
                "Shards Initialized" if self._shard_shape is not None else "Chunks Initialized",
                chunks,
                chunks is not None,
            ),
        ]
        return _lines(18, [(name, value) for name, value, shown in rows if shown])
