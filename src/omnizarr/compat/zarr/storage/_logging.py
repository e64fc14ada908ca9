"""`LoggingStore`: logs and counts the calls of another store."""

from __future__ import annotations

import logging
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from omnizarr.compat.zarr.abc.store import Store
from omnizarr.compat.zarr.core.buffer.core import Buffer
from omnizarr.compat.zarr.storage._wrapper import WrapperStore

__all__ = ["LoggingStore"]

S = TypeVar("S", bound=Store)


class LoggingStore(WrapperStore[S]):
    """Logs the calls of each method, to standard output by default, and counts them in `counter`."""

    def __init__(self, store: S, log_level: str = "DEBUG", log_handler: logging.Handler | None = None) -> None:
        super().__init__(store)
        self.counter: defaultdict[str, int] = defaultdict(int)
        self.log_level = log_level
        self.log_handler = log_handler
        self.logger = logging.getLogger(f"LoggingStore({store})")
        self.logger.setLevel(log_level)
        if not self.logger.hasHandlers():
            self.logger.addHandler(log_handler or self._default_handler())

    def _default_handler(self) -> logging.Handler:
        handler = logging.StreamHandler(stream=sys.stdout)
        handler.setLevel(self.log_level)
        handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
        return handler

    def _with_store(self, store: S) -> Self:
        return type(self)(store=store, log_level=self.log_level, log_handler=self.log_handler)

    @contextmanager
    def log(self, method: str, hint: Any = "") -> Iterator[None]:
        """Logs the begin and the end of a call."""
        call = f"{type(self._store).__name__}.{method}" + (f"({hint})" if hint else "")
        self.counter[method] += 1
        self.logger.info(" Calling %s", call)
        before = time.monotonic()
        try:
            yield
        finally:
            self.logger.info("Finished %s [%.2f s]", call, time.monotonic() - before)

    def __str__(self) -> str:
        return f"logging-{self._store}"

    def __repr__(self) -> str:
        return f"LoggingStore({type(self._store).__name__}, '{self._store}')"

    async def is_empty(self, prefix: str = "") -> bool:
        with self.log("is_empty", prefix):
            return await self._store.is_empty(prefix)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Buffer | None:
        with self.log("get", key):
            return await self._store.get(key, prototype, byte_range)

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[Any]) -> list[Buffer | None]:
        requests = list(key_ranges)
        with self.log("get_partial_values", ",".join(key for key, _ in requests)):
            return await self._store.get_partial_values(prototype, requests)

    async def exists(self, key: str) -> bool:
        with self.log("exists", key):
            return await self._store.exists(key)

    async def set(self, key: str, value: Buffer) -> None:
        with self.log("set", key):
            await self._store.set(key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        with self.log("set_if_not_exists", key):
            await self._store.set_if_not_exists(key, value)

    async def delete(self, key: str) -> None:
        with self.log("delete", key):
            await self._store.delete(key)

    async def delete_dir(self, prefix: str) -> None:
        with self.log("delete_dir", prefix):
            await self._store.delete_dir(prefix)

    async def clear(self) -> None:
        with self.log("clear"):
            await self._store.clear()

    async def getsize(self, key: str) -> int:
        with self.log("getsize", key):
            return await self._store.getsize(key)

    async def list(self) -> AsyncIterator[str]:
        with self.log("list"):
            async for key in self._store.list():
                yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        with self.log("list_prefix", prefix):
            async for key in self._store.list_prefix(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        with self.log("list_dir", prefix):
            async for key in self._store.list_dir(prefix):
                yield key
