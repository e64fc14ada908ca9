"""`Array`, the handle of an array: NumPy-style indexing of chunks in a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, same
from omnizarr.engine import route
from omnizarr.errors import ArgumentError, ChunkError, SelectionError
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.indexing import (
    Selection,
    block_selection,
    coordinate_selection,
    numpy_selection,
    orthogonal_selection,
    plain_selection,
    split_fields,
)
from omnizarr.model import ArrayModel
from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.indexers import Indexer, as_field_value, as_mask, as_value, has_ellipsis, only_basic
from omnizarr.nodes.metadata.documents import describe_location, parse_node
from omnizarr.nodes.node import NodeContext
from omnizarr.nodes.numpy_protocol import NumpyProtocol
from omnizarr.store.deadline import timeout as limit_time

if TYPE_CHECKING:
    from omnizarr.display.info import NodeInfo
    from omnizarr.display.preview import Preview
    from omnizarr.nodes.protocols.explanation import Explainer
    from omnizarr.nodes.statistics.handle import ChunkStatistics
    from omnizarr.nodes.views import LazyView

__all__ = ["Array"]


class Array(ArrayState, NumpyProtocol):
    """A chunked, compressed, N-dimensional array in a store.

    `z[key]` reads and `z[key] = value` writes, with the indexing rules of NumPy. Only the chunks that the key selects
    are read or written. `omnizarr.create_array` creates an array, `omnizarr.open_array` opens one.

    A handle loads the metadata when it is opened; `refresh` loads it again, with the changes of other writers.

    Example:
        >>> z = omnizarr.create_array("data.zarr", shape=(1000, 1000), chunks=(100, 100), dtype="f4")
        >>> z[:10, 5] = 1.5
        >>> z[8:12, 5]
        array([1.5, 1.5, 0. , 0. ], dtype=float32)
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension. Assigning to it resizes the array."""
        return self._model.shape

    @shape.setter
    def shape(self, shape: int | tuple[int, ...]) -> None:
        self.resize(shape)

    # -- stored data

    @property
    def nchunks_initialized(self) -> int:
        """The number of stored chunks. Costs a listing and, for a sharded array, a read of each shard index."""
        if self._model.guessed_keys:
            self._guess_keys()
        from omnizarr.nodes import stored_chunks

        return stored_chunks.chunk_count(self._layout)

    def nbytes_stored(self) -> int:
        """The number of stored bytes, metadata included. Costs a listing."""
        from omnizarr.nodes import stored_chunks

        return stored_chunks.byte_count(self._context)

    def info_complete(self) -> NodeInfo:
        """`info` with the stored size and number of chunks. Costs a listing."""
        from omnizarr.display.info import NodeInfo  # lazy import: display only

        return NodeInfo.of_array(self, (self.nbytes_stored(), self.nchunks_initialized))

    def preview(self, *fixed: int) -> Preview:
        """A small picture of the last two dimensions, or a plot of the only one, from few chunks.

        `fixed` are the indices of all other dimensions; the default is the middle of each. A notebook shows the result;
        `print` sketches it in characters.
        """
        from omnizarr.display.preview import preview  # lazy import: display only

        return preview(self, fixed or None)

    @property
    def explain(self) -> Explainer:
        """`z.explain[selection]` tells what `z[selection]` would cost: requests, bytes, decoded chunks and memory. It
        reads sizes and shard indexes, but no chunk."""
        from omnizarr.nodes.protocols.explanation import Explainer  # lazy import: seldom needed

        return Explainer(self)

    # -- reading

    def __getitem__(self, key: Any) -> Any:
        if (value := route.read_key(self._layout, key)) is not None:
            return value
        selection = plain_selection(key, self._model.shape)
        fields = None
        if selection is None:
            fields, key = split_fields(key)
            selection = numpy_selection(key, self._model.shape)
        result = self._read(selection, None, fields)
        if selection.shape == () and not has_ellipsis(key):
            return result[()]  # like NumPy, a scalar if integers index all dimensions
        return result

    def read(
        self, selection: Any = ..., *, out: npt.NDArray[Any] | None = None, timeout: float | None = None
    ) -> npt.NDArray[Any]:
        """`z[selection]`, always as an array; written to `out` if given. Raises TimedOutError if a remote store takes
        longer than `timeout` seconds."""
        fields, key = split_fields(selection)
        if timeout is None:
            return self._read(numpy_selection(key, self.shape), out, fields)
        with limit_time(timeout):
            return self._read(numpy_selection(key, self.shape), out, fields)

    def _read(
        self, selection: Selection, out: npt.NDArray[Any] | None, fields: str | list[str] | None = None
    ) -> npt.NDArray[Any]:
        if out is not None:
            from omnizarr.nodes.protocols.output_memory import check_output  # lazy import: most reads have no `out`
        if fields is not None:
            self._check_fields(fields)
            if out is not None:
                check_output(out, selection.shape, self.dtype[fields])
            part = self._read(selection, None)[fields]
            if out is None:
                return part
            out[...] = part
            return out
        if out is None:
            out = np.empty(selection.shape, self.dtype)
        else:
            check_output(out, selection.shape, self.dtype)
            if type(out) is not np.ndarray and not isinstance(out, np.memmap):
                # A subclass such as a masked array has more state than its memory: let its own assignment set it.
                out[...] = self._read(selection, None)
                return out
        if self._model.guessed_keys:
            self._guess_keys(selection)
        try:
            route.read(self._layout, selection, out, self._context.on_corrupt)
        except ChunkError as error:
            error.hint = error.hint or self._context.dialect.decode_hint()
            raise
        return out

    def _check_fields(self, fields: str | list[str]) -> None:
        known = self.dtype.names or ()
        for name in [fields] if isinstance(fields, str) else fields:
            if name not in known:
                reason = f"its fields are {', '.join(known)}" if known else f"its type {self.dtype} has no fields"
                raise SelectionError(f"array `{self.name}` has no field `{name}`: {reason}")

    def get_basic_selection(self, selection: Any = ..., *, out: Any = None, fields: Any = None) -> Any:
        """The elements that integers, slices, `...` and `newaxis` select."""
        return self._read_selection(numpy_selection(only_basic(selection), self.shape), out, fields)

    def get_orthogonal_selection(self, selection: Any, *, out: Any = None, fields: Any = None) -> Any:
        """Orthogonal selection: each dimension takes an integer, a slice, or an array of indices or booleans."""
        return self._read_selection(orthogonal_selection(selection, self.shape), out, fields)

    def get_coordinate_selection(self, selection: Any, *, out: Any = None, fields: Any = None) -> Any:
        """The elements at points: one array of indices for each dimension."""
        return self._read_selection(coordinate_selection(selection, self.shape), out, fields)

    def get_mask_selection(self, mask: Any, *, out: Any = None, fields: Any = None) -> Any:
        """The elements where a mask of the array's shape is true."""
        return self._read_selection(coordinate_selection(as_mask(mask, self.shape), self.shape), out, fields)

    def get_block_selection(self, selection: Any, *, out: Any = None, fields: Any = None) -> Any:
        """Whole chunks (whole shards, if the array is sharded), by their coordinates in the chunk grid."""
        return self._read_selection(block_selection(selection, self._layout.axes), out, fields)

    def _read_selection(self, selection: Selection, out: Any, fields: Any) -> Any:
        result = self._read(selection, out, fields)
        return result[()] if selection.shape == () and out is None else result

    # -- writing

    def __setitem__(self, key: Any, value: Any) -> None:
        fields, key = split_fields(key)
        self._write(numpy_selection(key, self.shape), value, fields)

    def _write(self, selection: Selection, value: Any, fields: str | list[str] | None = None) -> None:
        self._check_writable()
        if fields is None:
            elements = as_value(value, self.data_type, selection.shape)
        else:
            self._check_fields(fields)
            elements, fields = as_field_value(value, self.dtype, fields, selection.shape)
        if self._model.guessed_keys:
            self._guess_keys(selection)
        try:
            route.write(self._layout, selection, elements, keep_empty=self._keep_empty, fields=fields)
        finally:  # after an error, some chunks may have changed
            self._record_change()
            if STATISTICS_ATTRIBUTE in self._model.attributes:
                self._note_statistics(selection)

    def _note_statistics(self, selection: Selection | None) -> None:
        from omnizarr.nodes.statistics.pending import note  # lazy import: few arrays have statistics

        note(self, selection, self.shape)

    def set_basic_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes the elements that integers, slices and `...` select."""
        self._write(numpy_selection(only_basic(selection), self.shape), value, fields)

    def set_orthogonal_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes an orthogonal selection."""
        self._write(orthogonal_selection(selection, self.shape), value, fields)

    def set_coordinate_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes the elements at points."""
        self._write(coordinate_selection(selection, self.shape), value, fields)

    def set_mask_selection(self, mask: Any, value: Any, *, fields: Any = None) -> None:
        """Writes the elements where a mask of the array's shape is true."""
        self._write(coordinate_selection(as_mask(mask, self.shape), self.shape), value, fields)

    def set_block_selection(self, selection: Any, value: Any, *, fields: Any = None) -> None:
        """Writes whole chunks, by their coordinates in the chunk grid."""
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
        """Whole chunks by their coordinates in the chunk grid: `z.blocks[0, 1:3]`. `for block in z.blocks` iterates
        over the rows of chunks, and reads those in a remote store ahead."""
        return Indexer(self.get_block_selection, self.set_block_selection, self._block_rows)

    @property
    def lazy(self) -> LazyView:
        """A view of the array from which selections are not read at once: `z.lazy[10:20, ::2].read()`."""
        from omnizarr.nodes.views import LazyView  # lazy import: few programs use views

        return LazyView(self)

    # -- statistics

    @property
    def statistics(self) -> ChunkStatistics:
        """The statistics of the chunks: `z.statistics.build()` stores them, for `min`, `max`, `mean` and `find`."""
        from omnizarr.nodes.statistics.handle import ChunkStatistics

        return ChunkStatistics(self)

    def find(self, low: Any = None, high: Any = None) -> tuple[npt.NDArray[np.intp], ...]:
        """The indices of the elements from `low` to `high`, both included, as `numpy.nonzero` gives them. None is no
        bound. Chunks whose statistics exclude such elements are not read.

        Example:
            >>> z.vindex[z.find(low=30)]
            array([30.5, 31.2, 30.1], dtype=float32)
        """
        from omnizarr.nodes.statistics.search import find

        return find(self, self.read, low, high)

    def _from_statistics(self, name: str) -> Any:
        if STATISTICS_ATTRIBUTE not in self._model.attributes:
            return None
        from omnizarr.nodes.statistics.reduce import reduced

        return reduced(self, name)

    # -- changing the shape

    def resize(self, new_shape: int | tuple[int, ...], *lengths: int) -> None:
        """Changes the shape, and erases all elements outside the new one for good.

        An axis that does not shrink, compared with this handle's shape, also keeps the elements that other writers
        appended. A grid with listed chunk lengths keeps them; chunks of the last length are added at its end.
        """
        from omnizarr.nodes.create.chunk_shapes import as_lengths

        new_lengths = as_lengths((new_shape, *lengths) if lengths else new_shape, "new_shape", least=0)
        if len(new_lengths) != self.ndim:
            raise ArgumentError(
                f"`new_shape`: expected {self.ndim} lengths, found {len(new_lengths)}", argument="new_shape"
            )
        from omnizarr.nodes import resize  # lazy import: most arrays keep their shape

        known = self.shape
        try:
            resize.resize(
                self,
                lambda stored: tuple(
                    max(new, now) if new >= old else new
                    for new, old, now in zip(new_lengths, known, stored, strict=True)
                ),
            )
        finally:
            self._record_change()
            if STATISTICS_ATTRIBUTE in self._model.attributes:
                self._note_statistics(None)

    def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds `data` at the end of an axis, and returns the new shape. Keeps what other writers appended before.

        Example:
            >>> z = omnizarr.create_array("log.zarr", shape=(0, 3), chunks=(100, 3), dtype="f8")
            >>> z.append([[1, 2, 3], [4, 5, 6]])
            (2, 3)
        """
        if not self.ndim:
            raise ArgumentError("nothing can be appended to an array without dimensions", argument="axis")
        if not isinstance(axis, (int, np.integer)) or not -self.ndim <= axis < self.ndim:
            raise ArgumentError(
                f"`axis`: expected an integer from {-self.ndim} to {self.ndim - 1}, found {axis!r}", argument="axis"
            )
        axis = int(axis) % self.ndim
        data = self.data_type.elements(data)

        def grow(shape: tuple[int, ...]) -> tuple[int, ...]:
            if data.shape[:axis] + data.shape[axis + 1 :] != shape[:axis] + shape[axis + 1 :] or not data.ndim:
                raise ArgumentError(
                    f"`data`: expected a shape like {shape} except on axis {axis}, found {data.shape}", argument="data"
                )
            return (*shape[:axis], shape[axis] + data.shape[axis], *shape[axis + 1 :])

        from omnizarr.nodes import resize

        shape = resize.append(self, data, axis, grow)
        if STATISTICS_ATTRIBUTE in self._model.attributes:
            rows = slice(shape[axis] - data.shape[axis], shape[axis])
            self._note_statistics(numpy_selection((*[slice(None)] * axis, rows), shape))
        return shape

    # -- other libraries

    def to_dask(self, chunks: Any = "auto", *, inline_array: bool = False) -> Any:
        """The array as a dask array. Each block is one read.

        `chunks` are those of the blocks, as in dask. "auto" gives multiples of the shards, or of the chunks, of up to
        dask's setting `array.chunk-size`, and None gives one block for each shard or chunk. With `inline_array` each
        task holds the handle, instead of one task on which all others depend.

        Example:
            >>> z.to_dask().mean(axis=0).compute()
        """
        from omnizarr.nodes.protocols.dask import dask_array  # lazy import: dask only

        return dask_array(self, chunks, inline_array)

    # -- Python protocols; `NumpyProtocol` has those of NumPy

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("an array without dimensions cannot be iterated over")
        return self._rows()

    def _rows(self) -> Iterator[Any]:
        for block in self._block_rows():  # a row of chunks at a time, so that each chunk is decoded once
            yield from block

    def _block_rows(self) -> Iterator[Any]:
        """The rows of chunks along the first dimension. Those in a remote store are read ahead."""
        from omnizarr.engine.read_ahead import read_in_order  # lazy import: few programs iterate over arrays

        if not self.shape:
            raise TypeError("an array without dimensions cannot be iterated over")
        axis = self._layout.axes[0]
        row_bytes = self.nbytes // max(1, axis.length)

        def parts() -> Iterator[tuple[slice, int]]:
            position = 0
            while position < axis.length:
                start, size = axis.bounds(axis.locate(position))
                yield slice(start, start + size), size * row_bytes
                position = start + size

        return read_in_order(self.__getitem__, parts(), ahead=self.store.remote)

    def __bool__(self) -> bool:
        if self.size != 1:
            return self.size > 0
        return bool(self.read().reshape(()))

    def same_array(self, other: object) -> bool:
        """Whether both are handles of the same array, with the same metadata. Reads nothing: `==` compares elements."""
        if not isinstance(other, Array):
            return False
        # Compare documents: the model of a new array can hold more than its document will.
        return (self.store, self.path) == (other.store, other.path) and same(self._documents(), other._documents())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.dtype.names or ())

    def __repr__(self) -> str:
        from omnizarr.display.texts import printable  # lazy import: display only

        location = describe_location(self.store, self.path)
        return printable(f"<Array {location} shape={self.shape} dtype={self.dtype}>")

    def __reduce__(self) -> tuple[Any, ...]:
        context = self._context
        if context.consolidated is not None:  # keep the pickles of a large computation small
            context = context._replace(consolidated=context.consolidated.without_documents())
        return _unpickle, (type(self), context, self._documents(), self._write_empty_chunks)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        from omnizarr.nodes.protocols.token import location_text, stored_state  # lazy import: dask only

        prefix, documents = self._context.dialect.chunk_prefix(self.path), self._documents()
        state = stored_state(self.store, prefix, sorted(documents))
        contents = [documents[key] for key in sorted(documents)]
        return "omnizarr.Array", location_text(self.store, prefix), repr(contents), repr(state)


def _unpickle(cls: type[Array], context: NodeContext, documents: dict[str, Json], write_empty_chunks: bool) -> Array:
    model = parse_node(context.dialect, context.store, context.path, documents, quiet=True)
    assert isinstance(model, ArrayModel)
    return cls(context, model, write_empty_chunks=write_empty_chunks)
