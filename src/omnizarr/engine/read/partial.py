"""A part of a chunk whose bytes can be decoded without the rest: one that is stored as it lies in memory, or in blocks.
Only what holds the bytes from the first to the last of the part's elements is read."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.codecs.contract import check_size
from omnizarr.errors import CodecError
from omnizarr.indexing import Pick
from omnizarr.store import Buffer, Store

__all__ = ["Part", "decodes_parts", "elements_of", "part_of", "read_part"]

_SAVED = 2**14  # bytes that take longer to read than it takes to find out which ones are wanted
_UNDECODED = 2**18  # bytes that take longer to decode than it takes to find the blocks that are wanted


class Part(NamedTuple):
    """Elements within a chunk in C order: where their bytes begin and how many there are, gaps included, and how the
    elements lie in them."""

    start: int
    length: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def decodes_parts(chain: Chain) -> bool:
    """Whether chunks are so large, and so compressed, that it may pay to decode a part of one."""
    return chain.compressed and chain.parts and chain.spec.nbytes >= _UNDECODED


def part_of(chain: Chain, store: Store, picks: tuple[Pick, ...]) -> Part | None:
    """What slices take from a chunk, if its bytes can be read without the rest and it pays."""
    # Of a remote store one asks for the only piece there is, and is told the size of the whole with it.
    if (
        not (store.holds or (store.remote and store.states))
        or not chain.parts
        or (store.in_memory and not chain.compressed)
    ):
        return None
    least = _UNDECODED if chain.compressed else _SAVED
    spec = chain.spec
    if spec.nbytes < least:
        return None
    sizes = spec.shape
    stride = spec.dtype.itemsize
    start, length = 0, stride
    shape: list[int] = []
    strides: list[int] = []
    for dimension in range(len(sizes) - 1, -1, -1):
        pick = picks[dimension]
        if not isinstance(pick, slice):
            return None
        first, step = pick.start, pick.step
        count = (pick.stop - first + step - 1) // step
        shape.append(count)
        strides.append(stride * step)
        start += stride * first
        length += stride * step * (count - 1)
        stride *= sizes[dimension]
    if spec.nbytes - (start + length if chain.from_start else length) < least:
        return None
    return Part(start, length, tuple(shape[::-1]), tuple(strides[::-1]))


def read_part(chain: Chain, store: Store, key: str, part: Part, target: npt.NDArray[Any]) -> bool:
    """Fills `target` with the elements of a part; False if there is no such chunk. What cannot be a chunk, because of
    its size, is refused."""
    held = store.hold(key)
    if held is None:
        return False
    start, length, dtype = part.start, part.length, chain.spec.dtype
    try:
        if not chain.compressed and length == target.nbytes and target.flags.c_contiguous and target.dtype == dtype:
            check_size("bytes", chain.encoded, held.size)  # and straight to where it belongs
            found = held.get_into(start, target.reshape(-1).view(np.uint8).data)
            if found != length:
                _cut_off(held.size, start + found)
            return True

        def read(start: int, length: int) -> Buffer:
            data = held.get((start, length))
            if len(data) != length:
                _cut_off(held.size, start + len(data))
            return data

        data = chain.decode_part(read, held.size, start, length)
    finally:
        held.close()
    target[...] = elements_of(chain, part, data)
    return True


def elements_of(chain: Chain, part: Part, data: Buffer) -> npt.NDArray[Any]:
    """The elements of a part, to look at, from its decoded bytes."""
    return np.ndarray(part.shape, chain.spec.dtype, data, 0, part.strides)


def _cut_off(size: int, found: int) -> NoReturn:
    raise CodecError("chunk", f"its stored form was cut off at {found} of {size} bytes")
