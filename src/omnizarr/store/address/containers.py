"""Stores that lie in one value of another store, such as an archive in a bucket: who opens them, by name and suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from omnizarr._json import nearest
from omnizarr._registry import Registry
from omnizarr.errors import LocationError
from omnizarr.store.address.schemes import opened
from omnizarr.store.contract import Store

__all__ = ["Container", "container_of", "containers", "folders", "may_be_folder", "open_container", "suffixes"]

Container: TypeAlias = Callable[..., Store]
"""Gives the store that lies under a key; called with the store that has it, the key, and the user's options by name."""


def _as_container(found: Any) -> Container:
    if not callable(found):
        raise TypeError(f"expected a function that gives a store, found {found!r}")
    container: Container = found
    return container


containers: Registry[Container] = Registry("container", "omnizarr.containers", _as_container)
"""By the name that stands in an address, as in `zip::s3://bucket/data.zip`."""

suffixes: dict[str, str] = {
    ".zip": "zip",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".sqldb": "sqlite",
    ".json": "reference",
    ".parq": "reference",
}
"""The names of the containers that are recognised by how a file's name ends, so that they need not be named."""

folders = frozenset({".parq"})
"""The endings of those that are folders; others that are called so are folders like any other."""


def container_of(name: str) -> str | None:
    """The container that a file of this name is, as far as its name tells."""
    dot = name.rfind(".")
    return suffixes.get(name[dot:].lower()) if dot > 0 else None


def may_be_folder(name: str) -> bool:
    """Whether a container of this name is a folder."""
    return name[name.rfind(".") :].lower() in folders


def open_container(name: str, store: Store, key: str, options: Mapping[str, Any]) -> Store:
    """The store of that kind which lies under `key` of another one."""
    opener = containers.get(name)
    if opener is None:
        known = " ".join(f"`{one}::`" for one in containers.names())
        raise LocationError(
            f"`{name}::` is nothing that can be opened here; known are {known or 'none'}",
            hint=nearest(name, containers.names()),
        )
    return opened(opener, (store, key), options, f"{name}::")


containers.offer("zip", "omnizarr.store.zip:open_inside")
containers.offer("sqlite", "omnizarr.store.sqlite:open_inside")
containers.offer("reference", "omnizarr.store.references:open_inside")
