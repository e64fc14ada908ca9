"""Calls of an fsspec file system: timeouts, retries, locks for file systems with a single connection, and forks."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from omnizarr.store.fsspec_.library import fsspec_library
from omnizarr.store.object.options import deobfuscate, obfuscate
from omnizarr.store.requests.window import Window

__all__ = ["ABSENT", "Filesystem", "may_pass"]

R = TypeVar("R")

ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError, KeyError)
"""What file systems raise for a path that holds no file."""


class Filesystem:
    """An fsspec file system, which is created again after a fork, as fsspec requires."""

    def __init__(self, instance: Any, max_concurrency: int, timeout: float, max_retries: int) -> None:
        self._instance = instance
        self._max_concurrency = max_concurrency
        self._timeout = timeout
        self._max_retries = max_retries
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        protocol = self._instance.protocol
        names = {protocol} if isinstance(protocol, str) else set(protocol)
        self.web = bool(names & {"http", "https"})  # paths are URLs
        self.local = bool(names & {"file", "local"})
        # A synchronous file system may have a single connection, which threads must not share.
        self.in_memory = "memory" in names
        self.counts_from_end = self.local or self.in_memory
        """Whether `cat_file` with a negative start reads the end of one state of a file. Not all file systems do."""
        many = _asynchronous(self._instance) or self.local or self.in_memory
        self._lock: AbstractContextManager[Any] = nullcontext() if many else threading.RLock()
        self._window = Window(self._max_concurrency if many else 1)

    @property
    def instance(self) -> Any:
        """The file system of fsspec, for this process."""
        if self._process != os.getpid():
            parent = self._instance
            kind = type(parent)
            kind.clear_instance_cache()
            self._instance = kind(*parent.storage_args, **parent.storage_options)
            self._begin()
        return self._instance

    @property
    def window(self) -> Window:
        """Flow control for requests, for this process."""
        self.instance  # noqa: B018 -- renews the window after a fork
        return self._window

    def call(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        """Call a method of the file system, with a timeout if that is asynchronous."""
        instance = self.instance
        try:
            if not _asynchronous(instance):
                return getattr(instance, name)(*arguments, **keywords)
            sync = fsspec_library().asyn.sync
            return sync(instance.loop, getattr(instance, f"_{name}"), *arguments, timeout=self._timeout, **keywords)
        except FileNotFoundError as error:
            # fsspec raises FileNotFoundError for every failed web request; only 404 and 410 mean it.
            cause = error.__cause__ if self.web else None
            if cause is None or isinstance(cause, ABSENT) or getattr(cause, "status", None) in (404, 410):
                raise
            raise cause from None

    def run(self, act: Callable[[], R], *, retries: bool) -> R:
        """The result of `act`, which makes calls; `retries` if it may be repeated, as a read or an erasure may."""
        self.instance  # noqa: B018 -- renews the lock after a fork: its holder may be a thread of the parent process
        with self._lock:
            for number in range(self._max_retries if retries else 0):
                try:
                    return act()
                except Exception as error:
                    if not may_pass(error):
                        raise
                time.sleep(random.uniform(0.5, 1.0) * 0.1 * 2**number)
            return act()

    def __reduce__(self) -> tuple[Any, ...]:
        instance = self._instance
        parts = {"arguments": tuple(instance.storage_args), "options": dict(instance.storage_options)}
        return _restore, (
            type(instance),
            obfuscate(parts),
            self._max_concurrency,
            self._timeout,
            self._max_retries,
        )


def _restore(
    kind: Callable[..., Any], parts: Mapping[str, Any], max_concurrency: int, timeout: float, max_retries: int
) -> Filesystem:
    plain = deobfuscate(parts)
    return Filesystem(kind(*plain["arguments"], **plain["options"]), max_concurrency, timeout, max_retries)


def _asynchronous(filesystem: Any) -> bool:
    """Whether a file system, and the one that it wraps, are asynchronous: a wrapper always claims to be."""
    return getattr(filesystem, "async_impl", False) and (not hasattr(filesystem, "fs") or _asynchronous(filesystem.fs))


def may_pass(error: Exception) -> bool:
    """Whether a retry may help."""
    name = type(error).__name__
    return (
        getattr(error, "status", None) in (429, 500, 502, 503, 504)
        or isinstance(error, (ConnectionError, TimeoutError))
        or "Payload" in name
        or "Disconnected" in name
    )
