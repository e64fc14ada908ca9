"""The target files of references: which of them may be read, and from which store.

A reference file is data, and data must not choose which files of a machine are read. A target is therefore used only if
it lies beside the reference file, or below a location that the user allows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from omnizarr.errors import ArgumentError, InvalidKeyError, StoreError
from omnizarr.store.address.file_urls import url_to_path
from omnizarr.store.address.schemes import plain_url, scheme_of, store_at
from omnizarr.store.contract import Store, check_key
from omnizarr.store.local.store import LocalStore

__all__ = ["Target", "Targets", "shown"]

_DRIVE = re.compile(r"[A-Za-z]:[/\\]")


class Target(NamedTuple):
    """A file as a key of a store."""

    store: Store
    key: str


class Targets:
    """The target files that may be read."""

    def __init__(
        self, beside: Store | None, prefix: str, allow: Iterable[str | os.PathLike[str]], options: Mapping[str, Any]
    ) -> None:
        if isinstance(allow, (str, os.PathLike)):
            raise ArgumentError("`allow`: expected a list of paths and URLs, found a single one", argument="allow")
        self._beside = beside
        self._prefix = prefix  # of the keys beside the references
        self._options = dict(options)
        self._folders: list[tuple[str, LocalStore]] = []
        self._urls: list[str] = []
        self.allowed = tuple(os.fspath(place) for place in allow)
        for place in self.allowed:
            scheme = scheme_of(place)
            if scheme is None or scheme == "file":
                folder = _local(place)
                self._folders.append((folder, LocalStore(folder)))
            else:
                self._urls.append(plain_url(place))
        file_beside = None if beside is None else beside.file(f"{prefix}references")
        if file_beside is not None:
            folder = os.path.dirname(file_beside)
            self._folders.append((folder, LocalStore(folder)))
        self._near = None if beside is None else f"{beside.location.removesuffix('/')}/{prefix}"
        self._stores: dict[str, Store] = {}
        self._found: dict[str, Target] = {}

    def find(self, url: str, store: str) -> Target:
        """The file of a reference; refused if it may not be read."""
        found = self._found.get(url)
        if found is None:
            found = self._looked_up(url, store)
            if len(self._found) < 100_000:
                self._found[url] = found
        return found

    def _looked_up(self, url: str, store: str) -> Target:
        scheme = scheme_of(url)
        try:
            if scheme is None and not os.path.isabs(url) and not _DRIVE.match(url):
                if self._beside is not None:
                    check_key(url)
                    return Target(self._beside, self._prefix + url)
            elif scheme is None or scheme == "file":
                return self._local_target(_local(url))
            else:
                return self._remote_target(url, scheme)
        except (InvalidKeyError, _NotAllowed):
            pass
        raise StoreError(
            f"{store} refers to `{shown(url)}`, which is neither beside it nor in an allowed location",
            hint="if you trust it, allow it: `ReferenceStore(…, allow=[…])`, or `storage_options={'allow': […]}`",
            store=store,
        )

    def _local_target(self, path: str) -> Target:
        for folder, store in self._folders:
            if path == folder:  # a single file was allowed
                return Target(LocalStore(os.path.dirname(folder)), os.path.basename(folder))
            below = folder if folder.endswith(os.sep) else folder + os.sep
            if path.startswith(below):
                key = path[len(below) :].replace(os.sep, "/")
                check_key(key)
                return Target(store, key)  # this store follows no links
        raise _NotAllowed

    def _remote_target(self, url: str, scheme: str) -> Target:
        url = plain_url(url)
        if self._beside is not None and self._near is not None and url.startswith(self._near):
            check_key(url[len(self._near) :])
            return Target(self._beside, self._prefix + url[len(self._near) :])  # with the same options
        for place in self._urls:
            below = place if place.endswith("/") else place + "/"
            if url == place or url.startswith(below):
                host, slash, key = url[len(scheme) + 3 :].partition("/")
                if not slash:
                    raise _NotAllowed
                check_key(key)
                root = url[: len(scheme) + 3] + host
                if root not in self._stores:
                    options = self._options.get(scheme, self._options)
                    self._stores[root] = store_at(root, scheme, options)
                return Target(self._stores[root], key)
        raise _NotAllowed


class _NotAllowed(Exception):
    pass


def _local(place: str) -> str:
    path = str(url_to_path(place, type(PurePath()))) if scheme_of(place) == "file" else place
    if ".." in re.split(r"[/\\]", path):
        raise InvalidKeyError(f"{place!r} contains `..`", key=place)
    return os.path.abspath(path)


def shown(url: str) -> str:
    """A URL for an error, without a possible password."""
    return re.sub(r"//[^/@]*@", "//…@", url.partition("?")[0])[:200]
