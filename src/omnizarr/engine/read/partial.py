"""Route E: reads a part of a chunk, if its bytes can be decoded without the rest: an uncompressed chunk, or one that is
compressed in blocks. Only the bytes from the first to the last selected element are read."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.codecs.contract import check_size
from omnizarr.engine.layout import Layout
from omnizarr.errors import CodecError
from omnizarr.indexing import Pick
from omnizarr.store import Buffer, Snapshots

__all__ = ["ChunkPart", "decodes_parts", "part_of", "read_part"]

_MIN_SAVED_RAW = 2**14  # bytes; below 16 KiB, reading the whole chunk is faster than finding the selected bytes
_MIN_SAVED_BLOCKS = 2**18  # bytes; below 256 KiB, decoding the whole chunk is faster than finding the selected blocks


class ChunkPart(NamedTuple):
    """Elements of a chunk in C order: the position of their first byte, the number of bytes including gaps, and the
    shape and strides of the elements in these bytes."""

    start: int
    length: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def elements(self, chain: Chain, data: Buffer) -> npt.NDArray[Any]:
        """A view of the elements in their decoded bytes."""
        return np.ndarray(self.shape, chain.spec.dtype, data, 0, self.strides)


def decodes_parts(chain: Chain) -> bool:
    """Whether chunks are compressed in blocks, and large enough that decoding some of the blocks may be faster."""
    return chain.compressed and chain.parts and chain.spec.nbytes >= _MIN_SAVED_BLOCKS


def part_of(chain: Chain, layout: Layout, picks: tuple[Pick, ...]) -> ChunkPart | None:
    """The part of a chunk that slices take, if it can be read without the rest and that is faster."""
    if not chain.parts or (layout.store.in_memory and not chain.compressed):
        return None
    # A remote store with versions returns the size of the whole value with the only request that is needed.
    if layout.snapshots is None and (layout.versioned_reads is None or not layout.store.remote):
        return None
    least = _MIN_SAVED_BLOCKS if chain.compressed else _MIN_SAVED_RAW
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
    return ChunkPart(start, length, tuple(shape[::-1]), tuple(strides[::-1]))


def read_part(chain: Chain, snapshots: Snapshots, key: str, part: ChunkPart, target: npt.NDArray[Any]) -> bool:
    """Fill `target` with the elements of a part; False if the chunk is absent. A value whose size is wrong is an
    error."""
    snapshot = snapshots.open(key)
    if snapshot is None:
        return False
    start, length, dtype = part.start, part.length, chain.spec.dtype
    try:
        if not chain.compressed and length == target.nbytes and target.flags.c_contiguous and target.dtype == dtype:
            check_size("bytes", chain.encoded, snapshot.size)
            count = snapshot.get_into(start, target.reshape(-1).view(np.uint8).data)
            if count != length:
                _raise_truncated(snapshot.size, start + count)
            return True

        def read(start: int, length: int) -> Buffer:
            data = snapshot.get((start, length))
            if len(data) != length:
                _raise_truncated(snapshot.size, start + len(data))
            return data

        data = chain.decode_part(read, snapshot.size, start, length)
    finally:
        snapshot.close()
    target[...] = part.elements(chain, data)
    return True


def _raise_truncated(size: int, end: int) -> NoReturn:
    raise CodecError("chunk", f"the stored value ends after {end} of {size} bytes")
