"""`ArrayProperties`: the properties of an array that follow from its metadata, without access to the store."""

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
    """Base class of `Array`: a node and its model."""

    _model: ArrayModel

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self._model.dtype

    @property
    def data_type(self) -> DataType:
        """The Zarr data type of the elements."""
        return self._model.data_type

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._model.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._model.size

    @property
    def itemsize(self) -> int:
        """The size of an element in memory, in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in memory, in bytes."""
        return self._model.nbytes

    @property
    def chunks(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
        """The chunk shape; for a sharded array, that of the inner chunks.

        On a grid whose chunks may differ in length: the lengths of all chunks, for each dimension, as in dask.
        """
        inner = self._inner_shape()
        return self._model.grid.edges(self._model.shape) if inner is None else inner

    def _inner_shape(self) -> tuple[int, ...] | None:
        """The shape of the inner chunks of a sharded array, else None."""
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
        """The shape of the shards, which store many chunks each; None if the array is not sharded."""
        return None if self._model.sharding is None else self._model.grid.edges(self._model.shape)

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written; None if it is undefined."""
        return None if self._model.fill is None else self._model.fill[()]

    @property
    def order(self) -> str:
        """The order of the elements in a stored chunk: `C` (the last index varies fastest) or `F` (the first)."""
        orders = [codec.permutation(self.ndim) for codec in self._inner_codecs() if isinstance(codec, Transpose)]
        return "F" if self.ndim > 1 and orders == [tuple(reversed(range(self.ndim)))] else "C"

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """A name, or None, for each dimension; None if no dimension is named."""
        return self._context.dialect.dimension_names(self._model)

    def _inner_codecs(self) -> tuple[Codec, ...]:
        sharding = self._model.sharding
        codecs = self._model.codecs if sharding is None else sharding.codecs
        # Only a lone serializer can have codecs of its own inside.
        return getattr(codecs[0], "content_codecs", codecs)

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
        """The model of the array: all its metadata, in one form for all generations."""
        return self._model

    @property
    def zarr_format(self) -> ZarrFormat:
        """The generation of the format, as in `create_array`."""
        return self._model.zarr_format

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """The number of chunks along each dimension."""
        inner = self._inner_shape()
        if inner is None:
            return tuple(axis.count for axis in self._model.grid.axes(self._model.shape))
        return tuple(-(-length // size) for length, size in zip(self._model.shape, inner, strict=True))

    @property
    def nchunks(self) -> int:
        """The number of chunks, stored or not."""
        return prod(self.cdata_shape)
