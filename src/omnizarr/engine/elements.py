"""A single element, by as short a way as there is: numbers out of chunks in files that the compiled loop can read."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.config import config
from omnizarr.engine.layout import Layout
from omnizarr.engine.parts import decodes_parts
from omnizarr.native import ABSENT, codec, kernel

__all__ = ["element"]


def element(layout: Layout, key: tuple[Any, ...]) -> Any:
    """The element that integers select, one for each dimension; None leaves it, whatever it is, to the usual way."""
    found = layout.elements
    if found is None:
        found = layout.elements = _Elements.of(layout)
    return found.get(key) if found else None


class _Elements:
    """Elements of one array."""

    __slots__ = ("_codec", "_dimensions", "_dtype", "_fill", "_itemsize", "_key", "_limit", "_paths", "_read", "_size")

    def __init__(self, layout: Layout, number: int) -> None:
        chain = layout.uniform
        assert chain is not None
        self._dimensions = tuple(
            (axis.length, size, stride)
            for axis, size, stride in zip(layout.axes, chain.spec.shape, chain.strides, strict=True)
        )
        self._codec = number
        self._dtype = layout.dtype
        self._fill = layout.fill
        self._itemsize = layout.dtype.itemsize
        self._key = layout.key
        self._limit = chain.encoded.limit
        self._paths = layout.store.paths
        self._read = kernel().read_element
        self._size = chain.spec.nbytes

    @classmethod
    def of(cls, layout: Layout) -> _Elements | bool:
        """What gives the elements of an array; False if they are not of the kind."""
        chain = layout.uniform
        usual = layout.store.files and layout.cache is None and not layout.model.guessed_keys
        # Of a large chunk that is compressed it is better to decode a part.
        if not usual or chain is None or chain.native is None or layout.dtype.kind not in "biufc":
            return False
        if decodes_parts(chain):
            return False
        number = codec(chain.native)
        return False if number is None else cls(layout, number)

    def get(self, key: tuple[Any, ...]) -> Any:
        """As `element`."""
        dimensions = self._dimensions
        if len(key) != len(dimensions):
            return None
        offset = 0
        names = []
        for index, (length, size, stride) in zip(key, dimensions, strict=True):
            if type(index) is not int:
                return None
            if index < 0:
                index += length
            if not 0 <= index < length:
                return None
            chunk = index // size
            offset += (index - chunk * size) * stride
            names.append(str(chunk))
        settings = config.current
        if not settings.native or self._size > settings.max_chunk_bytes:
            return None
        (path,), flags = self._paths((self._key(tuple(names)),))
        found = self._read(path, flags, self._codec, self._size, self._limit, self._itemsize, offset)
        if type(found) is bytes:
            return np.frombuffer(found, self._dtype)[0]
        return self._fill[()] if found == ABSENT else None
