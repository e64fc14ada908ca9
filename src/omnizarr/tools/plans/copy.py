"""`copy`: a plan that copies an array, a group or a whole store, as it is or in another encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b
from typing import Any

from omnizarr.api.array_like import from_array
from omnizarr.api.create_nodes import create_group
from omnizarr.api.location import StoreLike, resolve
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError, OmnizarrError, warn
from omnizarr.formats import dialect_for
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat, join_path
from omnizarr.nodes import Array, Group, UnreadableNode
from omnizarr.nodes.create.node import create_node
from omnizarr.nodes.metadata.documents import dump_node
from omnizarr.nodes.node import NodeContext
from omnizarr.nodes.open import open_node
from omnizarr.nodes.statistics.marker import remove_marker
from omnizarr.store import MemoryStore, Store
from omnizarr.tools.locations import open_location
from omnizarr.tools.plans.joined import join_passes
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.objects import (
    CopyObjects,
    Page,
    changed_pages,
    copied_together,
    pages_of,
    sample_size,
    store_pages,
    stored_page_count,
)
from omnizarr.tools.plans.plan import Plan
from omnizarr.tools.plans.regions import CopyRegions, group_chunks, without_attributes
from omnizarr.tools.plans.stage import Stage

__all__ = [
    "by_position",
    "check_free",
    "contains",
    "copy",
    "journal_store",
    "plan_copy",
    "plan_identity",
    "select_members",
    "shown_location",
]


def copy(
    source: Array | Group | str,
    target: StoreLike,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    zarr_format: ZarrFormat | None = None,
    force: bool = False,
    resume: bool = False,
    verify: bool = False,
    source_requests: int = 0,
    target_requests: int = 0,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """A plan that copies a node, with all nodes below it, to another location.

    Stored objects are copied as they are if the generation stays and no option changes the encoding; otherwise the
    elements are encoded again.

    Args:
        source: a handle, or a location.
        target: where the copy goes: a path, a URL or a store.
        include: copy only nodes that match one of these patterns, such as `t*` or `daily/*`, and the groups above them.
        exclude: leave out nodes that match one of these patterns, and the nodes below them.
        zarr_format: the generation of the copy; None keeps it.
        force: replace a node at the target.
        resume: continue an earlier run. If that is finished, copy only objects whose length differs.
        verify: read each object back after it is written, and compare.
        source_requests: requests in flight per task for a remote source; 0 chooses.
        target_requests: requests in flight per task for a remote target; 0 chooses.
        storage_options: options of the target's store.
        **options: options of the new arrays, as for `create_array`: `chunks`, `shards`, `compressors`, `dtype`, ….
    """
    return plan_copy(
        "copy",
        source,
        target,
        _copy_elements,
        include=include,
        exclude=exclude,
        zarr_format=zarr_format,
        force=force,
        resume=resume,
        verify=verify,
        requests=(source_requests, target_requests),
        storage_options=storage_options,
        options=options,
    )


def _copy_elements(source: Array, target: Array, journal: PlanJournal, verify: bool) -> list[Stage]:
    return [CopyRegions(source, target, group_chunks(target), verify)]


def plan_copy(
    verb: str,
    source: Array | Group | str,
    target: StoreLike,
    encode: Callable[[Array, Array, PlanJournal, bool], list[Stage]],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    zarr_format: ZarrFormat | None = None,
    force: bool = False,
    resume: bool = False,
    verify: bool = False,
    requests: tuple[int, int] = (0, 0),
    storage_options: dict[str, Any] | None = None,
    options: dict[str, Any],
    max_memory: int | None = None,
) -> Plan:
    """A plan as of `copy`. `encode` returns the stages for an array whose encoding changes."""
    node = open_location(source).node if isinstance(source, str) else source
    store, path = resolve(target, storage_options)
    store.check_writable()
    if force and contains(node.store, node.path, store, path):
        raise ArgumentError("`force` would erase the source before it is copied", argument="force")
    if isinstance(node, Group) and _is_inside(store, path, node):
        raise ArgumentError("`target`: expected a location outside the source, found one inside", argument="target")
    job = _Job(node, store, path, zarr_format or node.zarr_format, options, force)
    members = _readable_members(node, include, exclude)
    journal = PlanJournal(
        journal_store(store), plan_identity(verb, node, store, path, include, exclude, zarr_format, options, max_memory)
    )
    # The second look at the journal: another process may have begun, and created the nodes, since the first.
    finished = resume and not journal.begun() and job.is_done(members) and not journal.begun()
    pages: list[Page] = []
    stages: list[Stage] = []
    arrays: list[tuple[str, Array]] = [(below, member) for below, member in members if isinstance(member, Array)]
    _check_names(arrays, options)
    for below, array in arrays:
        if job.keeps_encoding(array):
            prefix = dialect_for(job.zarr_format).chunk_prefix(join_path(path, below))
            pages += changed_pages(array, store, prefix) if finished else pages_of(array, prefix)
    recorded = None if force and not resume else stored_page_count(journal)
    if pages or recorded:
        size = sample_size(node.store, pages)
        files = sum(len(page.names) for page in pages)
        stages.append(
            CopyObjects(
                node.store,
                store,
                journal,
                len(pages) if recorded is None else recorded,
                size * files,
                files,
                verify,
                *requests,
                tuple(pages) if journal.store is None else None,
                copied_together(array for _, array in arrays if job.keeps_encoding(array)),
            )
        )
    passes = [stages]
    for below, array in arrays if not finished or journal.store is None else ():
        if not job.keeps_encoding(array) and array.size:
            shown = without_attributes(job.preview(below, array))
            passes.append(encode(without_attributes(array), shown, journal, verify))
    return Plan(
        f"{verb} {shown_location(node.store, node.path)} to {shown_location(store, path)}",
        tuple(join_passes(passes)),
        journal,
        begin=partial(_begin, job, members, journal, pages, finished),
        end=partial(_end, store, path),
        check=_pass if force or finished else partial(check_free, store, path, resume),
        needs_threads=journal.store is None,
        erases=force,
        restarts=force,
        max_memory=max_memory,
        done=finished and not any(passes),
    )


def _check_names(arrays: list[tuple[str, Array]], options: dict[str, Any]) -> None:
    """Raises ArgumentError if no array has one of the dimensions named in `options`."""
    known = {name for _, array in arrays for name in _dimension_numbers(array)}
    for option in ("chunks", "shards"):
        lengths = options.get(option)
        unknown = [name for name in lengths if str(name) not in known] if isinstance(lengths, dict) else []
        if unknown and len(arrays) > 1:
            names = ", ".join(sorted(name for name in known if not name.isdigit())) or "only numbers"
            raise ArgumentError(
                f"`{option}`: no array has a dimension `{unknown[0]}`; the names are {names}", argument=option
            )


def by_position(array: Array, options: dict[str, Any], *, some_names: bool = False) -> dict[str, Any]:
    """The options of a new array. `chunks` and `shards` may be dicts of lengths by dimension name or number; other
    dimensions keep theirs. If `some_names`, names of other dimensions are ignored."""
    changed = dict(options)
    for option, default in (("chunks", array.chunks), ("shards", array.shards or array.chunks)):
        lengths = options.get(option)
        if not isinstance(lengths, dict):
            continue
        if not lengths:
            changed[option] = None
            continue
        numbers = _dimension_numbers(array)
        unknown = [name for name in lengths if str(name) not in numbers and not some_names]
        if unknown:
            names = array.dimension_names or (None,) * array.ndim
            known = ", ".join(name or str(number) for number, name in enumerate(names))
            raise ArgumentError(
                f"`{option}`: array `{array.name}` has no dimension `{unknown[0]}`; it has {known}", argument=option
            )
        changes = {numbers[str(name)]: length for name, length in lengths.items() if str(name) in numbers}
        changed[option] = tuple(changes.get(number, length) for number, length in enumerate(default))
    return changed


def _dimension_numbers(array: Array) -> dict[str, int]:
    """The number of each dimension, by its name and by its number as text."""
    names = array.dimension_names or ()
    numbers = {str(number): number for number in range(array.ndim)}
    return numbers | {name: number for number, name in enumerate(names) if name}


@dataclass(frozen=True)
class _Job:
    """What is copied where, and how."""

    node: Array | Group
    store: Store
    path: str
    zarr_format: ZarrFormat
    options: dict[str, Any]
    force: bool

    @property
    def of_group(self) -> bool:
        """Whether the source is a group."""
        return isinstance(self.node, Group)

    def keeps_encoding(self, array: Array) -> bool:
        """Whether the stored objects of an array are copied as they are."""
        transformers = array.metadata.storage_transformers
        versioned = bool(transformers) and transformers[-1].keeps_document
        return self._same_chunks(array) and array.zarr_format == self.zarr_format and not versioned

    def _same_chunks(self, array: Array) -> bool:
        """Whether no option applies to an array: the lengths of named dimensions apply to arrays of a group that have
        one of them."""
        if not self.of_group:
            return not self.options
        numbers = _dimension_numbers(array)
        return all(
            isinstance(value, dict) and numbers.keys().isdisjoint(map(str, value)) for value in self.options.values()
        )

    def is_done(self, members: list[tuple[str, Array | Group]]) -> bool:
        """Whether the target has all nodes, with the metadata that a copy would have."""
        return all(self._is_made(below, member) for below, member in members)

    def _is_made(self, below: str, member: Array | Group) -> bool:
        path = join_path(self.path, below)
        try:
            existing = open_node(self.store, path, zarr_format=self.zarr_format, exact=True)
        except OmnizarrError:
            return False
        memory = MemoryStore()
        self.create(memory, below, member, overwrite=False)
        expected = open_node(memory, path, zarr_format=self.zarr_format, exact=True)
        return _documents(existing) == _documents(expected)

    def create(self, store: Store, below: str, member: Array | Group, *, overwrite: bool) -> Array | Group:
        """Creates a node of the target."""
        path = join_path(self.path, below)
        if isinstance(member, Array) and not self.keeps_encoding(member):
            return from_array(
                store,
                name=path,
                data=member,
                write_data=False,
                overwrite=overwrite,
                **{"zarr_format": self.zarr_format, **by_position(member, self.options, some_names=self.of_group)},
            )
        if isinstance(member, Group) and member.zarr_format != self.zarr_format:
            return create_group(
                store, path=path, attributes=dict(member.attrs), zarr_format=self.zarr_format, overwrite=overwrite
            )
        model: ArrayModel | GroupModel = member.metadata
        if isinstance(model, GroupModel):
            model = replace(model, consolidated=None)
        else:
            model = remove_marker(model)  # statistics are of the stored chunks of the source
        dialect = dialect_for(self.zarr_format)
        conventions = member._context.dialect.conventions_of(model)
        if conventions is not None:
            dialect = dialect.with_conventions(conventions)
        create_node(NodeContext(store, path, dialect), model, overwrite=overwrite)
        return member

    def preview(self, below: str, array: Array) -> Array:
        """The handle of the array that the target will have. Nothing is stored: its store is in memory meanwhile."""
        memory = MemoryStore()
        new = self.create(memory, "" if self.zarr_format == 1 else below, array, overwrite=False)
        assert isinstance(new, Array)
        return type(new)(new._context._replace(store=self.store, path=join_path(self.path, below)), new.metadata)


def _documents(node: Array | Group) -> dict[str, bytes]:
    """The documents of a node, without copies of those of other nodes."""
    model: ArrayModel | GroupModel = node.metadata
    if isinstance(model, GroupModel):
        model = replace(model, consolidated=None)
    return dump_node(dialect_for(node.zarr_format), node.path, model)


def shown_location(store: Store, path: str) -> str:
    """A location in titles and errors."""
    return f"{store.location.rstrip('/')}/{path}".rstrip("/")


def check_free(store: Store, path: str, resume: bool = False) -> None:
    """Raises NodeExistsError if there is a node at a location, of whatever generation. With `resume`, the error says
    that it is not the result of an earlier run."""
    try:
        open_node(store, path, exact=True)
    except NodeNotFoundError:
        return
    except OmnizarrError:
        pass  # a node that cannot be read
    other = ", which is not what this plan makes" if resume else ""
    raise NodeExistsError(
        f"there is a node at {shown_location(store, path)}{other}", hint="`force` (--force) replaces it"
    )


def _pass() -> None:
    pass


def _begin(
    job: _Job, members: list[tuple[str, Array | Group]], journal: PlanJournal, pages: list[Page], finished: bool
) -> None:
    """Writes the metadata of the target and the pages of the journal."""
    for number, (below, member) in enumerate(() if finished else members):
        replace_it = job.force and number == 0
        try:
            job.create(job.store, below, member, overwrite=replace_it)
        except NodeExistsError:
            if not number and not journal.begun():
                raise  # otherwise an interrupted run has created it
    journal.claim("copy")  # replacing the root of a store erased the journal, too
    store_pages(journal, pages)


def _end(store: Store, path: str) -> None:
    """Publishes what a store keeps back until it is flushed, such as an archive."""
    store.flush()


def select_members(
    node: Array | Group, include: Sequence[str], exclude: Sequence[str]
) -> list[tuple[str, Array | Group | UnreadableNode]]:
    """The node and the nodes below it that are copied, each after the group that contains it."""
    members: list[tuple[str, Array | Group | UnreadableNode]] = [("", node)]
    if isinstance(node, Array):
        return members
    for below, member in node._walk(None):
        if not any(_matches(part, pattern) for part in _parts(below) for pattern in exclude):
            members.append((below, member))
    if not include:
        return members
    included = {below for below, _ in members if any(_matches(part, one) for part in _parts(below) for one in include)}
    if not included:
        raise ArgumentError(
            f"`include`: no node below {shown_location(node.store, node.path)} matches {', '.join(include)}",
            argument="include",
            hint="patterns match names such as `t*`, or paths such as `daily/*`",
        )
    above = {part for below in included for part in _parts(below)}
    return [(below, member) for below, member in members if not below or below in included or below in above]


def _readable_members(
    node: Array | Group, include: Sequence[str], exclude: Sequence[str]
) -> list[tuple[str, Array | Group]]:
    members: list[tuple[str, Array | Group]] = []
    for below, member in select_members(node, include, exclude):
        if isinstance(member, UnreadableNode):
            warn(f"`{member.path}` is not copied, because it cannot be read: {member.reason}")
        else:
            members.append((below, member))
    return members


def _parts(path: str) -> list[str]:
    """The path and those of the groups above it."""
    names = path.split("/")
    return ["/".join(names[: count + 1]) for count in range(len(names))] if path else []


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern)


def contains(source: Store, source_path: str, target: Store, path: str) -> bool:
    """Whether one of the two locations lies in the other."""
    first, second = shown_location(source, source_path) + "/", shown_location(target, path) + "/"
    return first.startswith(second) or second.startswith(first)


def _is_inside(store: Store, path: str, node: Array | Group) -> bool:
    above, below = shown_location(node.store, node.path) + "/", shown_location(store, path) + "/"
    return below.startswith(above) and below != above


def journal_store(store: Store) -> Store | None:
    """The store that holds the journal; None if other readers would see it, or if it could not be erased again."""
    if store.transactional or type(store).__name__ == "ZipStore" or not store.listable:
        return None
    return store


def plan_identity(verb: str, node: Array | Group, store: Store, path: str, *options: Any) -> str:
    """A short text that is the same for the same plan in every process."""
    text = repr((verb, node.store.full_location, node.path, store.full_location, path, *options))
    return blake2b(text.encode(), digest_size=8).hexdigest()
