"""What an array is, as its metadata tells: nothing here asks the store."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from omnizarr.codecs import ArrayCodec, BytesCodec, Codec, Serializer, Transpose
from omnizarr.dtypes import DataType
from omnizarr.model import ArrayModel, ZarrFormat
from omnizarr.nodes.node import Node

__all__ = ["ArrayProperties"]


class ArrayProperties(Node):
    """An array, as far as it can be described."""

    _model: ArrayModel

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self._model.dtype

    @property
    def data_type(self) -> DataType:
        """The data type as Zarr names it."""
        return self._model.data_type

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self._model.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self._model.size

    @property
    def itemsize(self) -> int:
        """How many bytes an element takes in memory."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """How many bytes the elements take in memory."""
        return self._model.nbytes

    @property
    def chunks(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
        """The shape of the pieces that are compressed one by one: the inner chunks, if the array is sharded. On a grid
        whose chunks may differ: the lengths of all chunks, for each dimension, as dask has them."""
        inner = self._inner_shape()
        return self._model.grid.edges(self._model.shape) if inner is None else inner

    def _inner_shape(self) -> tuple[int, ...] | None:
        """The shape of the inner chunks, if the array is sharded."""
        sharding = self._model.sharding
        if sharding is None:
            return None
        shape = list(sharding.chunk_shape)
        for codec in reversed(self._model.codecs):
            if isinstance(codec, Transpose):
                order = codec.permutation(len(shape))
                shape = [shape[order.index(axis)] for axis in range(len(shape))]
        return tuple(shape)

    @property
    def shards(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...] | None:
        """The shape of the stored objects, if they hold many chunks each; None if every chunk is stored by itself."""
        return None if self._model.sharding is None else self._model.grid.edges(self._model.shape)

    @property
    def fill_value(self) -> Any:
        """What elements are that nobody wrote."""
        return None if self._model.fill is None else self._model.fill[()]

    @property
    def order(self) -> str:
        """The order in which a chunk's elements are stored: `C` (the last index varies fastest) or `F` (the first)."""
        orders = [codec.permutation(self.ndim) for codec in self._inner_codecs() if isinstance(codec, Transpose)]
        return "F" if self.ndim > 1 and orders == [tuple(reversed(range(self.ndim)))] else "C"

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """A name, or None, for each dimension; None if no dimension is named."""
        return self._context.dialect.dimension_names(self._model)

    def _inner_codecs(self) -> tuple[Codec, ...]:
        sharding = self._model.sharding
        return self._model.codecs if sharding is None else sharding.codecs

    @property
    def filters(self) -> tuple[Codec, ...]:
        """The array → array codecs of a chunk."""
        return tuple(codec for codec in self._inner_codecs() if isinstance(codec, ArrayCodec))

    @property
    def serializer(self) -> Codec:
        """The array → bytes codec of a chunk."""
        return next(codec for codec in self._inner_codecs() if isinstance(codec, Serializer))

    @property
    def compressors(self) -> tuple[Codec, ...]:
        """The bytes → bytes codecs of a chunk."""
        return tuple(codec for codec in self._inner_codecs() if isinstance(codec, BytesCodec))

    @property
    def metadata(self) -> ArrayModel:
        """Everything that the array's document says."""
        return self._model

    @property
    def zarr_format(self) -> ZarrFormat:
        """The generation of the format, as `create_array` takes it."""
        return self._model.zarr_format

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """How many chunks there are along each dimension."""
        inner = self._inner_shape()
        if inner is None:
            return tuple(axis.count for axis in self._model.grid.axes(self._model.shape))
        return tuple(-(-length // size) for length, size in zip(self._model.shape, inner, strict=True))

    @property
    def nchunks(self) -> int:
        """How many chunks there can be."""
        return prod(self.cdata_shape)
