"""From a URL to a store: the schemes of omnizarr, and those that other packages register."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from omnizarr._fork import import_library
from omnizarr._json import nearest
from omnizarr._registry import Registry, subclass_of
from omnizarr.errors import ArgumentError, LocationError, OmnizarrError
from omnizarr.store.contract import Store
from omnizarr.store.local.store import LocalStore
from omnizarr.store.wrappers import PrefixStore

__all__ = ["check_scheme", "open_store", "plain_url", "scheme_of", "store_at", "stores"]

Opener: TypeAlias = Callable[..., Store]
"""Opens a store; called with the URL, and the user's `storage_options` as keyword arguments."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+")  # a single letter is a drive of Windows

_store_class = subclass_of(Store)


def _as_opener(value: Any) -> Opener:
    """A function; or a class of stores, called with the URL if it has no `from_url`."""
    if isinstance(value, type):
        opener: Opener = getattr(_store_class(value), "from_url", value)
        return opener
    if not callable(value):
        raise TypeError(f"expected a class of stores, or a function that gives one, found {value!r}")
    opener = value
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
    """A web address with `%` escapes decoded, as in keys. URLs of other schemes have no escapes."""
    if scheme_of(url) not in ("http", "https"):
        return url
    text: str = import_library("urllib.parse").unquote(url)
    return text


def store_at(url: str, scheme: str, storage_options: Mapping[str, Any]) -> Store:
    """The store at a URL of this scheme."""
    opener = stores.get(scheme)
    if opener is None:
        from omnizarr.store.fsspec_ import FsspecStore  # lazy import: rarely needed
        from omnizarr.store.fsspec_.library import fsspec_installed, fsspec_knows

        if fsspec_knows(scheme):
            opener = FsspecStore.from_url
    if opener is None:
        hint = "a package can offer it, by the package entry point `omnizarr.stores`"
        if not fsspec_installed():
            hint = f'fsspec may know it: run `pip install "omnizarr[fsspec]"`; or {hint}'
        known = " ".join(f"`{name}://`" for name in stores.names())
        raise LocationError(
            f"no store is registered for `{scheme}://`; known are {known}",
            hint=nearest(scheme, stores.names()) or hint,
        )
    return open_store(opener, (url,), storage_options, f"{scheme}://")


def open_store(opener: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any], what: str) -> Store:
    """Call an opener; options that it does not accept are rejected first, and its errors become LocationError.

    `what` is the beginning of the address. Errors show no more of it, because the rest may contain a password.
    """
    if options:
        _check_options(opener, arguments, what, options)
    try:
        store = opener(*arguments, **options)
    except OmnizarrError:
        raise
    except Exception as error:
        raise LocationError(f"the store of this `{what}` address: {type(error).__name__}: {error}") from error
    if not isinstance(store, Store):
        raise LocationError(f"the function registered for `{what}` returned a {type(store).__name__}, expected a store")
    return store


def _check_options(
    opener: Callable[..., Any], arguments: tuple[Any, ...], what: str, options: Mapping[str, Any]
) -> None:
    signature = import_library("inspect").signature  # lazy import: only with options

    try:
        parameters = signature(opener)
    except (TypeError, ValueError):  # a C function without a signature checks its options itself
        return
    try:
        parameters.bind(*arguments, **options)
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
