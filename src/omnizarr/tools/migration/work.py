"""What a migration has to write: the forms of the arrays, the stages, and what gets lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from omnizarr._cached_property import cached_property
from omnizarr.errors import ArgumentError, StoreError
from omnizarr.formats import Dialect
from omnizarr.model import UNFINISHED_APPEND, UNFINISHED_RESIZE, ArrayModel, GroupModel, join_path
from omnizarr.nodes import Array, Group, UnreadableNode
from omnizarr.nodes.create.array_handle import array_handle
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store
from omnizarr.tools.migration.attributes import json_attributes
from omnizarr.tools.migration.forms import WAYS, MigrationWay, NewForm, find_form
from omnizarr.tools.migration.stages import CompareRegions, EncodeRegions, RepackObjects
from omnizarr.tools.plans.copy import select_members
from omnizarr.tools.plans.joined import join_stages
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.objects import CopyObjects, Page, pages_of, sample_size, stored_page_count
from omnizarr.tools.plans.plan import Plan
from omnizarr.tools.plans.regions import group_chunks, with_known_keys, without_attributes
from omnizarr.tools.plans.stage import Stage

__all__ = ["ArrayMigration", "ArrayOrGroup", "MigrationPlan", "MigrationWork"]

ArrayOrGroup: TypeAlias = Array | Group
_LISTED = 10  # losses that an error lists


@dataclass(frozen=True, slots=True)
class ArrayMigration:
    """What one array needs."""

    path: str
    way: MigrationWay
    reason: str
    """Why no cheaper way is possible, or why none is."""
    losses: tuple[str, ...]
    """What the new array lacks."""
    notes: tuple[str, ...]
    nbytes: int
    """The size of its elements in memory."""


@dataclass(frozen=True)
class MigrationPlan(Plan):
    """The plan of `migrate`."""

    arrays: tuple[ArrayMigration, ...] = ()
    losses: tuple[str, ...] = ()
    """What the new hierarchy lacks, with the paths of the nodes."""

    def counts(self) -> dict[MigrationWay, int]:
        """The number of arrays that need each way."""
        return {way: sum(array.way == way for array in self.arrays) for way in WAYS}


@dataclass(frozen=True)
class MigrationWork:
    """A hierarchy, and its target: `path` of `store`, in the generation of `dialect`."""

    node: ArrayOrGroup
    store: Store
    path: str
    dialect: Dialect
    journal: PlanJournal
    verify: bool = False
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()

    def at(self, below: str) -> str:
        """The path in the target of a node below the root of the hierarchy."""
        return join_path(self.path, below)

    @cached_property
    def _selected(self) -> list[tuple[str, ArrayOrGroup | UnreadableNode]]:
        return select_members(self.node, self.include, self.exclude)

    @cached_property
    def members(self) -> list[tuple[str, ArrayOrGroup]]:
        """The nodes, by their path below the root of the hierarchy. Raises StoreError if one is being changed."""
        members = [
            (below, with_known_keys(member) if isinstance(member, Array) else member)
            for below, member in self._selected
            if not isinstance(member, UnreadableNode)
        ]
        for _, member in members:
            model = member.metadata
            if UNFINISHED_APPEND in model.attributes or UNFINISHED_RESIZE in model.extra:
                raise StoreError(
                    f"an append or a change of shape of `{member.name}` has not finished",
                    store=repr(member.store),
                    hint="the next `append` or `resize` of it completes it",
                )
        return members

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays among the members."""
        return ((below, member) for below, member in self.members if isinstance(member, Array))

    @cached_property
    def forms(self) -> dict[str, NewForm]:
        """How each array is stored in the target."""
        # Icechunk, the only transactional store, takes no other chunk keys than the default ones of v3.
        default_keys = self.store.transactional
        return {
            below: find_form(array, self.at(below), self.dialect, default_keys=default_keys)
            for below, array in self.arrays()
        }

    def new_node(self, below: str, member: ArrayOrGroup) -> tuple[NodeContext, ArrayModel | GroupModel]:
        """The location and the model of a node of the target."""
        path = self.at(below)
        if isinstance(member, Array):
            form = self.forms[below]
            assert form.model is not None, "the plan does not run if an array cannot be expressed"
            return NodeContext(self.store, path, form.dialect), form.model
        attributes, _ = json_attributes(dict(member.attrs), self.dialect)
        return NodeContext(self.store, path, self.dialect), self.dialect.new_group(attributes)

    # -- the stages

    def stages(self) -> tuple[list[Stage], dict[str, list[Page]]]:
        """The stages, and the pages of their tasks by the tag that they have in the journal."""
        journal, here = self.journal, self.store == self.node.store and self.path == self.node.path
        moved: list[Page] = []
        pages: dict[str, list[Page]] = {"page": moved}
        stages: list[Stage] = []
        compared: list[Stage] = []
        for number, (below, array) in enumerate(self.arrays()):
            form = self.forms[below]
            if form.model is None or not array.size:
                continue
            context, model = self.new_node(below, array)
            assert isinstance(model, ArrayModel)
            source, target = without_attributes(array), without_attributes(array_handle(context, model))
            if form.way == "re-encode":
                stages.append(EncodeRegions(source, target, group_chunks(target), self.verify))
                continue
            prefix = context.dialect.chunk_prefix(context.path)
            if form.way == "rename" or (form.way == "metadata" and not here):
                moved += pages_of(array, prefix, None if form.way == "metadata" else model.chunk_keys)
            elif form.way == "repack":
                tag = f"repack/{number}"
                pages[tag] = list(pages_of(array, prefix, per_task=16))
                stages.append(_repack_stage(source, target, form, journal, tag, pages[tag]))
            if self.verify:
                compared.append(CompareRegions(source, target, group_chunks(target)))
        recorded = stored_page_count(journal)
        if moved or recorded:
            files = sum(len(page.names) for page in moved)
            size = sample_size(self.node.store, moved) * files
            in_memory = tuple(moved) if journal.store is None else None
            count = len(moved) if recorded is None else recorded
            stages.insert(
                0, CopyObjects(self.node.store, self.store, journal, count, size, files, self.verify, pages=in_memory)
            )
        return [*join_stages(stages), *join_stages(compared)], pages

    # -- what gets lost

    def plan(
        self,
        title: str,
        stages: list[Stage],
        *,
        begin: Callable[[], None],
        end: Callable[[], None],
        free: Callable[[], None],
        erases: bool,
        accept_losses: bool,
    ) -> MigrationPlan:
        """The plan, which does not run if something cannot be expressed, or gets lost without consent. `free` raises if
        the target exists."""
        arrays = [
            ArrayMigration(array.path, form.way, form.reason, form.losses, form.notes, array.nbytes)
            for below, array in self.arrays()
            if (form := self.forms[below])
        ]
        arrays += [
            ArrayMigration(member.path, "impossible", f"it cannot be read: {member.reason}", (), (), 0)
            for _, member in self._selected
            if isinstance(member, UnreadableNode)
        ]
        impossible = [f"`{array.path or '/'}`: {array.reason}" for array in arrays if array.way == "impossible"]
        losses = [f"`{array.path or '/'}`: {loss}" for array in arrays for loss in array.losses]
        for below, member in self.members:
            if isinstance(member, Group):
                problems, lost = self._group_losses(below, member)
                impossible += problems
                losses += lost
        notes = [f"cannot be expressed: {text}" for text in impossible] + [f"lost: {text}" for text in losses]
        notes += [f"`{array.path or '/'}`: {note}" for array in arrays for note in array.notes]
        return MigrationPlan(
            title,
            tuple(stages),
            self.journal,
            begin=begin,
            end=end,
            check=partial(_check, self.dialect.format_name, impossible, losses, accept_losses, free),
            notes=tuple(notes),
            needs_threads=self.journal.store is None,
            erases=erases,
            arrays=tuple(arrays),
            losses=tuple(losses),
        )

    def _group_losses(self, below: str, group: Group) -> tuple[list[str], list[str]]:
        """Why a group cannot be expressed, and what it loses."""
        path = self.at(below)
        attributes, lost = json_attributes(dict(group.attrs), self.dialect)
        try:
            self.dialect.check_path(path, "group")
            problems = list(self.dialect.losses(path, self.dialect.new_group(attributes)))
        except ArgumentError as error:
            problems = [error.message]
        unknown = [name for name in group.metadata.extra if name not in ("n5", "extensions")]
        if unknown:
            lost.append(f"unknown members of its document: {', '.join(unknown)}")
        name = f"`{group.path or '/'}`"
        return [f"{name}: {text}" for text in problems], [f"{name}: {text}" for text in lost]


def _repack_stage(
    source: Array, target: Array, form: NewForm, journal: PlanJournal, tag: str, pages: list[Page]
) -> RepackObjects:
    recorded = stored_page_count(journal, tag)
    files = sum(len(page.names) for page in pages)
    assert form.repacking is not None
    return RepackObjects(
        source,
        target,
        form.repacking,
        journal,
        tag,
        len(pages) if recorded is None else recorded,
        sample_size(source.store, pages) * files,
        files,
        tuple(pages) if journal.store is None else None,
    )


def _check(
    generation: str, impossible: list[str], losses: list[str], accept_losses: bool, free: Callable[[], None]
) -> None:
    """Raises if the plan must not run."""
    if impossible:
        raise ArgumentError(
            f"{generation} cannot express:{_list(impossible)}",
            argument="to",
            hint="`exclude` (--exclude) leaves nodes out, with a target",
        )
    if losses and not accept_losses:
        raise ArgumentError(
            f"{generation} would lose:{_list(losses)}",
            argument="accept_losses",
            hint="`accept_losses` (--accept-losses) migrates nevertheless",
        )
    free()


def _list(texts: list[str]) -> str:
    more = f"\n  and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return "".join(f"\n  {text}" for text in texts[:_LISTED]) + more
