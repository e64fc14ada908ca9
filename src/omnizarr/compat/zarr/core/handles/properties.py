"""`ArrayProperties`: the properties of an array."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from omnizarr._cached_property import cached_property
from omnizarr.codecs import ArrayCodec, BytesCodec, Serializer
from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core._info import ArrayInfo
from omnizarr.compat.zarr.core.array_spec import ArrayConfig
from omnizarr.compat.zarr.core.attributes import Attributes
from omnizarr.compat.zarr.core.chunk_grids import ChunkGrid
from omnizarr.compat.zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from omnizarr.compat.zarr.core.metadata.chunk_grid import RectilinearChunkGridMetadata
from omnizarr.compat.zarr.core.regions import (
    iter_chunk_coords,
    iter_chunk_regions,
    iter_shard_coords,
    iter_shard_keys,
    iter_shard_regions,
    shards_initialized,
)
from omnizarr.compat.zarr.core.sync import sync
from omnizarr.compat.zarr.errors import translated
from omnizarr.compat.zarr.storage._common import StorePath
from omnizarr.formats import dialect_for
from omnizarr.nodes import Array as OwnArray

__all__ = ["ArrayProperties"]


class ArrayProperties:
    """Base class of `Array`: a handle of omnizarr, its place, and the options of the handle."""

    _async_class: ClassVar[Any]
    """`AsyncArray`, which a module above this one sets."""

    _iter_chunk_coords = iter_chunk_coords
    _iter_chunk_regions = iter_chunk_regions
    _iter_shard_coords = iter_shard_coords
    _iter_shard_keys = iter_shard_keys
    _iter_shard_regions = iter_shard_regions

    def __class_getitem__(cls, _: Any) -> Any:
        return cls  # `Array[ArrayV3Metadata]` in annotations

    _handle: OwnArray
    store_path: StorePath
    _config: ArrayConfig
    _as_is: bool
    """Whether results of omnizarr with dimensions are those of zarr-python."""

    def resize(self, new_shape: Any) -> None:
        """Changes the shape."""
        raise NotImplementedError

    @property
    def async_array(self) -> Any:
        """The same array with coroutines."""
        return self._async_class._of(self)

    @property
    def _async_array(self) -> Any:
        return self._async_class._of(self)

    @property
    def config(self) -> ArrayConfig:
        """The options of the handle."""
        return self._config

    @property
    def store(self) -> Any:
        """The store."""
        return self.store_path.store

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._handle.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension. Assigning to it resizes the array."""
        return self._handle._model.shape

    @shape.setter
    def shape(self, value: tuple[int, ...]) -> None:
        self.resize(value)

    @property
    def chunks(self) -> Any:
        """The shape of the (inner) chunks; NotImplementedError if chunks differ in length."""
        shape = self._handle.chunks
        return self.metadata.chunks if any(isinstance(length, tuple) for length in shape) else shape

    @property
    def shards(self) -> Any:
        """The shape of the shards, or None; NotImplementedError if shards differ in length."""
        shape = self._handle.shards
        return self.metadata.shards if any(isinstance(length, tuple) for length in shape or ()) else shape

    @property
    def _chunk_grid(self) -> ChunkGrid:
        return ChunkGrid.from_metadata(self.metadata)

    @property
    def read_chunk_sizes(self) -> Any:
        """The lengths of the (inner) chunks of each dimension."""
        if self._handle.shards is not None:
            return ChunkGrid.from_sizes(self.shape, self.chunks).chunk_sizes
        return self._chunk_grid.chunk_sizes

    @property
    def write_chunk_sizes(self) -> Any:
        """The lengths of the shards, or chunks, of each dimension."""
        return self._chunk_grid.chunk_sizes

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._handle.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements; in v2 with the byte order of the stored ones."""
        return self._handle.dtype if self._stored_dtype is None else self._stored_dtype

    @cached_property
    def _stored_dtype(self) -> np.dtype[Any] | None:
        """The type of stored v2 elements whose byte order is not that of the machine; otherwise None."""
        codecs = self._handle._model.codecs
        if self._handle.zarr_format != 2 or (getattr(codecs[0], "endian", None) in (None, sys.byteorder)):
            return None
        stored = np.dtype(self._zdtype.to_native_dtype())
        return None if stored.isnative or stored.kind in "VOT" else stored

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return self._handle.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self._handle.nbytes

    @property
    def attrs(self) -> Attributes:
        """The attributes."""
        return Attributes(self)

    @property
    def path(self) -> str:
        """The path in the store."""
        return self.store_path.path

    @property
    def name(self) -> str:
        """The path with a leading slash."""
        return f"/{self.path}"

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether the store rejects writes."""
        return self.store_path.read_only

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written."""
        return self.metadata.fill_value

    @property
    def order(self) -> Any:
        """The memory order: of stored chunks in v2, of results in v3."""
        return self.metadata.order if isinstance(self.metadata, ArrayV2Metadata) else self._config.order

    @property
    def metadata(self) -> Any:
        """What the documents say: `ArrayV2Metadata` or `ArrayV3Metadata`."""
        model = self._handle._model
        cached = self.__dict__.get("_metadata")
        if cached is None or cached[0] is not model:
            cached = self.__dict__["_metadata"] = (model, _metadata(self._handle))
        return cached[1]

    @property
    def _zdtype(self) -> Any:
        metadata = self.metadata
        return metadata.dtype

    @property
    def zarr_format(self) -> Any:
        """The generation."""
        return self._handle.zarr_format

    @property
    def dimension_names(self) -> Any:
        """The names of the dimensions; AttributeError in v2."""
        return self.metadata.dimension_names

    @property
    def filters(self) -> tuple[Any, ...]:
        """The array → array codecs; in v2, the filters of numcodecs."""
        return self._codecs(ArrayCodec, "filters")

    @property
    def serializer(self) -> Any:
        """The array → bytes codec; None in v2."""
        if isinstance(self.metadata, ArrayV2Metadata):
            return None
        return next(iter(self._codecs(Serializer, "")))

    @property
    def compressors(self) -> tuple[Any, ...]:
        """The bytes → bytes codecs; in v2, the compressor of numcodecs."""
        return self._codecs(BytesCodec, "compressor")

    @property
    def compressor(self) -> Any:
        """The compressor of a v2 array."""
        if isinstance(self.metadata, ArrayV2Metadata):
            return self.metadata.compressor
        raise TypeError("`compressor` is not available for Zarr format 3 arrays.")

    def _codecs(self, kind: Any, member: str) -> tuple[Any, ...]:
        metadata = self.metadata
        if isinstance(metadata, ArrayV2Metadata):
            value = getattr(metadata, member)
            return () if value is None else value if isinstance(value, tuple) else (value,)
        return tuple(codec for codec in metadata.inner_codecs if isinstance(create.own_codec(codec), kind))

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """The number of chunks along each dimension."""
        return self._handle.cdata_shape

    _chunk_grid_shape = cdata_shape

    @property
    def _shard_grid_shape(self) -> tuple[int, ...]:
        return self._chunk_grid.grid_shape

    @property
    def nchunks(self) -> int:
        """The number of chunks."""
        return self._handle.nchunks

    @property
    def _nshards(self) -> int:
        return prod(self._shard_grid_shape)

    @property
    def nchunks_initialized(self) -> int:
        """The number of stored chunks."""
        return self._handle.nchunks_initialized

    @property
    def _nshards_initialized(self) -> int:
        return len(sync(shards_initialized(self)))

    @translated
    def nbytes_stored(self) -> int:
        """The number of stored bytes."""
        return self._handle.nbytes_stored()

    @property
    def info(self) -> ArrayInfo:
        """A printable summary."""
        return self._info()

    def info_complete(self) -> ArrayInfo:
        """A printable summary with the number of stored chunks and bytes."""
        count = self._nshards_initialized if self._handle.shards is not None else self.nchunks_initialized
        return self._info(_count_chunks_initialized=count, _count_bytes_stored=self.nbytes_stored())

    def _info(self, **counts: Any) -> ArrayInfo:
        metadata = self.metadata
        regular = not isinstance(getattr(metadata, "chunk_grid", None), RectilinearChunkGridMetadata)
        sharded = self._handle.shards is not None
        return ArrayInfo(
            _zarr_format=metadata.zarr_format,
            _data_type=self._zdtype,
            _fill_value=metadata.fill_value,
            _shape=self.shape,
            _shard_shape=None if not sharded else self.shards if regular else "<variable>",
            _chunk_shape=self.chunks if regular or sharded else None,
            _order=self.order,
            _read_only=self.read_only,
            _store_type=type(self.store).__name__,
            _filters=self.filters,
            _serializer=self.serializer,
            _compressors=self.compressors,
            _count_bytes=self.nbytes,
            **counts,
        )

    @cached_property
    def _meta(self) -> Any:  # dask asks for it
        return np.empty((0,) * self.ndim, self.dtype)


def _metadata(handle: OwnArray) -> Any:
    """The metadata of an array of any generation: that of v2 for v1, that of v3 for the drafts."""
    model = handle._model
    if model.zarr_format in (1, 2):
        documents = handle._documents() if model.zarr_format == 2 else dialect_for(2).dump("", model)
        members = {key.rpartition("/")[2]: document for key, document in documents.items()}
        array: Any = members[".zarray"]
        return ArrayV2Metadata.from_dict({**array, "zarr_format": 2, "attributes": dict(model.attributes)})
    if model.zarr_format != 3:
        newest = dialect_for(3)
        model = replace(
            model,
            zarr_format=3,
            chunk_keys=newest.chunk_keys(None),
            verbatim={},
            extensions=(),
            fallback=None,
            extra={},
        )
        documents = newest.dump("", model)
    else:
        documents = handle._documents()
    return ArrayV3Metadata.from_dict(next(iter(documents.values())))
