"""The states of stored chunks, and digests that bind statistics to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.engine.layout import Layout, too_long
from omnizarr.engine.place import raise_for_chunk
from omnizarr.engine.pool import run
from omnizarr.errors import CodecError, MissingDependencyError, StoreError
from omnizarr.store.capabilities import ABSENT, Snapshots

__all__ = ["Chunk", "ChunkStates", "each_in_threads"]

T = TypeVar("T")

_FORMAT = "omnizarr statistics 1"
_REMOTE_WORKERS = 32
_BATCH = 256  # versions per task of a thread, in a store that is not remote
_TRIES = 20  # attempts to read a chunk of a remote store that other writers keep replacing


class Chunk(NamedTuple):
    """A stored value of an array: a chunk, or a shard."""

    coordinates: tuple[int, ...]
    key: str
    shape: tuple[int, ...]
    """The shape of the part inside the array."""

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object))


def each_in_threads(items: Sequence[T], work: Callable[[T], object], most: int) -> None:
    """Call `work` for each item, in at most so many threads."""
    run(items, lambda: work, min(most, len(items)))


class ChunkStates:
    """Looks at the stored chunks of one array."""

    def __init__(self, layout: Layout, snapshots: Snapshots) -> None:
        self.layout = layout
        self._snapshots = snapshots
        model = layout.model
        codecs = [codec.to_json() for codec in model.codecs]
        decoding = [_FORMAT, model.data_type.to_json(), codecs, repr(layout.fill.tolist()), layout.dtype.str]
        self._base = blake2b(json.dumps(decoding, default=repr).encode("utf-8", "surrogatepass"), digest_size=8)
        # An ETag identifies a state of one address, and a file its own states wherever the array is.
        self._place = f"{layout.store.full_location.removesuffix('/')}/{layout.prefix}" if layout.store.remote else ""

    # -- chunks

    def all(self) -> Iterator[Chunk]:
        """All chunks of the grid, in C order."""
        return map(self.chunk, product(*(range(axis.count) for axis in self.layout.axes)))

    def chunk(self, coordinates: tuple[int, ...]) -> Chunk:
        layout = self.layout
        return Chunk(coordinates, layout.key(tuple(map(str, coordinates))), layout.clipped(coordinates))

    # -- states

    def versions(self, chunks: Sequence[Chunk]) -> list[object]:
        """The version of each stored chunk: text; ABSENT if it is not stored; None if it has no version that lasts."""
        versions: list[object] = [None] * len(chunks)
        step = 1 if self.layout.store.remote else _BATCH

        def look(start: int) -> None:
            part = self._snapshots.versions([chunk.key for chunk in chunks[start : start + step]])
            for number, version in enumerate(part, start):
                versions[number] = ABSENT if version == ABSENT else self._snapshots.lasting_version(version)

        each_in_threads(range(0, len(chunks), step), look, self._most_threads)
        return versions

    @property
    def _most_threads(self) -> int:
        """In how many threads to send requests to a remote store; otherwise the number of cores."""
        return _REMOTE_WORKERS if self.layout.store.remote else config.workers

    @property
    def readers(self) -> int:
        """In how many threads to call `read`, each of which holds a whole chunk or shard and its stored form."""
        largest = self.layout.largest
        memory = config.max_request_bytes if self.layout.store.remote else config.implicit_bytes // 2
        per_thread = 1 if largest is None else max(1, 8 * largest.spec.nbytes // 5)
        return max(1, min(self._most_threads, memory // per_thread))

    def digest(self, chunk: Chunk, version: str, entry: bytes) -> int:
        """What binds an entry, as bytes, to the state of a chunk; never 0."""
        digest = self._base.copy()
        name = chunk.key[len(self.layout.prefix) :]
        lengths = self.layout.chain(chunk.coordinates).spec.shape
        text = f"{self._place}\0{name}\0{version}\0{lengths}\0{chunk.shape}\0"
        digest.update(text.encode("utf-8", "surrogatepass") + entry)
        return int.from_bytes(digest.digest(), "little") or 1

    def read(self, chunk: Chunk) -> tuple[object, npt.NDArray[Any] | None]:
        """The version of a chunk, as in `versions`, and its elements inside the array, of one state of the value. The
        elements are None if it is not stored."""
        layout = self.layout
        chain = layout.chain(chunk.coordinates)
        try:
            layout.check_size(chain)
            version, data = self._fetch(chunk.key, chain.encoded.limit)
            if data is None:
                return ABSENT, None
            block = chain.decode(data)[tuple(slice(length) for length in chunk.shape)]
            return self._snapshots.lasting_version(version), block
        except (CodecError, MissingDependencyError) as error:
            raise_for_chunk("read", layout, chunk.coordinates, chunk.key, error)

    def _fetch(self, key: str, limit: int) -> tuple[object, Any]:
        store, reads = self.layout.store, self.layout.versioned_reads
        if store.remote and reads is not None:  # one request instead of two
            state = reads.get(key, (0, limit + 1))
            if state is not None and state.data is not None and len(state.data) > limit:
                raise too_long(limit)
            return (None, None) if state is None else (state.version, state.data)
        for attempt in range(_TRIES):
            snapshot = self._snapshots.open(key)
            if snapshot is None:
                return None, None
            try:
                if snapshot.size > limit:
                    raise too_long(limit)
                version = snapshot.version
                return version, snapshot.get((0, None))
            except StoreError:
                if not store.remote or attempt == _TRIES - 1:
                    raise
            finally:
                snapshot.close()
        raise AssertionError("the last attempt raises")
