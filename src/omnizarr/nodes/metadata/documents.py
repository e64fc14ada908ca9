"""Nodes as documents in a store: fetching and parsing them, saving them, and changing them without losing what somebody
else changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from omnizarr._json import Json, Problems, same
from omnizarr.config import config
from omnizarr.errors import (
    ArgumentError,
    ExtensionError,
    MetadataError,
    MissingDependencyError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    Problem,
    StoreError,
    warn,
)
from omnizarr.formats import (
    Child,
    DetectedNode,
    Dialect,
    Documents,
    NodeModel,
    PossibleNode,
    ReadOptions,
    candidate_keys,
    confirm_node,
    detect,
    dialect_for,
    format_name,
)
from omnizarr.formats.document_encoding import JSON, Encoding
from omnizarr.formats.document_keys import v2_consolidated_key
from omnizarr.model import GroupModel, join_path
from omnizarr.store import Buffer, ByteRange, ReadOnlyStore, Request, Store
from omnizarr.store.contract import Version
from omnizarr.store.retry import attempts

__all__ = [
    "Fetched",
    "as_bytes",
    "change",
    "describe_place",
    "document_values",
    "dumped",
    "fetch",
    "fetch_children",
    "fetch_known",
    "not_found",
    "parse_documents",
    "parse_node",
    "store_changes",
]

N = TypeVar("N", bound=NodeModel)


def describe_place(store: Store, path: str) -> str:
    """`temps/daily` in LocalStore(data.zarr)"""
    shown = store.inner if isinstance(store, ReadOnlyStore) else store  # how it was opened is not where it is
    return f"`{path or '/'}` in {shown!r}"


# -- fetching


class Fetched(NamedTuple):
    """A node, the dialect it speaks, and, if that was asked for, what lies under its consolidated metadata's key."""

    dialect: Dialect
    node: NodeModel
    consolidated: Buffer | None = None


def fetch(
    store: Store,
    path: str,
    read_options: ReadOptions,
    zarr_format: object = None,
    *,
    consolidated: ByteRange | Literal[False] | None = False,
) -> Fetched:
    """The node at `path`; of that generation, or of whichever lies there. `consolidated` says how much is wanted of its
    consolidated metadata: nothing, if False."""
    keys = candidate_keys(path, zarr_format)
    beside = _beside(path, consolidated, None if zarr_format is None else dialect_for(zarr_format))
    values = document_values(store, keys, beside)
    documents, damaged = _parsed_each(store, {key: values[key] for key in keys})
    try:
        verdict = detect(path, documents, read_options, zarr_format)
    except MetadataError as error:
        what = f"{error.message.splitlines()[0]} in {store!r}"
        raise MetadataError(what, error.problems, hint=error.hint, path=path) from None
    if isinstance(verdict, PossibleNode):
        found = _looked(store, path, verdict, consolidated)
        if found is not None:
            return found
        verdict = None
    needed = damaged if verdict is None else verdict.documents
    for key in needed:
        if key in damaged:  # what counts is whether it is needed: beside v3 may lie what is left of v2
            raise damaged[key]
    if verdict is None:
        alone = _consolidated_alone(store, path, read_options, values.get(v2_consolidated_key(path)))
        if alone is not None and zarr_format in (None, 2):
            return alone
        raise not_found(store, path, zarr_format)
    if verdict.note is not None:
        warn(f"{describe_place(store, path)}: {verdict.note}")
    node = parse_node(verdict.dialect, store, path, verdict.documents)
    return Fetched(verdict.dialect, node, _value(values, verdict.dialect.consolidated_key(path)))


def _beside(path: str, consolidated: ByteRange | Literal[False] | None, known: Dialect | None = None) -> list[Request]:
    """What to ask for beside the documents, to learn of consolidated metadata in the same go."""
    if consolidated is False:
        return []
    key = v2_consolidated_key(path) if known is None else known.consolidated_key(path)
    return [] if key is None else [(key, consolidated)]


def _consolidated_alone(
    store: Store, path: str, read_options: ReadOptions, value: Buffer | OmnizarrError | None
) -> Fetched | None:
    """The group of version 2 of which nothing but the consolidated metadata is there, and is to be believed: whoever
    copies or serves a hierarchy may take it for enough. Where it is only looked for, its value is empty."""
    if not value or isinstance(value, OmnizarrError):
        return None
    spoken = dialect_for(2, read_options)
    gathered = _parsed(store, v2_consolidated_key(path), value, spoken.encoding)
    documents = spoken.parse_consolidated(path, gathered, Problems()) or {}
    own = {key: documents[key] for key in spoken.keys(path) if key in documents}
    if spoken.node_type(path, own) != "group":
        return None
    return Fetched(spoken, parse_node(spoken, store, path, own), value)


def _value(values: Mapping[str, Buffer | OmnizarrError | None], key: str | None) -> Buffer | None:
    value = None if key is None else values.get(key)
    if isinstance(value, OmnizarrError):
        raise value
    return value


def fetch_known(store: Store, path: str, known: Dialect) -> NodeModel | None:
    """The node at `path` of a hierarchy whose dialect is known; None if there is none."""
    found = _looked(store, path, PossibleNode(known, known.keys(path)), False)
    return None if found is None else found.node


def _looked(
    store: Store, path: str, look: PossibleNode, consolidated: ByteRange | Literal[False] | None
) -> Fetched | None:
    found = look.dialect
    values = document_values(store, look.keys, _beside(path, consolidated, found))
    documents, damaged = _parsed_each(store, {key: values[key] for key in look.keys}, found.encoding)
    verdict = confirm_node(look, path, documents)
    if damaged and (verdict is not None or found.has_distinctive_keys):  # else any file may be called so
        raise next(iter(damaged.values()))
    gathered = _value(values, found.consolidated_key(path))
    if isinstance(verdict, DetectedNode):
        return Fetched(found, parse_node(found, store, path, verdict.documents), gathered)
    implied = _implied(store, path, found) if found.implicit_groups else None
    return None if implied is None else Fetched(*implied, gathered)


def _implied(store: Store, path: str, known: Dialect) -> tuple[Dialect, NodeModel] | None:
    """The group that is at `path` because something lies below it; at the root, because there is a hierarchy."""
    group = GroupModel(zarr_format=known.zarr_format, implicit=True)
    listing = store.list_dir(known.listing_prefix(path))
    below = known.children(path, listing)
    if below and (path or known.children(path, (listing[0], ()))):
        return known, group
    for other in known.alternatives():
        prefix = other.listing_prefix(path)
        if below and prefix != known.listing_prefix(path):
            continue  # that something lies below is enough, but for what kind of keys documents have there
        documents = parse_documents(store, document_values(store, other.keys(path)), other.encoding)
        if documents:
            return other, parse_node(other, store, path, documents)
        listed = (listing[0], ()) if below else store.list_dir(prefix)
        if other.children(path, listed):
            return other, group
    return (known, group) if below or not path else None


def not_found(store: Store, path: str, zarr_format: object = None) -> NodeNotFoundError:
    """Says that nothing lies there; or nothing of a generation, if one was asked for."""
    if zarr_format is None:
        return NodeNotFoundError(f"there is no Zarr array or group at {describe_place(store, path)}", path=path)
    generation = format_name(dialect_for(zarr_format).zarr_format)
    return NodeNotFoundError(
        f"there is no array or group of {generation} at {describe_place(store, path)}",
        path=path,
        hint="without `zarr_format` any other generation is found, too",
    )


def fetch_children(
    store: Store, path: str, known: Dialect, children: Iterable[Child]
) -> Iterator[tuple[str, NodeModel | OmnizarrError]]:
    """The nodes below the group at `path`, by name, all asked for together: each, or the reason why it cannot be read.
    What turns out to be no node is left out."""
    wanted = list(children)
    keys = {child: known.keys(join_path(path, child.name)) if child.keys is None else child.keys for child in wanted}
    values = document_values(store, [key for group in keys.values() for key in group], each=True)
    for child in wanted:
        name = child.name
        there = {key: values[key] for key in keys[child] if values[key] is not None}
        try:
            documents = parse_documents(store, there, known.encoding)
            telling = known.identifying_keys(join_path(path, name))
            if any(key in documents for key in telling):
                yield name, parse_node(known, store, join_path(path, name), documents)
            elif known.implicit_groups and not child.keys:  # else it is gone since it was listed
                yield name, GroupModel(zarr_format=known.zarr_format, implicit=True)
        except OmnizarrError as error:
            yield name, error


def document_values(
    store: Store, keys: Sequence[str], beside: Sequence[Request] = (), *, each: bool = False
) -> dict[str, Buffer | OmnizarrError | None]:
    """The values of many keys, and of a few more in part. With `each`, one that the store cannot give does not keep the
    others from being found. No more is asked for of any than shows that it is too long to be a document."""
    whole: ByteRange = (0, config.current.max_document_bytes + 1)
    requests: list[Request] = [*((key, whole) for key in keys), *((key, part or whole) for key, part in beside)]
    if not requests:
        return {}
    try:
        return {key: value for (key, _), value in zip(requests, store.get_partial_values(requests), strict=True)}
    except StoreError:
        if not each:
            raise
        values: dict[str, Buffer | OmnizarrError | None] = {}
        for key in keys:
            try:
                values[key] = store.get(key, whole)
            except StoreError as error:
                values[key] = error
        return values


def parse_documents(
    store: Store, values: Mapping[str, Buffer | OmnizarrError | None], encoding: Encoding = JSON
) -> dict[str, Json]:
    """The documents among the values, by key."""
    return {key: _parsed(store, key, value, encoding) for key, value in values.items() if value is not None}


def _parsed_each(
    store: Store, values: Mapping[str, Buffer | OmnizarrError | None], encoding: Encoding = JSON
) -> tuple[dict[str, Json], dict[str, MetadataError]]:
    """The same; in place of one that cannot be read None, and the reason."""
    documents: dict[str, Json] = {}
    damaged: dict[str, MetadataError] = {}
    for key, value in values.items():
        try:
            documents |= parse_documents(store, {key: value}, encoding)
        except MetadataError as error:
            documents[key], damaged[key] = None, error
    return documents, damaged


def _parsed(store: Store, key: str, value: Buffer | OmnizarrError, encoding: Encoding) -> Json:
    if isinstance(value, OmnizarrError):
        raise value
    what, limit = f"the document `{key}` in {store!r}", config.current.max_document_bytes
    if len(value) > limit:
        raise MetadataError(
            f"{what} is longer than the limit of {limit} bytes",
            hint="raise it with `omnizarr.config.set(max_document_bytes=...)`, if you trust its writer",
        )
    return encoding.parse(value, what, limit=limit)


def parse_node(found: Dialect, store: Store, path: str, documents: Documents, *, quiet: bool = False) -> NodeModel:
    """The node that documents describe; warns once of what is accepted although it is not as it should be, unless
    `quiet`, because whoever holds the node heard of it when it was opened."""
    problems = Problems()
    kind = found.node_type(path, documents) or "node"
    place = f"{kind} {describe_place(store, path)}"
    try:
        node = found.parse(path, documents, problems)
    except (ExtensionError, MissingDependencyError) as error:
        raise error.add_context(f"cannot open {place}") from error.__cause__
    names = ", ".join(f"`{key.removeprefix(f'{path}/')}`" for key in documents)
    if node is None or problems:
        raise MetadataError(f"cannot open {place}: {_count(problems.found)} in {names}", problems.found, path=path)
    if problems.warnings and not quiet:
        lines = "".join(f"\n  {problem.path}: {problem.message}" for problem in problems.warnings)
        warn(f"{place}: accepted {_count(problems.warnings)} in {names}{lines}")
    return node


def _count(problems: Sequence[Problem]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


# -- saving


def dumped(found: Dialect, path: str, node: NodeModel) -> dict[str, bytes]:
    """The documents of a node, as they are stored. Refuses what the generation cannot express."""
    losses = found.losses(path, node)
    if losses:
        raise ArgumentError(
            f"`{path or '/'}` cannot be written in {format_name(found.zarr_format)}: {'; '.join(losses)}",
            argument="zarr_format",
        )
    return {key: as_bytes(key, document, found.encoding) for key, document in found.dump(path, node).items()}


def as_bytes(key: str, document: Json, encoding: Encoding) -> bytes:
    """A document as it is stored; one that nobody could read again is refused."""
    data = encoding.dump(document)
    limit = config.current.max_document_bytes
    if len(data) > limit:
        raise ArgumentError(
            f"the document `{key}` would be {len(data)} bytes long, more than the limit of {limit}",
            argument="attributes",
            hint="raise it with `omnizarr.config.set(max_document_bytes=...)`",
        )
    return data


def change(store: Store, found: Dialect, path: str, how: Callable[[N], N], kind: type[N]) -> N:
    """Changes the node at `path` as it is now, not as some handle remembers it, and gives back what was stored."""
    keys = found.keys(path)

    def changed(documents: dict[str, Json]) -> tuple[N, dict[str, bytes | None]]:
        node: NodeModel
        if any(key in documents for key in found.identifying_keys(path)):
            node = parse_node(found, store, path, documents, quiet=True)
        else:
            implied = fetch_known(store, path, found) if found.implicit_groups else None
            if implied is None:
                raise NodeNotFoundError(f"{describe_place(store, path)} is gone", path=path)
            node = implied
        if not isinstance(node, kind):
            raise NodeTypeError(f"{describe_place(store, path)} is another kind of node now", path=path)
        after = how(node)
        old, new = found.dump(path, node), found.dump(path, after)
        # What does not change stays as its writer spelt it.
        kept = {key for key in old if key in documents and key in new and same(old[key], new[key])}
        gone: dict[str, bytes | None] = {key: None for key in old if key not in new}
        return after, gone | {key: data for key, data in dumped(found, path, after).items() if key not in kept}

    return store_changes(store, keys, found.encoding, changed)


R = TypeVar("R")


def store_changes(
    store: Store,
    keys: Sequence[str],
    encoding: Encoding,
    how: Callable[[dict[str, Json]], tuple[R, Mapping[str, bytes | None]]],
) -> R:
    """Stores what `how` makes of the documents under `keys`: those that differ are written, and those that become None
    are erased. If somebody else changes one of them meanwhile, everything begins again."""
    store.check_writable()
    if store.conditional:
        # First with what the store remembers, which saves a request: if that is past, the write is refused.
        recalled = [found for found in map(store.recall, keys) if found is not None]
        if len(recalled) == len(keys):
            try:
                stored = _stored(store, keys, encoding, how, recalled, past=True)
            except Exception:
                stored = None  # perhaps it is only what is remembered that does not allow it
            if stored is not None:
                return stored[0]
    for attempt in attempts(store, keys):
        with attempt:
            stored = _stored(store, keys, encoding, how, _versioned(store, keys))
            if stored is not None:
                return stored[0]
    raise AssertionError("attempts end with an error of their own")


def _versioned(store: Store, keys: Sequence[str]) -> list[tuple[Buffer | None, Version]]:
    """What `get_versioned` says of each key; of a store that is far away, asked for together."""
    window = store.window
    if window is None or len(keys) == 1:
        return [store.get_versioned(key) for key in keys]
    from omnizarr.store.requests.reads import Ask, Overlap  # only for those who need it

    found = dict(Overlap(window, (Ask(key, partial(store.get_versioned, key), 0) for key in keys)))
    return [found[key] for key in keys]


def _stored(
    store: Store,
    keys: Sequence[str],
    encoding: Encoding,
    how: Callable[[dict[str, Json]], tuple[R, Mapping[str, bytes | None]]],
    known: Sequence[tuple[Buffer | None, Version]],
    *,
    past: bool = False,
) -> tuple[R] | None:
    """What `how` gave, after its changes were stored; None if somebody else was quicker. What is known of the documents
    may be `past`: then nothing counts but a write that depends on it."""
    values = {key: value for key, (value, _) in zip(keys, known, strict=True) if value is not None}
    versions = {key: version for key, (_, version) in zip(keys, known, strict=True)}
    result, after = how(parse_documents(store, values, encoding))
    changed = {
        key: data
        for key, data in after.items()
        if data is not None and (key not in values or bytes(values[key]) != data)
    }
    unneeded = [key for key, data in after.items() if data is None and key in values]
    if past and (unneeded or not changed):
        return None
    if not all(store.set_if(key, data, versions.get(key)) for key, data in changed.items()):
        return None
    if unneeded:
        store.erase_values(unneeded)
    return (result,)
