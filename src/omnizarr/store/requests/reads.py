"""Concurrent requests: each waits in a thread of its own, and answers are returned as they arrive."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from omnizarr.store.requests.threads import run_in_thread
from omnizarr.store.requests.window import Admission, Window

__all__ = ["ConcurrentRequests", "PendingRequest"]

T = TypeVar("T")
R = TypeVar("R")


class PendingRequest(NamedTuple, Generic[T, R]):
    """A request to send: a tag for the answer, the call, and how many bytes it is expected to move."""

    tag: T
    act: Callable[[], R]
    cost: int


class _Answer(NamedTuple):
    tag: Any
    value: Any
    error: BaseException | None
    cost: int
    """The room that it takes in the window."""


class ConcurrentRequests(Generic[T, R]):
    """An iterator of (tag, answer). Requests are sent as long as the window has room. Requests that are added meanwhile
    go before those that still wait. The first error is raised, and nothing more is sent; answers to requests in flight
    are dropped."""

    def __init__(
        self,
        window: Window,
        pending: Iterable[PendingRequest[T, R]] = (),
        size: Callable[[R], int] = lambda _: 0,
        *,
        here: bool = True,
    ) -> None:
        """`size` returns how many bytes an answer has. With `here`, a single request is sent by the thread that waits
        for it."""
        self._window = window
        self._asks = iter(pending)
        self._size = size
        self._here = here
        self._context = copy_context()  # the next request may depend on settings of the caller
        self._lock = threading.Lock()  # for all that follows
        self._urgent: deque[PendingRequest[T, R]] = deque()
        self._next: PendingRequest[T, R] | None = None
        self._under_way = 0
        self._closed = False
        self._failed = False
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._taken = 0

    def add(self, ask: PendingRequest[T, R]) -> None:
        """Add a request."""
        self._urgent.append(ask)

    def begin(self) -> None:
        """Send as many requests as there is room for, before the first answer is needed."""
        self._here = False
        self._start()

    def __iter__(self) -> Iterator[tuple[T, R]]:
        return self

    def __next__(self) -> tuple[T, R]:
        if self._closed:
            raise StopIteration
        self._window.leave(self._taken)  # the caller has finished with the last answer
        self._taken = 0
        self._start()
        with self._lock:
            alone = not self._under_way
            ask = self._waiting() if alone else None
            if ask is not None:
                self._sent()
        if alone:
            if ask is None:
                self.close()
                raise StopIteration
            return ask.tag, ask.act()  # other callers fill the window: this thread would only wait
        answer = self._answers.get()
        with self._lock:
            self._under_way -= 1
        self._taken = answer.cost
        if answer.error is not None:
            self.close()
            raise answer.error
        return answer.tag, answer.value

    # -- call with the lock held

    def _waiting(self) -> PendingRequest[T, R] | None:
        """The next request, which stays in its queue."""
        if self._closed or self._failed:
            return None
        if self._urgent:
            return self._urgent[0]
        if self._next is None:
            self._next = self._context.run(next, self._asks, None)
        return self._next

    def _sent(self) -> None:
        if self._urgent:
            self._urgent.popleft()
        else:
            self._next = None

    def _take(self) -> tuple[PendingRequest[T, R], Admission] | None:
        """The next request, if there is one and the window has room for it."""
        ask = self._waiting()
        entered = None if ask is None else self._window.enter(ask.cost)
        if ask is None or entered is None:
            return None
        self._sent()
        self._under_way += 1
        return ask, entered

    # -- call without the lock

    def _start(self) -> None:
        """Send as many requests as there is room for."""
        while True:
            with self._lock:
                taken = self._take()
                single = taken is not None and self._here and self._under_way == 1 and self._waiting() is None
            if taken is None:
                return
            if single:
                self._work(*taken)
            else:
                run_in_thread(partial(self._serve, *taken))

    def _serve(self, ask: PendingRequest[T, R], entered: Admission) -> None:
        """Send a request, and then others as long as there are any and there is room: waking another thread for each
        would take longer."""
        taken: tuple[PendingRequest[T, R], Admission] | None = (ask, entered)
        del ask, entered
        while taken is not None:
            self._work(*taken)
            try:
                with self._lock:
                    taken = self._take()
            except BaseException as error:  # the iterator of requests failed
                with self._lock:
                    self._under_way += 1
                self._answers.put(_Answer(None, None, error, 0))
                return

    def _work(self, ask: PendingRequest[T, R], entered: Admission) -> None:
        if self._closed:
            self._window.failed(entered)
            return
        try:
            value = ask.act()
            size = self._size(value)
        except BaseException as error:
            self._failed = True  # at once: the caller may be busy with another answer
            self._window.failed(entered)
            self._answers.put(_Answer(ask.tag, None, error, 0))
            return
        self._answers.put(_Answer(ask.tag, value, None, self._window.answered(entered, size)))
        if self._closed:
            self._give_back()

    def _give_back(self) -> None:
        """Release the room of answers that the caller will not take."""
        while True:
            try:
                self._window.leave(self._answers.get_nowait().cost)
            except Empty:
                return

    def close(self) -> None:
        """Send nothing more, and drop all answers."""
        self._closed = True
        self._window.leave(self._taken)
        self._taken = 0
        self._urgent.clear()
        self._next = None
        self._give_back()

    def __del__(self) -> None:
        if not self._closed:
            self.close()
