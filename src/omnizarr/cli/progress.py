"""Progress of long commands, on standard error: a bar with rate and time left, after one second, on terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnizarr.cli.styles import on_terminal

if TYPE_CHECKING:
    from omnizarr.tools import Progress

__all__ = ["progress"]

_DELAY = 1.0  # seconds until the bar appears; most commands are done by then
_PAUSE = 0.1  # seconds between two updates


@contextmanager
def progress(what: str, *, bytes: bool = False) -> Iterator[Progress | None]:
    """A function to call with the amount done and the total; None if standard error is no terminal.

    `bytes` says that the amounts are bytes.
    """
    if not on_terminal(sys.stderr):
        yield None
        return
    bar = _Bar(what, bytes=bytes)
    try:
        yield bar.update
    finally:
        bar.close()


class _Bar:
    def __init__(self, what: str, *, bytes: bool) -> None:
        self._what = what
        self._bytes = bytes
        self._start = time.monotonic()
        self._next = self._start + _DELAY
        self._display: Any = None
        self._task: Any = None

    def update(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _PAUSE
        if self._display is None:
            self._open(total)
        self._display.update(self._task, completed=done, total=total or None, rate=self._rate(done, now))

    def _rate(self, done: int, now: float) -> str:
        from omnizarr.display.texts import human_bytes

        rate = done / max(now - self._start, 1e-9)
        return f"{human_bytes(int(rate))}/s" if self._bytes else f"{rate:,.0f}/s"

    def _open(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._display = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._display.start()
        self._task = self._display.add_task(self._what, total=total or None, rate="", start=True)

    def close(self) -> None:
        if self._display is not None:
            self._display.stop()
