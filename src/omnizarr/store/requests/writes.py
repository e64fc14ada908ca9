"""Concurrent writes, for threads that continue while their writes are in flight."""

from __future__ import annotations

import threading
from collections.abc import Callable

from omnizarr.store.requests.threads import run_in_thread
from omnizarr.store.requests.window import Window

__all__ = ["ConcurrentWrites"]

_LOOK_AGAIN = 0.02  # seconds: other users of the window do not notify when they release room


class ConcurrentWrites:
    """Writes that start as soon as the window has room. After the first error no write starts."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._changed = threading.Condition()
        self._under_way = 0
        self._error: BaseException | None = None

    def send(self, act: Callable[[], object], cost: int) -> None:
        """Start `act`, a write of about `cost` bytes; waits until there is room. Raises the error of an earlier one."""
        with self._changed:
            while self._error is None and (entered := self._window.enter(cost)) is None:
                self._changed.wait(_LOOK_AGAIN)
            if self._error is not None:
                raise self._error
            self._under_way += 1
        assert entered is not None

        def work() -> None:
            try:
                act()
            except BaseException as error:
                self._window.failed(entered)
                self._ended(error)
            else:
                self._window.leave(self._window.answered(entered, cost))
                self._ended(None)

        run_in_thread(work)

    def _ended(self, error: BaseException | None) -> None:
        with self._changed:
            self._under_way -= 1
            self._error = self._error or error
            self._changed.notify_all()

    def finish(self) -> None:
        """Wait for all writes, even after an error: nothing may be written after the caller has returned. Raises the
        first error."""
        with self._changed:
            while self._under_way:
                self._changed.wait()
            if self._error is not None:
                raise self._error
