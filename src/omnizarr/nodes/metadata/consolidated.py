"""Consolidated metadata: copies of the documents of all nodes below a group, in one document.

A handle either reads nodes from the copies or only keeps the copies up to date.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from omnizarr._json import Json, Problems, same
from omnizarr.errors import InvalidKeyError, MetadataError, NodeNotFoundError, NodeTypeError, OmnizarrError, warn
from omnizarr.formats import Child, Dialect, NodeModel
from omnizarr.formats.document_encoding import LENIENT_JSON
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.nodes.handle_lock import handle_lock
from omnizarr.nodes.metadata.changes import change_documents, change_node
from omnizarr.nodes.metadata.documents import (
    describe_location,
    document_values,
    dump_node,
    encode_document,
    parse_documents,
    parse_node,
)
from omnizarr.nodes.metadata.fetch import FetchedNode, fetch_model
from omnizarr.store import Buffer, ByteRange, Store, check_key
from omnizarr.store.update import KeyAccess, set_if_absent, update

__all__ = ["Consolidated", "collect_documents", "consolidated_range", "open_consolidated", "write_consolidated"]

_Edit: TypeAlias = Callable[[Mapping[str, Json]], dict[str, Json]]

_ATTEMPTS = 100  # to record a change of nodes that other writers change at the same time; more than two are rare


class Consolidated:
    """The consolidated metadata of the group at `root`, through which a handle was opened.

    If `trusted`, the handle reads nodes from `documents`, by key, and fetches no others. If not, it only keeps the
    stored copies up to date.
    """

    def __init__(
        self, store: Store, dialect: Dialect, root: str, documents: Mapping[str, Json], *, trusted: bool
    ) -> None:
        self.root = root
        self.trusted = trusted
        self._store = store
        self._dialect = dialect
        self._set_documents(documents)

    def _set_documents(self, documents: Mapping[str, Json]) -> None:
        # An invalid key, such as one with `..`, could make a path lead to any other node, or back to itself.
        self.documents = {key: document for key, document in documents.items() if _is_key(key)}
        self._ordered: list[str] | None = None

    def without_documents(self) -> Consolidated:
        """The same for a handle that only keeps the stored copies up to date."""
        return Consolidated(self._store, self._dialect, self.root, {}, trusted=False)

    def has(self, path: str) -> bool:
        """Whether a node lies at `path`."""
        if any(key in self.documents for key in self._dialect.identifying_keys(path)):
            return True
        return self._dialect.implicit_groups and bool(self.children(path))

    def node(self, path: str) -> NodeModel:
        """The model of the node at `path`, from the copies of its documents."""
        documents = {key: self.documents[key] for key in self._dialect.keys(path) if key in self.documents}
        if not documents:
            return self._dialect.new_group(implicit=True)
        return parse_node(self._dialect, self._store, path, documents)

    def children(self, path: str) -> list[Child]:
        """The nodes directly below `path`."""
        children = self._dialect.children(path, self._listing(self._dialect.listing_prefix(path)))
        start = f"{path}/" if path else ""
        return [child for child in children if child.kind is not None or self.has(start + child.name)]

    def _listing(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        """The listing of a prefix in a store that holds only these documents."""
        if self._ordered is None:
            self._ordered = sorted(self.documents)
        ordered = self._ordered
        keys: list[str] = []
        prefixes: list[str] = []
        at = bisect_left(ordered, prefix)
        while at < len(ordered) and ordered[at].startswith(prefix):
            name, slash, _ = ordered[at][len(prefix) :].partition("/")
            if slash:
                prefixes.append(f"{prefix}{name}/")
                at = bisect_left(ordered, f"{prefix}{name}0", at)  # skip all keys below: `0` follows `/` in order
            else:
                keys.append(ordered[at])
                at += 1
        return keys, prefixes

    def refresh(self, group: GroupModel) -> None:
        """Loads the stored copies again; `group` is the current model of the group at the root."""
        key = self._dialect.consolidated_key(self.root)
        if key is None:
            self._set_documents(self.documents if group.consolidated is None else group.consolidated)
        elif self.trusted:
            for document in parse_documents(self._store, document_values(self._store, [key]), LENIENT_JSON).values():
                self._set_documents(_parse_consolidated(self._store, self._dialect, self.root, document))

    # -- keeping the stored copies up to date

    def record_nodes(self, paths: Iterable[str]) -> None:
        """Updates the stored copies after the nodes at `paths` were created, changed or erased."""
        inline = self._dialect.consolidated_key(self.root) is None
        below = {path for path in paths if not (inline and path == self.root)}
        if below:
            self._record(dict, lambda before, after: below)

    def change_copies(self, edit: _Edit) -> None:
        """Stores what `edit` makes of the stored copies, in one write, before the nodes themselves change."""
        self._change_stored(edit)
        with handle_lock(self):
            self._set_documents(edit(self.documents))

    def stored_copies(self) -> Mapping[str, Json]:
        """The copies as they are stored now; none if another writer removed them."""
        copies: Mapping[str, Json] = {}

        def look(stored: Mapping[str, Json]) -> dict[str, Json]:
            nonlocal copies
            copies = stored
            return dict(stored)

        self._change_stored(look)
        return copies

    def record_move(self, old: str, new: str | None, moved: Iterable[str] = ()) -> None:
        """Updates the stored copies after a node, with all below it, was moved; or erased, if `new` is None. `moved`
        are the new paths of all nodes that were moved."""
        from omnizarr.nodes.metadata.key_paths import node_paths  # lazy import: few programs erase or move nodes

        dialect = self._dialect
        befores = [*dialect.keys(old), *dialect.prefixes(old)]
        afters = [None] * len(befores) if new is None else [*dialect.keys(new), *dialect.prefixes(new)]
        renames: list[tuple[str, str | None]] = list(zip(befores, afters, strict=True))

        def rename(documents: Mapping[str, Json]) -> dict[str, Json]:
            copies = {}
            for key, document in documents.items():
                for before, after in renames:
                    if key == before or (before.endswith("/") and key.startswith(before)):
                        if after is not None:
                            copies[after + key[len(before) :]] = document
                        break
                else:
                    copies[key] = document
            return copies

        def affected(before: Mapping[str, Json], after: Mapping[str, Json]) -> set[str]:
            # Another writer may have created a node at `old`, or erased one at `new`, and have recorded that already.
            paths = {*node_paths(dialect, old, before), *moved}
            return paths if new is None else paths.union(node_paths(dialect, new, after))

        self._record(rename, affected)

    def _record(self, rename: _Edit, affected: Callable[[Mapping[str, Json], Mapping[str, Json]], set[str]]) -> None:
        """Renames the stored copies, and stores those of all `affected` nodes as their documents are now.

        Not as this handle wrote them: another writer may have changed a node since. The documents are read after the
        copies, and again after the new copies are stored. If one changed meanwhile, all is repeated. So whichever
        writer stores the copies last has seen the last change of its nodes, even if the other writer found its change
        recorded already and stored nothing, and even if the versions of a store do not tell equal copies apart.
        """
        documents: _NodeDocuments | None = None
        changed = False

        def edit(copies: Mapping[str, Json]) -> dict[str, Json]:
            nonlocal documents, changed
            renamed = rename(copies)
            documents = _NodeDocuments(self._store, self._dialect, affected(copies, renamed))
            edited = documents.put_into(renamed)
            changed = not same(edited, dict(copies))
            return edited

        try:
            for _ in range(_ATTEMPTS):
                changed = False
                self._change_stored(edit)
                if documents is None or not changed or documents.are_current():
                    break
            else:
                warn(
                    f"the consolidated metadata of {describe_location(self._store, self.root)} may be outdated: other "
                    "writers keep changing the same nodes\n  `consolidate_metadata` writes it anew"
                )
        finally:  # the copies in this object come last, so that a thread that refreshes it cannot undo the change
            with handle_lock(self):
                renamed = rename(self.documents)
                self._set_documents(renamed if documents is None else documents.put_into(renamed))

    def _change_stored(self, edit: _Edit) -> None:
        store, dialect, root = self._store, self._dialect, self.root
        try:
            if dialect.consolidated_key(root) is None:
                change_node(store, dialect, root, lambda group: _edit_inline(group, edit), GroupModel)
            else:
                _edit_separate(store, dialect, root, edit)
        except (NodeNotFoundError, NodeTypeError):
            pass  # the group was erased, with its consolidated metadata
        except MetadataError as error:  # the user's own change is done: do not fail it
            warn(f"{error.message}\n  it could not be updated; `consolidate_metadata` writes it anew")


class _NodeDocuments:
    """The documents of some nodes as they are stored now."""

    def __init__(self, store: Store, dialect: Dialect, paths: Collection[str]) -> None:
        from omnizarr.store.current import CurrentStore  # lazy import: only for changes of stored copies

        self._store, self._dialect = CurrentStore(store), dialect
        self._keys = {path: dialect.keys(path) for path in paths}
        self._values = self._fetch()

    def _fetch(self) -> dict[str, Buffer | OmnizarrError | None]:
        return document_values(self._store, [key for keys in self._keys.values() for key in keys])

    def are_current(self) -> bool:
        """Whether no writer changed one of them since."""
        values = self._fetch()
        return all(_same_value(value, values[key]) for key, value in self._values.items())

    def put_into(self, copies: Mapping[str, Json]) -> dict[str, Json]:
        """The copies with those of these nodes, without those of nodes that do not exist. A node that cannot be read
        keeps its copies."""
        old: set[str] = set()
        nodes: dict[str, NodeModel] = {}
        for path, keys in self._keys.items():
            if any(self._values[key] is not None for key in self._dialect.identifying_keys(path)):
                try:
                    values = {key: self._values[key] for key in keys}
                    stored = parse_documents(self._store, values, self._dialect.encoding)
                    nodes[path] = parse_node(self._dialect, self._store, path, stored, quiet=True)
                except OmnizarrError:
                    continue
            old.update(keys)
        others = {key: value for key, value in copies.items() if key not in old}
        return others | collect_documents(self._dialect, nodes)


def _same_value(one: Buffer | OmnizarrError | None, other: Buffer | OmnizarrError | None) -> bool:
    if one is None or other is None or isinstance(one, OmnizarrError) or isinstance(other, OmnizarrError):
        return type(one) is type(other)
    return bytes(one) == bytes(other)


_LONGEST_KEY = 4096  # no file system or object store has longer keys, and each level of a key may be a group


def _is_key(key: str) -> bool:
    try:
        check_key(key)
    except InvalidKeyError:
        return False
    return len(key) <= _LONGEST_KEY


def _edit_inline(group: GroupModel, edit: _Edit) -> GroupModel:
    """Edits consolidated metadata inside the group's own document, unless another writer removed it."""
    return group if group.consolidated is None else replace(group, consolidated=edit(group.consolidated))


def _edit_separate(store: Store, dialect: Dialect, root: str, edit: _Edit) -> None:
    """Edits consolidated metadata under a key of its own, unless another writer removed it."""
    key = dialect.consolidated_key(root)
    assert key is not None

    def edit_document(documents: dict[str, Json]) -> tuple[None, dict[str, bytes]]:
        if key not in documents:
            return None, {}
        copies = _parse_consolidated(store, dialect, root, documents[key])
        return None, {key: encode_document(key, dialect.dump_consolidated(root, edit(copies)), LENIENT_JSON)}

    change_documents(store, [key], LENIENT_JSON, edit_document)


def _parse_value(store: Store, dialect: Dialect, root: str, value: Buffer) -> dict[str, Json]:
    key = dialect.consolidated_key(root)
    assert key is not None
    return _parse_consolidated(store, dialect, root, parse_documents(store, {key: value}, LENIENT_JSON)[key])


def _parse_consolidated(store: Store, dialect: Dialect, root: str, document: Json) -> dict[str, Json]:
    problems = Problems()
    documents = dialect.parse_consolidated(root, document, problems)
    if documents is None:
        raise MetadataError(
            f"the consolidated metadata of {describe_location(store, root)} is invalid",
            problems.found,
            path=root,
            hint="`use_consolidated=False` reads the documents of the nodes instead",
        )
    return documents


def consolidated_range(store: Store, use: bool | None) -> ByteRange | Literal[False] | None:
    """Which bytes of a group's consolidated metadata to fetch when opening it: None for all, False for none.

    All of them if the handle will trust them: if `use` is true, or by default for a read-only store, where the newest
    state matters less. A writer fetches zero bytes, which shows whether there are copies to keep up to date.
    """
    if store.read_only if use is None else use:
        return None
    return False if store.read_only else (0, 0)


def open_consolidated(store: Store, path: str, fetched: FetchedNode, use: bool | None) -> Consolidated | None:
    """The consolidated metadata of a group that was fetched with `consolidated_range`."""
    dialect, group = fetched.dialect, fetched.node
    assert isinstance(group, GroupModel)
    trusted = store.read_only if use is None else use
    documents: Mapping[str, Json] | None = group.consolidated
    key = dialect.consolidated_key(path)
    if key is not None and fetched.consolidated is not None:
        try:
            documents = _parse_value(store, dialect, path, fetched.consolidated) if trusted else {}
        except MetadataError as error:
            if use:
                raise
            warn(f"{error.message}\n  reading the documents of the nodes instead")
    if documents is None:
        if use:
            raise MetadataError(
                f"group {describe_location(store, path)} has no consolidated metadata",
                path=path,
                hint="`omnizarr.consolidate_metadata` writes it",
            )
        return None
    return Consolidated(store, dialect, path, documents, trusted=trusted)


def collect_documents(dialect: Dialect, nodes: Mapping[str, NodeModel]) -> dict[str, Json]:
    """The documents of `nodes`, by key, in the form of consolidated metadata."""
    documents: dict[str, Json] = {}
    for path, node in nodes.items():
        if isinstance(node, GroupModel):
            if node.implicit:
                continue
            node = replace(node, consolidated=None)
        documents.update(dialect.dump(path, node))
    return documents


def write_consolidated(store: Store, dialect: Dialect, root: str, collect: Callable[[], dict[str, Json]]) -> None:
    """Stores the documents that `collect` returns as consolidated metadata of the group at `root`.

    Calls `collect` again if another writer changes the consolidated metadata meanwhile.
    """
    key = dialect.consolidated_key(root)
    if key is None:
        change_node(store, dialect, root, lambda group: _with_consolidated(group, collect()), GroupModel)
        return
    store.check_writable()
    groups = dialect.consolidated_groups(root)
    for path in groups:
        if isinstance(fetch_model(store, path, dialect), ArrayModel):
            raise NodeTypeError(
                f"consolidated metadata cannot be written: it is stored in a group at `{path}`, but "
                f"{describe_location(store, path)} is an array",
                path=path,
            )
    for path, node in groups.items():
        for node_key, data in dump_node(dialect, path, node).items():
            set_if_absent(store, node_key, data)

    def replace_copy(access: KeyAccess) -> bool | None:
        stored = access.read(key)  # only for its version: the old value may be damaged
        data = encode_document(key, dialect.dump_consolidated(root, collect()), LENIENT_JSON)
        return access.write(key, data, None if stored is None else stored[1]) or None

    update(store, [key], replace_copy)


def _with_consolidated(group: GroupModel, documents: dict[str, Json]) -> GroupModel:
    """The group with these documents, without consolidated metadata in the form of another writer (A34)."""
    extra = {member: value for member, value in group.extra.items() if member != "consolidated_metadata"}
    return replace(group, consolidated=documents, extra=extra)
