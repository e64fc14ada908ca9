"""From a URL to a store: the schemes of omnizarr, and those that other packages register."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from omnizarr._json import nearest
from omnizarr._registry import Registry, subclass_of
from omnizarr.errors import ArgumentError, LocationError, OmnizarrError
from omnizarr.store.contract import Store
from omnizarr.store.local.store import LocalStore
from omnizarr.store.wrappers import PrefixStore

__all__ = ["check_scheme", "opened", "plain_url", "scheme_of", "store_at", "stores"]

Opener: TypeAlias = Callable[..., Store]
"""Opens a store; called with the URL, and the user's `storage_options` as keyword arguments."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+")  # a single letter is a drive of Windows

_store_class = subclass_of(Store)


def _as_opener(found: Any) -> Opener:
    """A function; or a class of stores, which is given the URL itself if it has no `from_url`."""
    if isinstance(found, type):
        opener: Opener = getattr(_store_class(found), "from_url", found)
        return opener
    if not callable(found):
        raise TypeError(f"expected a class of stores, or a function that gives one, found {found!r}")
    opener = found
    return opener


stores: Registry[Opener] = Registry("store", "omnizarr.stores", _as_opener)
"""By scheme, in lower case."""


def check_scheme(scheme: str) -> str:
    """`scheme`, if a store can be registered for it."""
    if not isinstance(scheme, str) or not _SCHEME.fullmatch(scheme):
        raise ArgumentError(
            f"{scheme!r} is no scheme for URLs",
            argument="scheme",
            hint="expected two or more lower-case letters, digits, `+`, `-` and `.`, starting with a letter",
        )
    return scheme


def scheme_of(text: str) -> str | None:
    """The scheme, if `text` is a URL and not a path."""
    scheme, separator, _ = text.partition("://")
    return scheme.lower() if separator and _SCHEME.fullmatch(scheme.lower()) else None


def plain_url(url: str) -> str:
    """A web address with the characters that `%` stands for, as keys have them; other URLs are written so anyway."""
    if scheme_of(url) not in ("http", "https"):
        return url
    from urllib.parse import unquote

    return unquote(url)


def store_at(url: str, scheme: str, storage_options: Mapping[str, Any]) -> Store:
    """The store at a URL of this scheme."""
    opener = stores.get(scheme)
    if opener is None:
        from omnizarr.store.fsspec_ import FsspecStore  # lazy import: rarely needed
        from omnizarr.store.fsspec_.library import fsspec_installed, fsspec_knows

        if fsspec_knows(scheme):
            opener = FsspecStore.from_url
    if opener is None:
        another = "a package can offer it, by the entry point `omnizarr.stores`"
        if not fsspec_installed():
            another = f'fsspec may know it: run `pip install "omnizarr[fsspec]"`; or {another}'
        known = " ".join(f"`{name}://`" for name in stores.names())
        meant = nearest(scheme, stores.names())
        raise LocationError(
            f"no store is registered for `{scheme}://`; known are {known}",
            hint=meant or another,
        )
    return opened(opener, (url,), storage_options, f"{scheme}://")


def opened(opener: Callable[..., Any], place: tuple[Any, ...], options: Mapping[str, Any], what: str) -> Store:
    """The store that an opener gives for a place. Options that it does not take are refused before it is called, and
    what goes wrong there is one of our errors; `what` is the beginning of the address, the only part that is repeated,
    because the rest of it may hold a password."""
    if options:
        _check_options(opener, place, what, options)
    try:
        found = opener(*place, **options)
    except OmnizarrError:
        raise
    except Exception as error:
        raise LocationError(f"the store of this `{what}` address: {type(error).__name__}: {error}") from error
    if not isinstance(found, Store):
        raise LocationError(f"the function registered for `{what}` returned a {type(found).__name__}, expected a store")
    return found


def _check_options(opener: Callable[..., Any], place: tuple[Any, ...], what: str, options: Mapping[str, Any]) -> None:
    from inspect import signature  # lazy import: only with options

    try:
        takes = signature(opener)
    except (TypeError, ValueError):  # a C function without a signature checks its options itself
        return
    try:
        takes.bind(*place, **options)
    except TypeError as error:
        names = ", ".join(sorted(options))
        raise LocationError(f"`{what}` does not take these `storage_options`: {names} ({error})") from None


_memory: dict[str, Store] = {}  # `memory://name` is the same store everywhere in this process


def _in_memory(url: str) -> Store:
    from omnizarr.store.memory import MemoryStore  # lazy import: most programs use files

    name, _, below = url.partition("://")[2].partition("/")
    store = _memory.setdefault(name, MemoryStore(name=name))
    below = below.strip("/")
    return PrefixStore(store, below) if below else store


def _in_a_bucket(url: str, **storage_options: Any) -> Store:
    from omnizarr.store.object import ObjectStore  # lazy import: rarely needed

    return ObjectStore.from_url(url, **storage_options)


stores.register("file", LocalStore)
for _scheme in ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https"):
    stores.register(_scheme, _in_a_bucket)
stores.register("memory", _in_memory)
