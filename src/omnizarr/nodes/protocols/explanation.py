"""`z.explain[selection]`: what a read would cost, from metadata, sizes and shard indexes; no chunk is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from omnizarr.codecs import BoundSharding
from omnizarr.config import config
from omnizarr.engine.layout import Layout, inner_axes, sharding_of
from omnizarr.engine.pool import run
from omnizarr.engine.read.partial import part_of
from omnizarr.engine.read.shards import coalesced_extents
from omnizarr.engine.schedule import takes_whole_shard
from omnizarr.indexing import Cell, Projection, Selection, numpy_selection, pick_length, split_fields

if TYPE_CHECKING:
    from omnizarr.nodes.array_state import ArrayState

__all__ = ["Explainer", "Explanation", "explain"]

_MOST_CHUNKS = 2000  # whose sizes are looked up; the costs of more are extrapolated
_MOST_REQUESTS = 32  # for such sizes, at once, to a remote store
_MUCH = 4.0  # times as many decoded as selected bytes that deserve advice
_SMALL_REQUEST = 2**17  # bytes; below 128 KiB, the latency of a remote store exceeds the time of the transfer
_GOOD_CHUNK = 2**20  # bytes of a proposed chunk


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a read costs."""

    shape: tuple[int, ...]
    """The shape of the result."""
    selected_bytes: int
    chunks: int
    """The chunks that the selection touches; for a sharded array, the shards."""
    absent: int
    """How many of them are not stored, so that they hold the fill value."""
    decoded_chunks: int
    """The chunks that are decoded; for a sharded array, inner chunks."""
    decoded_bytes: int
    requests: int
    """The reads from the store, absent chunks included."""
    stored_bytes: int
    """The bytes that are read from the store."""
    amplification: float
    """Decoded bytes per selected byte."""
    memory: int
    """The memory that the read takes, the result included, in bytes."""
    estimated: bool
    """Whether the costs were extrapolated from some of the chunks."""
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        from omnizarr.display.texts import human_bytes  # lazy import: display only

        about, times = "about " if self.estimated else "", f"{self.amplification:,.1f}"
        decoded = human_bytes(self.decoded_bytes)
        lines = [
            f"selects   {human_bytes(self.selected_bytes)}, shape {self.shape}",
            f"touches   {_count(self.chunks, 'chunk')}, {about}{self.absent:,} of them absent",
            f"reads     {about}{human_bytes(self.stored_bytes)} in {_count(self.requests, 'request')}",
            f"decodes   {about}{decoded} in {_count(self.decoded_chunks, 'chunk')}, {times} × the selection",
            f"memory    {human_bytes(self.memory)}",
            *(f"advice    {text}" for text in self.advice),
        ]
        return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class Explainer:
    """Square brackets that explain a read instead of doing it."""

    __slots__ = ("_array",)

    def __init__(self, array: ArrayState) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Explanation:
        return explain(self._array, key)

    def __repr__(self) -> str:
        return f"<explain of array {self._array.name}>"


@dataclass(slots=True)
class _Cost:
    absent: int = 0
    decoded_chunks: int = 0
    decoded_bytes: int = 0
    requests: int = 0
    stored_bytes: int = 0

    def scaled(self, factor: float) -> _Cost:
        return _Cost(*(round(getattr(self, name) * factor) for name in self.__slots__))


def explain(array: ArrayState, key: Any = ...) -> Explanation:
    """What `array[key]` would cost. It reads sizes of chunks and indexes of shards, but no chunk."""
    _, key = split_fields(key)
    selection = numpy_selection(key, array._model.shape)
    if array._model.guessed_keys:
        array._guess_keys(selection)
    layout = array._layout
    selected = prod(selection.shape) * layout.dtype.itemsize
    if selection.empty:
        return Explanation(selection.shape, 0, 0, 0, 0, 0, 0, 0, 1.0, 0, False)
    projection = Projection(selection.picks, selection.points, layout.axes)
    count = len(projection)
    cells = projection.sample(_MOST_CHUNKS)
    cost = _look_up(layout, projection, cells)
    estimated = len(cells) < count
    if estimated:
        cost = cost.scaled(count / len(cells))
    amplification = cost.decoded_bytes / max(1, selected)
    workers = min(config.workers, count)
    largest = layout.largest
    buffer = 0 if largest is None else _decoded_size(layout)
    memory = selected + workers * 2 * buffer
    explanation = Explanation(
        shape=selection.shape,
        selected_bytes=selected,
        chunks=count,
        absent=cost.absent,
        decoded_chunks=cost.decoded_chunks,
        decoded_bytes=cost.decoded_bytes,
        requests=cost.requests,
        stored_bytes=cost.stored_bytes,
        amplification=round(amplification, 2),
        memory=memory,
        estimated=estimated,
    )
    return replace(explanation, advice=tuple(_advice(layout, selection, explanation)))


def _look_up(layout: Layout, projection: Projection, cells: Sequence[Cell]) -> _Cost:
    """The cost of some chunks. Requests to a remote store overlap."""
    costs: list[_Cost] = []

    def start() -> Callable[[Cell], object]:
        cost = _Cost()
        costs.append(cost)
        return lambda cell: _add(cost, layout, projection, cell)

    run(cells, start, min(len(cells), _MOST_REQUESTS) if layout.store.remote else 1)
    return _Cost(*(sum(getattr(cost, name) for cost in costs) for name in _Cost.__slots__))


def _decoded_size(layout: Layout) -> int:
    chain = layout.largest
    assert chain is not None
    sharding = sharding_of(chain)
    return chain.spec.nbytes if sharding is None else sharding.inner.spec.nbytes


def _add(cost: _Cost, layout: Layout, projection: Projection, cell: Cell) -> None:
    """Adds the cost of one chunk or shard."""
    chain, key = layout.chain(cell.chunk), layout.key(cell.names)
    size = layout.store.size(key)
    cost.requests += 1
    if size is None:
        cost.absent += 1
        return
    sharding = sharding_of(chain)
    if sharding is not None:
        _add_shard(cost, layout, sharding, key, size, projection, cell)
        return
    cost.decoded_chunks += 1
    part = None if projection.points else part_of(chain, layout, cell.inner)
    if part is None:
        cost.decoded_bytes += chain.spec.nbytes
        cost.stored_bytes += size
        return
    decoded = part.start + part.length if chain.from_start else part.length
    cost.decoded_bytes += decoded
    cost.stored_bytes += decoded if not chain.compressed else -(-size * decoded // max(1, chain.spec.nbytes))


def _add_shard(
    cost: _Cost, layout: Layout, sharding: BoundSharding, key: str, size: int, projection: Projection, cell: Cell
) -> None:
    axes = inner_axes(sharding, layout.clipped(cell.chunk))
    inner = list(Projection(cell.inner, projection.points, axes))
    data = layout.store.get(key, sharding.index_range)
    if data is None:
        return
    index = sharding.decode_index(data, size)
    numbers = []
    for part in inner:
        number = 0
        for position, length in zip(part.chunk, sharding.grid, strict=True):
            number = number * length + position
        numbers.append(number)
    extents = [extent for extent in index.extents(numbers) if extent is not None]
    cost.decoded_chunks += len(extents)
    cost.decoded_bytes += len(extents) * sharding.inner.spec.nbytes
    if takes_whole_shard(sharding, len(inner)):
        cost.stored_bytes += size
        return
    runs = coalesced_extents(sorted(extents), remote=layout.store.remote)
    cost.requests += len(runs)
    cost.stored_bytes += sharding.index_size + sum(length for _, length in runs)


# -- advice


def _advice(layout: Layout, selection: Selection, cost: Explanation) -> Iterator[str]:
    from omnizarr.display.texts import human_bytes  # lazy import: display only

    sharded = layout.sharding is not None
    if cost.amplification >= _MUCH and cost.decoded_bytes > _SMALL_REQUEST:
        shape = fitting_chunks(layout, selection)
        counts = [
            -(-pick_length(pick) // length) if isinstance(pick, slice) else pick_length(pick)
            for pick, length in zip(selection.picks, shape, strict=True)
        ]
        size = prod(shape) * layout.dtype.itemsize
        number = max(1, prod(counts))
        if number * size < cost.decoded_bytes:
            text = " × ".join(map(str, shape))
            yield (
                f"you decode {cost.amplification:,.0f} × what you use: {'inner ' if sharded else ''}chunks of {text} "
                f"would need {human_bytes(number * size)} in {number:,} {'chunk' if number == 1 else 'chunks'}"
            )
    stored = cost.stored_bytes / max(1, cost.requests - cost.absent)
    if cost.requests - cost.absent > 100 and stored < _SMALL_REQUEST and not sharded:
        yield (
            f"{cost.requests:,} requests of {human_bytes(int(stored))} each: larger chunks, or shards, would need fewer"
        )
    chain = layout.largest
    if chain is not None and sharded and sharding_of(chain) is None:
        yield "other codecs enclose the shards, so each is read and decoded as a whole"
    if chain is not None and _decoded_size(layout) > 2**28:
        yield f"one chunk has {human_bytes(_decoded_size(layout))}, and each thread needs memory for one"


def fitting_chunks(layout: Layout, selection: Selection) -> tuple[int, ...]:
    """Chunks in the shape of a selection, of at most a few MiB and at least some KiB."""
    axes, itemsize = layout.axes, layout.dtype.itemsize
    lengths = []
    for pick, axis in zip(selection.picks, axes, strict=True):
        extent = pick.stop - pick.start if isinstance(pick, slice) else 1
        lengths.append(max(1, min(axis.length, extent)))
    while prod(lengths) * itemsize > 4 * _GOOD_CHUNK:
        axis_number = lengths.index(max(lengths))
        lengths[axis_number] = -(-lengths[axis_number] // 2)
    while prod(lengths) * itemsize < 2**16:
        growing = [number for number, axis in enumerate(axes) if lengths[number] < axis.length]
        if not growing:
            break
        number = growing[-1]
        lengths[number] = min(axes[number].length, 2 * lengths[number])
    return tuple(lengths)
