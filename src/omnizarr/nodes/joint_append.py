"""Appending to several arrays of a group together: all of them grow, or none does.

1. A journal in the group's attributes names the old and the new shapes (`append_journal`).
2. The new rows are stored outside the old shapes, where no reader sees them.
3. If the group has consolidated metadata, one write gives all copies their new shapes. Then the journal is committed.
   The first of these two writes is the commit: a crash before it leaves the old shapes, one after it the new ones.
4. The documents of the arrays get their new shapes, and the journal is removed.

The next writer that finds a journal erases the rows if there was no commit, and otherwise does step 4. In a store with
locks it holds those of the group and of all arrays, so the other writer is gone. In other stores a writer renews its
journal; one that is not renewed for a while belongs to a crashed writer. A store with commits of its own needs none of
this.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from omnizarr.errors import ArgumentError, OmnizarrError, StoreError
from omnizarr.formats import Dialect
from omnizarr.model import ArrayModel, GroupModel, join_path
from omnizarr.nodes import stored_chunks
from omnizarr.nodes.append_journal import JOURNAL, Journal, journal_of
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.nodes.handle_lock import handle_lock
from omnizarr.nodes.metadata.changes import change_node
from omnizarr.nodes.metadata.documents import parse_node
from omnizarr.nodes.resize import clean_up, task_lock_of, with_shape
from omnizarr.store.thread_locks import TaskLock

__all__ = ["change_journal", "finish_unfinished_append", "joint_append"]

_RENEWAL = 2.0  # seconds between renewals of a journal, in stores without locks
_LEASE = 20.0  # seconds without a renewal after which the writer counts as gone
_PAUSE = 0.1  # seconds between two looks at the journal of another writer

_failed: set[str] = set()
"""The writers in this process that failed: nothing has to wait for them."""


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
        arrays = {name: _member(group, name) for name in growth}
        for name, lock in locks.items():
            if name in arrays:
                clean_up(arrays[name], lock)
        shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        grown: dict[str, Array] = {}
        for name, (axis, count) in growth.items():
            old = arrays[name].shape
            shapes[name] = (old, (*old[:axis], old[axis] + count, *old[axis + 1 :]))
            grown[name] = _with_new_shape(arrays[name], shapes[name][1])
        _change_own(group, holder, lambda journal: replace(journal, shapes=shapes))
        for lock in locks.values():
            lock.begin()
        try:
            with _renewed(group, holder):
                yield grown
                for lock in locks.values():
                    lock.check()
                _commit(group, holder)
        except BaseException as error:
            _failed.add(holder)
            try:
                _recover(group, holder)
            except OmnizarrError as other:
                error.add_note(f"The next append to the group erases the rows that this one stored: {other}")
            raise
        _finish(group, holder)


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
        _begin(group, (), os.urandom(8).hex(), stack)
    group.refresh()


# -- the journal


def change_journal(group: Group, edit: Callable[[Journal | None], Journal | None]) -> Journal | None:
    """Stores what `edit` makes of the stored journal, and returns it. None removes it.

    The copies of the attributes in consolidated metadata do not change: their readers do not need the journal.
    """
    context = group._context

    def edit_model(model: GroupModel) -> GroupModel:
        journal = edit(journal_of(model.attributes))
        attributes = {name: value for name, value in model.attributes.items() if name != JOURNAL}
        if journal is not None:
            attributes[JOURNAL] = journal.to_json()
        elif JOURNAL not in model.attributes:
            return model
        return replace(model, attributes=attributes, implicit=False)

    with handle_lock(group):
        group._model = change_node(context.store, context.dialect, context.path, edit_model, GroupModel)
    return journal_of(group._model.attributes)


# -- beginning


def _begin(group: Group, names: list[str] | tuple[()], holder: str, stack: ExitStack) -> dict[str, TaskLock]:
    """Takes the locks, ends an unfinished append, and stores an empty journal of this holder if there are `names`."""
    group._check_writable()
    store, dialect = group.store, group._context.dialect
    locks: dict[str, TaskLock] = {}
    if store.locking:
        stack.enter_context(store.task_lock(dialect.identifying_keys(group.path)[0]))
        unfinished = journal_of(_reload(group))
        for name in sorted({*names, *(unfinished.shapes if unfinished is not None else ())}):
            array = group.get(name)
            if isinstance(array, Array):
                locks[name] = stack.enter_context(task_lock_of(array))
    while True:
        before = _wait(group)
        if before is None and not names:
            return locks

        def take(journal: Journal | None, before: Journal | None = before) -> Journal | None:
            if journal != before:
                return journal
            return Journal(holder, {}) if journal is None else replace(journal, holder=holder, renewals=0)

        after = change_journal(group, take)
        if after is not None and after.holder == holder:
            if before is None:
                return locks
            with _renewed(group, holder):
                _recover(group, holder)


def _wait(group: Group) -> Journal | None:
    """Waits until no other writer holds the journal. Returns one whose writer is gone, or None."""
    seen: Journal | None = None
    since = time.monotonic()
    while True:
        journal = journal_of(_reload(group))
        if journal is None or group.store.locking or journal.holder in _failed:
            return journal
        if journal != seen:
            seen, since = journal, time.monotonic()
        if time.monotonic() - since >= _LEASE:
            return journal
        time.sleep(_PAUSE)


def _reload(group: Group) -> dict[str, object]:
    """The attributes of the group as they are stored now."""
    change_journal(group, lambda journal: journal)
    return group._model.attributes


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


@contextmanager
def _renewed(group: Group, holder: str) -> Iterator[None]:
    """Renews the journal in a thread until the block ends, in a store without locks."""
    if group.store.locking:
        yield
        return
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(_RENEWAL):
            try:
                _change_own(group, holder, lambda journal: replace(journal, renewals=journal.renewals + 1))
            except OmnizarrError:
                continue  # the next attempt may succeed; the commit finds out if the journal was lost

    thread = threading.Thread(target=renew, name="omnizarr-append", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _change_own(group: Group, holder: str, edit: Callable[[Journal], Journal | None]) -> Journal | None:
    """`change_journal` for the journal of this holder. Raises StoreError if another writer has taken it over."""

    def checked(journal: Journal | None) -> Journal | None:
        if journal is None or journal.holder != holder:
            raise StoreError(
                f"the append to group `{group.name}` was given up: another writer has taken over, because this one was "
                f"silent for more than {_LEASE} s",
                store=repr(group.store),
            )
        return edit(journal)

    return change_journal(group, checked)


# -- ending


def _commit(group: Group, holder: str) -> None:
    journal = _change_own(group, holder, lambda journal: journal)
    assert journal is not None
    for name, (old, _) in journal.shapes.items():
        stored = _member(group, name).shape
        if stored != old:
            raise StoreError(
                f"the append to group `{group.name}` was given up: another writer changed the shape of `{name}` from "
                f"{old} to {stored}",
                store=repr(group.store),
            )
    consolidated = group._context.consolidated
    if consolidated is not None:
        dialect = group._context.dialect
        paths = {join_path(group.path, name): new for name, (_, new) in journal.shapes.items()}

        def edit(copies: Mapping[str, object]) -> dict[str, object]:
            changed = dict(copies)
            for path, shape in paths.items():
                model = _copied_array(group, dialect, path, copies)
                if model is not None:
                    changed |= dialect.dump(path, with_shape(model, shape))
            return changed

        consolidated.change_copies(edit)
    _change_own(group, holder, lambda journal: replace(journal, committed=True))


def _copied_array(group: Group, dialect: Dialect, path: str, copies: Mapping[str, object]) -> ArrayModel | None:
    documents = {key: copies[key] for key in dialect.keys(path) if key in copies}
    if not documents:
        return None
    model = parse_node(dialect, group.store, path, documents, quiet=True)
    return model if isinstance(model, ArrayModel) else None


def _is_committed(group: Group, journal: Journal) -> bool:
    """Whether readers may have seen the new shapes."""
    consolidated = group._context.consolidated
    if journal.committed or not journal.shapes or consolidated is None:
        return journal.committed
    copies = consolidated.stored_copies()
    for name, (_, new) in journal.shapes.items():
        model = _copied_array(group, group._context.dialect, join_path(group.path, name), copies)
        if model is None or model.shape != new:
            return False
    return True


def _recover(group: Group, holder: str) -> None:
    """Ends an unfinished append whose journal this holder has taken over."""
    journal = _change_own(group, holder, lambda journal: journal)
    assert journal is not None
    if _is_committed(group, journal):
        _change_own(group, holder, lambda journal: replace(journal, committed=True))
        _finish(group, holder)
        return
    for name, (_, new) in journal.shapes.items():
        array = group.get(name)
        if isinstance(array, Array) and array.ndim == len(new):
            model = array._load_current()
            covering = tuple(map(max, model.shape, new))
            stored_chunks.trim(array._make_layout(with_shape(model, covering)), model.shape)
    _change_own(group, holder, lambda journal: None)


def _finish(group: Group, holder: str) -> None:
    """Gives all arrays their new shapes, and removes the journal."""
    journal = _change_own(group, holder, lambda journal: journal)
    assert journal is not None
    context = group._context
    paths = [group.path]
    for name, (old, new) in journal.shapes.items():

        def edit(model: ArrayModel, old: tuple[int, ...] = old, new: tuple[int, ...] = new) -> ArrayModel:
            return with_shape(model, new) if model.shape == old else model

        paths.append(join_path(group.path, name))
        change_node(context.store, context.dialect, paths[-1], edit, ArrayModel)
    _change_own(group, holder, lambda journal: None)
    if context.consolidated is not None:
        context.consolidated.record_nodes(paths)
