"""Stacks of storage transformers: array → first → … → last → store (S63, R122)."""

from __future__ import annotations

from collections.abc import Sequence

from omnizarr.errors import ArgumentError
from omnizarr.store import Store
from omnizarr.transformers.contract import ArrayPlace, StorageTransformer

__all__ = ["array_store", "wrap_all"]


def wrap_all(store: Store, transformers: Sequence[StorageTransformer], place: ArrayPlace) -> Store:
    """The store that the array at `place` uses, if its chunks pass through `transformers` on their way to `store`."""
    places = []
    above = None
    for transformer in transformers:
        if above is not None and transformer.layout:
            raise ArgumentError(
                f"`{above.name}` must be the last storage transformer, but `{transformer.name}` follows it, which "
                "would receive no chunks",
                argument="storage_transformers",
                hint=f"put `{above.name}` at the end of the list",
            )
        above = transformer if transformer.last else above
        places.append(place)
        place = transformer.below(place)
    for transformer, seen in zip(reversed(transformers), reversed(places), strict=True):
        store = transformer.wrap(store, seen)
    return store


def array_store(
    store: Store,
    place: ArrayPlace,
    stored: Sequence[StorageTransformer] = (),
    runtime: Sequence[StorageTransformer] = (),
) -> Store:
    """The store for the chunks of an array. Below the array come the `runtime` transformers, which are given when it is
    opened, then the `stored` ones, which its document names. A runtime transformer must not change what is stored,
    because other programs could not read it."""
    for transformer in runtime:
        if transformer.layout:
            raise ArgumentError(
                f"{transformer!r} changes what is stored, but the document of the array does not name it",
                argument="storage_transformers",
                hint="name it when the array is created; only caches and the like can be given when it is opened",
            )
    return wrap_all(store, [*runtime, *stored], place) if runtime or stored else store
