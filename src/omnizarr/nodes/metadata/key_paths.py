"""The paths of nodes that the keys of a store, or of consolidated metadata, show; without requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from omnizarr.formats import Dialect
from omnizarr.formats.document_keys import STATISTICS_PREFIX
from omnizarr.model import join_path

__all__ = ["listings_of", "node_paths"]

_STATISTICS = STATISTICS_PREFIX[:-1]


def listings_of(prefix: str, keys: Iterable[str]) -> dict[str, tuple[list[str], list[str]]]:
    """The results of `list_dir` for `prefix` and all prefixes below it, from all keys below it."""
    listings: dict[str, tuple[list[str], list[str]]] = {prefix: ([], [])}
    for key in sorted(keys):
        parent = key[: key.rfind("/") + 1]
        missing = []
        while parent not in listings:
            missing.append(parent)
            parent = parent[: parent.rfind("/", 0, -1) + 1]
        for below in reversed(missing):
            listings[parent][1].append(below)
            listings[below] = ([], [])
            parent = below
        listings[parent][0].append(key)
    return listings


def node_paths(dialect: Dialect, top: str, keys: Collection[str]) -> list[str]:
    """The path `top`, and the paths of all nodes below it that have a document among `keys`."""
    prefix = dialect.listing_prefix(top)
    listings = listings_of(prefix, (key for key in keys if key.startswith(prefix)))
    paths = [top]
    for path in paths:  # it grows
        for child in dialect.children(path, listings.get(dialect.listing_prefix(path), ([], []))):
            below = join_path(path, child.name)
            if child.name == _STATISTICS:  # a hierarchy of its own, below an array
                continue
            if dialect.implicit_groups or any(key in keys for key in dialect.identifying_keys(below)):
                paths.append(below)
    return paths
