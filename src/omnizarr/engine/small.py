"""A small read, by as short a way as there is: numbers in one chunk, or one inner chunk of a shard, of a file that the
compiled loop can read. No selection is made, no cell and no plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.config import config
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.parts import decodes_parts
from omnizarr.errors import CodecError
from omnizarr.native import ABSENT, DONE, codec, kernel
from omnizarr.store.held import HeldFile

__all__ = ["read_small"]


def read_small(layout: Layout, key: tuple[Any, ...]) -> Any:
    """What integers and slices select, one for each dimension, as NumPy gives it; None leaves it to the usual way."""
    found = layout.small
    if found is None:
        found = layout.small = _reader(layout)
    return found.read(key) if found else None


def _reader(layout: Layout) -> _Small | bool:
    """What reads little of an array; False if it is not of the kind."""
    chain = layout.uniform
    store = layout.store
    usual = store.files and store.holds and layout.cache is None and not layout.model.guessed_keys
    if not usual or chain is None or layout.dtype.kind not in "biufc":
        return False
    sharding = None if layout.sharding is None else sharding_of(chain)
    inner = chain if sharding is None else sharding.inner
    number = codec(inner.native)
    # Of a large chunk that is compressed it is better to decode a part.
    if number is None or (sharding is None and decodes_parts(inner)):
        return False
    return _Small(layout, chain, sharding, inner, number)


class _Small:
    """Small reads of one array."""

    __slots__ = ("_dimensions", "_how", "_largest", "_layout", "_sharding")

    def __init__(self, layout: Layout, chain: Chain, sharding: BoundSharding | None, inner: Chain, number: int) -> None:
        grid = (1,) * len(layout.axes) if sharding is None else sharding.grid
        shares = [1]
        for count in reversed(grid[1:]):
            shares.append(shares[-1] * count)
        self._dimensions = tuple(
            zip(
                [axis.length for axis in layout.axes],
                chain.spec.shape,
                inner.spec.shape,
                inner.strides,
                reversed(shares),
                strict=False,  # of no dimensions there is still a share
            )
        )
        self._layout = layout
        self._sharding = sharding
        # What `Layout.check_size` compares with the limit.
        self._largest = max(chain.spec.nbytes, 0 if sharding is None else sharding.index_size)
        self._how = (number, inner.spec.nbytes, inner.encoded.limit, layout.dtype.itemsize, inner.strides)

    def read(self, key: tuple[Any, ...]) -> Any:
        """As `read_small`."""
        dimensions = self._dimensions
        if len(key) != len(dimensions):
            return None
        offset = number = 0
        names: list[str] = []
        counts: list[int] = []
        shape: list[int] = []
        for item, (length, size, inside, stride, share) in zip(key, dimensions, strict=True):
            if type(item) is int:
                start = item + length if item < 0 else item
                if not 0 <= start < length:
                    return None
                count = 1
            elif type(item) is slice:
                try:
                    start, stop, step = item.indices(length)
                except (TypeError, ValueError):
                    return None
                count = stop - start
                if step != 1 or count < 1:
                    return None
                shape.append(count)
            else:
                return None
            chunk = start // size
            start -= chunk * size
            if inside != size:
                within = start // inside
                start -= within * inside
                number += within * share
            if start + count > inside:
                return None
            offset += start * stride
            names.append(str(chunk))
            counts.append(count)
        layout = self._layout
        settings = config.current
        if not settings.native or self._largest > settings.max_chunk_bytes:
            return None
        out = np.empty(shape, layout.dtype)
        place = layout.key(tuple(names))
        if self._sharding is None:
            (path,), flags = layout.store.paths((place,))
            status = kernel().read_small(out, path, flags, 0, -1, *self._how, offset, tuple(counts))
        else:
            status = self._read_inner(self._sharding, out, place, number, offset, tuple(counts))
        if status == ABSENT:
            out[...] = layout.fill
        elif status != DONE:
            return None
        return out if shape else out[()]

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
            if not isinstance(held, HeldFile):
                return None
            found: int = kernel().read_small(out, held.file, 0, *place, *self._how, offset, counts)
            return found
        except CodecError:
            return None  # the usual way tells what is wrong
        finally:
            held.close()
