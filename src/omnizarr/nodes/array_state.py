"""`ArrayState`: the model and the layout of an array handle, and their changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Self

from omnizarr._cached_property import cached_property
from omnizarr._json import Json
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.engine import Layout
from omnizarr.errors import NodeTypeError, ReadOnlyError
from omnizarr.indexing import Selection
from omnizarr.model import ArrayModel
from omnizarr.nodes.array_properties import ArrayProperties
from omnizarr.nodes.handle_lock import handle_lock
from omnizarr.nodes.metadata.changes import change_node
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.metadata.fetch import fetch_model, not_found
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store

__all__ = ["ArrayState", "with_shape"]


class ArrayState(ArrayProperties):
    """Base class of `Array`: loads the model, makes the layout, and stores changes of the model."""

    _kind = "array"

    def __init__(self, context: NodeContext, model: ArrayModel, *, write_empty_chunks: bool = False) -> None:
        self._context = context
        self._model = model
        self._guessed_keys: ChunkKeys | None = None
        """The chunk keys of an array whose document does not record them, once they are known."""
        self._write_empty_chunks = write_empty_chunks
        if model.storage_transformers or context.transformers:
            _ = self._layout  # report errors in the transformers at once

    @cached_property
    def _layout(self) -> Layout:
        """Made on first use, because a program that lists a group reads few of its arrays."""
        return self._make_layout(self._model)

    @cached_property
    def _record_change(self) -> Callable[[], None]:
        """To be called after each change of elements, for tokens."""
        from omnizarr.nodes.protocols.token import change_recorder  # lazy import: writes only

        return change_recorder(self.store, self._context.dialect.chunk_prefix(self.path))

    def refresh(self) -> Self:
        """Loads the metadata again, such as a shape that another writer changed, and returns the handle."""
        self._load(self.store)
        return self

    def _load_current(self) -> ArrayModel:
        """The stored model, read past every cache, which is now that of the handle. A change of stored data that
        depends on the model starts from here."""
        from omnizarr.store.current import CurrentStore  # lazy import: only for changes of shape

        return self._load(CurrentStore(self.store))

    def _load(self, store: Store) -> ArrayModel:
        with handle_lock(self):
            model = fetch_model(store, self.path, self._context.dialect)
            if model is None:
                raise not_found(self.store, self.path)
            if not isinstance(model, ArrayModel):
                raise NodeTypeError(
                    f"{describe_location(self.store, self.path)} is not an array any more", path=self.path
                )
            self._set_model(model)
        return model

    def _publish_data(self) -> None:
        """Called after the data of a new array was written; a versioned array publishes it."""

    def _reload_layout(self) -> None:
        """Forget what the layout knows about stored values other than chunks, after one of them has changed."""
        with handle_lock(self):
            self._layout = self._make_layout(self._model)

    def _documents(self) -> dict[str, Json]:
        return self._context.dialect.dump(self._context.path, self._model)

    @property
    def _keep_empty(self) -> bool:
        # If the fill value is undefined, other readers return arbitrary values for an absent chunk (V13).
        if self._write_empty_chunks or self._model.fill is None:
            return True
        if self._model.shape or not self._model.guessed_keys:
            return False
        # Without this chunk, the array would be read from its other possible key, where an old value may lie (A13).
        other = self._model.chunk_keys.alternative()
        return other is not None and other.key(()) != self._model.chunk_keys.key(())

    def _check_writable(self) -> None:
        super()._check_writable()
        reason = self._model.read_only_reason
        if reason is not None:
            raise ReadOnlyError(f"array {describe_location(self.store, self.path)} cannot be written: {reason}")

    def _change(self, edit: Callable[[ArrayModel], ArrayModel]) -> None:
        """Stores what `edit` makes of the stored model."""
        context = self._context
        with handle_lock(self):
            self._set_model(change_node(context.store, context.dialect, context.path, edit, ArrayModel))
        if context.consolidated is not None:
            context.consolidated.record_nodes([context.path])

    def _set_model(self, model: ArrayModel) -> None:
        if _chunking(model) != _chunking(self._model):
            self._layout = self._make_layout(model)
        self._model = model

    def _guess_keys(self, selection: Selection | None = None) -> None:
        """Finds the key encoding of the stored chunks, unless it is known."""
        if self._guessed_keys is None and (selection is None or not selection.empty):
            from omnizarr.nodes.metadata.guess_chunk_keys import guess_chunk_keys  # lazy import: few arrays need it

            self._guessed_keys = guess_chunk_keys(self._layout, selection)
            if self._guessed_keys != self._layout.model.chunk_keys:
                self._layout = self._make_layout(self._model)

    def _make_layout(self, model: ArrayModel) -> Layout:
        context = self._context
        if self._guessed_keys is not None and model.guessed_keys:
            model = replace(model, chunk_keys=self._guessed_keys)
        prefix = context.dialect.chunk_prefix(context.path)
        store = context.store
        if model.storage_transformers or context.transformers:
            from omnizarr.transformers import ArrayPlace, array_store  # lazy import: few arrays have any

            shape = next(iter(model.grid.chunk_shapes(model.shape)), (1,) * len(model.shape))
            place = ArrayPlace(prefix, model.shape, shape, model.chunk_keys)
            store = array_store(store, place, model.storage_transformers, context.transformers)
        return Layout(store, context.path, prefix, model, context.cache)

    def _attributes(self) -> dict[str, Json]:
        return self._model.attributes

    def _change_attributes(self, edit: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        super()._check_writable()  # not its own check: attributes can change even if elements cannot
        self._change(lambda model: replace(model, attributes=edit(model.attributes)))


def with_shape(model: ArrayModel, shape: tuple[int, ...]) -> ArrayModel:
    """The model with another shape, and a grid that fits it."""
    return replace(model, shape=shape, grid=model.grid.fitting(shape))


def _chunking(model: ArrayModel) -> ArrayModel:
    """The part of a model that determines the layout."""
    return replace(model, attributes={}, dimension_names=None, extra={}, extensions=(), fallback=None, verbatim={})
