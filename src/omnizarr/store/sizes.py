"""`list_sizes`: the keys of a store with the lengths of their values, in one listing where the store has both."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from omnizarr.store.contract import Store

__all__ = ["list_sizes"]

_REQUESTS = 32  # in flight, to a remote store that lists no lengths
_BATCH = 1000  # keys whose lengths are asked for together
_VERBS = ("list_prefix", "size", "get")


def list_sizes(store: Store, prefix: str) -> Iterator[tuple[str, int]]:
    """Every key that starts with `prefix`, with the length of its value. Local stores and buckets list both; other
    stores are asked for each length."""
    if _lists_sizes(store):
        yield from store._list_sizes(prefix)  # type: ignore[attr-defined]
        return
    keys = store.list_prefix(prefix)
    if not store.remote:
        yield from ((key, size) for key in keys if (size := store.size(key)) is not None)
        return
    with ThreadPoolExecutor(_REQUESTS) as pool:
        while batch := list(islice(keys, _BATCH)):
            sizes = pool.map(store.size, batch)
            yield from ((key, size) for key, size in zip(batch, sizes, strict=True) if size is not None)


def _lists_sizes(store: Store) -> bool:
    """Whether `_list_sizes` of the store says the same as its verbs: a subclass may have overridden one of them."""
    kinds = type(store).__mro__
    definers = [next((kind for kind in kinds if name in vars(kind)), None) for name in ("_list_sizes", *_VERBS)]
    return definers[0] is not None and all(kind is definers[0] for kind in definers)
