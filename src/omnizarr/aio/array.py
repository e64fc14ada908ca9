"""`AsyncArray`: an array whose reads and writes are awaited."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from omnizarr.aio.node import AsyncNode
from omnizarr.aio.read_ahead import read_blocks
from omnizarr.codecs import Codec
from omnizarr.dtypes import DataType
from omnizarr.model import ArrayModel
from omnizarr.nodes import Array
from omnizarr.nodes.indexers import Indexer

__all__ = ["AsyncArray", "AsyncIndexer"]


class AsyncArray(AsyncNode[Array]):
    """A chunked, compressed, N-dimensional array in a store, for programs with an event loop.

    `await z[key]` reads and `await z.write(key, value)` writes, with the indexing rules of NumPy. Reads and writes run
    in threads. A task that is cancelled stops before the next chunk.

    Example:
        >>> z = await aio.open_array("data.zarr")
        >>> await z.write(np.s_[:10, 5], 1.5)
        >>> await z[8:12, 5]
        array([1.5, 1.5, 0. , 0. ], dtype=float32)
        >>> rows = await asyncio.gather(z[0], z[500], z[900])
    """

    # -- properties

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self._node.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self._node.dtype

    @property
    def data_type(self) -> DataType:
        """The Zarr data type of the elements."""
        return self._node.data_type

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._node.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._node.size

    @property
    def nbytes(self) -> int:
        """The size of all elements in memory, in bytes."""
        return self._node.nbytes

    @property
    def chunks(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
        """The chunk shape, or the lengths of all chunks if they differ; for a sharded array, of the inner chunks."""
        return self._node.chunks

    @property
    def shards(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...] | None:
        """The shape of the shards; None if the array is not sharded."""
        return self._node.shards

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written; None if it is undefined."""
        return self._node.fill_value

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """A name, or None, for each dimension; None if no dimension is named."""
        return self._node.dimension_names

    @property
    def filters(self) -> tuple[Codec, ...]:
        """The array → array codecs of a chunk."""
        return self._node.filters

    @property
    def compressors(self) -> tuple[Codec, ...]:
        """The bytes → bytes codecs of a chunk."""
        return self._node.compressors

    @property
    def metadata(self) -> ArrayModel:
        """The model of the array: all its metadata, in one form for all generations."""
        return self._node.metadata

    # -- elements

    def __getitem__(self, key: Any) -> Coroutine[Any, Any, Any]:
        return self._read(self._node.__getitem__, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("an assignment cannot be awaited: use `await z.write(key, value)`")

    async def read(self, selection: Any = ..., *, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """`await z[selection]`, always as an array; written to `out` if given. A cancelled read may have filled a part
        of `out`."""
        if out is None:
            return await self._read(self._node.read, selection)
        return await self._change(self._node.read, selection, out=out)

    async def write(self, selection: Any, value: Any) -> None:
        """Writes `value` to a selection. A cancelled write ends after the chunks that it is writing: these are
        complete, and the others keep their old elements."""
        await self._change(self._node.__setitem__, selection, value)

    @property
    def oindex(self) -> AsyncIndexer:
        """Orthogonal selection: `await z.oindex[[1, 5], :, mask]`."""
        return AsyncIndexer(self._node.oindex, self._read, self._change)

    @property
    def vindex(self) -> AsyncIndexer:
        """Pointwise selection: `await z.vindex[[1, 5], [2, 7]]`, or `await z.vindex[mask]`."""
        return AsyncIndexer(self._node.vindex, self._read, self._change)

    async def take(self, indices: Any, axis: int = 0, out: Any = None) -> Any:
        """The elements at `indices` along an axis, as `Array.take` returns them."""
        if out is None:
            return await self._read(self._node.take, indices, axis)
        return await self._change(self._node.take, indices, axis, out)

    async def find(self, low: Any = None, high: Any = None) -> tuple[npt.NDArray[np.intp], ...]:
        """The indices of the elements from `low` to `high`, as `Array.find` returns them."""
        indices: tuple[npt.NDArray[np.intp], ...] = await self._read(self._node.find, low, high)
        return indices

    def blocks(
        self, *, max_bytes: int | str = "256 MiB"
    ) -> AsyncGenerator[tuple[tuple[slice, ...], npt.NDArray[Any]], None]:
        """Iterates over the whole array: `async for region, block in z.blocks()`.

        A block consists of whole chunks (whole shards, if the array is sharded), and `z[region]` selects it. The next
        blocks are read while the program works on one. The blocks in memory take up to `max_bytes`, a number or text
        such as "256 MiB", or two blocks if a single chunk needs more than half of that.
        """
        return read_blocks(self._node, partial(self._read, self._node.read), max_bytes)

    # -- changes

    async def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds `data` at the end of an axis, and returns the new shape. Keeps what other writers appended before."""
        return await self._change(self._node.append, data, axis)

    async def resize(self, new_shape: int | tuple[int, ...], *lengths: int) -> None:
        """Changes the shape, and erases all elements outside the new one for good."""
        await self._change(self._node.resize, new_shape, *lengths)

    async def nchunks_initialized(self) -> int:
        """The number of stored chunks. Costs a listing and, for a sharded array, a read of each shard index."""
        return await self._read(lambda: self._node.nchunks_initialized)

    async def nbytes_stored(self) -> int:
        """The number of stored bytes, metadata included. Costs a listing."""
        return await self._read(self._node.nbytes_stored)

    def __len__(self) -> int:
        return len(self._node)

    def __bool__(self) -> bool:
        raise TypeError("the truth of an array depends on its elements: `bool(await z[...])`")


class AsyncIndexer:
    """Square brackets for one kind of selection."""

    __slots__ = ("_change", "_indexer", "_read")

    def __init__(self, indexer: Indexer, read: Callable[..., Any], change: Callable[..., Any]) -> None:
        """`read` and `change` call a function in a thread, as those of `AsyncNode` do."""
        self._indexer = indexer
        self._read = read
        self._change = change

    def __getitem__(self, key: Any) -> Coroutine[Any, Any, Any]:
        return self._read(self._indexer.__getitem__, key)  # type: ignore[no-any-return]

    async def write(self, selection: Any, value: Any) -> None:
        """Writes `value` to a selection of this kind."""
        await self._change(self._indexer.__setitem__, selection, value)
