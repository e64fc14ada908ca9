"""Nodes as documents in a store: fetching and parsing them, saving them, and changing them without losing what somebody
else changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from omnizarr import _json
from omnizarr._json import Json, Problems
from omnizarr.config import config
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    Problem,
    StoreError,
    warn,
)
from omnizarr.formats import Dialect, Documents, Node, candidates, detect, dialect, foreign, suspects
from omnizarr.store import Buffer, ReadOnlyStore, Store

__all__ = ["change", "describe_place", "dumped", "fetch", "fetch_many", "parse_node"]

N = TypeVar("N", bound=Node)

_MOST_TRIES = 100  # of changing a document that others keep changing


def describe_place(store: Store, path: str) -> str:
    """`temps/daily` in LocalStore(data.zarr)"""
    shown = store.inner if isinstance(store, ReadOnlyStore) else store  # how it was opened is not where it is
    return f"`{path or '/'}` in {shown!r}"


def fetch(store: Store, path: str, zarr_format: object = None) -> tuple[Dialect, Node]:
    """The node at `path`; of that generation, or of whichever lies there."""
    keys = candidates(path) if zarr_format is None else dialect(zarr_format).keys(path)
    values = store.get_partial_values([(key, None) for key in keys])
    return _understood(store, path, dict(zip(keys, values, strict=True)))


def fetch_many(store: Store, paths: Sequence[str]) -> Iterator[tuple[str, tuple[Dialect, Node] | OmnizarrError | None]]:
    """What lies at each path, all asked for together: a node, the reason why it cannot be read, or nothing."""
    keys = [candidates(path) for path in paths]
    values = _values(store, [key for group in keys for key in group])
    for path, group in zip(paths, keys, strict=True):
        found = {key: values[key] for key in group if values[key] is not None}
        if not found:
            yield path, None
            continue
        try:
            yield path, _understood(store, path, found)
        except OmnizarrError as error:
            yield path, error


def _values(store: Store, keys: Sequence[str]) -> dict[str, Buffer | OmnizarrError | None]:
    """The values of many keys. If the store cannot give one of them, the others are still found."""
    try:
        return dict(zip(keys, store.get_partial_values([(key, None) for key in keys]), strict=True))
    except StoreError:
        values: dict[str, Buffer | OmnizarrError | None] = {}
        for key in keys:
            try:
                values[key] = store.get(key)
            except StoreError as error:
                values[key] = error
        return values


def _understood(store: Store, path: str, values: Mapping[str, Buffer | OmnizarrError | None]) -> tuple[Dialect, Node]:
    documents = {key: _parsed(store, key, value) for key, value in values.items() if value is not None}
    verdict = detect(path, documents)
    if verdict is None:
        keys = suspects(path)
        found = store.get_partial_values([(key, (0, 0)) for key in keys])
        raise NodeNotFoundError(
            f"there is no Zarr array or group at {describe_place(store, path)}",
            path=path,
            hint=_foreign(path, {key for key, value in zip(keys, found, strict=True) if value is not None}),
        )
    generation = dialect(verdict.zarr_format)
    return generation, parse_node(generation, store, path, documents)


def _parsed(store: Store, key: str, value: Buffer | OmnizarrError) -> Json:
    if isinstance(value, OmnizarrError):
        raise value
    return _json.parse(value, f"the document `{key}` in {store!r}", limit=config.current.max_document_bytes)


def _foreign(path: str, keys: Collection[str], document: Json = None) -> str | None:
    what = foreign(path, keys, document)
    return f"{what} lies there, which this release cannot read" if what else None


def parse_node(found: Dialect, store: Store, path: str, documents: Documents) -> Node:
    """The node that documents describe; warns once of what is accepted although it is not as it should be."""
    problems = Problems()
    node = found.parse(path, documents, problems)
    kind = found.node_type(path, documents) or "node"
    place = f"{kind} {describe_place(store, path)}"
    names = ", ".join(f"`{key.removeprefix(f'{path}/')}`" for key in documents)
    if node is None or problems:
        raise MetadataError(
            f"cannot open {place}: {_count(problems.found)} in {names}",
            problems.found,
            path=path,
            hint=_foreign(path, (), next(iter(documents.values()), None)),
        )
    if problems.warnings:
        lines = "".join(f"\n  {problem.path}: {problem.message}" for problem in problems.warnings)
        warn(f"{place}: accepted {_count(problems.warnings)} in {names}{lines}")
    return node


def _count(problems: Sequence[Problem]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


def dumped(found: Dialect, path: str, node: Node) -> dict[str, bytes]:
    """The documents of a node, as they are stored. Refuses what the generation cannot express."""
    losses = found.losses(node)
    if losses:
        raise ArgumentError(
            f"`{path or '/'}` cannot be written in Zarr {found.zarr_format}: {'; '.join(losses)}",
            argument="zarr_format",
        )
    documents = {key: _json.dump(document) for key, document in found.dump(path, node).items()}
    limit = config.current.max_document_bytes
    for key, data in documents.items():
        if len(data) > limit:  # nobody could read it again
            raise ArgumentError(
                f"the document `{key}` would be {len(data)} bytes long, more than the limit of {limit}",
                argument="attributes",
                hint="raise it with `omnizarr.config.set(max_document_bytes=...)`",
            )
    return documents


def change(store: Store, found: Dialect, path: str, how: Callable[[N], N], kind: type[N]) -> N:
    """Changes the node at `path` as it is now, not as some handle remembers it, and gives back what was stored."""
    store.check_writable()
    keys = found.keys(path)
    for _ in range(_MOST_TRIES):
        versions = {}
        documents: dict[str, Json] = {}
        for key in keys:
            value, versions[key] = store.get_versioned(key)
            if value is not None:
                documents[key] = _parsed(store, key, value)
        if not documents:
            raise NodeNotFoundError(f"{describe_place(store, path)} is gone", path=path)
        node = parse_node(found, store, path, documents)
        if not isinstance(node, kind):
            raise NodeTypeError(f"{describe_place(store, path)} is another kind of node now", path=path)
        after = how(node)
        if all(store.set_if(key, value, versions.get(key)) for key, value in dumped(found, path, after).items()):
            return after
    raise StoreError(f"{describe_place(store, path)} is changed by others all the time", store=repr(store), key=keys[0])
