"""Concurrent requests: each waits in a thread of its own, and answers are returned as they arrive."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

from omnizarr.store.deadline import current_deadline
from omnizarr.store.finalizers import close_on_deletion
from omnizarr.store.requests.hedging import MOST_COPIES, Hedging
from omnizarr.store.requests.threads import run_in_thread
from omnizarr.store.requests.window import Admission, Window

__all__ = ["ConcurrentRequests", "PendingRequest"]

_AT_ONCE = 0.002  # seconds: below, handing a request to another thread would take too large a part of its time

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


class _Flight(Generic[T, R]):
    """A request in flight, of which several copies may have been sent."""

    __slots__ = ("answered", "copies", "pending", "sent", "start")

    def __init__(self, pending: PendingRequest[T, R]) -> None:
        self.pending = pending
        self.start = perf_counter()
        self.sent = self.copies = 1
        self.answered = False


class _Rest:
    """The room in the window that is still to be released: of the answer that the caller reads, and of answers that it
    has not read."""

    def __init__(self, window: Window, answers: SimpleQueue[_Answer]) -> None:
        self._window = window
        self._answers = answers
        self._lock = threading.RLock()  # the caller and a thread of a request may release it at the same time
        self._counted = True
        self.held_cost = 0
        window.add_reader()

    def leave_held(self) -> None:
        """Release the room of the last answer."""
        with self._lock:
            cost, self.held_cost = self.held_cost, 0
        self._window.leave(cost)

    def release(self) -> None:
        """Release all, and drop the answers."""
        with self._lock:
            counted, self._counted = self._counted, False
        if counted:
            self._window.add_reader(-1)
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
        hedge: bool = False,
    ) -> None:
        """`size` returns how many bytes an answer has. With `in_caller`, the thread that waits for the answers sends a
        single request itself. With `hedge`, requests whose answers are late may be sent again: they only read."""
        self._window = window
        self._hedging = window.hedging if hedge else None
        self._deadline = current_deadline.get()
        self._flights: dict[_Flight[T, R], None] = {}  # the oldest first
        self._held = 0  # bytes of requests in flight and of answers that the caller has not read
        self._pending = iter(pending)
        self._size = size
        # A request that the caller itself sends cannot be sent again when its answer is late.
        self._in_caller = in_caller and (self._hedging is None or window.latency < _AT_ONCE)
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
        self._held -= self._rest.held_cost
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
        answer = self._answers.get() if self._hedging is None and self._deadline is None else self._wait()
        with self._lock:
            self._under_way -= 1
        self._rest.held_cost = answer.cost
        if answer.error is not None:
            self.close()
            raise answer.error
        return answer.tag, answer.value

    def _wait(self) -> _Answer:
        """The next answer. Sends requests again that are late. Raises TimedOutError after the time limit."""
        try:
            while True:
                seconds = None if self._hedging is None else self._send_again(self._hedging)
                if self._deadline is not None:
                    seconds = min(self._deadline.remaining(), seconds or float("inf"))
                try:
                    return self._answers.get(timeout=seconds)
                except Empty:
                    continue
        except BaseException:
            self.close()
            raise

    def _send_again(self, hedging: Hedging) -> float | None:
        """Send copies of late requests. Returns the seconds until the next request is late; None if none will be."""
        now, least = perf_counter(), None
        with self._lock:
            flights = [flight for flight in self._flights if flight.sent < MOST_COPIES]
        for flight in flights:
            late = flight.start + hedging.after * (2**flight.sent - 1) - now  # each copy gets twice the time
            if late > 0:
                least = late if least is None else min(least, late)
                continue
            entered = self._window.enter(flight.pending.cost) if hedging.permit() else None
            if entered is None:
                return hedging.after
            with self._lock:
                flight.sent += 1
                flight.copies += 1
            least = hedging.after
            run_in_thread(partial(self._work, flight, entered))
        return least

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

    def _admit_next(self) -> tuple[_Flight[T, R], Admission] | None:
        """The next request, if there is one and the window has room for it."""
        pending = self._next_request()
        entered = None if pending is None else self._window.enter(pending.cost, self._held)
        if pending is None or entered is None:
            return None
        self._remove_next()
        self._under_way += 1
        self._held += entered[2]
        flight = _Flight(pending)
        if self._hedging is not None:
            self._flights[flight] = None
        return flight, entered

    def _is_single(self, entered: Admission) -> bool:
        """Whether the request that was admitted last is for the caller to send, because there is no other."""
        try:
            return self._in_caller and self._under_way == 1 and self._next_request() is None
        except BaseException:  # the iterator of requests failed
            self._window.failed(entered)
            raise

    # -- call without the lock

    def _start(self) -> None:
        """Send as many requests as there is room for."""
        while True:
            with self._lock:
                request = self._admit_next()
                single = request is not None and self._is_single(request[1])
            if request is None:
                return
            if single:
                self._work(*request)
            else:
                run_in_thread(partial(self._serve, *request))

    def _serve(self, flight: _Flight[T, R], entered: Admission) -> None:
        """Send a request, and then others as long as there are any and there is room: waking another thread for each
        would take longer."""
        request: tuple[_Flight[T, R], Admission] | None = (flight, entered)
        del flight, entered
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

    def _work(self, flight: _Flight[T, R], entered: Admission) -> None:
        if self._closed:
            self._window.failed(entered)
            return
        limit = current_deadline.set(self._deadline)
        try:
            value = flight.pending.act()
            size = self._size(value)
        except BaseException as error:
            self._window.failed(entered)
            if self._is_last(flight, entered[2]):
                self._failed = True  # at once: the caller may be busy with another answer
                self._answers.put(_Answer(flight.pending.tag, None, error, 0))
            return
        finally:
            current_deadline.reset(limit)
        cost = self._window.answered(entered, size)
        if self._is_first(flight, cost - entered[2]):
            self._answers.put(_Answer(flight.pending.tag, value, None, cost))
        else:
            self._window.leave(cost)
        if self._closed:
            self._rest.release()

    def _is_first(self, flight: _Flight[T, R], growth: int) -> bool:
        """Whether this answer counts. It takes `growth` bytes more than expected."""
        with self._lock:
            first = not flight.answered
            flight.answered = True
            self._flights.pop(flight, None)
            if first:
                self._held += growth
        return first

    def _is_last(self, flight: _Flight[T, R], cost: int) -> bool:
        """Whether the failure of this copy counts: no other copy has an answer or may still get one."""
        with self._lock:
            flight.copies -= 1
            if flight.answered or flight.copies:
                return False
            flight.answered = True
            self._flights.pop(flight, None)
            self._held -= cost
        return True

    def close(self) -> None:
        """Send nothing more, and drop all answers."""
        self._closed = True
        self._urgent.clear()
        self._next = None
        self._rest.release()
        self._open.clear()
