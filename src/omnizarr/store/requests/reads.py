"""Many requests under way at once: each waits in a thread of its own, and answers are taken as they arrive."""

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
    """One request: what it is for, how it is made, and how many bytes it is expected to move."""

    tag: T
    act: Callable[[], R]
    cost: int


class _Answer(NamedTuple):
    tag: Any
    value: Any
    error: BaseException | None
    cost: int
    """What it takes of the window."""


class ConcurrentRequests(Generic[T, R]):
    """An iterator of (tag, answer). Requests are sent as far as the window has room; more may be added on the way, and
    go before those that still wait. The first error is raised, and nothing is sent any more; what is still under way
    then ends unheard."""

    def __init__(
        self,
        window: Window,
        pending: Iterable[PendingRequest[T, R]] = (),
        size: Callable[[R], int] = lambda _: 0,
        *,
        here: bool = True,
    ) -> None:
        """`size` says how many bytes an answer has. With `here` a single request is made by the thread that waits for
        it anyway."""
        self._window = window
        self._asks = iter(pending)
        self._size = size
        self._here = here
        self._context = copy_context()  # what is asked for next may depend on settings of whoever asks
        self._lock = threading.Lock()  # for all that follows
        self._urgent: deque[PendingRequest[T, R]] = deque()
        self._next: PendingRequest[T, R] | None = None
        self._under_way = 0
        self._closed = False
        self._failed = False
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._taken = 0

    def add(self, ask: PendingRequest[T, R]) -> None:
        """One more."""
        self._urgent.append(ask)

    def begin(self) -> None:
        """Sends what there is room for, for somebody who has other things to do before he waits."""
        self._here = False
        self._start()

    def __iter__(self) -> Iterator[tuple[T, R]]:
        return self

    def __next__(self) -> tuple[T, R]:
        if self._closed:
            raise StopIteration
        self._window.leave(self._taken)  # whoever comes for the next has done with the last
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
            return ask.tag, ask.act()  # others fill the window: here is a thread that would only wait
        answer = self._answers.get()
        with self._lock:
            self._under_way -= 1
        self._taken = answer.cost
        if answer.error is not None:
            self.close()
            raise answer.error
        return answer.tag, answer.value

    # -- the following under the lock

    def _waiting(self) -> PendingRequest[T, R] | None:
        """The request that is next, which stays where it is."""
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
        """The next request, if there is one and room for it."""
        ask = self._waiting()
        entered = None if ask is None else self._window.enter(ask.cost)
        if ask is None or entered is None:
            return None
        self._sent()
        self._under_way += 1
        return ask, entered

    # -- and these without

    def _start(self) -> None:
        """Begins as many requests as there is room for."""
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
        """Makes a request, and then others, as long as there are any and there is room: to wake another thread for the
        next one would take longer."""
        taken: tuple[PendingRequest[T, R], Admission] | None = (ask, entered)
        del ask, entered
        while taken is not None:
            self._work(*taken)
            try:
                with self._lock:
                    taken = self._take()
            except BaseException as error:  # what is to be asked for cannot be told
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
            self._failed = True  # at once: whoever waits for answers may be busy with others
            self._window.failed(entered)
            self._answers.put(_Answer(ask.tag, None, error, 0))
            return
        self._answers.put(_Answer(ask.tag, value, None, self._window.answered(entered, size)))
        if self._closed:
            self._give_back()

    def _give_back(self) -> None:
        """Room that is taken by answers which nobody will take."""
        while True:
            try:
                self._window.leave(self._answers.get_nowait().cost)
            except Empty:
                return

    def close(self) -> None:
        """Sends nothing any more, and hears nothing."""
        self._closed = True
        self._window.leave(self._taken)
        self._taken = 0
        self._urgent.clear()
        self._next = None
        self._give_back()

    def __del__(self) -> None:
        if not self._closed:
            self.close()
