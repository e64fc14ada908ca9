"""The layout of an array: everything that reading and writing chunks needs, resolved and checked once per handle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs import BoundSharding, Chain, Sharding
from omnizarr.codecs.contract import with_slack
from omnizarr.codecs.sharding import ShardIndex
from omnizarr.config import config
from omnizarr.engine.chunk_cache import ChunkCache, Decoding
from omnizarr.engine.shard_indexes import ShardIndexes
from omnizarr.errors import CodecError, MetadataError
from omnizarr.grids import Axis
from omnizarr.grids.regular import RegularAxis
from omnizarr.model import ArrayModel
from omnizarr.store import Buffer, Snapshot, Store

__all__ = ["Layout", "inner_axes", "sharding_of", "too_long"]


class Layout:
    """Where the chunks of one array are stored, and how they are decoded."""

    __slots__ = (
        "__weakref__",
        "_join",
        "_largest",
        "axes",
        "cache",
        "decoding",
        "dtype",
        "fill",
        "indexes",
        "local_files",
        "model",
        "native_reader",
        "path",
        "prefix",
        "separator",
        "sharding",
        "snapshots",
        "store",
        "uniform",
        "versioned_reads",
    )

    def __init__(
        self, store: Store, path: str, prefix: str, model: ArrayModel, cache: ChunkCache | None = None
    ) -> None:
        self.store = store
        # Each access to a capability of a store makes an object, so those that are used per chunk are kept.
        self.snapshots = store.snapshots
        self.versioned_reads = store.versioned_reads
        self.local_files = store.local_files
        self.cache = cache
        self.path = path
        self.prefix = prefix
        self.model = model
        self.dtype: np.dtype[Any]
        self.fill: npt.NDArray[Any]
        self.axes: tuple[Axis, ...]
        self._join: Callable[[tuple[str, ...]], str]
        self.separator: str | None
        """The separator between the coordinates in a key, if the key ends with them; otherwise None."""
        self.uniform: Chain | None
        """The codec chain, if all chunks have the same shape."""
        self.sharding: Sharding | None
        parts = model.shared.get("layout") or model.shared.setdefault("layout", self._parts_of_model())
        self.dtype, self.fill, self.axes, self._join, self.separator, self.uniform, self.sharding = parts
        self.decoding: Decoding | None = None
        """What determines the elements of decoded chunks; None without a cache."""
        if cache is not None:
            self.decoding = Decoding(model.data_type, model.codecs, repr(self.fill.tolist()), self.dtype)
        self._largest = self.uniform
        self.indexes = ShardIndexes()
        self.native_reader: Any = None
        """Kept here by `engine/route`: a `NativeReader`; False if the kernel cannot read this array; None if
        `engine/route` has not decided yet."""

    def _parts_of_model(self) -> tuple[Any, ...]:
        """The attributes that depend on the model only."""
        model = self.model
        axes: tuple[Axis, ...] = model.grid.axes(model.shape)
        keys = model.chunk_keys
        separator = None
        # Not for subclasses, which may join the coordinates differently.
        if vars(type(keys)).get("ends_with_coordinates"):
            separator = keys.separator  # type: ignore[attr-defined]
        sizes = [axis.size for axis in axes]
        uniform = tuple(size for size in sizes if size is not None)
        chain = self._bound(uniform) if len(uniform) == len(sizes) else None
        return model.dtype, model.filler, axes, keys.join, separator, chain, model.sharding

    @property
    def largest(self) -> Chain | None:
        """The codec chain for the largest chunk; None if the array has no chunks."""
        if self._largest is None:
            shapes = self.model.grid.chunk_shapes(self.model.shape)
            self._largest = max(map(self._bound, shapes), key=lambda chain: chain.spec.nbytes, default=None)
        return self._largest

    def _bound(self, chunk_shape: tuple[int, ...]) -> Chain:
        problems = Problems()
        chain = self.model.chain(chunk_shape, "$.codecs", problems)
        if chain is None:
            raise MetadataError(f"the codecs of array `{self.name}` do not fit its chunks", problems.found)
        return chain

    def chain(self, chunk: tuple[int, ...]) -> Chain:
        """The codec chain for the chunk at these coordinates."""
        chain = self.uniform
        if chain is None:
            chain = self._bound(tuple(axis.bounds(index)[1] for axis, index in zip(self.axes, chunk, strict=True)))
        return chain

    def check_size(self, chain: Chain) -> None:
        """Raise if chunks or shard indexes exceed `max_chunk_bytes`, before any memory is allocated for them."""
        limit = config.current.max_chunk_bytes
        sharding = None if self.sharding is None else sharding_of(chain)
        if sharding is not None and sharding.index_size > limit:
            raise CodecError(
                Sharding.name, f"the index of a shard has {sharding.index_size} bytes, more than the limit of {limit}"
            )
        if chain.peak <= limit:
            return
        size = chain.spec.nbytes
        if size <= limit and chain.peak > with_slack(limit):
            size = chain.peak  # an array → array codec makes it larger
        if size > limit:
            between = "" if size == chain.spec.nbytes else " between its codecs"
            raise CodecError(
                "chunk",
                f"a chunk of shape {chain.spec.shape} has {size} bytes{between}, more than the limit of {limit}",
                hint="raise it with `omnizarr.config.set(max_chunk_bytes=...)`, or with the environment variable "
                "OMNIZARR_MAX_CHUNK_BYTES",
            )

    @property
    def name(self) -> str:
        """The array's path, as errors show it."""
        return self.path or "/"

    def get(self, key: str, limit: int) -> Buffer | None:
        """The stored bytes of a chunk; an error if they exceed `limit`, the longest possible encoded form."""
        if self.store.in_memory:
            return self.store.get(key)
        data = self.store.get(key, (0, limit + 1))
        if data is not None and len(data) > limit:
            raise too_long(limit)
        return data

    def index_of(self, sharding: BoundSharding, key: str, snapshot: Snapshot) -> ShardIndex:
        """The index of a shard, from the cache or decoded from the snapshot."""
        version = snapshot.version
        index = self.indexes.get(key, version)
        if index is None:
            index = sharding.decode_index(snapshot.get(sharding.index_range), snapshot.size)
            self.indexes.put(key, version, index, sharding.index_size)
        return index

    def key(self, names: tuple[str, ...]) -> str:
        """The store key of the chunk with these coordinates, given as text."""
        return self.prefix + self._join(names)

    def rows(self, names: Sequence[Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
        """The keys of all chunks whose coordinates are combinations of `names`, in order, as rows: the common start of
        the keys, and the ends. Making keys one by one takes long compared to reading a small chunk."""
        if not names or self.separator is None:
            for coordinates in product(*names):
                yield self.key(coordinates), ("",)
            return
        *leading, last = names
        for lead in product(*leading):
            yield self.key((*lead, last[0])).removesuffix(last[0]), last

    def clipped(self, chunk: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part of a chunk that is inside the array."""
        return tuple(
            min(size, axis.length - start)
            for axis, (start, size) in (
                (axis, axis.bounds(index)) for axis, index in zip(self.axes, chunk, strict=True)
            )
        )


def sharding_of(chain: Chain) -> BoundSharding | None:
    """The sharding codec of a chain, if inner chunks can be read separately: no codec comes before or after it."""
    serializer = chain.serializer
    if isinstance(serializer, BoundSharding) and not chain.arrays and not chain.compressed:
        return serializer
    return None


def inner_axes(sharding: BoundSharding, clipped: tuple[int, ...]) -> tuple[RegularAxis, ...]:
    """The grid of inner chunks in the part of a shard that is inside the array."""
    return tuple(RegularAxis(length, size) for length, size in zip(clipped, sharding.inner.spec.shape, strict=True))


def too_long(limit: int) -> CodecError:
    """The error for a stored value that is longer than any encoded chunk."""
    return CodecError("chunk", f"the stored value has more than the {limit} bytes that a chunk can have")
