"""A store of zarr-python 3, such as that of an Icechunk session, as an omnizarr store.

These stores are asynchronous and may belong to the event loop of zarr-python, so that all calls run on that loop,
whatever the calling thread. Requests to remote stores are concurrent.
"""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

from omnizarr.errors import MissingDependencyError, OmnizarrError, StoreError
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_key, check_prefix, cut, flat
from omnizarr.store.memory import READ_ONLY_COPY
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window

__all__ = ["ZarrPythonStore"]

T = TypeVar("T")

_MAX_CONCURRENCY = 64
_DOCUMENT = "zarr.json"  # Icechunk panics, and prints a trace, for a range beyond the end of this; it is small
_IN_MEMORY = ("MemoryStore", "GpuMemoryStore")
_NOT_REMOTE = ("LocalStore", "MemoryStore", "GpuMemoryStore", "ZipStore")


def _library() -> Any:
    try:
        import zarr.abc.store
        import zarr.core.buffer
        import zarr.core.sync
    except ImportError:
        raise MissingDependencyError("a store of zarr-python", "zarr>=3") from None
    return zarr


class ZarrPythonStore(Store):
    """Forwards to a store of zarr-python 3."""

    _library = staticmethod(_library)

    def __init__(self, inner: Any, *, read_only: bool = False) -> None:
        if not isinstance(inner, self._library().abc.store.Store):
            raise StoreError(f"expected a store of zarr-python 3, found {inner!r}", store=repr(inner))
        self.inner = inner
        self.writable = bool(inner.supports_writes)
        self.listable = bool(inner.supports_listing)
        self.remote = type(inner).__name__ not in _NOT_REMOTE
        self.transactional = type(inner).__module__.startswith("icechunk")
        self._read_only = read_only or bool(inner.read_only)
        self._begin()

    def _begin(self) -> None:
        self._window = Window(_MAX_CONCURRENCY) if self.remote else None
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_window"}

    def __deepcopy__(self, memo: dict[int, Any]) -> ZarrPythonStore:
        return type(self)(copy.deepcopy(self.inner, memo), read_only=self._read_only)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()
        if type(self.inner).__name__ in _IN_MEMORY:  # its pickle copies the data, so that writes would be lost
            self.writable = False
            self.read_only_hint = READ_ONLY_COPY

    @property
    def window(self) -> Window | None:
        if self._process != os.getpid():  # requests of the parent process never end here
            self._begin()
        return self._window

    @property
    def location(self) -> str:
        return " ".join(str(self.inner).split())  # some have several lines

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZarrPythonStore) and bool(other.inner == self.inner)

    def __hash__(self) -> int:
        return hash(type(self.inner))

    # -- calling the inner store

    def _run(self, action: str, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            result: T = self._library().core.sync.sync(work())
        except Exception as error:  # the store may raise anything
            self._fail(action, key, error)
        return result

    def _fail(self, action: str, key: str, error: Exception) -> NoReturn:
        if isinstance(error, OmnizarrError):
            raise error
        raise StoreError(
            f"cannot {action} `{key}` in {self!r}: {type(error).__name__}: {error}", store=repr(self), key=key
        ) from error

    async def _exists(self, key: str) -> bool:
        try:
            return bool(await self.inner.exists(key))
        except Exception as error:
            if _is_impossible_key(error):
                return False
            raise

    async def _get(self, key: str, range: ByteRange | None) -> Buffer | None:
        library = self._library()
        prototype = library.core.buffer.default_buffer_prototype()
        if range is not None and range[1] == 0:
            return b"" if await self._exists(key) else None
        if range is not None and not (self.transactional and key.rpartition("/")[2] == _DOCUMENT):
            kinds = library.abc.store
            start, length = range
            if start < 0:
                request = kinds.SuffixByteRequest(-start)
            elif length is None:
                request = kinds.OffsetByteRequest(start)
            else:
                request = kinds.RangeByteRequest(start, min(start + length, 2**63 - 1))
            try:
                buffer = await self.inner.get(key, prototype, request)
                return None if buffer is None else cut(buffer.to_bytes(), (0, length) if start >= 0 else (start, None))
            except Exception:
                pass  # some stores reject ranges beyond the end, with different errors; read the whole value instead
        try:
            buffer = await self.inner.get(key, prototype)
        except Exception as error:
            if _is_impossible_key(error):
                return None
            raise
        return None if buffer is None else cut(buffer.to_bytes(), range)

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        return self._run("read", key, lambda: self._get(key, range))

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        window = self.window
        if window is None:
            return super().get_each(requests)
        pending = (
            PendingRequest(index, partial(self.get, key, range), window.expected_of(range))
            for index, (key, range) in enumerate(requests)
        )
        return ConcurrentRequests(window, pending, lambda value: 0 if value is None else len(value))

    def exists(self, key: str) -> bool:
        check_key(key)
        return self._run("look at", key, lambda: self._exists(key))

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        buffer = self._library().core.buffer.default_buffer_prototype().buffer.from_bytes(bytes(memoryview(value)))
        self._run("write", key, lambda: self.inner.set(key, buffer))

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        if self._window is None:
            super().set_each(items)
            return
        for _ in ConcurrentRequests(
            self._window, (PendingRequest(key, partial(self.set, key, value), len(flat(value))) for key, value in items)
        ):
            pass

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)

        async def erase() -> None:
            if await self._exists(key):  # some stores raise for an absent key
                await self.inner.delete(key)

        self._run("erase", key, erase)

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        prefix = check_prefix(prefix)
        if prefix:
            self._run("erase", prefix, lambda: self.inner.delete_dir(prefix[:-1]))
        else:
            self._run("erase", prefix, self.inner.clear)

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = check_prefix(prefix)

        async def keys() -> list[str]:
            listing = self.inner.list_prefix(prefix) if prefix else self.inner.list()
            return [key async for key in listing]

        return iter([key for key in self._run("list", prefix, keys) if key.startswith(prefix)])

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)

        async def entries() -> list[tuple[str, bool]]:
            # `list_dir` of zarr-python returns names, without saying whether they are keys or prefixes.
            names = sorted({name.strip("/") async for name in self.inner.list_dir(prefix.removesuffix("/"))} - {""})
            are_keys = await _gather([lambda name=name: self._exists(prefix + name) for name in names])  # type: ignore[misc]
            return list(zip(names, are_keys, strict=True))

        listing = self._run("list", prefix, entries)
        keys = [prefix + name for name, is_key in listing if is_key]
        return keys, [f"{prefix}{name}/" for name, is_key in listing if not is_key]

    # -- close

    def close(self) -> None:
        self.inner.close()


def _is_impossible_key(error: Exception) -> bool:
    """Whether the error means that such a key cannot exist: Icechunk stores only v3 nodes, and omnizarr requests the
    documents of all generations."""
    text = str(error)
    known = isinstance(error, KeyError) or type(error).__module__.startswith("icechunk")
    return known and any(part in text for part in ("invalid zarr key", "not an array at", "v2 key not found"))


async def _gather(pending: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """The results of many calls, in their order; the first error cancels the others."""
    limit = asyncio.Semaphore(_MAX_CONCURRENCY)

    async def one(ask: Callable[[], Awaitable[T]]) -> T:
        async with limit:
            return await ask()

    tasks = [asyncio.ensure_future(one(ask)) for ask in pending]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:  # calls that still wait after an error
            task.cancel()
