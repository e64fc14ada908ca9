"""Runs functions of the synchronous interface in threads, so that they do not block the event loop.

Two thread pools limit how much runs at once. One is for stores that wait for a network, with many threads. The other is
for everything else, with few, because its threads compute, and more of them would only take turns with the event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

from omnizarr.aio.completions import completions_of
from omnizarr.config import config
from omnizarr.engine.cancel import CancelToken, current_token

__all__ = ["run", "run_sync"]

P = ParamSpec("P")
R = TypeVar("R")

_WAITING_THREADS = 64
_EXTRA_THREADS = 2  # besides one per core, so that long reads do not hold up all short ones

_pools: dict[tuple[int, bool], ThreadPoolExecutor] = {}


def _pool(waits: bool) -> ThreadPoolExecutor:
    """The thread pool for functions that wait, or that compute. A forked child makes its own."""
    key = os.getpid(), waits
    pool = _pools.get(key)
    if pool is None:  # several event loops in threads may race here: all then use the pool that is stored first
        count = _WAITING_THREADS if waits else config.workers + _EXTRA_THREADS
        pool = _pools.setdefault(key, ThreadPoolExecutor(count, thread_name_prefix="omnizarr-aio"))
    return pool


async def run(function: Callable[P, R], /, waits: bool, finishes: bool, *arguments: P.args, **options: P.kwargs) -> R:
    """`function(...)`, in a thread of the pool for functions that wait (`waits`) or of the other one.

    If the coroutine is cancelled, the function does not start, or stops before its next chunk. If `finishes`, the
    coroutine waits until the function has stopped: it changes stored data or memory of the caller, and must not go on
    after the caller has been told that it ended.
    """
    token = CancelToken()
    context = copy_context()
    context.run(current_token.set, token)
    loop = asyncio.get_running_loop()
    completions = completions_of(loop)
    result: asyncio.Future[R] = loop.create_future()

    def work() -> None:
        try:
            value = context.run(function, *arguments, **options)
        except BaseException as error:
            completions.add(loop, result, None, error)
        else:
            completions.add(loop, result, value, None)

    job = _pool(waits).submit(work)
    try:
        return await (asyncio.shield(result) if finishes else result)
    except asyncio.CancelledError:
        token.cancel()
        if not job.cancel() and finishes:
            await _end(result)
        raise


async def _end(result: asyncio.Future[Any]) -> None:
    """Wait for a result, whatever it is, even if the waiting task is cancelled again."""
    while not result.done():
        try:
            await asyncio.wait([result])
        except asyncio.CancelledError:
            pass
    result.exception()  # otherwise asyncio reports that nothing has looked at it


async def run_sync(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Calls a function of the synchronous interface in a thread, for what has no coroutine of its own.

    A cancelled call stops before its next chunk, and the coroutine waits for that.

    Example:
        >>> await aio.run_sync(z.sync.commit, "first measurements")
    """
    return await run(function, True, True, *args, **kwargs)
