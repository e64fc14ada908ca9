"""The locations that a server shows: which keys of a store belong to each, and the nodes in it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from threading import Lock
from typing import Any

from omnizarr.api.open_nodes import open as open_node
from omnizarr.errors import ArgumentError, InvalidKeyError, NodeNotFoundError
from omnizarr.nodes import Array, Group
from omnizarr.serve.memory import MemoryLimit
from omnizarr.store import Store, as_read_only
from omnizarr.store.contract import check_key

__all__ = ["Mount", "Site"]

_FRESH = 1.0
"""Seconds for which a node is not opened again: one view of a page asks many questions about one node."""
_MOST_NODES = 256


class Mount:
    """One location: a node, and everything below it."""

    def __init__(self, name: str, node: Array | Group) -> None:
        self.name = name
        """The first segment of its addresses; empty if the server shows one location."""
        self.node = node
        self.store: Store = as_read_only(node.store)
        self._opened: OrderedDict[str, tuple[float, Array | Group]] = OrderedDict()
        self._lock = Lock()
        dialect, path = node._context.dialect, node.path
        self._prefix = ""
        self._inside: tuple[str, ...] | None = None
        self._documents: frozenset[str] = frozenset()
        if path and dialect.separates_documents:
            # Documents and chunks lie below different prefixes, so the keys stay as they are in the store.
            self._inside = tuple(dialect.prefixes(path))
            self._documents = frozenset((*dialect.keys(path), *dialect.hierarchy_documents()))
        elif path:
            self._prefix = f"{path}/"

    def store_key(self, key: str) -> str:
        """The key in the store for a key of this location. InvalidKeyError if there can be none."""
        check_key(key)
        if self._inside is not None and key not in self._documents and not key.startswith(self._inside):
            raise InvalidKeyError(f"`{key}` is outside of the location", key=key)
        return self._prefix + key

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]] | None:
        """The names of keys and of prefixes directly below a prefix; None if they cannot be listed."""
        if not self.store.listable or self._inside is not None:
            return None
        if prefix:
            check_key(prefix.removesuffix("/"))
        whole = self._prefix + prefix
        keys, prefixes = self.store.list_dir(whole)
        return [key[len(whole) :] for key in keys], [each[len(whole) :] for each in prefixes]

    def open(self, path: str) -> Array | Group:
        """The node at a path below the location."""
        if not path:
            return self._fresh("")
        if not isinstance(self.node, Group):
            raise NodeNotFoundError(f"there is no array or group at `{path}`: the location is an array", path=path)
        return self._fresh(path)

    def _fresh(self, path: str) -> Array | Group:
        now = time.monotonic()
        with self._lock:
            known = self._opened.get(path)
            if known is not None and now - known[0] < _FRESH:
                return known[1]
        node = self._load(path)
        with self._lock:
            self._opened[path] = now, node
            self._opened.move_to_end(path)
            while len(self._opened) > _MOST_NODES:
                self._opened.popitem(last=False)
        return node

    def _load(self, path: str) -> Array | Group:
        consolidated = None if isinstance(self.node, Group) and self.node.consolidated else False
        if path:
            group = self._fresh("")
            assert isinstance(group, Group)
            return group[path]
        return open_node(self.store, path=self.node.path, mode="r", use_consolidated=consolidated)


class Site:
    """All locations of a server."""

    def __init__(self, mounts: Sequence[Mount]) -> None:
        self.mounts = tuple(mounts)
        self.memory = MemoryLimit()

    @classmethod
    def of(
        cls,
        locations: Sequence[Any],
        *,
        storage_options: Mapping[str, Any] | None = None,
        use_consolidated: bool | None = None,
    ) -> Site:
        """Opens locations: paths, URLs, stores or nodes."""
        if not locations:
            raise ArgumentError("expected at least one location", argument="locations")
        nodes = []
        for location in locations:
            if isinstance(location, (Array, Group)):
                nodes.append(location)
            elif isinstance(location, str):
                from omnizarr.tools import open_location  # lazy import: it searches the hierarchy

                options = dict(storage_options or {})
                nodes.append(open_location(location, storage_options=options, use_consolidated=use_consolidated).node)
            else:
                nodes.append(open_node(location, mode="r", use_consolidated=use_consolidated))
        if len(nodes) == 1:
            return cls([Mount("", nodes[0])])
        names = _names([_title(node) for node in nodes])
        return cls([Mount(name, node) for name, node in zip(names, nodes, strict=True)])

    def find(self, path: str) -> tuple[Mount, str] | None:
        """The location that a path, without a leading slash, leads to, and the rest of the path."""
        if len(self.mounts) == 1:
            return self.mounts[0], path
        name, _, rest = path.partition("/")
        return next(((mount, rest) for mount in self.mounts if mount.name == name), None)


def _title(node: Array | Group) -> str:
    """The last part of a location, for people and addresses."""
    place = node.path or node.store.location
    return PurePosixPath(place.replace("\\", "/")).name or "data"


def _names(titles: Sequence[str]) -> list[str]:
    """The titles, made different by numbers."""
    names: list[str] = []
    for title in titles:
        name, number = title, 2
        while name in names:
            name, number = f"{title}-{number}", number + 1
        names.append(name)
    return names
