"""Concurrent requests: each waits in a thread of its own, and answers are returned as they arrive."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from omnizarr.store.finalizers import close_on_deletion
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


class _Rest:
    """The room in the window that is still to be released: of the answer that the caller reads, and of answers that it
    has not read."""

    def __init__(self, window: Window, answers: SimpleQueue[_Answer]) -> None:
        self._window = window
        self._answers = answers
        self.held_cost = 0

    def leave_held(self) -> None:
        """Release the room of the last answer."""
        self._window.leave(self.held_cost)
        self.held_cost = 0

    def release(self) -> None:
        """Release all, and drop the answers."""
        self.leave_held()
        while True:
            try:
                self._window.leave(self._answers.get_nowait().cost)
            except Empty:
                return


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
        in_caller: bool = True,
    ) -> None:
        """`size` returns how many bytes an answer has. With `in_caller`, the thread that waits
        for the answers sends a single request itself."""
        self._window = window
        self._pending = iter(pending)
        self._size = size
        self._in_caller = in_caller
        self._context = copy_context()  # the next request may depend on settings of the caller
        self._lock = threading.RLock()  # for all that follows
        self._urgent: deque[PendingRequest[T, R]] = deque()
        self._next: PendingRequest[T, R] | None = None
        self._under_way = 0
        self._closed = False
        self._failed = False
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._rest = _Rest(window, self._answers)
        self._open = [self._rest]  # until it is closed
        close_on_deletion(self, (window.abandoned.append, self._open))

    def add(self, pending: PendingRequest[T, R]) -> None:
        """Add a request."""
        self._urgent.append(pending)

    def begin(self) -> None:
        """Send as many requests as there is room for, before the first answer is needed."""
        self._in_caller = False
        self._start()

    def __iter__(self) -> Iterator[tuple[T, R]]:
        return self

    def __next__(self) -> tuple[T, R]:
        if self._closed:
            raise StopIteration
        self._rest.leave_held()  # the caller has finished with the last answer
        self._start()
        with self._lock:
            idle = not self._under_way
            pending = self._next_request() if idle else None
            if pending is not None:
                self._remove_next()
        if idle:
            if pending is None:
                self.close()
                raise StopIteration
            return pending.tag, pending.act()  # other callers fill the window: this thread would only wait
        answer = self._answers.get()
        with self._lock:
            self._under_way -= 1
        self._rest.held_cost = answer.cost
        if answer.error is not None:
            self.close()
            raise answer.error
        return answer.tag, answer.value

    # -- call with the lock held

    def _next_request(self) -> PendingRequest[T, R] | None:
        """The next request, which stays in its queue."""
        if self._closed or self._failed:
            return None
        if self._urgent:
            return self._urgent[0]
        if self._next is None:
            self._next = self._context.run(next, self._pending, None)
        return self._next

    def _remove_next(self) -> None:
        if self._urgent:
            self._urgent.popleft()
        else:
            self._next = None

    def _admit_next(self) -> tuple[PendingRequest[T, R], Admission] | None:
        """The next request, if there is one and the window has room for it."""
        pending = self._next_request()
        entered = None if pending is None else self._window.enter(pending.cost)
        if pending is None or entered is None:
            return None
        self._remove_next()
        self._under_way += 1
        return pending, entered

    # -- call without the lock

    def _start(self) -> None:
        """Send as many requests as there is room for."""
        while True:
            with self._lock:
                request = self._admit_next()
                single = (
                    request is not None and self._in_caller and self._under_way == 1 and self._next_request() is None
                )
            if request is None:
                return
            if single:
                self._work(*request)
            else:
                run_in_thread(partial(self._serve, *request))

    def _serve(self, pending: PendingRequest[T, R], entered: Admission) -> None:
        """Send a request, and then others as long as there are any and there is room: waking another thread for each
        would take longer."""
        request: tuple[PendingRequest[T, R], Admission] | None = (pending, entered)
        del pending, entered
        while request is not None:
            self._work(*request)
            try:
                with self._lock:
                    request = self._admit_next()
            except BaseException as error:  # the iterator of requests failed
                with self._lock:
                    self._under_way += 1
                self._answers.put(_Answer(None, None, error, 0))
                return

    def _work(self, pending: PendingRequest[T, R], entered: Admission) -> None:
        if self._closed:
            self._window.failed(entered)
            return
        try:
            value = pending.act()
            size = self._size(value)
        except BaseException as error:
            self._failed = True  # at once: the caller may be busy with another answer
            self._window.failed(entered)
            self._answers.put(_Answer(pending.tag, None, error, 0))
            return
        self._answers.put(_Answer(pending.tag, value, None, self._window.answered(entered, size)))
        if self._closed:
            self._rest.release()

    def close(self) -> None:
        """Send nothing more, and drop all answers."""
        self._closed = True
        self._urgent.clear()
        self._next = None
        self._rest.release()
        self._open.clear()
