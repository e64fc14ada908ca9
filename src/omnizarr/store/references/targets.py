"""The target files of references: which of them may be read, and from which store.

References are data, and data must not choose which files of a machine are read. A target is therefore read only if it
is in the folder of the references, or below a location that the user allows.
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

__all__ = ["Target", "Targets", "without_password"]

_DRIVE = re.compile(r"[A-Za-z]:[/\\]")


class Target(NamedTuple):
    """A file as a key of a store."""

    store: Store
    key: str


class Targets:
    """The target files that may be read."""

    def __init__(
        self,
        store: Store | None,
        prefix: str,
        allow: Iterable[str | os.PathLike[str]],
        options: Mapping[str, Any],
        *,
        hint: str = "if you trust it, allow it: `ReferenceStore(…, allow=[…])`, or `storage_options={'allow': […]}`",
    ) -> None:
        if isinstance(allow, (str, os.PathLike)):
            raise ArgumentError("`allow`: expected a list of paths and URLs, found a single one", argument="allow")
        self._store = store
        self._prefix = prefix  # of the keys in the folder of the references
        self._options = dict(options)
        self._hint = hint
        self._folders: list[tuple[str, LocalStore]] = []
        self._urls: list[str] = []
        self.allowed = tuple(os.fspath(address) for address in allow)
        for address in self.allowed:
            scheme = scheme_of(address)
            if scheme is None or scheme == "file":
                folder = _absolute_path(address)
                self._folders.append((folder, LocalStore(folder)))
            else:
                self._urls.append(plain_url(address))
        file = None if store is None else store.file(f"{prefix}references")
        if file is not None:
            folder = os.path.dirname(file)
            self._folders.append((folder, LocalStore(folder)))
        self._folder_url = None if store is None else f"{store.location.removesuffix('/')}/{prefix}"
        self._stores: dict[str, Store] = {}
        self._targets: dict[str, Target] = {}

    def find(self, url: str, store: str) -> Target:
        """The file of a reference. Raises StoreError, which names the `store`, if it may not be read."""
        target = self._targets.get(url)
        if target is None:
            target = self._locate(url, store)
            if len(self._targets) < 100_000:
                self._targets[url] = target
        return target

    def _locate(self, url: str, store: str) -> Target:
        scheme = scheme_of(url)
        try:
            if scheme is None and not os.path.isabs(url) and not _DRIVE.match(url):
                if self._store is not None:
                    check_key(url)
                    return Target(self._store, self._prefix + url)
            elif scheme is None or scheme == "file":
                return self._local_target(_absolute_path(url))
            else:
                return self._remote_target(url, scheme)
        except (InvalidKeyError, _NotAllowed):
            pass
        raise StoreError(
            f"{store} refers to `{without_password(url)}`, which is neither in its folder nor in an allowed location",
            hint=self._hint,
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
        if self._store is not None and self._folder_url is not None and url.startswith(self._folder_url):
            check_key(url[len(self._folder_url) :])
            return Target(self._store, self._prefix + url[len(self._folder_url) :])  # with the same options
        for allowed in self._urls:
            below = allowed if allowed.endswith("/") else allowed + "/"
            if url == allowed or url.startswith(below):
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


def _absolute_path(address: str) -> str:
    path = str(url_to_path(address, type(PurePath()))) if scheme_of(address) == "file" else address
    if ".." in re.split(r"[/\\]", path):
        raise InvalidKeyError(f"{address!r} contains `..`", key=address)
    return os.path.abspath(path)


def without_password(url: str) -> str:
    """A URL for an error, without a possible password."""
    return re.sub(r"//[^/@]*@", "//…@", url.partition("?")[0])[:200]
