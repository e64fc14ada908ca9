"""Cancellation of reads and writes: a token in the context of the caller, which the engine checks between chunks.

A program without tokens pays for one look at a context variable per read or write.
"""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["KERNEL_BYTES", "CancelToken", "OperationCancelled", "current_token"]

KERNEL_BYTES = 2**25
"""The most bytes of elements that one call of the kernel reads under a token, because such a call cannot be stopped.
32 MiB take about 10 ms."""

current_token: ContextVar[CancelToken | None] = ContextVar("omnizarr.cancel", default=None)
"""The token of the running operation, if it can be cancelled. Threads that help with it share it."""


class OperationCancelled(BaseException):  # not an Exception, so that no fallback of a store or codec handles it
    """Ends a cancelled read or write. The coroutine that waits for it raises `asyncio.CancelledError` instead."""


class CancelToken:
    """Tells an operation in other threads to stop."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        """Stop before the next chunk."""
        self.cancelled = True

    def check(self) -> None:
        """Raise OperationCancelled after `cancel`: once, because cleaning up after it must not be stopped."""
        if self.cancelled:
            self.cancelled = False
            raise OperationCancelled
