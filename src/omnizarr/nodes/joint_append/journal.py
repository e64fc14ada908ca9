"""The journal of an append to several arrays, and how an append of a crashed writer ends.

The journal is an attribute of the group, because every generation has attributes and every reader accepts them. It
exists from before the first new row is stored until all arrays have their new shapes. While it is not committed, the
old shapes are valid; from then on the new ones. A reader of the group's document and of the arrays' documents, in this
order, can therefore tell which shapes belong together. `append` describes the steps.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from omnizarr._json import Json, is_integer
from omnizarr.errors import NodeNotFoundError, NodeTypeError, OmnizarrError, StoreError
from omnizarr.model import UNFINISHED_APPEND, UNFINISHED_RESIZE, ArrayModel, GroupModel, join_path
from omnizarr.nodes import stored_chunks
from omnizarr.nodes.array_state import ArrayState, with_shape
from omnizarr.nodes.metadata.changes import change_node
from omnizarr.nodes.metadata.consolidated import Consolidated
from omnizarr.nodes.metadata.documents import describe_location, parse_node
from omnizarr.nodes.metadata.fetch import fetch_model
from omnizarr.nodes.node import NodeContext
from omnizarr.store.current import CurrentStore

__all__ = [
    "APPEND",
    "JOURNAL",
    "Journal",
    "change_journal",
    "change_own",
    "finish",
    "finish_append_to",
    "has_append_mark",
    "journal_of",
    "leave_journal",
    "mark_failed",
    "recover",
    "renewed",
    "stored_journal",
    "take_journal",
    "without_mark",
]

_RENEWAL = 2.0  # seconds between renewals of a journal, in stores without locks
_LEASE = 20.0  # seconds without a renewal after which the writer counts as gone
_PAUSE = 0.1  # seconds between two looks at the journal of another writer

_failed: set[str] = set()
"""The writers in this process that failed: nothing has to wait for them."""

JOURNAL = UNFINISHED_APPEND
"""The name of the attribute. `Group.attrs` hides and keeps it."""

APPEND = "append"
"""The member of a mark in the document of an array (`resize_mark`) that refers to the journal."""

_Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Journal:
    """Which arrays grow, and how far the append has come."""

    holder: str
    """A random text that names the writer."""
    shapes: Mapping[str, tuple[_Shape, _Shape]]
    """The old and the new shape of each array, by its name in the group."""
    committed: bool = False
    renewals: int = 0
    """Grows while the writer lives, in stores without locks."""

    def valid_shape(self, name: str, shape: _Shape) -> _Shape:
        """The shape that belongs to those of the other arrays, for an array whose document has `shape`."""
        shapes = self.shapes.get(name, ())
        return shapes[1 if self.committed else 0] if shape in shapes else shape

    def to_json(self) -> dict[str, Json]:
        return {
            "holder": self.holder,
            "committed": self.committed,
            "renewals": self.renewals,
            "shapes": {name: [list(old), list(new)] for name, (old, new) in self.shapes.items()},
        }


def journal_of(attributes: Mapping[str, Json]) -> Journal | None:
    """The journal among the attributes of a group; None if there is none, or if it is damaged."""
    value: Any = attributes.get(JOURNAL)
    if not isinstance(value, dict) or not isinstance(value.get("shapes"), dict):
        return None
    shapes: dict[str, tuple[_Shape, _Shape]] = {}
    for name, pair in value["shapes"].items():
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_shape, pair)):
            return None
        shapes[name] = (tuple(pair[0]), tuple(pair[1]))
    renewals = value.get("renewals")
    return Journal(
        str(value.get("holder")), shapes, value.get("committed") is True, renewals if is_integer(renewals) else 0
    )


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(is_integer(length) and length >= 0 for length in value)


# -- changing it


def stored_journal(context: NodeContext) -> Journal | None:
    """The journal of the group as it is stored now."""
    model = fetch_model(CurrentStore(context.store), context.path, context.dialect)
    return journal_of(model.attributes) if isinstance(model, GroupModel) else None


def change_journal(context: NodeContext, edit: Callable[[Journal | None], Journal | None]) -> Journal | None:
    """Stores what `edit` makes of the stored journal, and returns it. None removes it.

    The copies of the attributes in consolidated metadata do not change: their readers do not need the journal.
    """

    def edit_model(model: GroupModel) -> GroupModel:
        journal = edit(journal_of(model.attributes))
        if journal is None and JOURNAL not in model.attributes:
            return model
        own = {} if journal is None else {JOURNAL: journal.to_json()}
        return replace(model, attributes=model.visible_attributes | own, implicit=False)

    return journal_of(change_node(context.store, context.dialect, context.path, edit_model, GroupModel).attributes)


def change_own(context: NodeContext, holder: str, edit: Callable[[Journal], Journal]) -> Journal:
    """`change_journal` for the journal of this holder. Raises StoreError if another writer has taken it over."""

    def checked(journal: Journal | None) -> Journal | None:
        if journal is None or journal.holder != holder:
            raise StoreError(
                f"the append to group {describe_location(context.store, context.path)} was given up: another writer "
                f"has taken over, because this one was silent for more than {_LEASE} s",
                store=repr(context.store),
            )
        return edit(journal)

    journal = change_journal(context, checked)
    assert journal is not None
    return journal


def take_journal(context: NodeContext, holder: str, *, begin: bool) -> None:
    """Waits for other writers, ends an unfinished append, and stores an empty journal of this holder if `begin`."""
    while True:
        before = _wait(context)
        if before is None and not begin:
            return

        def take(journal: Journal | None, before: Journal | None = before) -> Journal | None:
            if journal != before:
                return journal
            return Journal(holder, {}) if journal is None else replace(journal, holder=holder, renewals=0)

        after = change_journal(context, take)
        if after is not None and after.holder == holder:
            if before is None:
                return
            with renewed(context, holder):
                recover(context, holder)


def _wait(context: NodeContext) -> Journal | None:
    """Waits until no other writer holds the journal. Returns one whose writer is gone, or None."""
    seen: Journal | None = None
    since = time.monotonic()
    while True:
        journal = stored_journal(context)
        if journal is None or context.store.locking or journal.holder in _failed:
            return journal
        if journal != seen:
            seen, since = journal, time.monotonic()
        if time.monotonic() - since >= _LEASE:
            return journal
        time.sleep(_PAUSE)


@contextmanager
def renewed(context: NodeContext, holder: str) -> Iterator[None]:
    """Renews the journal in a thread until the block ends, in a store without locks."""
    if context.store.locking:
        yield
        return
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(_RENEWAL):
            try:
                change_own(context, holder, lambda journal: replace(journal, renewals=journal.renewals + 1))
            except OmnizarrError:
                continue  # the next attempt may succeed; the commit finds out if the journal was lost

    thread = threading.Thread(target=renew, name="omnizarr-append", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def mark_failed(holder: str) -> None:
    """Records that the writer `holder` of this process failed. The next append then does not wait for its lease."""
    _failed.add(holder)


# -- ending an append


def recover(context: NodeContext, holder: str) -> bool:
    """Ends an unfinished append whose journal this holder has; whether it was committed."""
    journal = change_own(context, holder, lambda journal: journal)
    if journal.committed:
        finish(context, holder, journal)
        return True
    for name, (_, new) in journal.shapes.items():
        place = context.at(join_path(context.path, name))
        model = fetch_model(CurrentStore(context.store), place.path, context.dialect)
        if isinstance(model, ArrayModel) and len(model.shape) == len(new):
            array = ArrayState(place, model)
            if model.guessed_keys:
                array._guess_keys()
            covering = tuple(map(max, model.shape, new))
            stored_chunks.trim(array._make_layout(with_shape(model, covering)), model.shape)
    _end(context, holder, journal, lambda model, old, new: model)
    return False


def finish(context: NodeContext, holder: str, journal: Journal) -> None:
    """Gives all arrays of a committed journal their new shapes, and removes the journal."""
    if context.consolidated is not None:
        _change_copies(context, context.consolidated, journal)
    locking = context.store.locking

    def grow(model: ArrayModel, old: _Shape, new: _Shape) -> ArrayModel:
        # Without locks, an array that has no mark has got its shape already, and may have been resized since.
        return with_shape(model, new) if model.shape == old and (locking or has_append_mark(model)) else model

    _end(context, holder, journal, grow)


def _change_copies(context: NodeContext, consolidated: Consolidated, journal: Journal) -> None:
    """Gives the copies in consolidated metadata their new shapes, in one write."""
    dialect = context.dialect

    def edit(copies: Mapping[str, Json]) -> dict[str, Json]:
        changed = dict(copies)
        for name, (old, new) in journal.shapes.items():
            path = join_path(context.path, name)
            documents = {key: copies[key] for key in dialect.keys(path) if key in copies}
            model = parse_node(dialect, context.store, path, documents, quiet=True) if documents else None
            if isinstance(model, ArrayModel) and model.shape == old:
                changed |= dialect.dump(path, with_shape(model, new))
        return changed

    consolidated.change_copies(edit)


def _end(
    context: NodeContext, holder: str, journal: Journal, edit: Callable[[ArrayModel, _Shape, _Shape], ArrayModel]
) -> None:
    """Stores what `edit` makes of each array, its old and its new shape; removes the marks, and then the journal."""
    paths = [context.path]
    for name, (old, new) in journal.shapes.items():

        def change(model: ArrayModel, old: _Shape = old, new: _Shape = new) -> ArrayModel:
            after = edit(model, old, new)
            return without_mark(after) if has_append_mark(after) else after

        paths.append(join_path(context.path, name))
        with suppress(NodeNotFoundError, NodeTypeError):  # the array was erased or replaced meanwhile
            change_node(context.store, context.dialect, paths[-1], change, ArrayModel)
    # Another writer that took over has the same work to do.
    change_journal(context, lambda stored: None if stored is None or stored.holder == holder else stored)
    if context.consolidated is not None:
        context.consolidated.record_nodes(paths)


# -- for writers that change one array


def has_append_mark(model: ArrayModel) -> bool:
    """Whether the array has the mark of an append to several arrays."""
    mark = model.extra.get(UNFINISHED_RESIZE)
    return isinstance(mark, dict) and APPEND in mark


def without_mark(model: ArrayModel) -> ArrayModel:
    """The model without a mark."""
    return replace(model, extra={name: value for name, value in model.extra.items() if name != UNFINISHED_RESIZE})


def finish_append_to(array: ArrayState) -> None:
    """Waits for an append to the group above the array, or ends it if its writer is gone; in a store without locks."""
    group = _group_above(array)
    if group is not None:
        take_journal(group, os.urandom(8).hex(), begin=False)


def leave_journal(array: ArrayState) -> None:
    """Ends the part of one array in an append whose writer crashed. The caller holds the task lock of the array, and
    erases the rows outside its shape.

    The array gets the new shape if the append was committed. Afterwards the journal does not name it any more, so that
    later changes of its shape are final.
    """
    group = _group_above(array)
    name = array.path.rpartition("/")[2]
    journal = None if group is None else stored_journal(group)
    if group is None or journal is None or name not in journal.shapes:
        return
    old, new = journal.shapes[name]
    if journal.committed:
        array._change(lambda model: with_shape(model, new) if model.shape == old else model)

    def leave(journal: Journal | None) -> Journal | None:
        shapes = {} if journal is None else {other: pair for other, pair in journal.shapes.items() if other != name}
        return None if journal is None or not shapes else replace(journal, shapes=shapes)

    change_journal(group, leave)


def _group_above(array: ArrayState) -> NodeContext | None:
    parent, _, name = array.path.rpartition("/")
    return array._context.at(parent) if name else None
