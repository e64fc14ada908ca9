"""Nodes as documents in a store: fetching and parsing them, saving them, and changing them without losing what somebody
else changed meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from omnizarr import _json
from omnizarr._json import Json, Problems
from omnizarr.config import config
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeNotFoundError,
    OmnizarrError,
    OmnizarrWarning,
    Problem,
    StoreError,
)
from omnizarr.formats import Dialect, Documents, Node, candidates, detect, dialect, foreign
from omnizarr.store import Buffer, Store

__all__ = ["change", "describe_place", "fetch", "fetch_many", "parse_node", "save"]

N = TypeVar("N", bound=Node)

_MOST_TRIES = 100  # of changing a document that others keep changing


def describe_place(store: Store, path: str) -> str:
    """`temps/daily` in LocalStore(data.zarr)"""
    return f"`{path or '/'}` in {store!r}"


def fetch(store: Store, path: str, zarr_format: object = None) -> tuple[Dialect, Node]:
    """The node at `path`; of that generation, or of whichever lies there."""
    keys = candidates(path) if zarr_format is None else dialect(zarr_format).keys(path)
    values = store.get_partial_values([(key, None) for key in keys])
    return _understood(store, path, dict(zip(keys, values, strict=True)))


def fetch_many(store: Store, paths: Sequence[str]) -> Iterator[tuple[str, tuple[Dialect, Node] | OmnizarrError | None]]:
    """What lies at each path, all asked for together: a node, the reason why it cannot be read, or nothing."""
    keys = [candidates(path) for path in paths]
    flat = [key for group in keys for key in group]
    values = dict(zip(flat, store.get_partial_values([(key, None) for key in flat]), strict=True))
    for path, group in zip(paths, keys, strict=True):
        found = {key: values[key] for key in group}
        if all(value is None for value in found.values()):
            yield path, None
            continue
        try:
            yield path, _understood(store, path, found)
        except OmnizarrError as error:
            yield path, error


def _understood(store: Store, path: str, values: dict[str, Buffer | None]) -> tuple[Dialect, Node]:
    limit = config.current.max_document_bytes
    documents = {
        key: _json.parse(value, f"the document `{key}` in {store!r}", limit=limit)
        for key, value in values.items()
        if value is not None
    }
    verdict = detect(path, documents)
    if verdict is None:
        what = foreign(path, store.exists)
        raise NodeNotFoundError(
            f"there is no Zarr array or group at {describe_place(store, path)}",
            path=path,
            hint=f"{what} lies there, which this release cannot read" if what else None,
        )
    found = dialect(verdict.zarr_format)
    return found, parse_node(found, store, path, documents)


def parse_node(found: Dialect, store: Store, path: str, documents: Documents) -> Node:
    """The node that documents describe; warns once of what is accepted although it is not as it should be."""
    problems = Problems()
    node = found.parse(path, documents, problems)
    kind = found.node_type(path, documents) or "node"
    place = f"{kind} {describe_place(store, path)}"
    keys = ", ".join(f"`{key}`" for key in documents)
    if node is None or problems:
        what = foreign(path, lambda key: False, next(iter(documents.values()), None))
        raise MetadataError(
            f"cannot open {place}: {_count(problems.found)} in {keys}",
            problems.found,
            path=path,
            hint=f"{what} lies there, which this release cannot read" if what else None,
        )
    if problems.warnings:
        lines = "".join(f"\n  {problem.path}: {problem.message}" for problem in problems.warnings)
        warnings.warn(f"{place}: accepted {_count(problems.warnings)} in {keys}{lines}", OmnizarrWarning, stacklevel=6)
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
    return {key: _json.dump(document) for key, document in found.dump(path, node).items()}


def save(store: Store, nodes: Iterable[tuple[Dialect, str, Node]]) -> None:
    """Stores the documents of nodes, in this order."""
    store.set_each([item for found, path, node in nodes for item in dumped(found, path, node).items()])


def change(store: Store, found: Dialect, path: str, how: Callable[[N], N], kind: type[N]) -> N:
    """Changes the node at `path` as it is now, not as some handle remembers it, and gives back what was stored."""
    store.check_writable()
    keys = found.keys(path)
    limit = config.current.max_document_bytes
    for _ in range(_MOST_TRIES):
        versions = {}
        documents: dict[str, Json] = {}
        for key in keys:
            value, versions[key] = store.get_versioned(key)
            if value is not None:
                documents[key] = _json.parse(value, f"the document `{key}` in {store!r}", limit=limit)
        if not documents:
            raise NodeNotFoundError(f"{describe_place(store, path)} is gone", path=path)
        node = parse_node(found, store, path, documents)
        if not isinstance(node, kind):
            raise NodeNotFoundError(f"{describe_place(store, path)} is now another kind of node", path=path)
        after = how(node)
        if all(store.set_if(key, value, versions.get(key)) for key, value in dumped(found, path, after).items()):
            return after
    raise StoreError(f"{describe_place(store, path)} is changed by others all the time", store=repr(store), key=keys[0])
