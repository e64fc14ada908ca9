"""Fetching from a store that is far away: all requests of a selection are under way together, and whatever is complete
is handed on to be decoded while the rest arrives.

A shard takes several requests, one after the other: its index, unless that is known, then the parts. All of them are of
one state of the shard: where the store can tell states apart, every request names the one that the index was of; where
it cannot, the index is asked for once more behind the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from omnizarr.codecs import BoundSharding, Sharding
from omnizarr.codecs.contract import check_size
from omnizarr.codecs.sharding import ShardIndex
from omnizarr.engine.coalesce import ByteSpan, coalesced
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.read.partial import Part, part_of
from omnizarr.engine.read.shards import Parts, inner_axes, matched
from omnizarr.errors import ChunkError, CodecError
from omnizarr.indexing import Cell, Projection
from omnizarr.store import Buffer
from omnizarr.store.contract import State, Version
from omnizarr.store.requests.reads import Ask, Overlap
from omnizarr.store.requests.window import Window

__all__ = ["Fetched", "fetch"]

_BATCH = 1024  # requests that are given at once to a store that sends them itself
_MANY = 64  # requests that take so long that something else can be done in the time
_FEW = 32  # requests to a store that does not say how many it bears
_GAP = 2**16  # bytes between inner chunks that come sooner than another answer does
_MOST_TOGETHER = 2**23  # bytes in one request
_MOST_SMALLER = 8  # times: chunks that are compressed better are counted as this small, lest the next are not, and many
_MOST_TRIES = 100  # of reading parts of a shard that others keep replacing


class Fetched(NamedTuple):
    """What a cell needs, ready to be decoded."""

    cell: Cell
    data: Buffer | None = None
    """The stored chunk, or the bytes of `part`; None if there is no such chunk."""
    part: Part | None = None
    wanted: Projection | None = None
    """Of a shard, what is picked of its inner chunks."""
    parts: Parts | None = None
    """The inner chunks, if not the whole shard was fetched."""


def fetch(layout: Layout, projection: Projection, meanwhile: Callable[[], object] | None = None) -> Iterator[Fetched]:
    """All cells, in the order in which they are complete. `meanwhile` is done while the first requests are under way,
    if there are many."""
    if layout.store.window is None and layout.sharding is None:
        return _batches(layout, projection)
    return _Fetching(layout, projection).answers(meanwhile if len(projection) > _MANY else None)


def _batches(layout: Layout, projection: Projection) -> Iterator[Fetched]:
    cells = iter(projection)
    while batch := list(islice(cells, _BATCH)):
        for index, data in layout.store.get_each([(layout.key(cell.names), None) for cell in batch]):
            yield Fetched(batch[index], data)


class _Chunk:
    """A request for a chunk, or a part of it, or a whole shard."""

    def __init__(self, cell: Cell, limit: int, part: Part | None = None, wanted: Projection | None = None) -> None:
        self.cell = cell
        self.limit = limit
        self.part = part
        self.wanted = wanted


class _Shard:
    """A shard of which some inner chunks are wanted, and how far that is."""

    def __init__(self, cell: Cell, sharding: BoundSharding, key: str, wanted: Projection) -> None:
        self.cell = cell
        self.sharding = sharding
        self.key = key
        self.wanted = wanted
        self.numbers = [sharding.number(inner.chunk) for inner in wanted]
        self.places: list[ByteSpan | None] = []
        self.answers: list[Buffer | None] = []
        self.version: Version = None
        self.index: bytes | None = None
        """The stored index, if it must be looked at again."""
        self.missing = 0
        self.round = 0


class _Piece(NamedTuple):
    shard: _Shard
    round: int
    """Answers that were asked for before the shard was found to have changed are of no use."""
    place: ByteSpan
    members: list[int]
    """Which of the wanted inner chunks lie in it; none, if it is the index."""


_Tag: TypeAlias = _Chunk | _Piece


class _Fetching:
    def __init__(self, layout: Layout, projection: Projection) -> None:
        self._layout = layout
        self._projection = projection
        self._window = layout.store.window or Window(_FEW)
        self._overlap: Overlap[_Tag, State | None] = Overlap(self._window, self._asks(), _size)

    def answers(self, meanwhile: Callable[[], object] | None) -> Iterator[Fetched]:
        overlap = self._overlap
        try:
            if meanwhile is not None:
                overlap.begin()
                meanwhile()
            for tag, state in overlap:
                try:
                    found = self._chunk(tag, state) if isinstance(tag, _Chunk) else self._piece(tag, state)
                except CodecError as error:
                    cell = tag.cell if isinstance(tag, _Chunk) else tag.shard.cell
                    key = self._layout.key(cell.names)
                    raise ChunkError("read", self._layout.name, cell.chunk, key, error) from error
                if found is not None:
                    yield found
        finally:
            overlap.close()

    def _asks(self) -> Iterator[Ask[_Tag, State | None]]:
        """The first request for every cell."""
        layout, projection, store = self._layout, self._projection, self._layout.store
        checked = None
        for cell in projection:
            chain, key = layout.chain(cell.chunk), layout.key(cell.names)
            if chain is not checked:
                layout.check_size(chain)
                checked = chain
            sharding = None if layout.sharding is None else sharding_of(chain)
            if sharding is None:
                part = part_of(chain, store, cell.inner) if projection.plain and not chain.compressed else None
                if part is not None:
                    act = partial(store.get_state, key, (part.start, part.length))
                    yield Ask(_Chunk(cell, 0, part), act, part.length)
                else:
                    limit = chain.encoded.limit
                    least = limit // _MOST_SMALLER if chain.compressed else limit
                    yield self._whole(cell, key, limit, None, least)
                continue
            wanted = Projection(cell.inner, projection.points, inner_axes(sharding, layout.clipped(cell.chunk)))
            if 2 * len(wanted) > sharding.count:
                limit = sharding.encoded.limit
                yield self._whole(cell, key, limit, wanted, limit // _MOST_SMALLER)
                continue
            shard = _Shard(cell, sharding, key, wanted)
            known = layout.indexes.latest(key)
            if known is None:
                yield self._index(shard)
                continue
            asks = self._parts(shard, *known)
            if not asks:  # nothing of it is stored, if it is still the same
                yield self._index(shard)
            yield from asks

    def _whole(
        self, cell: Cell, key: str, limit: int, wanted: Projection | None, least: int
    ) -> Ask[_Tag, State | None]:
        act = partial(self._layout.store.get_state, key, (0, limit + 1))
        # What was seen before may have been documents, which say nothing of chunks.
        return Ask(_Chunk(cell, limit, None, wanted), act, max(self._window.expected(limit), least))

    # -- shards

    def _index(self, shard: _Shard) -> Ask[_Tag, State | None]:
        sharding = shard.sharding
        act = partial(self._layout.store.get_state, shard.key, sharding.index_range)
        return Ask(_Piece(shard, shard.round, (0, sharding.index_size), []), act, sharding.index_size)

    def _parts(self, shard: _Shard, version: Version, index: ShardIndex) -> list[Ask[_Tag, State | None]]:
        """Requests for the inner chunks, of that state of the shard."""
        shard.version = version
        shard.places = index.spans(shard.numbers)
        shard.answers = [None] * len(shard.places)
        there = [position for position, place in enumerate(shard.places) if place is not None]
        pieces = coalesced([place for place in shard.places if place is not None], _GAP, _MOST_TOGETHER)
        shard.missing = len(pieces)
        get = self._layout.store.get_state
        return [
            Ask(
                _Piece(shard, shard.round, place, [there[member] for member in members]),
                partial(get, shard.key, place, version),
                place[1],
            )
            for place, members in pieces
        ]

    def _piece(self, tag: _Piece, state: State | None) -> Fetched | None:
        """Takes an answer; the cell, if that was the last."""
        shard = tag.shard
        if tag.round != shard.round:
            return None
        if state is None:
            self._layout.indexes.forget(shard.key)
            shard.round += 1
            return Fetched(shard.cell, None, None, shard.wanted)
        if state.data is None:
            self._again(shard)
            return None
        if not tag.members:
            return self._indexed(shard, state)
        begin, data = tag.place[0], memoryview(state.data)
        for member in tag.members:
            place = shard.places[member]
            assert place is not None
            shard.answers[member] = data[place[0] - begin : place[0] - begin + place[1]]
        shard.missing -= 1
        if shard.missing:
            return None
        if shard.version is None:
            self._overlap.add(self._index(shard))  # is it still the same?
            return None
        return self._complete(shard)

    def _indexed(self, shard: _Shard, state: State) -> Fetched | None:
        data = bytes(state.data or b"")
        if shard.index == data:  # the second time: nobody replaced it meanwhile
            return self._complete(shard)
        index = shard.sharding.decode_index(data, state.size)
        if state.version is None:
            shard.index = data
            if shard.round > _MOST_TRIES:
                raise CodecError(Sharding.name, "the shard is replaced by others all the time")
            shard.round += 1
        else:
            self._layout.indexes.keep(shard.key, state.version, index, shard.sharding.index_size)
        asks = self._parts(shard, state.version, index)
        if not asks:
            return self._complete(shard)
        for ask in asks:
            self._overlap.add(ask)
        return None

    def _again(self, shard: _Shard) -> None:
        """Somebody replaced it: its index is not what it was."""
        self._layout.indexes.forget(shard.key)
        shard.round += 1
        if shard.round > _MOST_TRIES:
            raise CodecError(Sharding.name, "the shard is replaced by others all the time")
        self._overlap.add(self._index(shard))

    @staticmethod
    def _complete(shard: _Shard) -> Fetched:
        there = (answer for answer, place in zip(shard.answers, shard.places, strict=True) if place is not None)
        parts = matched(shard.places, list(there))
        return Fetched(shard.cell, None, None, shard.wanted, dict(zip(shard.numbers, parts, strict=True)))

    # -- chunks

    def _chunk(self, tag: _Chunk, state: State | None) -> Fetched:
        data = None if state is None else state.data
        if state is None or data is None:
            return Fetched(tag.cell, None, None, tag.wanted)
        if tag.part is not None:
            self._check_part(tag.cell, tag.part, state, data)
        elif len(data) > tag.limit:
            raise CodecError("chunk", f"what is stored has more than the {tag.limit} bytes that a chunk can have")
        return Fetched(tag.cell, data, tag.part, tag.wanted)

    def _check_part(self, cell: Cell, part: Part, state: State, data: Buffer) -> None:
        chain = self._layout.chain(cell.chunk)
        if state.size is not None and state.size != chain.spec.nbytes:
            check_size("bytes", chain.encoded, state.size)
        if len(data) != part.length:
            check_size("bytes", chain.encoded, part.start + len(data))


def _size(state: State | None) -> int:
    return 0 if state is None or state.data is None else len(state.data)
