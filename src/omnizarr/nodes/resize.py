"""Changing the shape of an array.

A task lock serializes writers that change the shape, so that none overwrites what another appends. After a crash the
array still has its old shape, and the next writer erases the elements outside it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import numpy.typing as npt

from omnizarr.engine import route
from omnizarr.errors import StoreError
from omnizarr.indexing import numpy_selection
from omnizarr.model import UNFINISHED_RESIZE, ArrayModel
from omnizarr.nodes import stored_chunks
from omnizarr.nodes.array_state import ArrayState, with_shape
from omnizarr.nodes.indexers import as_value
from omnizarr.nodes.resize_mark import ResizeMark, UnfinishedResizeError, check_finished, finish
from omnizarr.store.thread_locks import TaskLock

__all__ = ["append", "clean_up", "resize", "task_lock_of"]

_Shape: TypeAlias = tuple[int, ...]
_NewShape: TypeAlias = Callable[[_Shape], _Shape]

_MOST_TRIES = 10  # an append starts again if a writer without the task lock changes the shape


def resize(array: ArrayState, new_shape: _NewShape, *, only_grows: bool = False) -> tuple[_Shape, ArrayModel]:
    """Stores the shape that `new_shape` returns for the stored one, and erases the elements outside it, unless it
    `only_grows`.

    Returns the shape before and the model after. Use these, because another thread may have changed the handle already.
    """
    with task_lock_of(array) as task_lock:
        clean_up(array, task_lock)
        while True:
            try:
                return _resize_locked(array, new_shape, task_lock, only_grows=only_grows)
            except UnfinishedResizeError:
                finish(array)


def _resize_locked(
    array: ArrayState, new_shape: _NewShape, task_lock: TaskLock, *, only_grows: bool
) -> tuple[_Shape, ArrayModel]:
    """`resize` for the holder of the task lock; UnfinishedResizeError, without a change, if a shrink is unfinished."""
    store = array.store
    mark = ResizeMark(array) if store.listable and not store.locking else None
    shrinks = False
    before = after = array._model
    # `new_shape` of an append may not accept the shape that a stale handle knows.
    trimmed = None if only_grows else _prepare_trim(array, new_shape)

    def edit(model: ArrayModel) -> ArrayModel:
        nonlocal before, after, shrinks
        check_finished(model)
        before = model
        shape = new_shape(model.shape)
        shrinks = any(new < old for new, old in zip(shape, model.shape, strict=True))
        if shrinks and mark is None:
            task_lock.begin()
        task_lock.check()
        after = with_shape(model, shape)
        return mark.added_to(after) if shrinks and mark is not None else after

    array._change(edit)
    if shrinks and mark is not None:
        mark.erase_outside(before, after.shape)
    elif before.shape != trimmed:
        stored_chunks.trim(array._make_layout(before), after.shape)
    return before.shape, after


def _prepare_trim(array: ArrayState, new_shape: _NewShape) -> _Shape | None:
    """Raises an error if elements outside the new shape could not be erased, before anything changes.

    In a store that cannot list, it erases them now, because no writer could find what a crash between the two steps
    leaves behind. Returns the shape that the array had then; None if nothing was erased.
    """
    listable = array.store.listable
    model = array._model if listable else array._load_current()
    shape = new_shape(model.shape)
    if all(new >= old for new, old in zip(shape, model.shape, strict=True)):
        return None
    layout = array._make_layout(model)
    stored_chunks.check_trim(layout, shape)
    if listable:
        return None
    stored_chunks.trim(layout, shape)
    return model.shape


def append(array: ArrayState, data: npt.NDArray[Any], axis: int, grow: _NewShape) -> _Shape:
    """Adds `data` to an axis, and returns the new shape, which `grow` computes from the stored one.

    In a store that can lock, the elements are stored first and the shape that makes them visible second. Elsewhere the
    shape comes first, so that concurrent appends get different rows.
    """
    if not array.store.locking:
        before, after = resize(array, grow, only_grows=True)
        _write_end(array, data, axis, before, after)
        return after.shape
    with task_lock_of(array) as task_lock:
        clean_up(array, task_lock)
        for _ in range(_MOST_TRIES):
            model = array._load_current()
            if UNFINISHED_RESIZE in model.extra:  # the array was copied from a store without locks
                finish(array)
                continue
            after = with_shape(model, grow(model.shape))
            _write_end(array, data, axis, model.shape, after, task_lock)
            task_lock.check()
            if _store_shape(array, model.shape, after.shape):
                return after.shape
    raise StoreError(
        f"cannot append to array `{array.name}`: gave up after {_MOST_TRIES} attempts, because other writers keep "
        "changing its shape",
        store=repr(array.store),
    )


def _write_end(
    array: ArrayState,
    data: npt.NDArray[Any],
    axis: int,
    before: _Shape,
    after: ArrayModel,
    task_lock: TaskLock | None = None,
) -> None:
    """Stores `data` in the part of an axis that `after` has and the shape `before` has not.

    Ignores the current shape of the handle: other writers may have appended rows after these.
    """
    selection = numpy_selection((*[slice(None)] * axis, slice(before[axis], after.shape[axis])), after.shape)
    value = as_value(data, array.data_type, selection.shape)
    if task_lock is not None:
        task_lock.begin()
    route.write(array._make_layout(after), selection, value, keep_empty=array._keep_empty)


def _store_shape(array: ArrayState, before: _Shape, shape: _Shape) -> bool:
    """Stores the new shape if the stored one is still `before`; whether it did."""
    unchanged = False

    def edit(model: ArrayModel) -> ArrayModel:
        nonlocal unchanged
        if model.shape == before:
            unchanged = True
        elif model.shape != shape:  # if equal, an earlier attempt stored it and only the response was lost
            unchanged = False
        return with_shape(model, shape) if unchanged else model

    array._change(edit)
    return unchanged


def task_lock_of(array: ArrayState) -> AbstractContextManager[TaskLock]:
    """The lock of tasks that change the shape of the array."""
    array._check_writable()
    context = array._context
    documents = array._documents()
    return context.store.task_lock(
        next(key for key in context.dialect.identifying_keys(context.path) if key in documents)
    )


def clean_up(array: ArrayState, task_lock: TaskLock) -> None:
    """Erases the elements outside the array if the previous holder of the task lock crashed."""
    if array._model.guessed_keys:
        array._guess_keys()
    if task_lock.broken and array.store.listable:  # elsewhere elements outside the shape are erased first
        from omnizarr.nodes.joint_append.journal import leave_journal  # lazy import: only after a crash

        array._load_current()
        leave_journal(array)
        model = array._model
        shape = stored_chunks.covering_shape(array._layout)
        stored_chunks.trim(array._make_layout(with_shape(model, shape)), model.shape)
