"""`repair`: moves unreadable values to the quarantine, finishes or reverts what crashed writers left unfinished, and
rebuilds copies of metadata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from omnizarr.api.hierarchy import consolidate_metadata
from omnizarr.api.location import StoreLike, resolve
from omnizarr.engine.layout import sharding_of
from omnizarr.errors import CodecError, OmnizarrError
from omnizarr.formats import ReadOptions
from omnizarr.formats.document_keys import PLANS_PREFIX
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes.create.array_handle import array_handle
from omnizarr.nodes.metadata.documents import encode_document
from omnizarr.nodes.node import NodeContext
from omnizarr.store import LocalStore, Store, as_read_only
from omnizarr.tools.locations import open_location
from omnizarr.tools.repairs.leftovers import (
    LockFile,
    foreign_temporaries,
    lock_files,
    remove_lock,
    remove_temporaries,
)
from omnizarr.tools.repairs.quarantine import Quarantine, restore_values
from omnizarr.tools.repairs.results import Repair, RepairResult, RestoreResult, Unrepaired
from omnizarr.tools.repairs.unfinished import find_unfinished, finish_task
from omnizarr.tools.results import Progress
from omnizarr.tools.validation.chunks import ChunkCheck, Damage
from omnizarr.tools.validation.consolidated import consolidated_documents, consolidated_findings
from omnizarr.tools.validation.nodes import CheckedNode, Hierarchy, find_hierarchy, nodes_below

__all__ = ["repair", "resolve_hierarchy", "restore"]

_MANY = 4  # chunks: if so many are stored and most cannot be decoded, the metadata are wrong rather than the chunks
_FILL = "reads give the fill value now"


def repair(
    location: StoreLike,
    *,
    path: str | None = None,
    zarr_format: ZarrFormat | None = None,
    dry_run: bool = False,
    data: bool = True,
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> RepairResult:
    """Repairs the node at a location and all nodes below it.

    Chunks that cannot be decoded, and documents that are no JSON, go to a quarantine in the same store, from which
    `restore` puts them back. Of a shard, the inner chunks that can be decoded stay. Temporary files and lock files of
    crashed writers are removed; shrinks and appends that they left unfinished are completed or undone; consolidated
    metadata that differ from the documents are rebuilt. Other writers may work at the same time.

    Example:
        >>> result = omnizarr.tools.repair("weather.zarr", dry_run=True)
        >>> result.sound
        True

    Args:
        location: a path, a URL or a store.
        path: the path of the node in the store; the root if not given.
        zarr_format: the generation, where documents of several lie. None repairs the newest.
        dry_run: find what is wrong, and change nothing.
        data: whether to decode every chunk.
        force: take away the chunks of an array even if most of them cannot be decoded. Otherwise they stay, because the
            metadata are likely to be wrong.
        storage_options: options of the store that a URL names, such as credentials.
        progress: called with the number of decoded chunks and their total number.
    """
    store, path = resolve_hierarchy(location, path, storage_options, writable=not dry_run)
    if dry_run:
        store = as_read_only(store)
    else:
        store.check_writable()
    run = _Run(store, path, zarr_format, dry_run, force)
    run.remove_files()
    finished = run.check(progress if data else None, data=data)
    if finished and data:  # what was outside of a shape may be inside now
        run.check(progress, data=True)
    run.consolidate()
    run.note_plans()
    return run.result()


def restore(
    location: StoreLike,
    name: str | None = None,
    *,
    dry_run: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> RestoreResult:
    """Puts back what `repair` took away: from the quarantine `name`, or from all if it is None.

    A key that has been written since keeps its value, and its old one stays in quarantine.
    """
    store, _ = resolve_hierarchy(location, None, storage_options, writable=not dry_run)
    if not dry_run:
        store.check_writable()
    return restore_values(store, name, dry_run=dry_run)


class _Place(NamedTuple):
    store: Store
    path: str


def resolve_hierarchy(
    location: StoreLike, path: str | None, storage_options: Mapping[str, Any] | None, *, writable: bool
) -> _Place:
    """The store of the whole hierarchy, and the path in it."""
    options = dict(storage_options or {}) or None
    if isinstance(location, str) and not path:
        with suppress(OmnizarrError):  # perhaps its documents are damaged
            node = open_location(location, storage_options=options, writable=writable, use_consolidated=False).node
            return _Place(node.store, node.path)
    place = resolve(location, options, normal_path(path))
    return _Place(place.store, place.path)


class _Run:
    """One run of `repair`."""

    def __init__(self, store: Store, path: str, zarr_format: object, dry_run: bool, force: bool) -> None:
        self._store = store
        self._path = path
        self._zarr_format = zarr_format
        self._dry_run = dry_run
        self._force = force
        self._quarantine = Quarantine(store)
        self._repairs: list[Repair] = []
        self._unrepaired: dict[tuple[str, str | None], Unrepaired] = {}
        self._chunks = 0
        self._hierarchy: Hierarchy | None = None
        self._nodes: list[CheckedNode] = []
        self._locks: list[LockFile] = []

    def result(self) -> RepairResult:
        repairs, unrepaired = tuple(self._repairs), tuple(self._unrepaired.values())
        name = None if self._dry_run else self._quarantine.name
        return RepairResult(not repairs and not unrepaired, self._dry_run, repairs, unrepaired, name, self._chunks)

    def _add(self, kind: Any, path: str, key: str | None, message: str, action: str, *, reversible: bool) -> None:
        self._repairs.append(Repair(kind, f"/{path}", key, message, action, reversible))

    def _leave(self, path: str, key: str | None, message: str, hint: str) -> None:
        self._unrepaired.setdefault((path, key), Unrepaired(f"/{path}", key, message, hint))

    # -- files of crashed writers

    def remove_files(self) -> None:
        """Removes temporary files, and lock files whose document is gone. Before anything is listed, because a listing
        removes temporary files, too."""
        store = self._store
        if not isinstance(store, LocalStore):
            return
        for file in remove_temporaries(store, self._path, dry_run=self._dry_run):
            self._add(
                "temporary", _folder(file), file, "a crashed writer left it", "removed for good", reversible=False
            )
        for key in foreign_temporaries(store, self._path):
            message = "zarr-python left it more than a day ago"
            self._take("temporary", _folder(key), key, store.get(key), message, "moved to quarantine")
        self._locks = list(lock_files(store, self._path))
        for lock in self._locks:
            if lock.orphaned and not lock.in_use and (self._dry_run or remove_lock(lock)):
                message = "the lock file of a document that is gone"
                self._add("lock", _folder(lock.key), lock.key, message, "removed for good", reversible=False)

    # -- documents and chunks

    def check(self, progress: Progress | None, *, data: bool) -> bool:
        """Repairs documents, chunks and unfinished tasks; whether a task was finished."""
        hierarchy = find_hierarchy(self._store, self._path, self._zarr_format, ReadOptions())
        self._hierarchy = hierarchy
        self._nodes = [node for node in nodes_below(hierarchy) if node.kind != "directory"]
        if self._repair_documents(hierarchy):
            self._nodes = [node for node in nodes_below(hierarchy) if node.kind != "directory"]
        if data and self._store.listable:
            self._repair_chunks(hierarchy, progress)
        finished = False
        for task in list(find_unfinished(hierarchy, self._nodes, self._locks)):
            path = task.node.path
            if task.lock is not None and task.lock.in_use:
                continue  # its writer lives
            if not self._dry_run:
                finish_task(self._store, hierarchy, task)
                finished = True
            self._add("unfinished", path, task.key, task.message, task.action, reversible=False)
        self._locks = []  # they are gone, or in use
        return finished

    def _repair_documents(self, hierarchy: Hierarchy) -> bool:
        """Replaces documents that are no JSON by their copies in consolidated metadata; whether there were any."""
        copies: dict[str, Any] = {}
        for node in reversed(self._nodes):
            copies |= consolidated_documents(hierarchy, node)
        changed = False
        for node in self._nodes:
            for key, reason in node.damaged.items():
                if key not in copies:
                    self._leave(node.path, key, reason, "restore the document from a backup, or create the node again")
                    continue
                replacement = encode_document(key, copies[key], hierarchy.dialect.encoding)
                action = "replaced by its copy in the consolidated metadata"
                changed |= self._take(
                    "document", node.path, key, node.values[key], reason, action, replacement=bytes(replacement)
                )
            if node.documents and node.model is None and node.missing_library is None and not node.damaged:
                problem = next(iter(node.problems.found), None)
                message = "the metadata are not valid" + (f": {problem.message}" if problem is not None else "")
                self._leave(node.path, None, message, "`omnizarr validate` tells what is wrong, and `--fix` fixes some")
        return changed and not self._dry_run

    def _repair_chunks(self, hierarchy: Hierarchy, progress: Progress | None) -> None:
        check = ChunkCheck(self._store, hierarchy.dialect, progress)
        for node in self._nodes:
            check.add(node)
        findings = list(check.run())
        self._chunks += check.count
        damaged: dict[str, dict[str, list[Damage]]] = defaultdict(lambda: defaultdict(list))
        for damage in check.damages:
            damaged[damage.path][damage.key].append(damage)
        for finding in findings:
            path = finding.path[1:]
            unread = finding.level == "error" and finding.kind in ("torn", "undecodable") and finding.key is not None
            if unread and finding.key not in damaged.get(path, {}):
                self._leave(path, finding.key, finding.message, "it may be readable at another time")
        nodes = {node.path: node for node in self._nodes}
        for path, values in damaged.items():
            lost = sum(map(len, values.values()))
            if not self._force and check.decoded[path] >= _MANY and 2 * lost > check.decoded[path]:
                message = f"{lost} of {check.decoded[path]} chunks cannot be decoded"
                hint = "the metadata may be wrong; `force` (--force) takes the chunks away nevertheless"
                self._leave(path, None, message, hint)
                continue
            for key, damages in values.items():
                self._repair_value(hierarchy, nodes[path], key, damages)

    def _repair_value(self, hierarchy: Hierarchy, node: CheckedNode, key: str, damages: Sequence[Damage]) -> None:
        """Takes a chunk or a shard away; or replaces a shard by one without its damaged inner chunks."""
        assert node.array is not None
        if node.array.storage_transformers:
            hint = "the array has a storage transformer; write the chunk again from its source"
            self._leave(node.path, key, damages[0].message, hint)
            return
        value = self._store.get_current(key)
        if value is None:
            return
        parts = [damage.part for damage in damages if damage.part is not None]
        if len(parts) == len(damages):
            shard = self._shard_without(hierarchy, node, key, bytes(value), parts)
            if shard is not None:
                numbers = ", ".join(map(str, parts[:8])) + (", …" if len(parts) > 8 else "")
                action = (
                    f"inner chunks {numbers} taken out, with a copy of the shard in quarantine; they read as fill value"
                )
                message = damages[0].message
                self._take("inner chunks", node.path, key, value, message, action, replacement=shard)
                return
        self._take("chunk", node.path, key, value, damages[0].message, f"moved to quarantine; {_FILL}")

    def _shard_without(
        self, hierarchy: Hierarchy, node: CheckedNode, key: str, value: bytes, parts: Sequence[int]
    ) -> bytes | None:
        """The shard without some inner chunks; None if no other is left."""
        assert node.array is not None
        array = array_handle(NodeContext(self._store, node.path, hierarchy.dialect), node.array)
        layout = array._layout
        chunk = layout.model.chunk_keys.coordinates(key[len(layout.prefix) :], len(layout.axes))
        sharding = None if chunk is None else sharding_of(layout.chain(chunk))
        if sharding is None:
            return None
        try:
            pieces = sharding.split(value)
        except CodecError:
            return None
        remaining = [None if number in parts else piece for number, piece in enumerate(pieces)]
        return None if all(piece is None for piece in remaining) else bytes(sharding.join(remaining))

    def _take(
        self,
        kind: Any,
        path: str,
        key: str,
        value: Any,
        message: str,
        action: str,
        *,
        replacement: bytes | None = None,
    ) -> bool:
        """Moves a value to quarantine, and reports it; False if another writer has changed it meanwhile."""
        if value is None:
            return False
        if not self._dry_run and not self._quarantine.take(key, bytes(value), message, replacement):
            return False
        self._add(kind, path, key, message, action, reversible=True)
        return True

    # -- consolidated metadata

    def consolidate(self) -> None:
        """Rebuilds the consolidated metadata of groups that differ from the documents."""
        if self._hierarchy is None or not self._store.listable:
            return
        hierarchy = find_hierarchy(self._store, self._path, self._zarr_format, ReadOptions())
        nodes = [node for node in nodes_below(hierarchy) if node.kind != "directory"]
        wrong: dict[str, list[str]] = defaultdict(list)
        for finding in consolidated_findings(hierarchy, nodes):
            wrong[finding.path[1:]].append(finding.message)
        dialect = hierarchy.dialect
        for path, messages in wrong.items():
            key = dialect.consolidated_key(path) or dialect.identifying_keys(path)[0]
            more = f", and {len(messages) - 1} more" if len(messages) > 1 else ""
            value = self._store.get_current(key)
            if not self._dry_run and value is not None:
                entry = self._quarantine.keep(key, bytes(value), messages[0])
                consolidate_metadata(self._store, path=path, zarr_format=dialect.zarr_format)
                entry.done()
            self._add("consolidated", path, key, messages[0] + more, "rebuilt from the documents", reversible=True)

    def note_plans(self) -> None:
        """Names plans that were interrupted: only their command can continue them."""
        if not self._store.listable:
            return
        for prefix in self._store.list_dir(PLANS_PREFIX)[1]:
            value = self._store.get(f"{prefix}plan")
            if value is not None:
                title = bytes(value).decode(errors="replace")
                hint = "run the same command again with --resume; it may be running now"
                self._leave("", f"{prefix}plan", f"a plan has not ended: {title}", hint)


def _folder(key: str) -> str:
    return key.rpartition("/")[0]
