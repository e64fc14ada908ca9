"""Required verbs of a store, derived from others: whole values from parts (S61), one listing from another (S62)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from omnizarr.errors import StoreError
from omnizarr.store.values import check_prefix

__all__ = ["derive_verbs"]


def _set_each(store: Any, items: Iterable[tuple[str, Any]]) -> None:
    """Set values by `set_partial_values`. A longer old value is erased first, so readers may miss it briefly."""
    store.check_writable()
    for key, value in items:
        size = store.size(key)
        if size is not None and size > len(value):
            store.erase(key)
        store.set_partial_values([(key, 0, value)])


def _filter_list(store: Any, prefix: str) -> Iterator[str]:
    """The keys that start with `prefix`, by `list`."""
    prefix = check_prefix(prefix)
    return (key for key in store.list() if key.startswith(prefix))


def _walk(store: Any, prefix: str) -> Iterator[str]:
    """The keys that start with `prefix`, by `list_dir`."""
    pending = [check_prefix(prefix)]
    while pending:
        parent = pending.pop()
        keys, prefixes = store.list_dir(parent)
        for name in (*keys, *prefixes):
            # Names without their prefix would list the same directories again, without end.
            if not name.startswith(parent) or name == parent:
                raise StoreError(
                    f"`list_dir({parent!r})` of {store!r}: expected keys and prefixes that start with "
                    f"{parent!r} and are longer, found {name!r}; this is a bug in the store",
                    store=repr(store),
                )
        yield from keys
        pending += reversed(prefixes)


_DERIVATIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "set_each": {"set_partial_values": _set_each},
    "list_prefix": {"list": _filter_list, "list_dir": _walk},
}
"""Verbs that can be required, and for each the verbs that it can be derived from."""


def derive_verbs(cls: type, base: type) -> None:
    """Give the class of a store the required verbs that it lacks, if it has a verb of its own to derive them from.

    `base` has the fallbacks of these verbs, which call the required ones.
    """
    for verb, sources in _DERIVATIONS.items():
        if not getattr(getattr(cls, verb), "__isabstractmethod__", False):
            continue
        for source, derived in sources.items():
            if getattr(cls, source) is not getattr(base, source):
                setattr(cls, verb, derived)
                break
