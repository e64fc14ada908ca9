"""The mark of an unfinished shrink, for stores without locks between processes.

The write that stores the smaller shape adds the mark to the document, and the process removes it when all elements
outside are erased. A writer that changes the shape and finds the mark waits for its holder, which renews it. If the
holder is gone, the writer takes the mark over by compare-and-set and erases the elements itself. The mark lies in the
document, so that every writer sees the shape and the mark together, without another request.

An append to several arrays (`joint_append`) leaves a mark of its own in each of them, which its journal explains.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

from omnizarr._json import Json
from omnizarr.errors import StoreError
from omnizarr.model import UNFINISHED_RESIZE, ArrayModel
from omnizarr.nodes import stored_chunks
from omnizarr.nodes.array_state import ArrayState
from omnizarr.nodes.joint_append.journal import finish_append_to, has_append_mark, leave_journal, without_mark

__all__ = [
    "ResizeMark",
    "UnfinishedResizeError",
    "check_finished",
    "finish",
]

_RENEWAL = 1.0  # seconds between renewals
_LEASE = 5.0  # seconds without a renewal after which the holder counts as gone
_PAUSE = 0.1  # seconds between two looks at the mark of another process

_failed: set[str] = set()
"""The holders in this process that failed: nothing has to wait for them."""


class UnfinishedResizeError(Exception):
    """The stored array has the mark of an unfinished shrink or append."""


def check_finished(model: ArrayModel) -> None:
    """Raise UnfinishedResizeError if a shrink of the array is unfinished, or an append to it and other arrays."""
    if UNFINISHED_RESIZE in model.extra:
        raise UnfinishedResizeError


class ResizeMark:
    """The mark of one shrink, or of its completion by another writer."""

    def __init__(self, array: ArrayState) -> None:
        self._array = array
        self._holder = os.urandom(8).hex()
        self._renewals = 0
        self._renewed = time.monotonic()

    def _value(self) -> Json:
        return {"must_understand": False, "holder": self._holder, "renewals": self._renewals}

    def added_to(self, model: ArrayModel) -> ArrayModel:
        """The model with this mark."""
        self._renewed = time.monotonic()
        return replace(model, extra={**model.extra, UNFINISHED_RESIZE: self._value()})

    def erase_outside(self, layout_model: ArrayModel, shape: tuple[int, ...]) -> None:
        """Erase what `layout_model` has outside `shape`, and remove the mark."""
        try:
            stored_chunks.trim(self._array._make_layout(layout_model), shape, self._renew)
            self._change(without_mark)
        except BaseException:
            _failed.add(self._holder)
            raise

    def _renew(self) -> None:
        """Called before each change: renews the mark if it is due."""
        if time.monotonic() - self._renewed >= _RENEWAL:
            self._renewals += 1
            self._change(self.added_to)

    def _change(self, edit: Callable[[ArrayModel], ArrayModel]) -> None:
        def checked(model: ArrayModel) -> ArrayModel:
            if _holder(model) != self._holder:
                raise StoreError(
                    f"cannot finish shrinking array `{self._array.name}`: another writer has taken over, because this "
                    f"process was silent for more than {_LEASE} s",
                    store=repr(self._array.store),
                )
            return edit(model)

        self._array._change(checked)


def finish(array: ArrayState, *, journal_held: bool = False) -> None:
    """Wait until the shrink or append that the stored array is marked with ends; if its holder is gone, finish it.

    If `journal_held`, the caller holds the journal of appends to the group: the mark of another one is outdated.
    """
    last_mark: Json = None
    since = time.monotonic()
    while True:
        model = array._load_current()
        stored_mark = model.extra.get(UNFINISHED_RESIZE)
        if stored_mark is None:
            return
        if stored_mark != last_mark:
            last_mark, since = stored_mark, time.monotonic()
            if has_append_mark(model) and not journal_held:
                _finish_append(array)
                continue
        holder = _holder(model)
        if holder in _failed or time.monotonic() - since >= _LEASE:
            if _take_over(array, stored_mark):
                _failed.discard(holder or "")
            continue
        time.sleep(_PAUSE)


def _finish_append(array: ArrayState) -> None:
    """Waits for the append to several arrays that the array is marked with, or ends it. If its journal does not name
    the array, the mark stays: its writer crashed before it stored rows."""
    if array.store.locking:  # the array was copied from a store without locks; the caller holds its task lock
        leave_journal(array)
    else:
        finish_append_to(array)


def _take_over(array: ArrayState, stored_mark: Json) -> bool:
    """Finish the shrink with the mark `stored_mark`; False if the mark has changed meanwhile."""
    mark = ResizeMark(array)
    ours = False

    def edit(model: ArrayModel) -> ArrayModel:
        nonlocal ours
        ours = model.extra.get(UNFINISHED_RESIZE) == stored_mark
        return mark.added_to(model) if ours else model

    array._change(edit)
    if ours:
        model = array._model
        shape = stored_chunks.covering_shape(array._make_layout(model)) if array.store.listable else model.shape
        mark.erase_outside(replace(model, shape=shape, grid=model.grid.fitting(shape)), model.shape)
    return ours


def _holder(model: ArrayModel) -> str | None:
    mark = model.extra.get(UNFINISHED_RESIZE)
    holder = mark.get("holder") if isinstance(mark, dict) else None
    return holder if isinstance(holder, str) else None
