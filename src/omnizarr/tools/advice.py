"""`advise`: proposals for chunks, shards and codecs, measured on a sample of the data."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.codecs import Blosc, Bytes, Chain, ChunkSpec, Codec, Gzip, Zstd, plain_serializer
from omnizarr.dtypes import DataType, VariableBytes
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array
from omnizarr.nodes.stored_chunks import stored_chunks
from omnizarr.tools.results import Progress

__all__ = ["Advice", "Proposal", "advise", "parse_access"]

_SAMPLE = 2**24  # bytes of elements to measure with
_CHUNKS = (2**18, 2**20, 2**22)  # bytes of a chunk to try
_SHARD = 2**26  # bytes of a proposed shard
_MANY_FILES = 10_000  # above which shards are proposed
_LATENCY = 0.002  # seconds per request, of a disk or a nearby object store
_BANDWIDTH = 2**28  # bytes per second of such a store
_MOST_LISTED = 10_000  # stored chunks that are listed to find a sample
_MEASURE = 0.05  # seconds to measure a codec at least


@dataclass(frozen=True, slots=True)
class Proposal:
    """One way to store the array, as measured on the sample."""

    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None
    codecs: tuple[Json, ...]
    ratio: float
    """Elements in memory per stored byte."""
    encode_rate: float
    decode_rate: float
    """Bytes of elements per second, in one thread."""
    files: int
    """The number of stored values that the array would have."""
    amplification: float
    """Decoded bytes per selected byte, of the worst access."""
    reads: int
    """Chunks per access, of the worst access."""
    seconds: float
    """The estimated time of one access, with 2 ms per request and 256 MiB/s."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Proposals, the best first, and the present state for comparison."""

    shape: tuple[int, ...]
    access: tuple[tuple[int, ...], ...]
    """The lengths that each access takes of each dimension."""
    sample_bytes: int
    present: Proposal
    proposals: tuple[Proposal, ...]


def parse_access(text: str, shape: Sequence[int], names: Sequence[str | None] | None) -> tuple[int, ...]:
    """The lengths that an access takes: `time,lat:10` is all of `time`, 10 of `lat`, and 1 of every other dimension.
    Numbers name dimensions that have no names."""
    lengths = [1] * len(shape)
    for item in text.split(","):
        match = re.fullmatch(r"\s*([^:]+?)\s*(?::\s*(\d+))?\s*", item)
        if match is None:
            raise ArgumentError(
                f"`access`: expected dimensions such as `time,lat:10`, found {text!r}", argument="access"
            )
        name, length = match[1], match[2]
        known = list(names or ())
        if name in known:
            axis = known.index(name)
        elif name.isdigit() and int(name) < len(shape):
            axis = int(name)
        else:
            have = ", ".join(str(known[axis] if known and known[axis] else axis) for axis in range(len(shape)))
            raise ArgumentError(f"`access`: there is no dimension `{name}`; the array has {have}", argument="access")
        lengths[axis] = shape[axis] if length is None else max(1, min(shape[axis], int(length)))
    return tuple(lengths)


def advise(array: Array, access: Sequence[str], *, most: int = 5, progress: Progress | None = None) -> Advice:
    """Proposes how to store an array that is read in certain ways.

    Args:
        array: the array. A sample of its data is read.
        access: how the array is read, such as "time,lat:10": all of `time`, 10 of `lat`, 1 of every other dimension.
        most: the number of proposals.
        progress: called with the number of measured combinations and their total.
    """
    if not array.shape or 0 in array.shape:
        raise ArgumentError(f"array `{array.name}` has no elements to arrange", argument="array")
    patterns = [parse_access(text, array.shape, array.dimension_names) for text in access] or [array.shape]
    sample = _sample(array)
    shapes = list(dict.fromkeys(_chunk_shape(array, patterns, size) for size in _CHUNKS))
    codecs = _codec_choices(array.data_type)
    proposals = []
    for number, (shape, chain) in enumerate(product(shapes, codecs)):
        proposals.append(_measure(array, patterns, sample, shape, None, chain))
        if progress is not None:
            progress(number + 1, len(shapes) * len(codecs))
    proposals.sort(key=lambda proposal: (proposal.seconds, -proposal.ratio))
    present_shape = _lengths(array.chunks)
    shards = None if array.shards is None else _lengths(array.shards)
    own = array._model.sharding.codecs if array._model.sharding is not None else array._model.codecs
    present = _measure(array, patterns, sample, present_shape, shards, own, present=True)
    return Advice(array.shape, tuple(patterns), sample.nbytes, present, tuple(proposals[:most]))


def _lengths(chunks: Any) -> tuple[int, ...]:
    """One length per dimension; the longest, if chunks differ in length."""
    return tuple(max(edge) if isinstance(edge, (tuple, list)) else int(edge) for edge in chunks)


def _sample(array: Array) -> npt.NDArray[Any]:
    """Elements from the middle of the array; if chunks are absent there, from the middle of what is stored."""
    region = _middle(array, [(0, length) for length in array.shape])
    if array.explain[region].absent:
        stored = _stored_bounds(array)
        region = region if stored is None else _middle(array, stored)
    return array.read(region)


def _middle(array: Array, bounds: Sequence[tuple[int, int]]) -> tuple[slice, ...]:
    """The middle of a region, at most 16 MiB."""
    lengths = [stop - start for start, stop in bounds]
    while prod(lengths) * max(1, array.dtype.itemsize) > _SAMPLE:
        axis = lengths.index(max(lengths))
        lengths[axis] = -(-lengths[axis] // 2)
    starts = [start + (stop - start - part) // 2 for (start, stop), part in zip(bounds, lengths, strict=True)]
    return tuple(slice(start, start + part) for start, part in zip(starts, lengths, strict=True))


def _stored_bounds(array: Array) -> list[tuple[int, int]] | None:
    """Where the stored chunks begin and end in each dimension; None if there are none, or the store cannot list."""
    layout = array._layout
    if not layout.store.listable:
        return None
    chunks = [chunk for _, chunk in islice(stored_chunks(layout), _MOST_LISTED)]
    inside = [chunk for chunk in chunks if all(i < axis.count for i, axis in zip(chunk, layout.axes, strict=True))]
    if not inside:
        return None
    bounds = []
    for axis, indexes in zip(layout.axes, zip(*inside, strict=True), strict=True):
        start, size = axis.bounds(max(indexes))
        bounds.append((axis.bounds(min(indexes))[0], min(start + size, axis.length)))
    return bounds


def _chunk_shape(array: Array, patterns: Sequence[tuple[int, ...]], size: int) -> tuple[int, ...]:
    """Chunks of about `size` bytes whose proportions are those of the accesses, on geometric average."""
    target = max(1.0, size / max(1, array.dtype.itemsize))
    weights = [float(np.exp(np.mean([np.log(pattern[axis]) for pattern in patterns]))) for axis in range(array.ndim)]
    lengths = [1.0] * array.ndim
    fixed: set[int] = set()
    for _ in range(array.ndim + 1):
        free = [axis for axis in range(array.ndim) if axis not in fixed]
        if not free:
            break
        rest = target / prod(lengths[axis] for axis in fixed)
        scale = (rest / prod(weights[axis] for axis in free)) ** (1 / len(free))
        for axis in free:
            lengths[axis] = weights[axis] * scale
        outside = [axis for axis in free if not 1 <= lengths[axis] <= array.shape[axis]]
        if not outside:
            break
        for axis in outside:
            lengths[axis] = min(float(array.shape[axis]), max(1.0, lengths[axis]))
            fixed.add(axis)
    return tuple(
        _even(int(max(1, min(length, round(value)))), length)
        for value, length in zip(lengths, array.shape, strict=True)
    )


def _even(size: int, length: int) -> int:
    """A chunk length near `size` of which the last chunk of the dimension wastes little."""
    return -(-length // max(1, round(length / size)))


def _codec_choices(data_type: DataType) -> list[tuple[Codec, ...]]:
    dtype = data_type.dtype
    serializer = plain_serializer(dtype) if not dtype.hasobject and dtype.kind != "T" else None
    if serializer is None:
        from omnizarr.codecs import VlenBytes, VlenUtf8

        text: Codec = VlenBytes() if isinstance(data_type, VariableBytes) else VlenUtf8()
        return [(text, Zstd(1)), (text, Zstd(5)), (text, Gzip(5))]
    size = dtype.itemsize
    first: Codec = Bytes("little") if isinstance(serializer, Bytes) and size > 1 else serializer
    choices: list[tuple[Codec, ...]] = [(first, Zstd(1)), (first, Gzip(5)), (first,)]
    if 1 < size <= 255:
        choices = [(first, Blosc("zstd", 1, "shuffle", size)), (first, Blosc("lz4", 5, "shuffle", size)), *choices]
        choices.append((first, Blosc("zstd", 5, "bitshuffle", size)))
    return choices


def _measure(
    array: Array,
    patterns: Sequence[tuple[int, ...]],
    sample: npt.NDArray[Any],
    chunks: tuple[int, ...],
    shards: tuple[int, ...] | None,
    codecs: Sequence[Codec],
    *,
    present: bool = False,
) -> Proposal:
    # A sample shorter than a chunk is encoded as a smaller chunk, because repeated elements would compress too well.
    # Codecs with a fixed shape, such as `reshape`, need the whole chunk.
    for shape in (tuple(map(min, chunks, sample.shape)), chunks):
        problems = Problems()
        chain = Chain.bind(codecs, ChunkSpec(shape, array.dtype, array._model.filler), "$", problems)
        if chain is not None:
            break
    else:
        raise ArgumentError(f"{codecs}: {problems.found[0].message}", argument="array")
    pieces = _pieces(sample, shape)
    # Copies, because a write and a read copy, too: without them, a chunk without a codec would take no time.
    target = np.empty_like(pieces[0])
    encoded, encode_time = _timed(lambda: [bytes(chain.encode(piece)) for piece in pieces])

    def decode() -> None:
        for value in encoded:
            np.copyto(target, chain.decode(value))

    _, decode_time = _timed(decode)
    size = sum(piece.nbytes for piece in pieces)
    ratio = size / max(1, sum(len(value) for value in encoded))
    count = prod(-(-length // step) for length, step in zip(array.shape, chunks, strict=True))
    if shards is None and not present and count > _MANY_FILES:
        shards = _shard_shape(array, chunks)
    files = count if shards is None else prod(-(-n // step) for n, step in zip(array.shape, shards, strict=True))
    itemsize = max(1, array.dtype.itemsize)
    worst = (0.0, 1.0, 0)
    for pattern in patterns:
        # On average a selection touches one chunk more than it fills, except where it takes the whole dimension.
        touched = [
            -(-length // step) if part >= length else min(-(-length // step), 1 + (part - 1) / step)
            for part, step, length in zip(pattern, chunks, array.shape, strict=True)
        ]
        reads = prod(touched)
        decoded = reads * prod(chunks) * itemsize
        seconds = reads * _LATENCY + decoded * (decode_time / max(1, size) + 1 / (ratio * _BANDWIDTH))
        worst = max(worst, (seconds, decoded / max(1, prod(pattern) * itemsize), round(reads)))
    return Proposal(
        chunks=chunks,
        shards=shards,
        codecs=tuple(codec.to_json() for codec in codecs),
        ratio=round(ratio, 3),
        encode_rate=size / max(1e-9, encode_time),
        decode_rate=size / max(1e-9, decode_time),
        files=files + 1,
        amplification=round(worst[1], 2),
        reads=max(1, worst[2]),
        seconds=worst[0],
    )


def _pieces(sample: npt.NDArray[Any], chunks: tuple[int, ...]) -> list[npt.NDArray[Any]]:
    """Whole chunks from the sample, which is repeated where it is too short."""
    padded = sample
    for axis, length in enumerate(chunks):
        if padded.shape[axis] < length:
            repeats = -(-length // padded.shape[axis])
            padded = np.concatenate([padded] * repeats, axis=axis)
    corners = product(*(range(0, n - step + 1, step) for n, step in zip(padded.shape, chunks, strict=True)))
    pieces = []
    for corner in corners:
        region = tuple(slice(start, start + step) for start, step in zip(corner, chunks, strict=True))
        pieces.append(np.ascontiguousarray(padded[region]))
        if len(pieces) * max(1, pieces[0].nbytes) >= _SAMPLE:
            break
    return pieces


def _timed(function: Any) -> tuple[Any, float]:
    """The result, and the seconds of one call: the shortest of at least two."""
    best, start = float("inf"), time.perf_counter()
    while True:
        before = time.perf_counter()
        result = function()
        now = time.perf_counter()
        best = min(best, now - before)
        if now - start >= _MEASURE:
            return result, best


def _shard_shape(array: Array, chunks: tuple[int, ...]) -> tuple[int, ...]:
    """A multiple of the chunk shape of about 64 MiB."""
    factors = [1] * len(chunks)
    counts = [-(-length // step) for length, step in zip(array.shape, chunks, strict=True)]
    size = prod(chunks) * max(1, array.dtype.itemsize)
    while prod(factors) * size < _SHARD:
        growing = [axis for axis in range(len(chunks)) if factors[axis] < counts[axis]]
        if not growing:
            break
        axis = min(growing, key=lambda number: factors[number] * chunks[number])
        factors[axis] = min(counts[axis], factors[axis] * 2)
    return tuple(factor * step for factor, step in zip(factors, chunks, strict=True))
