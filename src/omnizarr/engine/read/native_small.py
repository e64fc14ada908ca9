"""A small read, by as short a way as there is: numbers in a few chunks, or in one inner chunk of a shard, of files that
the compiled loop can read. No selection is made, no projection and no cell."""

from __future__ import annotations

import struct
from itertools import product
from typing import Any

import numpy as np

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.read.partial import decodes_parts
from omnizarr.errors import CodecError
from omnizarr.native import (
    ABSENT,
    AXIS_NUMBERS,
    DONE,
    MAX_CHUNK_BYTES,
    MAX_DIMENSIONS,
    PIECE_NUMBERS,
    TO_DO,
    UNUSUAL,
    codec,
    kernel,
)
from omnizarr.store.local.snapshot import FileSnapshot

__all__ = ["read_small"]

_FEW = 256  # chunks; with more, the usual way costs little beside them


def read_small(layout: Layout, key: Any) -> Any:
    """What integers and slices select, as NumPy gives it; None leaves it to the usual way."""
    found = layout.small
    if found is None:
        found = layout.small = _reader(layout)
    if not found:
        return None
    return found.read(key if type(key) is tuple else (key,))


def _reader(layout: Layout) -> _Small | bool:
    """What reads little of an array; False if it is not of the kind."""
    chain = layout.uniform
    store = layout.store
    usual = store.files and store.holds and layout.cache is None and not layout.model.guessed_keys
    if not usual or chain is None or layout.dtype.kind not in "biufc" or len(layout.axes) > MAX_DIMENSIONS:
        return False
    if layout.separator is None:
        return False
    sharding = None if layout.sharding is None else sharding_of(chain)
    inner = chain if sharding is None else sharding.inner
    number = codec(inner.native)
    # Of a large chunk that is compressed it is better to decode a part.
    if number is None or (sharding is None and decodes_parts(inner)):
        return False
    if chain.spec.nbytes > MAX_CHUNK_BYTES:
        return False
    return _Small(layout, chain, sharding, inner, number)


class _Small:
    """Small reads of one array."""

    __slots__ = ("_chain", "_grid", "_how", "_largest", "_layout", "_prefix", "_separator", "_sharding", "_usual")

    def __init__(self, layout: Layout, chain: Chain, sharding: BoundSharding | None, inner: Chain, number: int) -> None:
        assert layout.separator is not None
        rank = len(layout.axes)
        grid = (1,) * rank if sharding is None else sharding.grid
        shares = [1]
        for count in reversed(grid[1:]):
            shares.append(shares[-1] * count)
        self._grid = b"".join(
            map(
                struct.Struct(f"={AXIS_NUMBERS}q").pack,
                [axis.length for axis in layout.axes],
                chain.spec.shape,
                inner.spec.shape,
                inner.strides,
                reversed(shares),  # of no dimensions there is still one
            )
        )
        self._separator = layout.separator
        self._prefix = layout.key(("0",) * rank).removesuffix(layout.separator.join(["0"] * rank))
        self._layout = layout
        self._chain = chain
        self._sharding = sharding
        self._usual = True
        # What `Layout.check_size` compares with the limit.
        self._largest = max(chain.spec.nbytes, 0 if sharding is None else sharding.index_size)
        self._how = (number, inner.spec.nbytes, inner.encoded.limit, layout.dtype.itemsize, inner.strides)

    def read(self, key: tuple[Any, ...]) -> Any:
        """As `read_small`."""
        loop = kernel()
        layout = self._layout
        found = loop.locate(key, self._grid, layout.dtype.itemsize, self._separator, _FEW)
        settings = config.current
        if found is None or not settings.native or self._largest > settings.max_chunk_bytes:
            return None
        if len(found) == 4:
            return self._read_several(*found) if self._usual else None
        counts, shape, name, offset, number = found
        out = np.empty(shape, layout.dtype)
        place = self._prefix + name
        if self._sharding is None:
            path, flags = layout.store.path_of(place)
            status = loop.read_small(out, path, flags, 0, -1, *self._how, offset, counts)
        else:
            status = self._read_inner(self._sharding, out, place, number, offset, counts)
        if status == ABSENT:
            out[...] = layout.fill
        elif status != DONE:
            return None
        return out if shape else out[()]

    def _read_several(
        self,
        counts: tuple[int, ...],
        shape: tuple[int, ...],
        names: list[list[str]],
        pieces: tuple[list[int], ...],
    ) -> Any:
        """What is read from a few chunks, as an array; None as above."""
        from omnizarr.engine.read.native import Loop  # only for files

        layout, chain = self._layout, self._chain
        out = np.empty(shape, layout.dtype)
        block = out.reshape(counts)
        paths, flags = layout.store.paths(layout.rows(names))
        status = bytearray((TO_DO,)) * len(paths)
        Loop(chain, self._how[0], chain.strides, block, ()).read([(paths, 0, pieces, None)], flags, status)
        if UNUSUAL in status:
            self._usual = False  # all of it is read again now; to do so each time would take long
            return None
        if ABSENT in status:
            places = [
                [
                    slice(start // stride, start // stride + length)
                    for start, length in zip(some[1::PIECE_NUMBERS], some[2::PIECE_NUMBERS], strict=True)
                ]
                for some, stride in zip(pieces, block.strides, strict=True)
            ]
            for became, place in zip(status, product(*places), strict=True):
                if became == ABSENT:
                    block[place] = layout.fill
        return out

    def _read_inner(
        self, sharding: BoundSharding, out: Any, key: str, number: int, offset: int, counts: tuple[int, ...]
    ) -> int | None:
        """What became of reading from an inner chunk, by its number."""
        held = self._layout.store.hold(key)
        if held is None:
            return ABSENT
        try:
            place = self._layout.index_of(sharding, key, held)[number]
            if place is None:
                return ABSENT
            if not isinstance(held, FileSnapshot):
                return None
            found: int = kernel().read_small(out, held.file, 0, *place, *self._how, offset, counts)
            return found
        except CodecError:
            return None  # the usual way tells what is wrong
        finally:
            held.close()
