"""All documents below a group, from one listing and few batches of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from omnizarr.errors import OmnizarrError
from omnizarr.formats import Dialect
from omnizarr.model import join_path
from omnizarr.nodes.metadata.documents import document_values
from omnizarr.nodes.metadata.key_paths import listings_of
from omnizarr.store import Buffer, Store

__all__ = ["WholeListing"]

_BATCH = 10_000  # documents, of about 1 KB each, that are in memory at once


class WholeListing:
    """The groups below a path of a generation that keeps documents apart from chunks. Each value is taken once, in the
    order in which `Group.members` visits nodes."""

    def __init__(self, store: Store, dialect: Dialect, path: str) -> None:
        prefix = dialect.listing_prefix(path)
        self._store = store
        self.listings = listings_of(prefix, store.list_prefix(prefix))
        """What `list_dir` would return, by prefix."""
        self._keys = _document_keys(dialect, path, self.listings)
        self._values: dict[str, Buffer | OmnizarrError | None] = {}

    def take(self, keys: Iterable[str]) -> dict[str, Buffer | OmnizarrError | None]:
        """The stored values of documents, as `document_values` returns them."""
        keys = list(keys)
        while any(key not in self._values for key in keys):
            batch = list(islice(self._keys, _BATCH))
            if not batch:
                break
            self._values.update(document_values(self._store, batch, each=True))
        missing = [key for key in keys if key not in self._values]
        return {key: self._values.pop(key) for key in keys if key in self._values} | document_values(
            self._store, missing, each=True
        )


def _document_keys(dialect: Dialect, top: str, listings: dict[str, tuple[list[str], list[str]]]) -> Iterator[str]:
    """The keys of all documents below `top`, level by level."""
    paths = [top]
    for path in paths:  # it grows
        for child in sorted(dialect.children(path, listings.get(dialect.listing_prefix(path), ([], [])))):
            below = join_path(path, child.name)
            yield from dialect.keys(below) if child.keys is None else child.keys
            if dialect.listing_prefix(below) in listings:
                paths.append(below)
