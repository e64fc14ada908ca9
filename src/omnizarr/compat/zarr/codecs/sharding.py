"""ShardingCodec, and the index of a shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs import Chain, codec_of
from omnizarr.codecs.sharding import index_spec
from omnizarr.compat.zarr.codecs._applied import plain_json
from omnizarr.compat.zarr.codecs._classes import (
    INDEX_LOCATION,
    SUBCHUNK_WRITE_ORDER,
    ShardingCodec,
    ShardingCodecIndexLocation,
)
from omnizarr.errors import CodecError

__all__ = ["INDEX_LOCATION", "SUBCHUNK_WRITE_ORDER", "ShardingCodec", "ShardingCodecIndexLocation"]

IndexLocation: TypeAlias = Literal["start", "end"]
SubchunkWriteOrder: TypeAlias = Literal["morton", "unordered", "lexicographic", "colexicographic"]

MAX_UINT_64 = 2**64 - 1
"""Offset and length of a chunk that is not stored."""


class _ShardIndex(NamedTuple):
    """Where each chunk of a shard begins, and how long it is."""

    chunks_per_shard: tuple[int, ...]
    offsets_and_lengths: npt.NDArray[np.uint64]

    @classmethod
    def create_empty(cls, chunks_per_shard: tuple[int, ...]) -> _ShardIndex:
        """The index of a shard without chunks."""
        return cls(chunks_per_shard, np.full((*chunks_per_shard, 2), MAX_UINT_64, "<u8"))

    def _localize_chunk(self, chunk_coords: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index % count for index, count in zip(chunk_coords, self.chunks_per_shard, strict=False))

    def is_all_empty(self) -> bool:
        """Whether no chunk is stored."""
        return bool((self.offsets_and_lengths == MAX_UINT_64).all())

    def get_full_chunk_map(self) -> npt.NDArray[np.bool_]:
        """Which chunks are stored."""
        return np.asarray(self.offsets_and_lengths[..., 0] != MAX_UINT_64)

    def get_chunk_slice(self, chunk_coords: tuple[int, ...]) -> tuple[int, int] | None:
        """The begin and end of a chunk; None if it is not stored."""
        start, length = map(int, self.offsets_and_lengths[self._localize_chunk(chunk_coords)])
        return None if start == length == MAX_UINT_64 else (start, start + length)

    def get_chunk_slices_vectorized(self, chunk_coords_array: npt.NDArray[Any]) -> tuple[Any, Any, Any]:
        """The begins and ends of chunks, and which of them are stored."""
        places = [self._localize_chunk(tuple(map(int, coords))) for coords in chunk_coords_array]
        entries = np.array([self.offsets_and_lengths[place] for place in places], np.uint64).reshape(-1, 2)
        return entries[:, 0], entries[:, 0] + entries[:, 1], entries[:, 0] != MAX_UINT_64

    def set_chunk_slice(self, chunk_coords: tuple[int, ...], chunk_slice: slice | None) -> None:
        """Sets the begin and end of a chunk; None if it is not stored."""
        entry = (MAX_UINT_64,) * 2 if chunk_slice is None else (chunk_slice.start, chunk_slice.stop - chunk_slice.start)
        self.offsets_and_lengths[self._localize_chunk(chunk_coords)] = entry

    def is_dense(self, chunk_byte_length: int, *, data_section_start: int) -> bool:
        """Whether all chunks are stored, have this length, and follow each other without gaps."""
        starts, lengths = self.offsets_and_lengths.reshape(-1, 2).T
        expected = data_section_start + np.arange(starts.size, dtype=np.uint64) * np.uint64(chunk_byte_length)
        stored = starts.size > 0 and not (starts == MAX_UINT_64).any()
        return bool(stored and (lengths == chunk_byte_length).all() and np.array_equal(np.sort(starts), expected))


def _index_of(buf: Any, codec: ShardingCodec, chunks_per_shard: tuple[int, ...]) -> _ShardIndex:
    """The index of an encoded shard."""
    stages = [codec_of(plain_json(stage.to_dict()), "index_codecs") for stage in codec.index_codecs]
    problems = Problems()
    chain = Chain.bind(stages, index_spec(chunks_per_shard), "index_codecs", problems)
    if chain is None:
        raise CodecError("sharding_indexed", "; ".join(map(str, problems.found)))
    size = prod(chunks_per_shard) * 16
    for stage in codec.index_codecs:
        size = stage.compute_encoded_size(size, None)
    data = buf.to_bytes()
    return _ShardIndex(chunks_per_shard, chain.decode(data[:size] if codec.index_location == "start" else data[-size:]))


class _ShardReader(Mapping[tuple[int, ...], Any]):
    """The chunks of a shard."""

    buf: Any
    index: _ShardIndex

    @classmethod
    async def from_bytes(cls, buf: Any, codec: ShardingCodec, chunks_per_shard: tuple[int, ...]) -> _ShardReader:
        """The chunks of an encoded shard."""
        reader = cls()
        reader.buf = buf
        reader.index = _index_of(buf, codec, chunks_per_shard)
        return reader

    @classmethod
    def create_empty(cls, chunks_per_shard: tuple[int, ...], buffer_prototype: Any = None) -> _ShardReader:
        """A shard without chunks."""
        from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype

        reader = cls()
        reader.buf = (buffer_prototype or default_buffer_prototype()).buffer.create_zero_length()
        reader.index = _ShardIndex.create_empty(chunks_per_shard)
        return reader

    def __getitem__(self, chunk_coords: tuple[int, ...]) -> Any:
        place = self.index.get_chunk_slice(chunk_coords)
        if place is None:
            raise KeyError
        return self.buf[place[0] : place[1]]

    def __len__(self) -> int:
        return int(self.index.offsets_and_lengths.size / 2)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(np.ndindex(self.index.chunks_per_shard))

    def is_empty(self) -> bool:
        """Whether no chunk is stored."""
        return self.index.is_all_empty()


class _ShardingByteGetter:
    """One chunk of a shard whose chunks are in a dict."""

    def __init__(self, shard_dict: Mapping[tuple[int, ...], Any], chunk_coords: tuple[int, ...]) -> None:
        self.shard_dict, self.chunk_coords = shard_dict, chunk_coords

    def get_sync(self, prototype: Any = None, byte_range: Any = None) -> Any:
        """The bytes of the chunk, or a part of them; None if it is not stored."""
        value = self.shard_dict.get(self.chunk_coords)
        if value is None or byte_range is None:
            return value
        if hasattr(byte_range, "suffix"):
            return value[max(0, len(value) - byte_range.suffix) :]
        start = byte_range.start if hasattr(byte_range, "start") else byte_range.offset
        return value[start : getattr(byte_range, "end", None)]

    async def get(self, prototype: Any = None, byte_range: Any = None) -> Any:
        """The same, as a coroutine."""
        return self.get_sync(prototype, byte_range)
