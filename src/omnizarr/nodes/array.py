"""The array that a user holds: NumPy's brackets in front, chunks in a store behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json
from omnizarr.codecs import ArrayCodec, BytesCodec, Codec, Serializer, Transpose
from omnizarr.dtypes import DataType
from omnizarr.engine import Layout, read, write
from omnizarr.errors import ArgumentError, NodeTypeError, ReadOnlyError, SelectionError
from omnizarr.indexing import (
    Selection,
    block_selection,
    coordinate_selection,
    numpy_selection,
    orthogonal_selection,
    split_fields,
)
from omnizarr.model import ArrayModel, ZarrFormat
from omnizarr.nodes import stored
from omnizarr.nodes.attributes import Attributes
from omnizarr.nodes.brackets import Indexer, as_mask, has_ellipsis, only_basic
from omnizarr.nodes.documents import change, describe_place, fetch, parse_node
from omnizarr.nodes.info import ArrayInfo
from omnizarr.nodes.lengths import as_lengths
from omnizarr.nodes.site import Site
from omnizarr.nodes.values import as_value
from omnizarr.store import Store

__all__ = ["Array"]


class Array:
    """A chunked, compressed, N-dimensional array in a store.

    `z[key]` gives what NumPy gives for the same key, `z[key] = value` likewise. Use `omnizarr.create_array` and
    `omnizarr.open_array` to get one.
    """

    def __init__(self, site: Site, model: ArrayModel, *, write_empty_chunks: bool = False) -> None:
        self._site = site
        self._model = model
        self._layout = self._layout_of(model)
        self._write_empty_chunks = write_empty_chunks

    # -- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension. Assigning to it resizes."""
        return self._model.shape

    @shape.setter
    def shape(self, shape: int | tuple[int, ...]) -> None:
        self.resize(shape)

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
        """The shape of the pieces that are compressed one by one: the inner chunks, if the array is sharded."""
        sharding = self._model.sharding
        if sharding is None:
            return self._model.grid.chunks
        shape = list(sharding.chunk_shape)
        for codec in reversed(self._model.codecs):
            if isinstance(codec, Transpose):
                order = codec.permutation(len(shape))
                shape = [shape[order.index(axis)] for axis in range(len(shape))]
        return tuple(shape)

    @property
    def shards(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...] | None:
        """The shape of the stored objects, if they hold many chunks each; None if every chunk is stored by itself."""
        return None if self._model.sharding is None else self._model.grid.chunks

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
        return self._model.dimension_names

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
        chunks = self.chunks
        return tuple(
            axis.count if not isinstance(size, int) else -(-axis.length // size)
            for axis, size in zip(self._layout.axes, chunks, strict=True)
        )

    @property
    def nchunks(self) -> int:
        """How many chunks there can be."""
        return prod(self.cdata_shape)

    # -- where it is

    @property
    def store(self) -> Store:
        """Where its bytes lie."""
        return self._site.store

    @property
    def path(self) -> str:
        """Where it lies in its store, without a leading slash."""
        return self._site.path

    @property
    def name(self) -> str:
        """Where it lies in its store, with a leading slash."""
        return f"/{self._site.path}"

    @property
    def basename(self) -> str:
        """The last part of its path."""
        return self._site.path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether this handle refuses to write."""
        return self._site.store.read_only

    # -- what is stored

    @property
    def nchunks_initialized(self) -> int:
        """How many chunks are stored. Costs a listing, and for a sharded array the index of each shard."""
        return stored.chunk_count(self._layout)

    def nbytes_stored(self) -> int:
        """How many bytes are stored, metadata included. Costs a listing."""
        return stored.byte_count(self._site)

    @property
    def info(self) -> ArrayInfo:
        """A summary, from the metadata alone."""
        return ArrayInfo.of(self)

    def info_complete(self) -> ArrayInfo:
        """The summary with what is stored, which costs a listing."""
        return ArrayInfo.of(self, complete=True)

    # -- reading

    def __getitem__(self, key: Any) -> Any:
        fields, key = split_fields(key)
        selection = numpy_selection(key, self.shape)
        result = self._read(selection, None, fields)
        if selection.shape == () and not has_ellipsis(key):
            return result[()]  # NumPy gives a scalar where every dimension was indexed by an integer
        return result

    def read(self, selection: Any = ..., *, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """`z[selection]`, always as an array; into `out`, if that is given."""
        fields, key = split_fields(selection)
        return self._read(numpy_selection(key, self.shape), out, fields)

    def _read(
        self, selection: Selection, out: npt.NDArray[Any] | None, fields: str | list[str] | None = None
    ) -> npt.NDArray[Any]:
        if fields is not None:
            fields = self._checked(fields)
            if out is not None:
                self._check_out(out, selection, self.dtype[fields])
            part = self._read(selection, None)[fields]
            if out is None:
                return part
            out[...] = part
            return out
        if out is None:
            out = np.empty(selection.shape, self.dtype)
        else:
            self._check_out(out, selection, self.dtype)
        read(self._layout, selection, out)
        return out

    @staticmethod
    def _check_out(out: npt.NDArray[Any], selection: Selection, dtype: np.dtype[Any]) -> None:
        if not isinstance(out, np.ndarray) or not out.flags.writeable:
            raise ArgumentError("`out`: expected a writable NumPy array", argument="out")
        if out.shape != selection.shape:
            raise ArgumentError(
                f"`out`: expected the selection's shape {selection.shape}, found {out.shape}", argument="out"
            )
        numbers = dtype.kind in "biufc" and out.dtype.kind in "biufc"
        if out.dtype != dtype and not (numbers and np.can_cast(dtype, out.dtype, "same_kind")):
            raise ArgumentError(f"`out`: elements of type {dtype} cannot be put into {out.dtype}", argument="out")

    def _checked(self, fields: str | list[str]) -> str | list[str]:
        known = self.dtype.names or ()
        for name in [fields] if isinstance(fields, str) else fields:
            if name not in known:
                have = f"its fields are {', '.join(known)}" if known else f"its type {self.dtype} has no fields"
                raise SelectionError(f"array `{self.name}` has no field `{name}`: {have}")
        return fields

    def get_basic_selection(self, selection: Any = ..., *, out: Any = None, fields: Any = None) -> Any:
        """What integers, slices, `...` and `newaxis` select."""
        return self._got(numpy_selection(only_basic(selection), self.shape), out, fields)

    def get_orthogonal_selection(self, selection: Any, *, out: Any = None, fields: Any = None) -> Any:
        """What each dimension selects by itself: an integer, a slice, or an array of indices or booleans."""
        return self._got(orthogonal_selection(selection, self.shape), out, fields)

    def get_coordinate_selection(self, selection: Any, *, out: Any = None, fields: Any = None) -> Any:
        """The elements at points, given by an array of indices for each dimension."""
        return self._got(coordinate_selection(selection, self.shape), out, fields)

    def get_mask_selection(self, mask: Any, *, out: Any = None, fields: Any = None) -> Any:
        """The elements where a mask of the array's shape is true."""
        return self._got(coordinate_selection(as_mask(mask, self.shape), self.shape), out, fields)

    def get_block_selection(self, selection: Any, *, out: Any = None, fields: Any = None) -> Any:
        """Whole chunks (whole shards, if the array is sharded), by their place in the grid."""
        return self._got(block_selection(selection, self._layout.axes), out, fields)

    def _got(self, selection: Selection, out: Any, fields: Any) -> Any:
        result = self._read(selection, out, fields)
        return result[()] if selection.shape == () and out is None else result

    # -- writing

    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = split_fields(key)
        self._write(numpy_selection(key, self.shape), value, fields)

    def _write(self, selection: Selection, value: Any, fields: str | list[str] | None = None) -> None:
        self._check_writable()
        dtype = self.dtype if fields is None else self.dtype[self._checked(fields)]
        write(
            self._layout,
            selection,
            as_value(value, dtype),
            keep_empty=self._write_empty_chunks,
            fields=fields,
        )

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(
                f"array {describe_place(self.store, self.path)} is open for reading only", store=repr(self.store)
            )
        reason = self._model.read_only_reason
        if reason is not None:
            raise ReadOnlyError(f"array {describe_place(self.store, self.path)} cannot be written: {reason}")

    def set_basic_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes where integers, slices and `...` say."""
        self._write(numpy_selection(only_basic(selection), self.shape), value, fields)

    def set_orthogonal_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes where each dimension selects by itself."""
        self._write(orthogonal_selection(selection, self.shape), value, fields)

    def set_coordinate_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes at points."""
        self._write(coordinate_selection(selection, self.shape), value, fields)

    def set_mask_selection(self, mask: Any, value: Any, *, fields: Any = None) -> None:
        """Writes where a mask of the array's shape is true."""
        self._write(coordinate_selection(as_mask(mask, self.shape), self.shape), value, fields)

    def set_block_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes whole chunks, by their place in the grid."""
        self._write(block_selection(selection, self._layout.axes), value, fields)

    @property
    def oindex(self) -> Indexer:
        """Orthogonal selection: `z.oindex[[1, 5], :, mask]`."""
        return Indexer(self.get_orthogonal_selection, self.set_orthogonal_selection)

    @property
    def vindex(self) -> Indexer:
        """Pointwise selection: `z.vindex[[1, 5], [2, 7]]`, or `z.vindex[mask]`."""
        return Indexer(self.get_coordinate_selection, self.set_coordinate_selection)

    @property
    def blocks(self) -> Indexer:
        """Whole chunks by their place in the grid: `z.blocks[0, 1:3]`."""
        return Indexer(self.get_block_selection, self.set_block_selection)

    # -- changing it

    def _changed(self, how: Callable[[ArrayModel], ArrayModel]) -> None:
        site = self._site
        self._adopt(change(site.store, site.dialect, site.path, how, ArrayModel))
        if site.consolidated is not None:
            site.consolidated.written({site.path: self._model})

    def _adopt(self, model: ArrayModel) -> None:
        if _chunking(model) != _chunking(self._model):
            self._layout = self._layout_of(model)
        self._model = model

    def _layout_of(self, model: ArrayModel) -> Layout:
        site = self._site
        return Layout(site.store, site.path, site.dialect.chunk_prefix(site.path), model)

    def resize(self, new_shape: int | tuple[int, ...], *lengths: int) -> None:
        """Gives the array another shape. What lies outside the new shape is gone, also when the array grows again."""
        wanted = as_lengths((new_shape, *lengths) if lengths else new_shape, "new_shape", least=0)
        if len(wanted) != self.ndim:
            raise ArgumentError(f"`new_shape`: expected {self.ndim} lengths, found {len(wanted)}", argument="new_shape")
        self._resize(lambda _: wanted)

    def _resize(self, how: Callable[[tuple[int, ...]], tuple[int, ...]]) -> tuple[int, ...]:
        """Gives the array the shape that `how` makes of the stored one, which another handle may have changed; the
        shape it had."""
        self._check_writable()
        before = self._model

        def resized(model: ArrayModel) -> ArrayModel:
            nonlocal before
            before = model
            return replace(model, shape=how(model.shape))

        self._changed(resized)
        stored.trim(self._layout_of(before), self.shape)
        return before.shape

    def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds `data` at the end of an axis, and gives the new shape. What other handles appended before is kept."""
        if not isinstance(axis, (int, np.integer)) or not -self.ndim <= axis < self.ndim:
            raise ArgumentError(f"`axis`: expected an axis of {self.ndim} dimensions, found {axis}", argument="axis")
        axis = int(axis) % self.ndim
        data = as_value(data, self.dtype)

        def longer(shape: tuple[int, ...]) -> tuple[int, ...]:
            if data.shape[:axis] + data.shape[axis + 1 :] != shape[:axis] + shape[axis + 1 :] or not data.ndim:
                raise ArgumentError(
                    f"`data`: expected a shape like {shape} except on axis {axis}, found {data.shape}", argument="data"
                )
            return (*shape[:axis], shape[axis] + data.shape[axis], *shape[axis + 1 :])

        start = self._resize(longer)[axis]
        self[(*[slice(None)] * axis, slice(start, start + data.shape[axis]))] = data
        return self.shape

    @property
    def attrs(self) -> Attributes:
        """What users say about the array; every change is stored at once."""
        return Attributes(self)

    def _attributes(self) -> dict[str, Json]:
        return self._model.attributes

    def _change_attributes(self, how: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        if self.read_only:
            self._check_writable()
        self._changed(lambda model: replace(model, attributes=how(model.attributes)))

    def update_attributes(self, new_attributes: dict[str, Json]) -> Array:
        """Adds or replaces attributes, in one write."""
        self.attrs.update(new_attributes)
        return self

    def refresh(self) -> Array:
        """Takes up what others changed: the shape and the attributes as they are stored now."""
        _, model = fetch(self.store, self.path, self.zarr_format)
        if not isinstance(model, ArrayModel):
            raise NodeTypeError(f"{describe_place(self.store, self.path)} is not an array any more", path=self.path)
        self._adopt(model)
        return self

    # -- among Python's objects

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ArgumentError(
                "an omnizarr array is not in memory: it cannot become a NumPy array without a copy", argument="copy"
            )
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("an array without dimensions cannot be iterated over")
        return self._rows()

    def _rows(self) -> Iterator[Any]:
        axis = self._layout.axes[0]
        at = 0
        while at < axis.length:
            start, size = axis.bounds(axis.locate(at))
            yield from self[start : start + size]  # a row of chunks at a time, so that each is decoded once
            at = start + size

    def __bool__(self) -> bool:
        if self.size != 1:
            return self.size > 0
        return bool(self.read().reshape(()))

    def __eq__(self, other: object) -> bool:
        """Whether both are handles of the same array, with the same metadata; the elements are not compared."""
        if not isinstance(other, Array):
            return NotImplemented
        return (self.store, self.path, self._model) == (other.store, other.path, other._model)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Array {describe_place(self.store, self.path)} shape={self.shape} dtype={self.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        site = self._site
        if site.consolidated is not None:  # a pickle for each task of a large computation must not carry it all
            site = replace(site, consolidated=site.consolidated.bare())
        return _unpickled, (site, self._documents(), self._write_empty_chunks)

    def _documents(self) -> dict[str, Json]:
        return self._site.dialect.dump(self._site.path, self._model)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "omnizarr.Array", repr(self.store), self.path, repr(sorted(self._documents().items()))


def _unpickled(site: Site, documents: dict[str, Json], write_empty_chunks: bool) -> Array:
    model = parse_node(site.dialect, site.store, site.path, documents)
    assert isinstance(model, ArrayModel)
    return Array(site, model, write_empty_chunks=write_empty_chunks)


def _chunking(model: ArrayModel) -> ArrayModel:
    """What of a model decides where its chunks lie and what they are."""
    return replace(model, attributes={}, dimension_names=None, storage_transformers=(), extra={})
