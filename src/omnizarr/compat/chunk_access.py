"""The chunks of an array of zarr-python, read and written by omnizarr's engine and codecs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import StorePath

from omnizarr.api.location import resolve
from omnizarr.compat.chunk_batch import Box, Item, box_of, split_key
from omnizarr.config import config
from omnizarr.engine import Layout, route
from omnizarr.engine.place import raise_for_chunk
from omnizarr.engine.pool import run
from omnizarr.errors import CodecError, OmnizarrError
from omnizarr.formats import dialect_for
from omnizarr.model import ArrayModel
from omnizarr.nodes.metadata.documents import parse_node
from omnizarr.store import LocalStore, MemoryStore, Store

__all__ = ["ChunkAccess", "chunk_access"]


def chunk_access(metadata: Any, store: Any) -> ChunkAccess | None:
    """Access to an array; None if omnizarr does not support its store or its metadata."""
    own = _own_store(store)
    try:
        model = None if own is None else _parse(metadata)
    except (OmnizarrError, TypeError, ValueError):
        return None
    return None if own is None or model is None else ChunkAccess(store, own, model)


class ChunkAccess:
    """Reads and writes chunks of one array."""

    def __init__(self, their_store: Any, store: Store, model: ArrayModel) -> None:
        self._their_store = their_store
        self._store = store
        self._model = model
        self._layout: Layout | None = None
        rank = len(model.shape)
        sizes = [axis.size for axis in model.grid.axes(model.shape)]
        lengths = tuple(size for size in sizes if size is not None)
        self._chunk_shape = lengths if len(lengths) == rank else None
        """None if chunks differ in length."""
        self._slashes = model.chunk_keys.join(("0",) * rank).count("/")

    def _layout_of(self, prefix: str, shape: tuple[int, ...]) -> Layout:
        """The layout of the array at `prefix`, with this shape: zarr-python keeps the pipeline of an array that grows,
        whose metadata then have another shape."""
        model, layout = self._model, self._layout
        if layout is None or layout.prefix != prefix or layout.model.shape != shape:
            if shape != model.shape:
                model = replace(model, shape=shape, grid=model.grid.fitting(shape))
            layout = self._layout = Layout(self._store, prefix.rstrip("/"), prefix, model)
        return layout

    def _plan(self, batch: list[Item], dtype: np.dtype[Any]) -> tuple[Layout, Box | None] | None:
        """The layout and the box of a batch; no box if the batch is another kind of selection. None if zarr-python must
        read or write it."""
        model, chunk_shape = self._model, self._chunk_shape
        if chunk_shape is None or batch[0][1].shape != chunk_shape:
            return None
        if dtype != model.dtype or dtype.hasobject:
            return None
        first, last = batch[0][0], batch[-1][0]
        if not (type(first) is type(last) is StorePath and first.store is last.store is self._their_store):
            return None
        rank, slashes = len(chunk_shape), self._slashes
        head = split_key(model.chunk_keys, rank, slashes, first.path)
        tail = head if len(batch) == 1 else split_key(model.chunk_keys, rank, slashes, last.path)
        if head is None or tail is None or head[0] != tail[0]:
            return None
        layout = self._layout_of(head[0], model.shape)
        box = box_of(layout, head[1], tail[1], chunk_shape, batch)
        if box is not None and any(map(int.__gt__, box.stops, model.shape)):
            layout = self._layout_of(head[0], tuple(map(max, model.shape, box.stops)))
        return layout, box

    def read(self, batch: list[Item], target: npt.NDArray[Any], drop_axes: tuple[int, ...]) -> bool:
        """Fill `target`; False if zarr-python must do it."""
        plan = self._plan(batch, target.dtype)
        if plan is None:
            return False
        layout, box = plan
        if box is not None and box.shape == target.shape:
            route.read(layout, box.selection(), target)
        elif layout.sharding is None and not layout.store.remote:
            _read_chunks(layout, batch, target, drop_axes)
        else:
            return False
        return True

    def write(self, batch: list[Item], elements: npt.NDArray[Any]) -> bool:
        """Store `elements`; False if zarr-python must do it."""
        plan = self._plan(batch, elements.dtype)
        layout, box = plan or (None, None)
        if layout is None or box is None or elements.shape not in (box.shape, ()):
            return False
        route.write(layout, box.selection(), np.asarray(elements), keep_empty=batch[0][1].config.write_empty_chunks)
        return True


def _own_store(store: Any) -> Store | None:
    """The store of omnizarr for a store of zarr-python; None if zarr-python itself must access it. Not for subclasses,
    which may do more."""
    kind = type(store)
    if kind is zarr.storage.LocalStore:
        return LocalStore(store.root)
    if kind is zarr.storage.ObjectStore:
        return resolve(store.store).store
    if kind.__module__ == "omnizarr.store.zarr_python.export":
        inner: Store = store.inner
        return inner
    return None


def _parse(metadata: Any) -> ArrayModel | None:
    """The model of the metadata of zarr-python."""
    buffers = metadata.to_buffer_dict(default_buffer_prototype())
    documents = {key: json.loads(buffer.to_bytes()) for key, buffer in buffers.items()}
    model = parse_node(dialect_for(metadata.zarr_format), MemoryStore(), "", documents, quiet=True)
    usable = isinstance(model, ArrayModel) and not model.storage_transformers and not model.guessed_keys
    return model if isinstance(model, ArrayModel) and usable else None


def _read_chunks(layout: Layout, batch: list[Item], target: npt.NDArray[Any], drop_axes: tuple[int, ...]) -> None:
    """Decode each chunk, and take from it what zarr-python says."""
    chain = layout.uniform
    assert chain is not None
    layout.check_size(chain)

    def read(item: Item) -> None:
        place, _, chunk_selection, target_selection, _ = item
        try:
            data = layout.get(place.path, chain.encoded.limit)
            part = layout.fill if data is None else chain.decode(data)[chunk_selection]
        except CodecError as error:
            raise_for_chunk("read", layout, (), place.path, error)
        if data is not None and drop_axes:
            part = part.squeeze(axis=drop_axes)
        target[target_selection] = part

    run(batch, lambda: read, min(config.workers, len(batch)))
