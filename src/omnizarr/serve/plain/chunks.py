"""The chunks of an array that is shown in another generation."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from omnizarr._json import Problems
from omnizarr.codecs import Chain
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.errors import StoreError
from omnizarr.model import ArrayModel
from omnizarr.serve.plain.conversion import Conversion
from omnizarr.serve.values import BytesValue, ServedValue, open_value
from omnizarr.store.contract import ByteRange

__all__ = ["chunk_value"]


def chunk_value(conversion: Conversion, chunk: tuple[int, ...], part: ByteRange | None) -> ServedValue | None:
    """The value of a chunk of the shown array; None if it is absent. `part` is what a remote store is asked for."""
    array, model = conversion.array, conversion.model
    counts = [-(-length // size) for length, size in zip(model.shape, _shape(model), strict=True)]
    if any(position >= max(count, 0) for position, count in zip(chunk, counts, strict=True)):
        return None
    if array.metadata.guessed_keys:
        array._guess_keys()
    layout = array._layout
    if conversion.way == "re-encoded":
        return _encoded(conversion, chunk)
    if conversion.way == "stored":
        return open_value(layout.store, _key(layout, chunk), part)
    if array.metadata.sharding is not None:
        return _inner_chunk(conversion, chunk)
    return _block_content(conversion, chunk)


def _shape(model: ArrayModel) -> tuple[int, ...]:
    return tuple(model.grid.chunks)


def _key(layout: Layout, chunk: tuple[int, ...]) -> str:
    return layout.key(tuple(map(str, chunk)))


def _inner_chunk(conversion: Conversion, chunk: tuple[int, ...]) -> ServedValue | None:
    """An encoded inner chunk, cut out of its shard."""
    layout, inner = conversion.array._layout, _shape(conversion.model)
    per_shard = tuple(size // length for size, length in zip(layout.model.grid.chunks, inner, strict=True))
    shard = tuple(position // count for position, count in zip(chunk, per_shard, strict=True))
    sharding = sharding_of(layout.chain(shard))
    if sharding is None:
        return _encoded(conversion, chunk)
    number = 0
    for position, count in zip(chunk, per_shard, strict=True):
        number = number * count + position % count
    value = open_value(layout.store, _key(layout, shard), sharding.index_range)
    if value is None:
        return None
    try:
        start, length = sharding.index_range
        start = start if start >= 0 else max(0, value.size + start)
        length = value.size - start if length is None else length
        index = sharding.decode_index(value.read(start, length), value.size)
        extent = index[number]
        return None if extent is None else BytesValue(bytes(value.read(*extent)))
    finally:
        value.close()


def _block_content(conversion: Conversion, chunk: tuple[int, ...]) -> ServedValue | None:
    """What follows the header of a block of N5, if the block is a whole chunk; shorter ones are encoded again."""
    layout = conversion.array._layout
    data = layout.get(_key(layout, chunk), layout.chain(chunk).encoded.limit)
    if data is None:
        return None
    view, rank = memoryview(data), len(chunk)
    size = 4 + 4 * rank
    expected = struct.pack(f">HH{rank}I", 0, rank, *reversed(_shape(conversion.model)))
    if bytes(view[:size]) == expected:
        return BytesValue(view[size:])
    return _encoded(conversion, chunk)


def _encoded(conversion: Conversion, chunk: tuple[int, ...]) -> ServedValue | None:
    """A chunk that is read from the array and encoded by the codecs of the model."""
    array, model = conversion.array, conversion.model
    shape = _shape(model)
    region = tuple(
        slice(position * size, min((position + 1) * size, length))
        for position, size, length in zip(chunk, shape, model.shape, strict=True)
    )
    if array.metadata.grid.chunks == model.grid.chunks and not array._layout.store.exists(_key(array._layout, chunk)):
        return None
    block: np.ndarray[Any, Any] = np.asarray(array.get_basic_selection(region))
    if conversion.cast is not None:
        block = conversion.cast.convert(block)
    if block.shape != shape:
        whole = np.empty(shape, dtype=model.dtype)
        whole[...] = model.filler
        whole[tuple(slice(0, length) for length in block.shape)] = block
        block = whole
    elif block.dtype != model.dtype:
        block = block.astype(model.dtype)
    return BytesValue(_chain(model).encode(np.ascontiguousarray(block).reshape(shape)))


def _chain(model: ArrayModel) -> Chain:
    chain = model.chain(_shape(model), "$.codecs", Problems())
    if chain is None:
        raise StoreError("the codecs do not fit the chunks")
    return chain
