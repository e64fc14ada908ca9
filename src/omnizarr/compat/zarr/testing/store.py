"""`LatencyStore`: a store that answers late."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from omnizarr.compat.zarr.storage._wrapper import WrapperStore

__all__ = ["LatencyStore"]


class LatencyStore(WrapperStore[Any]):
    """Waits before each `get` and `set`."""

    def __init__(self, store: Any, *, get_latency: float = 0, set_latency: float = 0) -> None:
        super().__init__(store)
        self.get_latency = float(get_latency)
        self.set_latency = float(set_latency)

    def _with_store(self, store: Any) -> Self:
        return type(self)(store, get_latency=self.get_latency, set_latency=self.set_latency)

    async def set(self, key: str, value: Any) -> None:
        await asyncio.sleep(self.set_latency)
        await self._store.set(key, value)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        await asyncio.sleep(self.get_latency)
        return await self._store.get(key, prototype=prototype, byte_range=byte_range)
