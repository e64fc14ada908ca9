"""Arrays that change their shape: one at a time takes its turn, so that what one adds no other overwrites, and who dies
over it leaves the array as it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy.typing as npt

from omnizarr.engine import route
from omnizarr.errors import StoreError
from omnizarr.indexing import numpy_selection
from omnizarr.model import ArrayModel
from omnizarr.nodes import stored_chunks
from omnizarr.nodes.assignment import as_value
from omnizarr.store.process_locks import TaskLock

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array

__all__ = ["append", "resize"]

_Shape: TypeAlias = tuple[int, ...]
_How: TypeAlias = Callable[[_Shape], _Shape]

_TRIES = 10  # to add to an array that somebody resizes who waits for no turn


def resize(array: Array, how: _How) -> tuple[_Shape, ArrayModel]:
    """Gives the array the shape that `how` makes of the stored one, which another handle may have changed; the shape it
    had, and what it is now: the handle may already say something else, if it is shared with other threads. What lies
    outside is gone when it is done."""
    with _turn(array) as task_lock:
        _repair(array, task_lock)
        before = after = array._model

        def resized(model: ArrayModel) -> ArrayModel:
            nonlocal before, after
            before = model
            shape = how(model.shape)
            if any(new < old for new, old in zip(shape, model.shape, strict=True)):
                task_lock.begin()
            after = _reshaped(model, shape)
            return after

        array._changed(resized)
        stored_chunks.trim(array._layout_of(before), after.shape)
        return before.shape, after


def append(array: Array, data: npt.NDArray[Any], axis: int, longer: _How) -> _Shape:
    """Adds `data` to an axis, and gives the shape after it, which `longer` makes of the one before. Where whoever adds
    something can keep others from it, the elements are stored first, and then the shape that lets them be seen.
    Elsewhere the shape comes first, so that everybody gets a place of their own."""
    if not array.store.locking:
        before, after = resize(array, longer)
        _write_end(array, data, axis, before, after)
        return after.shape
    with _turn(array) as task_lock:
        _repair(array, task_lock)
        for _ in range(_TRIES):
            model = array.refresh()._model
            after = _reshaped(model, longer(model.shape))
            _write_end(array, data, axis, model.shape, after, task_lock)
            if _grown(array, model.shape, after.shape):
                return after.shape
    raise StoreError(f"array `{array.name}` is resized by others all the time", store=repr(array.store))


def _write_end(
    array: Array,
    data: npt.NDArray[Any],
    axis: int,
    before: _Shape,
    after: ArrayModel,
    task_lock: TaskLock | None = None,
) -> None:
    """Stores `data` where the array, as it will be or is `after` it grew, has more than it had `before`. Whatever else
    the handle says by now does not matter: others have rows of their own behind these."""
    selection = numpy_selection((*[slice(None)] * axis, slice(before[axis], after.shape[axis])), after.shape)
    value = as_value(data, array.data_type, selection.shape)
    if task_lock is not None:
        task_lock.begin()
    route.write(array._layout_of(after), selection, value, keep_empty=array._keep_empty)


def _grown(array: Array, before: _Shape, shape: _Shape) -> bool:
    """Makes what was added visible, unless the array is not any more what it was."""
    expected = False

    def resized(model: ArrayModel) -> ArrayModel:
        nonlocal expected
        if model.shape == before:
            expected = True
        elif model.shape != shape:  # else it was stored and the answer was lost: nobody else has the turn
            expected = False
        return _reshaped(model, shape) if expected else model

    array._changed(resized)
    return expected


def _reshaped(model: ArrayModel, shape: _Shape) -> ArrayModel:
    return replace(model, shape=shape, grid=model.grid.fitting(shape))


def _turn(array: Array) -> AbstractContextManager[TaskLock]:
    array._check_writable()
    context = array._context
    documents = array._documents()
    return context.store.task_lock(
        next(key for key in context.dialect.identifying_keys(context.path) if key in documents)
    )


def _repair(array: Array, task_lock: TaskLock) -> None:
    """Clears away what somebody left outside the array who died while changing its shape."""
    if array._model.guessed_keys:
        array._find_chunks()
    if task_lock.broken:
        array.refresh()
        model = array._model
        shape = stored_chunks.covering_shape(array._layout)
        stored_chunks.trim(array._layout_of(_reshaped(model, shape)), model.shape)
