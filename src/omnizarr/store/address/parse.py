"""From an address, which is a path or a URL, to a store and the path of a node in it.

    data.zarr                      a folder
    s3://bucket/data.zarr          what the scheme is registered for
    data.zarr.zip/a/b              the node `a/b` in an archive, recognised by its suffix
    zip::s3://bucket/data          an archive without such a suffix; `zip://a/b::…` is a node in it
    s3://bucket/data|zip:a/b       the same, in the order from the outer to the inner store
    simplecache::https://server/x  an address that fsspec parses

Parsing sends a request only for a part of the address that has the suffix of a container, to check that it is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from omnizarr._fork import import_library
from omnizarr.errors import LocationError
from omnizarr.store.address.containers import container_of, containers, may_be_folder, open_container, suffixes
from omnizarr.store.address.file_urls import url_to_path
from omnizarr.store.address.schemes import open_store, plain_url, scheme_of, store_at
from omnizarr.store.contract import Store
from omnizarr.store.local.store import LocalStore

__all__ = ["Location", "locate", "value_at"]

_STEP = re.compile(r"([a-z][a-z0-9+.-]+)(?:://(.*))?", re.DOTALL)
_PIPE = re.compile(r"\|([a-z][a-z0-9+.-]+):")
_PART_OF_URL = re.compile(r"(?<=[^/]/)[^/]+")
_PART_OF_PATH = re.compile(r"[^/\\]+") if os.sep == "\\" else re.compile(r"[^/]+")


class Location(NamedTuple):
    """A store, and the path of a node in it."""

    store: Store
    path: str = ""


class _Step(NamedTuple):
    """A container, and a path in it."""

    name: str
    path: str


def locate(address: str, options: Mapping[str, Any] | None = None) -> Location:
    """The location of an address. `options` are for the first store of the address; those for a container are nested
    under its name, or on the top level if the first store takes none."""
    base, steps = _parts(address)
    remaining = dict(options or {})
    if not base:
        raise LocationError("the path is empty")
    if not steps:
        return _container_by_suffix(base, remaining) or Location(_plain_store(base, remaining))
    foreign = next((step.name for step in steps if step.name not in containers), None)
    if foreign is not None:
        from omnizarr.store.fsspec_ import FsspecStore  # lazy import: rarely needed
        from omnizarr.store.fsspec_.library import fsspec_knows

        if fsspec_knows(foreign):  # fsspec parses the whole address
            return Location(open_store(FsspecStore.from_url, (address,), remaining, f"{foreign}::"))
    step_options = [_pop_options(step.name, remaining, all=scheme_of(base) is None) for step in steps]
    store, key = value_at(base, remaining)
    for step, own in zip(steps, step_options, strict=True):  # each container is in the value of the step before it
        store, key = open_container(step.name, store, key, own), step.path.strip("/")
    return Location(store, key)


def _local_path(url: str) -> str:
    return str(url_to_path(url, type(import_library("pathlib").PurePath())))


def value_at(address: str, options: Mapping[str, Any] | None = None) -> tuple[Store, str]:
    """The store and the key of the value at a path or a URL."""
    scheme = scheme_of(address)
    if scheme == "file":
        address = _local_path(address)
    elif scheme is not None:
        start, mark, query = address.partition("?")
        folder, _, name = start.rstrip("/").rpartition("/")
        if len(folder) <= len(scheme) + 3:  # the first part is a host or a bucket
            raise LocationError(f"this `{scheme}://` address names no file")
        store = store_at(folder + mark + query, scheme, options or {})
        return store, plain_url(f"{scheme}://{name}").partition("://")[2]
    folder, name = os.path.split(os.path.abspath(address))
    if not name:
        raise LocationError(f"`{address}` names no file")
    return _plain_store(folder, options or {}), name


def _plain_store(base: str, options: Mapping[str, Any]) -> Store:
    scheme = scheme_of(base)
    if scheme is not None:
        return store_at(base, scheme, options)
    if options:
        raise LocationError("`storage_options` are only for URLs, and this is a path")
    return LocalStore(base)


def _parts(address: str) -> tuple[str, list[_Step]]:
    """The first store of an address, and the containers after it."""
    if "::" in address:
        *before, base = address.split("::")
        matches = [_STEP.fullmatch(part) for part in before]
        # A folder may have such a name, unless the text names a container or cannot be a path.
        if all(matches) and (_is_container(matches[0]) or scheme_of(base) is not None):
            return base, [_Step(match[1], match[2] or "") for match in reversed(matches) if match]
    base, *rest = _PIPE.split(address)
    if rest and all(name in containers for name in rest[::2]):
        return base, [_Step(name, path) for name, path in zip(rest[::2], rest[1::2], strict=True)]
    return address, []


def _is_container(match: re.Match[str] | None) -> bool:
    return match is not None and match[1] in containers


def _pop_options(name: str, options: dict[str, Any], *, all: bool) -> dict[str, Any]:
    """Remove the options of a container from `options` and return them."""
    own = options.pop(name, {})
    if not isinstance(own, Mapping):
        raise LocationError(
            f"`storage_options`: expected a dict of options under `{name}`, found a {type(own).__name__}"
        )
    own = dict(own)
    if all:
        own |= options
        options.clear()
    return own


def _container_by_suffix(base: str, options: dict[str, Any]) -> Location | None:
    """The location, if a part of the address has the suffix of a container and is one, or could become one."""
    lower = base.lower()
    if not any(suffix in lower for suffix in suffixes):
        return None
    scheme = scheme_of(base)
    if scheme is None or scheme == "file":
        return _container_in_path(base if scheme is None else _local_path(base), options)
    text, mark, query = base.partition("?")
    for match in _PART_OF_URL.finditer(text, text.index("://") + 3):
        name = container_of(match[0])
        if name is not None:
            own = _pop_options(name, options, all=False)
            store, key = value_at(text[: match.end()] + mark + query, options)
            if store.size(key) is not None:
                return Location(open_container(name, store, key, own), text[match.end() :])
    return None


def _container_in_path(path: str, options: dict[str, Any]) -> Location | None:
    for match in _PART_OF_PATH.finditer(path):
        name = container_of(match[0])
        if name is not None and (may_be_folder(match[0]) or not os.path.isdir(path[: match.end()])):
            own = _pop_options(name, options, all=True)
            return Location(
                open_container(name, *value_at(path[: match.end()]), own), path[match.end() :].replace(os.sep, "/")
            )
    return None
