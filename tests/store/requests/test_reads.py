"""Concurrent requests: their window, errors, cancellation, and worker threads."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.threads import _RequestThreads, run_in_thread
from omnizarr.store.requests.window import Window, _ProcessTotal
from omnizarr.store.requests.writes import ConcurrentWrites


class CallCounter:
    """Counts calls, and the largest number of calls that ran at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.running = 0
        self.peak = 0
        self.started = 0

    def call(self, seconds: float = 0.01, answer: object = None) -> object:
        with self._lock:
            self.running += 1
            self.started += 1
            self.peak = max(self.peak, self.running)
        time.sleep(seconds)
        with self._lock:
            self.running -= 1
        return answer


def test_every_request_is_answered_once() -> None:
    requests = (PendingRequest(number, partial(pow, number, 2), 0) for number in range(1000))
    assert dict(ConcurrentRequests(Window(), requests)) == {number: number * number for number in range(1000)}
    assert list(ConcurrentRequests(Window(), ())) == []


def test_the_window_limits_concurrent_requests() -> None:
    counter = CallCounter()
    list(ConcurrentRequests(Window(7), (PendingRequest(0, counter.call, 0) for _ in range(50))))
    assert 1 < counter.peak <= 7


def test_at_most_two_large_requests_run_at_once() -> None:
    counter = CallCounter()
    list(ConcurrentRequests(Window(), (PendingRequest(0, counter.call, 2**30) for _ in range(10))))
    assert counter.peak <= 2


def test_answers_that_are_not_consumed_count_against_the_window() -> None:
    """A caller that decodes slowly does not accumulate answers in memory."""
    counter = CallCounter()
    window = Window()
    size = 2**22
    answers = ConcurrentRequests(
        window, (PendingRequest(0, partial(counter.call, 0.0), size) for _ in range(200)), lambda _: size
    )
    for _ in range(3):
        next(answers)
        time.sleep(0.05)
        assert counter.started <= 3 + 2**26 // size  # the initial size of the window
    answers.close()


def test_a_single_request_needs_no_thread() -> None:
    threads: list[int] = []
    list(ConcurrentRequests(Window(), [PendingRequest(0, lambda: threads.append(threading.get_ident()), 0)]))
    assert threads == [threading.get_ident()]


def test_requests_can_be_added_while_iterating() -> None:
    requests: ConcurrentRequests[int, int] = ConcurrentRequests(
        Window(), (PendingRequest(number, partial(abs, number), 0) for number in range(5))
    )
    answers = []
    for tag, answer in requests:
        answers.append(answer)
        if tag < 5:
            requests.add(PendingRequest(tag + 5, partial(abs, tag + 5), 0))
    assert sorted(answers) == list(range(10))


def test_the_first_error_stops_other_requests() -> None:
    started: list[int] = []
    failed, ended = threading.Event(), threading.Event()

    def fail(number: int) -> None:
        failed.set()
        raise ZeroDivisionError

    def wait(number: int) -> None:
        started.append(number)
        if number:
            assert ended.wait(60)
        else:
            assert failed.wait(60)

    requests = ConcurrentRequests(
        Window(4), (PendingRequest(n, partial(fail if n == 1 else wait, n), 0) for n in range(1000))
    )
    with pytest.raises(ZeroDivisionError):
        list(requests)
    assert len(started) <= 4
    ended.set()
    assert list(requests) == []


def test_no_request_starts_after_an_error_that_the_caller_has_not_seen() -> None:
    started: list[int] = []

    def fail(number: int) -> None:
        started.append(number)
        raise ZeroDivisionError

    requests = ConcurrentRequests(
        Window(2), (PendingRequest(number, partial(fail, number), 0) for number in range(1000))
    )
    requests.begin()
    time.sleep(0.05)
    with pytest.raises(ZeroDivisionError):
        next(requests)
    assert len(started) <= 3


def test_the_window_is_empty_after_close_and_after_errors() -> None:
    window = Window(4)
    for _ in range(3):
        requests = ConcurrentRequests(
            window, (PendingRequest(number, partial(bytes, 2**20), 2**20) for number in range(20)), len
        )
        next(requests)
        requests.close()
        with pytest.raises(ZeroDivisionError):
            list(
                ConcurrentRequests(
                    window, [PendingRequest(0, lambda: 1 // 0, 2**20), PendingRequest(1, lambda: 1 // 0, 2**20)], len
                )
            )
    deadline = time.monotonic() + 60
    while window._inside and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (window._under_way, window._unread, window._inside, window._requests) == (0, 0, 0, 0)


def test_the_window_adapts_to_latency_and_bandwidth() -> None:
    """Simulates servers with a given latency (s) and bandwidth (bytes/s)."""
    for latency, bandwidth, least, most in ((0.1, 2**28, 2**26, 2**27), (0.01, 2**24, 2**22, 2**24)):
        now = [0.0]
        window = Window(10**6)
        waiting: list[tuple[float, tuple[float, int, int]]] = []
        free = 0.0
        size = 2**16
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("omnizarr.store.requests.window.perf_counter", lambda now=now: now[0])
            window._total = _ProcessTotal()  # the last requests of the simulation stay in flight
            for _ in range(5000):
                while (entered := window.enter(size)) is not None:
                    free = max(free, now[0] + latency) + size / bandwidth
                    waiting.append((free, entered))
                arrived, entered = waiting.pop(0)
                now[0] = max(now[0], arrived)
                window.leave(window.answered(entered, size))
        assert least <= window.room <= most, (latency, bandwidth, window.room)


def test_writes_run_concurrently_and_the_first_error_is_raised() -> None:
    counter = CallCounter()
    writes = ConcurrentWrites(Window(8))
    for _ in range(40):
        writes.send(counter.call, 10)
    writes.finish()
    assert counter.started == 40
    assert 1 < counter.peak <= 8
    writes = ConcurrentWrites(Window(2))
    writes.send(lambda: 1 // 0, 10)
    with pytest.raises(ZeroDivisionError):
        writes.finish()
    with pytest.raises(ZeroDivisionError):
        writes.send(counter.call, 10)
    assert counter.started == 40


def test_threads_are_reused() -> None:
    def request_threads() -> int:
        return sum(thread.name == "omnizarr-request" for thread in threading.enumerate())

    before = request_threads()
    for _ in range(50):
        done = threading.Event()
        run_in_thread(done.set)
        assert done.wait(60)
        time.sleep(0.002)
    assert request_threads() < before + 25


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_its_own_threads() -> None:
    list(ConcurrentRequests(Window(), (PendingRequest(0, partial(time.sleep, 0.01), 0) for _ in range(8))))
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends a child that hangs
        try:
            answers = dict(
                ConcurrentRequests(Window(), (PendingRequest(number, partial(abs, number), 0) for number in range(20)))
            )
            os._exit(0 if len(answers) == 20 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_requests_are_sent_without_more_threads(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """A system that starts no more threads must not make writers wait for ever."""

    def fail(_: threading.Thread) -> None:
        raise error

    monkeypatch.setattr("omnizarr.store.requests.threads._threads", _RequestThreads())
    monkeypatch.setattr(threading.Thread, "start", fail)
    window = Window()
    requests = (PendingRequest(number, partial(pow, number, 2), 0) for number in range(100))
    assert dict(ConcurrentRequests(window, requests)) == {number: number * number for number in range(100)}
    written: list[int] = []
    writes = ConcurrentWrites(window)
    for number in range(5):
        writes.send(partial(written.append, number), 10)
    writes.finish()
    assert written == list(range(5))
    assert (window._inside, window._under_way, window._unread) == (0, 0, 0)


def test_requests_that_cannot_be_listed_leave_no_room_taken() -> None:
    def requests() -> Iterator[PendingRequest[int, int]]:
        yield PendingRequest(1, partial(abs, 1), 10)
        raise KeyError("cancelled")

    window = Window()
    with pytest.raises(KeyError):
        list(ConcurrentRequests(window, requests()))
    assert (window._inside, window._requests, window._under_way, window._unread) == (0, 0, 0, 0)
