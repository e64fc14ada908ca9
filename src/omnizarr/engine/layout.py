"""An array made ready for its chunks: everything the loop over chunks needs, resolved and checked once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.chunk_keys import DefaultKeys, DraftKeys, V2Keys
from omnizarr.codecs import BoundSharding, Chain, Sharding
from omnizarr.codecs.sharding import ShardIndex
from omnizarr.config import config
from omnizarr.engine.chunk_cache import ChunkCache
from omnizarr.engine.shard_indexes import Indexes
from omnizarr.errors import CodecError, MetadataError
from omnizarr.grids import Axis
from omnizarr.model import ArrayModel
from omnizarr.store import Buffer, Snapshot, Store

__all__ = ["Layout", "sharding_of"]


class Layout:
    """Where the chunks of one array lie, and how they are decoded."""

    __slots__ = (
        "_join",
        "_largest",
        "axes",
        "cache",
        "dtype",
        "fill",
        "indexes",
        "model",
        "path",
        "prefix",
        "separator",
        "sharding",
        "small",
        "store",
        "uniform",
    )

    def __init__(
        self, store: Store, path: str, prefix: str, model: ArrayModel, cache: ChunkCache | None = None
    ) -> None:
        self.store = store
        self.cache = cache
        self.path = path
        self.prefix = prefix
        self.model = model
        self.dtype: np.dtype[Any] = model.dtype
        self.fill: npt.NDArray[Any] = model.filler
        self.axes: tuple[Axis, ...] = model.grid.axes(model.shape)
        self._join = model.chunk_keys.join
        keys = model.chunk_keys
        # Not of what is derived from them, which may join them in another way.
        self.separator = keys.separator if type(keys) in (DefaultKeys, DraftKeys, V2Keys) else None  # type: ignore[attr-defined]
        """What stands between the coordinates of a chunk in its key, if nothing follows them."""
        sizes = [axis.size for axis in self.axes]
        uniform = tuple(size for size in sizes if size is not None)
        self.uniform: Chain | None = self._bound(uniform) if len(uniform) == len(sizes) else None
        """The codecs, if all chunks have the same shape."""
        self._largest = self.uniform
        self.sharding: Sharding | None = model.sharding
        self.indexes = Indexes()
        """Of shards that were read lately."""
        self.small: Any = None
        """What reads little of it by a short way, once somebody has done so (`engine/read/native_small`)."""

    @property
    def largest(self) -> Chain | None:
        """The codecs for the largest chunk, if there is any."""
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
        """The codecs for the chunk at these coordinates."""
        chain = self.uniform
        if chain is None:
            chain = self._bound(tuple(axis.bounds(index)[1] for axis, index in zip(self.axes, chunk, strict=True)))
        return chain

    def check_size(self, chain: Chain) -> None:
        """Refuses chunks, and indexes of shards, that are too large to be held, before memory is taken for one."""
        limit = config.current.max_chunk_bytes
        sharding = None if self.sharding is None else sharding_of(chain)
        if sharding is not None and sharding.index_size > limit:
            raise CodecError(
                Sharding.name, f"the index of a shard has {sharding.index_size} bytes, more than the limit of {limit}"
            )
        if chain.spec.nbytes > limit:
            raise CodecError(
                "chunk",
                f"a chunk of shape {chain.spec.shape} has {chain.spec.nbytes} bytes, more than the limit of {limit}",
                hint="raise it with `omnizarr.config.set(max_chunk_bytes=...)`",
            )

    @property
    def name(self) -> str:
        """The array's path, as messages call it."""
        return self.path or "/"

    def get(self, key: str, limit: int) -> Buffer | None:
        """What is stored under a chunk's key; no more of it than the `limit` of its encoded form."""
        if self.store.in_memory:
            return self.store.get(key)
        data = self.store.get(key, (0, limit + 1))
        if data is not None and len(data) > limit:
            raise CodecError("chunk", f"what is stored has more than the {limit} bytes that a chunk can have")
        return data

    def index_of(self, sharding: BoundSharding, key: str, held: Snapshot) -> ShardIndex:
        """The index of a shard that is held: decoded, or kept since it was."""
        version = held.version
        index = self.indexes.known(key, version)
        if index is None:
            index = sharding.decode_index(held.get(sharding.index_range), held.size)
            self.indexes.keep(key, version, index, sharding.index_size)
        return index

    def key(self, names: tuple[str, ...]) -> str:
        """The store key of the chunk whose coordinates are these, as text."""
        return self.prefix + self._join(names)

    def rows(self, names: Sequence[Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
        """The keys of all chunks whose coordinates are combinations of these, in order: what those of a row begin with,
        and how each of them goes on. To make them one by one takes long beside a small chunk."""
        if not names or self.separator is None:
            for each in product(*names):
                yield self.key(each), ("",)
            return
        *leading, last = names
        for lead in product(*leading):
            yield self.key((*lead, last[0])).removesuffix(last[0]), last

    def clipped(self, chunk: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part of a chunk that lies inside the array."""
        return tuple(
            min(size, axis.length - start)
            for axis, (start, size) in (
                (axis, axis.bounds(index)) for axis, index in zip(self.axes, chunk, strict=True)
            )
        )


def sharding_of(chain: Chain) -> BoundSharding | None:
    """The sharding codec of a chain, if its inner chunks can be reached one by one: nothing comes before or after."""
    serializer = chain.serializer
    if isinstance(serializer, BoundSharding) and not chain.arrays and not chain.compressed:
        return serializer
    return None
