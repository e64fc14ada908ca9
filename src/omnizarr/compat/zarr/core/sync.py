"""The event loop of the package in a thread of its own, and `sync`, which runs a coroutine on it and waits."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from omnizarr.compat.zarr.core.config import config

__all__ = [
    "SyncError",
    "SyncMixin",
    "cleanup_resources",
    "sync",
]

T = TypeVar("T")

_lock = threading.Lock()
# Lists of one item, as in zarr-python, whose tests replace the item.
iothread: list[threading.Thread | None] = [None]
loop: list[asyncio.AbstractEventLoop | None] = [None]
_executor: ThreadPoolExecutor | None = None


class SyncError(Exception):
    """`sync` was called on the event loop itself, where waiting would block it forever."""


def _get_lock() -> threading.Lock:
    return _lock


def _get_executor() -> ThreadPoolExecutor:
    """The thread pool of the loop."""
    global _executor
    if _executor is None:
        _executor = ThreadPoolExecutor(config.get("threading.max_workers", None), thread_name_prefix="zarr_pool")
        _get_loop().set_default_executor(_executor)
    return _executor


def _get_loop() -> asyncio.AbstractEventLoop:
    """The loop, which starts at first use."""
    if loop[0] is None:
        with _lock:
            if loop[0] is None:
                new = asyncio.new_event_loop()
                thread = threading.Thread(target=new.run_forever, name="zarr_io", daemon=True)
                thread.start()
                loop[0], iothread[0] = new, thread
    assert loop[0] is not None
    return loop[0]


def cleanup_resources() -> None:
    """Stops the loop and the thread pool. Both start again at next use."""
    global _executor
    if _executor is not None:
        _executor.shutdown(wait=True, cancel_futures=True)
    _executor = None
    if loop[0] is not None:
        with _lock:
            loop[0].call_soon_threadsafe(loop[0].stop)
            if iothread[0] is not None:
                iothread[0].join(timeout=0.2)
                if not iothread[0].is_alive():
                    loop[0].close()
        iothread[0] = loop[0] = None


def reset_resources_after_fork() -> None:
    """A child process has no thread of the loop: it starts its own."""
    global _executor, _lock
    _lock = threading.Lock()
    loop[0] = iothread[0] = None
    _executor = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_resources_after_fork)


async def _runner(coro: Coroutine[Any, Any, T]) -> T | BaseException:
    try:
        return await coro
    except Exception as error:
        return error


def sync(
    coro: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None, timeout: float | None = None
) -> T:
    """Runs a coroutine on the loop of the package, and returns its result."""
    loop = loop or _get_loop()
    if loop.is_closed():
        coro.close()
        raise RuntimeError("Loop is not running")
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        coro.close()
        raise SyncError("Calling sync() from within a running loop")
    future = asyncio.run_coroutine_threadsafe(_runner(coro), loop)
    finished, unfinished = wait([future], return_when="FIRST_COMPLETED", timeout=timeout)
    if unfinished:
        raise TimeoutError(f"Coroutine {coro} failed to finish within {timeout} s")
    result = next(iter(finished)).result()
    if isinstance(result, BaseException):
        raise result
    return result


async def _collect_aiterator(data: AsyncIterator[T]) -> tuple[T, ...]:
    return tuple([item async for item in data])


def collect_aiterator(data: AsyncIterator[T]) -> tuple[T, ...]:
    """The items of an asynchronous iterator."""
    return sync(_collect_aiterator(data))


class SyncMixin:
    """Methods that wait for coroutines."""

    def _sync(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return sync(coroutine, timeout=config.get("async.timeout", None))

    def _sync_iter(self, async_iterator: AsyncIterator[T]) -> list[T]:
        return list(collect_aiterator(async_iterator))
