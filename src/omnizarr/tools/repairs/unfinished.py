"""Shrinks and appends that a crashed writer left unfinished, and how they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from omnizarr.model import UNFINISHED_RESIZE, ArrayModel, GroupModel
from omnizarr.nodes import Array, Group
from omnizarr.nodes.group import handle
from omnizarr.nodes.joint_append.append import finish_unfinished_append
from omnizarr.nodes.joint_append.journal import JOURNAL, has_append_mark, journal_of
from omnizarr.nodes.node import NodeContext
from omnizarr.nodes.resize import clean_up, task_lock_of
from omnizarr.nodes.resize_mark import finish
from omnizarr.store import Store
from omnizarr.tools.repairs.leftovers import LockFile
from omnizarr.tools.validation.nodes import CheckedNode, Hierarchy

__all__ = ["Unfinished", "find_unfinished", "finish_task"]


@dataclass(frozen=True)
class Unfinished:
    """A shrink or an append that did not end."""

    node: CheckedNode
    key: str
    """The key of the document that shows it."""
    message: str
    action: str
    lock: LockFile | None = None


def find_unfinished(
    hierarchy: Hierarchy, nodes: Sequence[CheckedNode], locks: Sequence[LockFile]
) -> Iterator[Unfinished]:
    """The unfinished tasks of all nodes: groups first, because the journal of a group decides about its arrays."""
    dialect = hierarchy.dialect
    by_key = {lock.key: lock for lock in locks if not lock.orphaned}
    for node in sorted(nodes, key=lambda node: isinstance(node.model, ArrayModel)):
        key = next((key for key in dialect.identifying_keys(node.path) if key in node.documents), "")
        lock = by_key.get(key)
        model = node.model
        if isinstance(model, GroupModel) and JOURNAL in model.attributes:
            journal = journal_of(model.attributes)
            if journal is not None:
                names = ", ".join(sorted(journal.shapes)) or "no array"
                action = "completed" if journal.committed else "undone"
                yield Unfinished(node, key, f"an append to several arrays did not end: {names}", action, lock)
        elif isinstance(model, ArrayModel) and UNFINISHED_RESIZE in model.extra:
            what = "an append" if has_append_mark(model) else "a shrink"
            yield Unfinished(node, key, f"{what} did not end", "completed", lock)
        elif lock is not None and model is not None:
            message = "a writer crashed while it changed the shape" if lock.begun else "a writer left its lock file"
            yield Unfinished(
                node, key, message, "erased what lies outside of the shape" if lock.begun else "removed", lock
            )


def finish_task(store: Store, hierarchy: Hierarchy, task: Unfinished) -> None:
    """Ends an unfinished task as the next writer would. Waits for a writer that lives."""
    node = task.node
    assert node.model is not None
    opened = handle(NodeContext(store, node.path, hierarchy.dialect), node.model)
    if isinstance(opened, Group):
        finish_unfinished_append(opened)
        with store.task_lock(task.key):
            return  # the file of the lock is removed
    assert isinstance(opened, Array)
    with task_lock_of(opened) as lock:
        clean_up(opened, lock)
        finish(opened)
