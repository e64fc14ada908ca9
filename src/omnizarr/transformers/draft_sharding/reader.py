"""Reads shards of the sharding transformer: their indexes, and parts of them, all from one state.

A read has two steps: the index, then the selected parts. The second step requests the index again, after the parts, to
notice a writer that replaced the shard in between. A store that sends the requests of a batch concurrently makes this
likely, not certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from omnizarr._json import Problems
from omnizarr.codecs import Bytes, Chain
from omnizarr.codecs.sharding import ShardBytes, ShardIndex, index_spec
from omnizarr.config import config
from omnizarr.errors import CodecError, StoreError
from omnizarr.store import Buffer, Request, Store
from omnizarr.store.values import Extent

__all__ = ["ChunkExtent", "Fetch", "ShardStateReader", "damaged", "shard_bytes"]

_MOST_TRIES = 100  # attempts to read parts of a shard that other writers keep replacing

ChunkExtent: TypeAlias = tuple[int, Extent]
"""A number for the answer, and the part of a shard to read."""

Fetch: TypeAlias = Callable[[Sequence[Request]], Iterable[tuple[int, Buffer | None]]]
"""Sends requests to a store: all answers at once, or each as it arrives."""


def shard_bytes(count: int) -> ShardBytes:
    """The layout of a shard with `count` chunks: 16 bytes for each at its end, without a checksum (S68)."""
    problems = Problems()
    index = Chain.bind((Bytes("little"),), index_spec((count,)), "$", problems)
    assert index is not None, problems.found
    # The layers above know how long a chunk may be; a part beyond the end of the shard is detected on reading.
    return ShardBytes(count, index, at_start=False, largest=2**63 - 1)


class ShardStateReader:
    """Reads shards of one layout from a store."""

    def __init__(self, store: Store, form: ShardBytes) -> None:
        self._store = store
        self._form = form

    def read(
        self,
        shards: Iterable[str],
        select: Callable[[str, ShardIndex], list[ChunkExtent]],
        fetch: Fetch,
        others: Sequence[tuple[int, Request]] = (),
    ) -> Iterator[tuple[str | None, ShardIndex | None, dict[int, Buffer | None]]]:
        """Each shard with its index and the parts that `select` returns, all of one state of the shard; None and no
        parts if there is no shard. Answers to `others`, which are no shards, come with None as the name."""
        pending = self.indexes(shards)
        for _ in range(_MOST_TRIES):
            batch: list[Request] = [request for _, request in others]
            readings: list[_Reading | None] = [None] * len(others)
            for shard, data in pending.items():
                if data is None:
                    yield shard, None, {}
                    continue
                index = self.index(shard, data)
                reading = _Reading(shard, data, index, select(shard, index))
                if reading.complete:
                    yield shard, index, reading.answers
                    continue
                reading.first = len(batch)
                batch.extend((shard, range) for _, range in reading.parts)
                batch.append((shard, self._form.index_range))
                readings.extend([reading] * (len(reading.parts) + 1))
            if not batch:
                return
            pending = {}
            for position, value in fetch(batch):
                known = readings[position]
                if known is None:
                    yield None, None, {others[position][0]: value}
                    continue
                known.add_answer(position - known.first, value)
                if known.complete:
                    if known.is_one_state():
                        known.check_lengths(repr(self._store))
                        yield known.shard, known.index, known.answers
                    else:
                        pending[known.shard] = known.second_index
            others = ()
            if not pending:
                return
        raise StoreError(
            f"gave up after {_MOST_TRIES} attempts: other writers keep replacing the shards "
            f"{', '.join(f'`{shard}`' for shard in pending)}",
            store=repr(self._store),
            key=next(iter(pending)),
        )

    def indexes(self, shards: Iterable[str]) -> dict[str, Buffer | None]:
        """The indexes of shards, in one batch; None where there is no shard."""
        shards = list(shards)
        if not shards:
            return {}
        self.check_index_size(shards[0])
        answers = self._store.get_partial_values([(shard, self._form.index_range) for shard in shards])
        return dict(zip(shards, answers, strict=True))

    def check_index_size(self, shard: str) -> None:
        """Reject shards whose index is larger than the limit."""
        limit = config.current.max_chunk_bytes
        if self._form.index_size > limit:
            raise StoreError(
                f"the index of a shard has {self._form.index_size} bytes, more than the limit of {limit}",
                hint="raise the limit with `omnizarr.config.set(max_chunk_bytes=...)`",
                store=repr(self._store),
                key=shard,
            )

    def index(self, shard: str, data: Buffer, size: int | None = None) -> ShardIndex:
        """The decoded index of a shard, of `size` bytes if that is known."""
        try:
            return self._form.decode_index(data, size)
        except CodecError as error:
            raise damaged(shard, str(error.__dict__["reason"]), repr(self._store)) from error

    # -- from the whole shard, which a change starts from

    @property
    def limit(self) -> int:
        """The most bytes of a shard that is read as a whole."""
        return config.current.max_chunk_bytes + self._form.index_size

    def too_long(self, shard: str) -> StoreError:
        """The error for a shard that is longer than `limit`."""
        return damaged(shard, f"it has more bytes than the limit of {self.limit}", repr(self._store))

    def check_kept(self, shard: str, parts: Sequence[Buffer | None]) -> None:
        """Reject a shard whose chunks `parts` are longer than the limit: entries of equal chunks may share bytes."""
        limit = config.current.max_chunk_bytes
        if sum(len(part) for part in parts if part is not None) > limit:
            raise damaged(shard, f"its chunks have more bytes than the limit of {limit}", repr(self._store))

    def chunk(self, shard: str, data: Buffer | None, number: int) -> Buffer | None:
        """One chunk of the shard `data`; None if it is absent, or if the shard is."""
        return self._cut(shard, data, [number])[0]

    def chunks(self, shard: str, data: Buffer | None) -> list[Buffer | None]:
        """All chunks of the shard `data`."""
        return self._cut(shard, data, range(self._form.count))

    def _cut(self, shard: str, data: Buffer | None, numbers: Sequence[int]) -> list[Buffer | None]:
        if data is None:
            return [None] * len(numbers)
        view = memoryview(data)
        index = self.index(shard, view[-self._form.index_size :], len(view))
        return [None if part is None else view[part[0] : part[0] + part[1]] for part in index.extents(numbers)]


class _Reading:
    """The requested parts of one shard, until all of them and a second copy of the index have arrived."""

    def __init__(self, shard: str, data: Buffer, index: ShardIndex, parts: Iterable[ChunkExtent]) -> None:
        self.shard = shard
        self.index = index
        self.second_index: Buffer | None = None
        self.answers: dict[int, Buffer | None] = {}
        self.parts: list[ChunkExtent] = []
        self.first = 0
        """The position of the first part in a batch of requests."""
        self._first_index = data
        for name, range in parts:
            if range[1] == 0:
                self.answers[name] = b""  # an empty chunk needs no request
            else:
                self.parts.append((name, range))
        self._missing = len(self.parts) + 1 if self.parts else 0

    @property
    def complete(self) -> bool:
        return self._missing == 0

    def add_answer(self, number: int, value: Buffer | None) -> None:
        """Add the answer for the part `number`; the one after the last part is the index."""
        self._missing -= 1
        if number == len(self.parts):
            self.second_index = value
        else:
            self.answers[self.parts[number][0]] = value

    def is_one_state(self) -> bool:
        """Whether both copies of the index agree, so that the shard was not replaced in between."""
        return self.second_index is not None and bytes(self.second_index) == bytes(self._first_index)

    def check_lengths(self, store: str) -> None:
        for name, (start, length) in self.parts:
            value = self.answers[name]
            if value is None or len(value) != length:
                raise damaged(self.shard, f"it ends before its chunk of {length} bytes at {start} does", store)


def damaged(shard: str, reason: str, store: str) -> StoreError:
    """The error for a damaged shard."""
    return StoreError(f"the shard `{shard}` cannot be used: {reason}", store=store, key=shard)
