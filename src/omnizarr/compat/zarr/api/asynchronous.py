"""The functions of the package as coroutines. They run the engine in worker threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any

from omnizarr.compat.zarr.api import synchronous
from omnizarr.compat.zarr.core.group import as_async, as_sync

__all__ = list(synchronous.__all__)


def _coroutine(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        plain = [as_sync(value) for value in args]
        options = {name: as_sync(value) for name, value in kwargs.items()}
        return as_async(await asyncio.to_thread(lambda: function(*plain, **options)))

    return call


for _name in __all__:
    globals()[_name] = _coroutine(getattr(synchronous, _name))
