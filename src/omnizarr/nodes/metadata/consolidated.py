"""Consolidated metadata: the documents of all nodes below a group, gathered in one place, read instead of them or kept
up to date with them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from omnizarr._json import Json, Problems
from omnizarr.errors import InvalidKeyError, MetadataError, NodeNotFoundError, NodeTypeError, warn
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
from omnizarr.store.retry import attempts

__all__ = ["Consolidated", "consolidated_of", "gathered", "wanted", "write_consolidated"]

_Change: TypeAlias = Callable[[Mapping[str, Json]], dict[str, Json]]


class Consolidated:
    """The consolidated metadata that a handle came through: that of the group at `root`, with documents by key.

    A handle that reads from it (`trusted`) asks for no other document; a handle that does not only keeps it up to date.
    """

    def __init__(
        self, store: Store, dialect: Dialect, root: str, documents: Mapping[str, Json], *, trusted: bool
    ) -> None:
        self.root = root
        self.trusted = trusted
        self._store = store
        self._dialect = dialect
        self._take(documents)

    def _take(self, documents: Mapping[str, Json]) -> None:
        """Holds these documents; but not what lies under keys that no store has, by which a path could lead anywhere,
        even back to itself."""
        self.documents = {key: document for key, document in documents.items() if _is_key(key)}
        self._ordered: list[str] | None = None

    def bare(self) -> Consolidated:
        """The same for a handle that only keeps it up to date, which needs none of the documents."""
        return Consolidated(self._store, self._dialect, self.root, {}, trusted=False)

    def has(self, path: str) -> bool:
        """Whether there is a node at `path`."""
        if any(key in self.documents for key in self._dialect.identifying_keys(path)):
            return True
        return self._dialect.implicit_groups and bool(self.children(path))

    def node(self, path: str) -> NodeModel:
        """The node at `path`, from its gathered documents."""
        documents = {key: self.documents[key] for key in self._dialect.keys(path) if key in self.documents}
        if not documents:
            return GroupModel(zarr_format=self._dialect.zarr_format, implicit=True)
        return parse_node(self._dialect, self._store, path, documents)

    def children(self, path: str) -> list[Child]:
        """What lies directly below `path`."""
        children = self._dialect.children(path, self._listing(self._dialect.listing_prefix(path)))
        start = f"{path}/" if path else ""
        return [child for child in children if child.kind is not None or self.has(start + child.name)]

    def _listing(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        """What the store would list below a prefix, if it held only these documents."""
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
                at = bisect_left(ordered, f"{prefix}{name}0", at)  # past all that lies below: `0` comes right after `/`
            else:
                keys.append(ordered[at])
                at += 1
        return keys, prefixes

    def refresh(self, group: GroupModel) -> None:
        """Takes up what is gathered now; `group` is the one at the root, as it is now."""
        key = self._dialect.consolidated_key(self.root)
        if key is None:
            self._take(self.documents if group.consolidated is None else group.consolidated)
        elif self.trusted:
            for document in parse_documents(self._store, document_values(self._store, [key]), LENIENT_JSON).values():
                self._take(_understood(self._store, self._dialect, self.root, document))

    # -- keeping it up to date

    def written(self, nodes: Mapping[str, NodeModel]) -> None:
        """Brings the stored copy up to date after nodes were written, given by their path."""
        dialect = self._dialect
        inline = dialect.consolidated_key(self.root) is None
        below = {path: node for path, node in nodes.items() if not (inline and path == self.root)}
        if not below:
            return
        old = {key for path in below for key in dialect.keys(path)}

        def updated(documents: Mapping[str, Json], new: Mapping[str, NodeModel] = below) -> dict[str, Json]:
            return {key: value for key, value in documents.items() if key not in old} | gathered(dialect, new)

        # As they are now, not as this handle wrote them: another writer may have changed one since, and have brought
        # this up to date already. Looked at after the copy was: who changes one later finds the copy changed.
        self._change(lambda documents: updated(documents, self._stored(below)), updated)

    def _stored(self, paths: Iterable[str]) -> dict[str, NodeModel]:
        """Those nodes that are there, as their own documents say it."""
        dialect, store = self._dialect, self._store
        keys = {path: dialect.keys(path) for path in paths}
        values = document_values(store, [key for own in keys.values() for key in own])
        nodes: dict[str, NodeModel] = {}
        for path, own in keys.items():
            documents = parse_documents(store, {key: values[key] for key in own}, dialect.encoding)
            if any(key in documents for key in dialect.identifying_keys(path)):
                nodes[path] = parse_node(dialect, store, path, documents, quiet=True)
        return nodes

    def moved(self, old: str, new: str | None) -> None:
        """Brings the stored copy up to date after a node was moved, with all below it; or erased, if `new` is None."""
        dialect = self._dialect
        steps: list[tuple[str, str | None]] = []
        befores = [*dialect.keys(old), *dialect.prefixes(old)]
        afters = [None] * len(befores) if new is None else [*dialect.keys(new), *dialect.prefixes(new)]
        steps.extend(zip(befores, afters, strict=True))

        def renamed(documents: Mapping[str, Json]) -> dict[str, Json]:
            kept = {}
            for key, document in documents.items():
                for before, after in steps:
                    if key == before or (before.endswith("/") and key.startswith(before)):
                        if after is not None:
                            kept[after + key[len(before) :]] = document
                        break
                else:
                    kept[key] = document
            return kept

        self._change(renamed, renamed)

    def _change(self, how: _Change, own: _Change) -> None:
        """Changes the stored copy, and in its `own` way the one that this handle has: last, lest another thread that
        takes up the stored one meanwhile undoes it."""
        try:
            self._change_stored(how)
        finally:
            with handle_lock(self):
                self._take(own(self.documents))

    def _change_stored(self, how: _Change) -> None:
        store, dialect, root = self._store, self._dialect, self.root
        try:
            if dialect.consolidated_key(root) is None:
                change_node(store, dialect, root, lambda group: _renewed(group, how), GroupModel)
            else:
                _change_separate(store, dialect, root, how)
        except (NodeNotFoundError, NodeTypeError):
            pass  # the group is gone, and with it what was to be kept up to date
        except MetadataError as error:  # what the user asked for is done, and this is not what it was about
            warn(f"{error.message}\n  so it could not be brought up to date; `consolidate_metadata` writes it anew")


_LONGEST_KEY = 4096  # no file system and no object store has longer ones, and each level of one may be a group


def _is_key(key: str) -> bool:
    try:
        check_key(key)
    except InvalidKeyError:
        return False
    return len(key) <= _LONGEST_KEY


def _renewed(group: GroupModel, how: _Change) -> GroupModel:
    if group.consolidated is None:  # somebody removed it; then there is nothing to keep up to date
        return group
    return replace(group, consolidated=how(group.consolidated))


def _change_separate(store: Store, dialect: Dialect, root: str, how: _Change) -> None:
    key = dialect.consolidated_key(root)
    assert key is not None

    def changed(documents: dict[str, Json]) -> tuple[None, dict[str, bytes]]:
        if key not in documents:
            return None, {}
        found = _understood(store, dialect, root, documents[key])
        return None, {key: encode_document(key, dialect.dump_consolidated(root, how(found)), LENIENT_JSON)}

    change_documents(store, [key], LENIENT_JSON, changed)


def _parsed(store: Store, dialect: Dialect, root: str, value: Buffer) -> dict[str, Json]:
    key = dialect.consolidated_key(root)
    assert key is not None
    return _understood(store, dialect, root, parse_documents(store, {key: value}, LENIENT_JSON)[key])


def _understood(store: Store, dialect: Dialect, root: str, document: Json) -> dict[str, Json]:
    problems = Problems()
    found = dialect.parse_consolidated(root, document, problems)
    if found is None:
        raise MetadataError(
            f"the consolidated metadata of {describe_location(store, root)} is not usable",
            problems.found,
            path=root,
            hint="`use_consolidated=False` looks at the documents themselves",
        )
    return found


def wanted(store: Store, use: bool | None) -> ByteRange | Literal[False] | None:
    """How much of a group's consolidated metadata is asked for when it is opened: all, if it will be trusted, which it
    is if that is asked for, or if nothing is said and the store cannot be written: what only reads may not need the
    newest. Who writes asks whether there is any, to keep it up to date."""
    if store.read_only if use is None else use:
        return None
    return False if store.read_only else (0, 0)


def consolidated_of(store: Store, path: str, found: FetchedNode, use: bool | None) -> Consolidated | None:
    """The consolidated metadata of a group that was fetched with what is `wanted`."""
    dialect, group = found.dialect, found.node
    assert isinstance(group, GroupModel)
    trusted = store.read_only if use is None else use
    documents: Mapping[str, Json] | None = group.consolidated
    key = dialect.consolidated_key(path)
    if key is not None and found.consolidated is not None:
        try:
            documents = _parsed(store, dialect, path, found.consolidated) if trusted else {}
        except MetadataError as error:
            if use:
                raise
            warn(f"{error.message}\n  so the documents of the nodes are read instead")
    if documents is None:
        if use:
            raise MetadataError(
                f"group {describe_location(store, path)} has no consolidated metadata",
                path=path,
                hint="`omnizarr.consolidate_metadata` writes it",
            )
        return None
    return Consolidated(store, dialect, path, documents, trusted=trusted)


def gathered(dialect: Dialect, nodes: Mapping[str, NodeModel]) -> dict[str, Json]:
    """The documents of nodes, by key, as they stand in consolidated metadata."""
    documents: dict[str, Json] = {}
    for path, node in nodes.items():
        if isinstance(node, GroupModel):
            if node.implicit:
                continue
            node = replace(node, consolidated=None)
        documents.update(dialect.dump(path, node))
    return documents


def write_consolidated(store: Store, dialect: Dialect, root: str, gather: Callable[[], dict[str, Json]]) -> None:
    """Stores consolidated metadata for the group at `root`: what `gather` gives, which is asked again if somebody else
    brought the copy up to date meanwhile."""
    key = dialect.consolidated_key(root)
    if key is None:
        change_node(store, dialect, root, lambda group: _gathering(group, gather()), GroupModel)
        return
    store.check_writable()
    groups = dialect.consolidated_groups(root)
    for path in groups:
        if isinstance(fetch_model(store, path, dialect), ArrayModel):
            raise NodeTypeError(
                f"consolidated metadata cannot be written: it is kept in a group at `{path}`, and "
                f"{describe_location(store, path)} is an array",
                path=path,
            )
    for path, node in groups.items():
        for place, data in dump_node(dialect, path, node).items():
            store.set_if(place, data, None)
    for attempt in attempts(store, [key]):
        with attempt:
            _, version = store.get_versioned(key)  # what is there may well be damaged, and is not looked at
            if store.set_if(
                key, encode_document(key, dialect.dump_consolidated(root, gather()), LENIENT_JSON), version
            ):
                return


def _gathering(group: GroupModel, documents: dict[str, Json]) -> GroupModel:
    """The group with these documents, in place of what another writer may have gathered in a way of its own (A34)."""
    extra = {member: value for member, value in group.extra.items() if member != "consolidated_metadata"}
    return replace(group, consolidated=documents, extra=extra)
