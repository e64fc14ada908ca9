"""`AsyncArray`: an array whose methods are coroutines."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

from omnizarr.compat.zarr.codecs._classes import codec_from_json
from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core.handles.array import Array
from omnizarr.compat.zarr.core.indexing import AsyncOIndex, AsyncVIndex
from omnizarr.compat.zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from omnizarr.compat.zarr.errors import translated
from omnizarr.compat.zarr.registry import get_pipeline_class
from omnizarr.compat.zarr.storage._common import StorePath, store_path_of
from omnizarr.compat.zarr.storage._engine import engine_store
from omnizarr.formats import dialect_for
from omnizarr.nodes import Array as OwnArray
from omnizarr.nodes.metadata.documents import parse_node
from omnizarr.nodes.node import NodeContext

__all__ = ["AsyncArray"]


class AsyncArray:
    """An array whose methods are coroutines. They run the engine in worker threads."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls  # `AsyncArray[ArrayV3Metadata]` in annotations

    def __init__(self, metadata: Any, store_path: StorePath, config: Any = None) -> None:
        if isinstance(metadata, dict):
            metadata = (ArrayV2Metadata if metadata["zarr_format"] == 2 else ArrayV3Metadata).from_dict(metadata)
        store = engine_store(store_path.store)
        dialect = dialect_for(metadata.zarr_format)
        prefix = f"{store_path.path}/" if store_path.path else ""
        documents = {prefix + name: json.loads(value.to_bytes()) for name, value in metadata.to_buffer_dict().items()}
        context = NodeContext(store, store_path.path, dialect)
        model: Any = parse_node(dialect, store, store_path.path, documents)
        self._array = Array._of(OwnArray(context, model), store_path, config)

    @classmethod
    def _of(cls, array: Array) -> Self:
        handle = cls.__new__(cls)
        handle._array = array
        return handle

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_array":
            raise AttributeError(name)
        return getattr(self._array, name)

    @classmethod
    async def open(cls, store: Any, zarr_format: Any = 3) -> Self:
        """Opens an array."""

        def run() -> Array:
            place = store_path_of(store)
            return Array._of(create.open_handle(place, "array", zarr_format), place)

        return cls._of(await asyncio.to_thread(translated(run)))

    @classmethod
    def from_dict(cls, store_path: StorePath, data: dict[str, Any]) -> Self:
        """The handle of an array whose document is `data`."""
        return cls(data, store_path)

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes; `update_attributes` changes them."""
        return self._array.attrs.asdict()

    def with_config(self, config: Any) -> Self:
        """Another handle with other options."""
        return self._of(self._array.with_config(config))

    @property
    def codec_pipeline(self) -> Any:
        """The codecs of a chunk; none for v2."""
        codecs = [codec_from_json(codec) for codec in getattr(self.metadata, "codecs", ())]
        return get_pipeline_class().from_codecs(codecs) if codecs else ()

    async def getitem(self, selection: Any, *, prototype: Any = None) -> Any:
        """`z[selection]`."""
        return await asyncio.to_thread(self._array.__getitem__, selection)

    async def setitem(self, selection: Any, value: Any, prototype: Any = None) -> None:
        """`z[selection] = value`."""
        await asyncio.to_thread(self._array.__setitem__, selection, value)

    async def get_orthogonal_selection(self, selection: Any, **options: Any) -> Any:
        """An orthogonal selection."""
        return await asyncio.to_thread(lambda: self._array.get_orthogonal_selection(selection, **options))

    async def get_coordinate_selection(self, selection: Any, **options: Any) -> Any:
        """The elements at points."""
        return await asyncio.to_thread(lambda: self._array.get_coordinate_selection(selection, **options))

    async def get_mask_selection(self, mask: Any, **options: Any) -> Any:
        """The elements where a mask is true."""
        return await asyncio.to_thread(lambda: self._array.get_mask_selection(mask, **options))

    @property
    def oindex(self) -> Any:
        """Orthogonal selections, with `getitem`."""
        return AsyncOIndex(self._array.oindex)

    @property
    def vindex(self) -> Any:
        """Points or a mask, with `getitem`."""
        return AsyncVIndex(self._array.vindex)

    async def resize(self, new_shape: Any, delete_outside_chunks: bool = True) -> None:
        """Changes the shape."""
        await asyncio.to_thread(self._array.resize, new_shape)

    async def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds elements at the end of an axis."""
        return await asyncio.to_thread(self._array.append, data, axis)

    async def update_attributes(self, new_attributes: dict[str, Any]) -> Self:
        """Adds or replaces attributes."""
        await asyncio.to_thread(self._array.update_attributes, new_attributes)
        return self

    async def nchunks_initialized(self) -> int:
        """The number of stored chunks."""
        return await asyncio.to_thread(lambda: self._array.nchunks_initialized)

    async def nbytes_stored(self) -> int:
        """The number of stored bytes."""
        return await asyncio.to_thread(self._array.nbytes_stored)

    async def info_complete(self) -> Any:
        """A printable summary with the stored size."""
        return await asyncio.to_thread(self._array.info_complete)

    async def example(self) -> Any:
        """An array without elements, with the type of results."""
        return self._array._meta

    @property
    def chunk_grid(self) -> Any:
        """The grid."""
        return self.metadata.chunk_grid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncArray) and self._array == other._array

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<AsyncArray {self.store_path} shape={self.shape} dtype={self.dtype}>"


Array._async_class = AsyncArray
