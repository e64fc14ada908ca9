"""Containers: stores that lie in one value of another store, such as an archive in a bucket, by name and suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from omnizarr._json import nearest
from omnizarr._registry import Registry
from omnizarr.errors import LocationError
from omnizarr.store.address.schemes import open_store
from omnizarr.store.contract import Store

__all__ = ["Container", "container_of", "containers", "folders", "may_be_folder", "open_container", "suffixes"]

Container: TypeAlias = Callable[..., Store]
"""Opens the store in a value; called with the outer store, the key, and the user's options as keyword arguments."""


def _as_container(value: Any) -> Container:
    if not callable(value):
        raise TypeError(f"expected a function that returns a store, found {value!r}")
    container: Container = value
    return container


containers: Registry[Container] = Registry("container", "omnizarr.containers", _as_container)
"""By their name in an address, as in `zip::s3://bucket/data.zip`."""

suffixes: dict[str, str] = {
    ".zip": "zip",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".sqldb": "sqlite",
    ".json": "reference",
    ".parq": "reference",
}
"""The containers that are recognised by the suffix of a file name."""

folders = frozenset({".parq"})
"""The suffixes of containers that are folders; a folder with another of the suffixes is no container."""


def container_of(name: str) -> str | None:
    """The container for the suffix of a file name, if there is one."""
    dot = name.rfind(".")
    return suffixes.get(name[dot:].lower()) if dot > 0 else None


def may_be_folder(name: str) -> bool:
    """Whether a container with this name is a folder."""
    return name[name.rfind(".") :].lower() in folders


def open_container(name: str, store: Store, key: str, options: Mapping[str, Any]) -> Store:
    """The store in the value of `key` in another store."""
    opener = containers.get(name)
    if opener is None:
        known = " ".join(f"`{other}::`" for other in containers.names())
        raise LocationError(
            f"no container `{name}::` is registered; known are {known or 'none'}",
            hint=nearest(name, containers.names()),
        )
    return open_store(opener, (store, key), options, f"{name}::")


containers.offer("zip", "omnizarr.store.zip:open_inside")
containers.offer("sqlite", "omnizarr.store.sqlite:open_inside")
containers.offer("reference", "omnizarr.store.references:open_inside")
