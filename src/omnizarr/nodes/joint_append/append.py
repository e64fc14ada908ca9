"""Appending to several arrays of a group together: all of them grow, or none does.

1. A journal in the group's attributes names the old and the new shapes (`journal`).
2. The new rows are stored outside the old shapes, where no reader sees them.
3. The journal is committed. A crash before this write leaves the old shapes, one after it the new ones.
4. If the group has consolidated metadata, one write gives all copies their new shapes. Then the documents of the arrays
   get them, and the journal is removed.

The next writer that finds a journal erases the rows if there was no commit, and otherwise does step 4. In a store with
locks it holds those of the group and of all arrays, so the other writer is gone. In other stores a writer renews its
journal; one that is not renewed for a while belongs to a crashed writer. There the documents of the arrays have a mark
from step 1 to step 4, for which writers wait that change the shape of one array (`resize_mark`). A store with commits
of its own needs none of this.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeAlias

from omnizarr._json import Json
from omnizarr.errors import ArgumentError, OmnizarrError, StoreError
from omnizarr.model import UNFINISHED_RESIZE, ArrayModel
from omnizarr.nodes import resize_mark
from omnizarr.nodes.array import Array
from omnizarr.nodes.array_state import with_shape
from omnizarr.nodes.group import Group
from omnizarr.nodes.handle_lock import handle_lock
from omnizarr.nodes.joint_append.journal import (
    APPEND,
    Journal,
    change_own,
    finish,
    journal_of,
    mark_failed,
    recover,
    renewed,
    stored_journal,
    take_journal,
)
from omnizarr.nodes.metadata.changes import change_node
from omnizarr.nodes.resize import clean_up, task_lock_of
from omnizarr.nodes.resize_mark import UnfinishedResizeError
from omnizarr.store.thread_locks import TaskLock

__all__ = ["finish_unfinished_append", "joint_append"]

_Shape: TypeAlias = tuple[int, ...]


@contextmanager
def joint_append(group: Group, growth: Mapping[str, tuple[int, int]]) -> Iterator[dict[str, Array]]:
    """Adds rows to arrays of a group: to all of them, or to none if the block fails or the process is killed.

    `growth` has for each array, by name, the axis and the number of rows. The block gets a handle of each array that
    already has the new shape, and writes the rows through it. They become visible when the block ends.
    """
    if group.store.transactional:
        with _transaction(group, growth) as arrays:
            yield arrays
        return
    holder = os.urandom(8).hex()
    with ExitStack() as stack:
        locks = _begin(group, sorted(growth), holder, stack)
        stack.enter_context(renewed(group._context, holder))
        committed: Journal | None = None
        try:
            yield _prepare(group, growth, holder, locks)
            for lock in locks.values():
                lock.check()
            committed = _commit(group, holder)
            finish(group._context, holder, committed)
        except BaseException as error:
            complete = False
            try:
                if committed is None:
                    complete = recover(group._context, holder)
                else:
                    finish(group._context, holder, committed)
                    complete = True
            except OmnizarrError as other:
                rows = "erases" if committed is None else "completes"
                error.add_note(f"The next append to the group {rows} this one: {other}")
            finally:
                mark_failed(holder)  # not before: another thread must not take over what this one erases
            if not (complete and isinstance(error, Exception)):  # otherwise only an answer was lost
                raise


@contextmanager
def _transaction(group: Group, growth: Mapping[str, tuple[int, int]]) -> Iterator[dict[str, Array]]:
    """`joint_append` in a store with commits of its own. The shapes change first: Icechunk rejects chunks outside."""
    arrays = {name: _member(group, name) for name in growth}
    shapes = {name: array.shape for name, array in arrays.items()}
    try:
        for name, (axis, count) in growth.items():
            old = shapes[name]
            arrays[name].resize((*old[:axis], old[axis] + count, *old[axis + 1 :]))
        yield arrays
    except BaseException:
        for name, shape in shapes.items():
            arrays[name].resize(shape)
        raise


def finish_unfinished_append(group: Group) -> None:
    """Ends an append that a crashed writer left unfinished; waits for one that is under way."""
    if journal_of(group._model.attributes) is None:
        return
    with ExitStack() as stack:
        _clean_up(group, _begin(group, (), os.urandom(8).hex(), stack))
    group.refresh()


# -- beginning


def _begin(group: Group, names: list[str] | tuple[()], holder: str, stack: ExitStack) -> dict[str, TaskLock]:
    """Takes the locks, ends an unfinished append, and stores an empty journal of this holder if there are `names`."""
    group._check_writable()
    store, dialect = group.store, group._context.dialect
    locks: dict[str, TaskLock] = {}
    if store.locking:
        stack.enter_context(store.task_lock(dialect.identifying_keys(group.path)[0]))
        unfinished = stored_journal(group._context)
        for name in sorted({*names, *(unfinished.shapes if unfinished is not None else ())}):
            array = group.get(name)
            if isinstance(array, Array):
                locks[name] = stack.enter_context(task_lock_of(array))
    take_journal(group._context, holder, begin=bool(names))
    return locks


def _clean_up(group: Group, locks: Mapping[str, TaskLock]) -> None:
    """Erases what crashed holders of the task locks left outside the arrays."""
    for name, lock in locks.items():
        array = group.get(name)
        if isinstance(array, Array):
            clean_up(array, lock)


def _prepare(
    group: Group, growth: Mapping[str, tuple[int, int]], holder: str, locks: Mapping[str, TaskLock]
) -> dict[str, Array]:
    """Stores the shapes in the journal, and returns handles of the arrays with their new shapes."""
    arrays = {name: _member(group, name) for name in growth}
    _clean_up(group, locks)
    shapes: dict[str, tuple[_Shape, _Shape]] = {}
    for name, (axis, count) in growth.items():
        _reserve(arrays[name], holder)
        old = arrays[name].shape
        shapes[name] = (old, (*old[:axis], old[axis] + count, *old[axis + 1 :]))
    grown = {name: _with_new_shape(arrays[name], new) for name, (_, new) in shapes.items()}
    change_own(group._context, holder, lambda journal: replace(journal, shapes=shapes))
    for lock in locks.values():
        lock.begin()
    return grown


def _reserve(array: Array, holder: str) -> None:
    """Loads the current model. In a store without locks, also marks the array."""
    if array.store.locking:
        if UNFINISHED_RESIZE in array._load_current().extra:  # the array was copied from a store without locks
            resize_mark.finish(array)
        return
    mark: Json = {"must_understand": False, APPEND: holder}

    def add_mark(model: ArrayModel) -> ArrayModel:
        if model.extra.get(UNFINISHED_RESIZE, mark) != mark:
            raise UnfinishedResizeError
        return replace(model, extra={**model.extra, UNFINISHED_RESIZE: mark})

    context = array._context
    while True:
        try:
            with handle_lock(array):
                array._set_model(change_node(context.store, context.dialect, context.path, add_mark, ArrayModel))
            return
        except UnfinishedResizeError:
            resize_mark.finish(array, journal_held=True)


def _member(group: Group, name: str) -> Array:
    array = group[name]
    if not isinstance(array, Array):
        raise ArgumentError(f"`{name}`: expected an array, found a group", argument="growth")
    if type(array) is not Array:
        raise ArgumentError(
            f"array `{array.name}` keeps versions, and cannot grow together with others",
            argument="growth",
            hint="append to it in a session of its own",
        )
    array._load_current()
    array._check_writable()
    return array


def _with_new_shape(array: Array, shape: tuple[int, ...]) -> Array:
    """A handle of the array as it will be. It writes chunks, and never the document."""
    if array._model.guessed_keys:
        array._guess_keys()
    context = array._context._replace(consolidated=None)
    grown = Array(context, with_shape(array._model, shape), write_empty_chunks=array._write_empty_chunks)
    grown._guessed_keys = array._guessed_keys
    return grown


def _commit(group: Group, holder: str) -> Journal:
    journal = change_own(group._context, holder, lambda journal: journal)
    assert journal is not None
    for name, (old, _) in journal.shapes.items():
        stored = _member(group, name).shape
        if stored != old:
            raise StoreError(
                f"the append to group `{group.name}` was given up: another writer changed the shape of `{name}` from "
                f"{old} to {stored}",
                store=repr(group.store),
            )
    journal = change_own(group._context, holder, lambda journal: replace(journal, committed=True))
    assert journal is not None
    return journal
