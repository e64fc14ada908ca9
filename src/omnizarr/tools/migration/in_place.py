"""A migration of a whole hierarchy in its own store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from omnizarr.api.hierarchy import consolidate_metadata
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError, OmnizarrError
from omnizarr.formats import Dialect, dialect_for
from omnizarr.model import ZarrFormat
from omnizarr.nodes import Array, Group, UnreadableNode
from omnizarr.nodes.metadata.documents import dump_node
from omnizarr.nodes.open import open_node
from omnizarr.store import Store
from omnizarr.tools.locations import open_location
from omnizarr.tools.migration.old_keys import (
    ChunkPlace,
    erase_stored_keys,
    is_new_key,
    leftover_keys,
    old_keys,
    store_keys,
)
from omnizarr.tools.migration.switch import Switch, documents_hide
from omnizarr.tools.migration.work import ArrayOrGroup, MigrationPlan, MigrationWork
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.objects import Page, object_keys, store_pages

__all__ = ["open_hierarchy", "plan_in_place", "plan_rest"]

_DRAFTS = ("3-draft-2020", "3-draft-2022")


def open_hierarchy(location: ArrayOrGroup | str) -> ArrayOrGroup:
    """The root of the hierarchy, with its documents as they are stored. ArgumentError if it is not a whole one."""
    node = location
    if isinstance(node, str):
        node = open_location(node, use_consolidated=False, writable=True).node
    node.store.check_writable()
    if node.path:
        raise ArgumentError(
            f"`{node.path}` is part of the hierarchy at {node.store.location}, whose nodes are all of one generation",
            argument="location",
            hint="migrate the whole hierarchy, or give a target",
        )
    if not node.store.listable:
        raise ArgumentError(
            f"{node.store!r} cannot list its keys", argument="location", hint="give a target, which will be new"
        )
    return node


def plan_in_place(work: MigrationWork, *, accept_losses: bool, remove_old: bool, force: bool) -> MigrationPlan:
    """The plan of a migration without another target."""
    _check_pair(work.node.zarr_format, work.dialect, remove_old)
    _check_collisions(work)
    stages, pages = work.stages()
    complete = all(form.model is not None for form in work.forms.values())
    switch = _switch(work) if complete else None
    documents = frozenset() if switch is None else frozenset(key for key, _ in (*switch.documents, *switch.root))
    keeps = partial(is_new_key, documents, _chunk_places(work))
    shared = frozenset(array.path for below, array in work.arrays() if work.forms[below].way == "metadata")
    return work.plan(
        f"migrate {work.node.store.location} to {work.dialect.format_name}",
        stages,
        begin=partial(_prepare, work, pages, keeps, shared, force=force),
        end=partial(_finish, work, switch, keeps, shared, remove_old=remove_old, consolidated=_consolidated(work.node)),
        free=partial(_check_hidden, work, force=force),
        erases=force,
        accept_losses=accept_losses,
    )


def _check_pair(old: ZarrFormat, new: Dialect, remove_old: bool) -> None:
    """Raises ArgumentError if documents of both generations cannot lie side by side."""
    before, after = dialect_for(old).format_name, new.format_name
    if 1 in (old, new.zarr_format) and (old in _DRAFTS or new.zarr_format in _DRAFTS):
        raise ArgumentError(
            "v1 has a document `meta`, and the drafts have keys below `meta/`: both cannot lie in one store",
            argument="to",
            hint="give a target",
        )
    if (old in _DRAFTS or new.zarr_format in _DRAFTS) and {old, new.zarr_format} <= {"n5", *_DRAFTS}:
        raise ArgumentError(
            f"in {before} and {after} a group exists as soon as a key lies below it, so that readers of one would find "
            "groups of the other",
            argument="to",
            hint="give a target",
        )
    if documents_hide(old, new.zarr_format) and not remove_old:
        raise ArgumentError(
            f"the documents of {before} would hide those of {after}",
            argument="remove_old",
            hint="`remove_old` (--remove-old) erases them after the switch; or give a target",
        )


def _check_collisions(work: MigrationWork) -> None:
    """Raises ArgumentError if a new object would replace an old one before the switch."""
    for below, array in work.arrays():
        form = work.forms[below]
        if form.way in ("metadata", "impossible") or form.model is None:
            continue
        if array._context.dialect.chunk_prefix(array.path) != form.dialect.chunk_prefix(below):
            continue
        for name in object_keys(array):
            if form.model.chunk_keys.coordinates(name, array.ndim) is not None:
                raise ArgumentError(
                    f"array `{array.name}` would get new objects under the keys of its old ones, such as `{name}`",
                    argument="target",
                    hint="give a target",
                )


def _check_hidden(work: MigrationWork, *, force: bool) -> None:
    """Raises NodeExistsError if there are documents of the new generation, which those of the old one hide."""
    if not force and _hidden(work) is not None:
        raise NodeExistsError(
            f"there are documents of {work.dialect.format_name} at {work.store.location} already, which are hidden",
            hint="`force` (--force) erases them",
        )


def _hidden(work: MigrationWork) -> ArrayOrGroup | UnreadableNode | None:
    """The node of the new generation that is hidden by the old one."""
    try:
        return open_node(work.store, "", zarr_format=work.dialect.zarr_format, use_consolidated=False, exact=True)
    except NodeNotFoundError:
        return None
    except OmnizarrError as error:
        return UnreadableNode("", error)


def _prepare(
    work: MigrationWork,
    pages: dict[str, list[Page]],
    keeps: Callable[[str], bool],
    shared: frozenset[str],
    *,
    force: bool,
) -> None:
    """Notes what to write and what to erase."""
    hidden = _hidden(work) if force else None
    if isinstance(hidden, (Array, Group)):
        own = set(old_keys(work.node, lambda key: False))
        work.store.erase_values([key for key in old_keys(hidden, own.__contains__) if key not in own])
    for tag, each in pages.items():
        store_pages(work.journal, each, tag)
    if work.journal.store is not None:
        store_keys(work.journal, old_keys(work.node, keeps, shared))


def _switch(work: MigrationWork) -> Switch:
    """The documents of the new hierarchy, from which the switch takes them when all tasks are done."""
    dialect, old = work.dialect, work.node._context.dialect
    documents: list[tuple[str, bytes | None]] = []
    root: list[tuple[str, bytes | None]] = []
    consolidated = dialect.consolidated_key("")
    if consolidated is not None:
        root.append((consolidated, None))  # a stale copy
    for below, member in work.members:
        context, model = work.new_node(below, member)
        try:
            dumped = dump_node(context.dialect, below, model)
        except ArgumentError:
            continue  # `check` rejects this group
        stale = [key for key in dialect.keys(below) if key not in dumped and key not in old.keys(below)]
        part = documents if below else root
        part += [(key, None) for key in stale]
        part += dumped.items()
    root += [(key, dialect.encoding.dump(value)) for key, value in dialect.hierarchy_documents().items()]
    return Switch(work.store, old, dialect, tuple(documents), tuple(root))


def _chunk_places(work: MigrationWork) -> dict[str, ChunkPlace]:
    """Where the chunks of the new arrays lie, by prefix."""
    places: dict[str, ChunkPlace] = {}
    for below, array in work.arrays():
        form = work.forms[below]
        if form.model is not None:
            places[form.dialect.chunk_prefix(below)] = (form.model.chunk_keys, array.ndim)
    return places


def _consolidated(node: ArrayOrGroup) -> bool:
    """Whether the stored hierarchy has consolidated metadata."""
    if not isinstance(node, Group):
        return False
    try:
        again = open_node(node.store, "", zarr_format=node.zarr_format)
    except OmnizarrError:
        return False
    return isinstance(again, Group) and again.consolidated


def _finish(
    work: MigrationWork,
    switch: Switch | None,
    keeps: Callable[[str], bool],
    shared: frozenset[str],
    *,
    remove_old: bool,
    consolidated: bool,
) -> None:
    assert switch is not None, "`check` rejects what cannot be expressed"
    journal = work.journal
    keys = list(old_keys(work.node, keeps, shared)) if remove_old and journal.store is None else []
    # After a crash, only these values tell what is left to do.
    journal.put("consolidated", b"1" if consolidated else b"0")
    journal.put("remove-old", b"1" if remove_old else b"0")
    switch.run()
    _after_switch(work.store, work.dialect, journal, keys, consolidated=consolidated, remove_old=remove_old)


def _after_switch(
    store: Store, dialect: Dialect, journal: PlanJournal, keys: Sequence[str], *, consolidated: bool, remove_old: bool
) -> None:
    """Erases the old hierarchy, and consolidates the new one if the old one was. It can be repeated."""
    if remove_old:
        erase_stored_keys(store, journal, keys)
    if consolidated and dialect.can_consolidate(""):
        consolidate_metadata(store, zarr_format=dialect.zarr_format)
    store.flush()


def plan_rest(node: ArrayOrGroup, journal: PlanJournal, *, remove_old: bool, resume: bool) -> MigrationPlan:
    """The plan for a hierarchy that is of the new generation already: what an earlier run has not done."""
    dialect, store = node._context.dialect, node.store
    title = f"migrate {store.location} to {dialect.format_name}: what is left"
    if journal.begun():
        consolidated = journal.get("consolidated") == b"1"
        remove = remove_old or journal.get("remove-old") == b"1"
        end = partial(_after_switch, store, dialect, journal, (), consolidated=consolidated, remove_old=remove)
        return MigrationPlan(title, (), journal, end=end)
    places: dict[str, ChunkPlace] = {}
    documents: set[str] = {*dialect.hierarchy_documents()}
    members: list[Any] = [node, *((member for _, member in node._walk(None)) if isinstance(node, Group) else ())]
    for member in members:
        documents |= {*dialect.keys(member.path)}
        if isinstance(member, Array):
            places[dialect.chunk_prefix(member.path)] = (member.metadata.chunk_keys, member.ndim)
    keys = leftover_keys(node, partial(is_new_key, frozenset(documents), places))
    if resume and not (remove_old and keys):
        return MigrationPlan(title, (), journal)  # the earlier run did everything
    if not remove_old or not keys:
        hint = "`remove_old` (--remove-old) erases what is left of the old one" if keys else "`copy` copies it"
        raise ArgumentError(f"{store.location} is of {dialect.format_name} already", argument="to", hint=hint)
    return MigrationPlan(
        title,
        (),
        journal,
        begin=partial(store_keys, journal, keys),
        end=partial(_after_switch, store, dialect, journal, keys, consolidated=False, remove_old=True),
        notes=(f"erases {len(keys):,} keys of older generations",),
    )
