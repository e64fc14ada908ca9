"""Requests that are under way together: how many, what they may take, and what happens when one fails."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import pytest

from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.threads import run_in_thread
from omnizarr.store.requests.window import Window
from omnizarr.store.requests.writes import ConcurrentWrites


class Meeting:
    """Counts who is there at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.there = 0
        self.most = 0
        self.begun = 0

    def attend(self, seconds: float = 0.01, answer: object = None) -> object:
        with self._lock:
            self.there += 1
            self.begun += 1
            self.most = max(self.most, self.there)
        time.sleep(seconds)
        with self._lock:
            self.there -= 1
        return answer


def test_every_answer_comes_once() -> None:
    asks = (PendingRequest(number, partial(pow, number, 2), 0) for number in range(1000))
    assert dict(ConcurrentRequests(Window(), asks)) == {number: number * number for number in range(1000)}
    assert list(ConcurrentRequests(Window(), ())) == []


def test_no_more_are_under_way_than_may_be() -> None:
    meeting = Meeting()
    list(ConcurrentRequests(Window(7), (PendingRequest(0, meeting.attend, 0) for _ in range(50))))
    assert 1 < meeting.most <= 7


def test_large_answers_are_asked_for_two_at_a_time() -> None:
    meeting = Meeting()
    list(ConcurrentRequests(Window(), (PendingRequest(0, meeting.attend, 2**30) for _ in range(10))))
    assert meeting.most <= 2


def test_what_nobody_took_yet_takes_room() -> None:
    """Who decodes slowly is not drowned in answers."""
    meeting = Meeting()
    window = Window()
    size = 2**22
    answers = ConcurrentRequests(
        window, (PendingRequest(0, partial(meeting.attend, 0.0), size) for _ in range(200)), lambda _: size
    )
    for _ in range(3):
        next(answers)
        time.sleep(0.05)
        assert meeting.begun <= 3 + 2**25 // size  # what may be under way at most
    answers.close()


def test_a_single_request_needs_no_thread() -> None:
    asked: list[int] = []
    list(ConcurrentRequests(Window(), [PendingRequest(0, lambda: asked.append(threading.get_ident()), 0)]))
    assert asked == [threading.get_ident()]


def test_more_may_be_asked_for_on_the_way() -> None:
    overlap: ConcurrentRequests[int, int] = ConcurrentRequests(
        Window(), (PendingRequest(number, partial(abs, number), 0) for number in range(5))
    )
    found = []
    for tag, answer in overlap:
        found.append(answer)
        if tag < 5:
            overlap.add(PendingRequest(tag + 5, partial(abs, tag + 5), 0))
    assert sorted(found) == list(range(10))


def test_the_first_error_stops_the_rest() -> None:
    begun: list[int] = []
    failed, ended = threading.Event(), threading.Event()

    def fail(number: int) -> None:
        failed.set()
        raise ZeroDivisionError

    def wait(number: int) -> None:
        begun.append(number)
        if number:
            assert ended.wait(20)
        else:
            assert failed.wait(20)

    overlap = ConcurrentRequests(
        Window(4), (PendingRequest(n, partial(fail if n == 1 else wait, n), 0) for n in range(1000))
    )
    with pytest.raises(ZeroDivisionError):
        list(overlap)
    assert len(begun) <= 4
    ended.set()
    assert list(overlap) == []


def test_nothing_more_is_asked_for_after_an_error_that_nobody_has_heard_of_yet() -> None:
    asked: list[int] = []

    def fail(number: int) -> None:
        asked.append(number)
        raise ZeroDivisionError

    overlap = ConcurrentRequests(
        Window(2), (PendingRequest(number, partial(fail, number), 0) for number in range(1000))
    )
    overlap.begin()
    time.sleep(0.05)
    with pytest.raises(ZeroDivisionError):
        next(overlap)
    assert len(asked) <= 3


def test_room_is_given_back_whatever_happens() -> None:
    window = Window(4)
    for _ in range(3):
        overlap = ConcurrentRequests(
            window, (PendingRequest(number, partial(bytes, 2**20), 2**20) for number in range(20)), len
        )
        next(overlap)
        overlap.close()
        with pytest.raises(ZeroDivisionError):
            list(
                ConcurrentRequests(
                    window, [PendingRequest(0, lambda: 1 // 0, 2**20), PendingRequest(1, lambda: 1 // 0, 2**20)], len
                )
            )
    deadline = time.monotonic() + 10
    while window._inside and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (window._under_way, window._untaken, window._inside, window._requests) == (0, 0, 0, 0)


def test_the_room_follows_what_is_delivered() -> None:
    """Against a place with a latency and a bandwidth that are made up."""
    for latency, bandwidth, least, most in ((0.1, 2**28, 2**25, 2**26), (0.01, 2**24, 2**22, 2**23)):
        now = [0.0]
        window = Window(10**6)
        waiting: list[tuple[float, tuple[float, int, int]]] = []
        free = 0.0
        size = 2**16
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("omnizarr.store.requests.window.perf_counter", lambda now=now: now[0])
            for _ in range(5000):
                while (entered := window.enter(size)) is not None:
                    free = max(free, now[0] + latency) + size / bandwidth
                    waiting.append((free, entered))
                arrived, entered = waiting.pop(0)
                now[0] = max(now[0], arrived)
                window.leave(window.answered(entered, size))
        assert least <= window.room <= most, (latency, bandwidth, window.room)


def test_writes_overlap_and_the_first_error_is_raised() -> None:
    meeting = Meeting()
    sending = ConcurrentWrites(Window(8))
    for _ in range(40):
        sending.send(meeting.attend, 10)
    sending.finish()
    assert meeting.begun == 40
    assert 1 < meeting.most <= 8
    sending = ConcurrentWrites(Window(2))
    sending.send(lambda: 1 // 0, 10)
    with pytest.raises(ZeroDivisionError):
        sending.finish()
    with pytest.raises(ZeroDivisionError):
        sending.send(meeting.attend, 10)
    assert meeting.begun == 40


def test_threads_are_used_again() -> None:
    def there() -> int:
        return sum(thread.name == "omnizarr-request" for thread in threading.enumerate())

    before = there()
    for _ in range(50):
        done = threading.Event()
        run_in_thread(done.set)
        assert done.wait(10)
        time.sleep(0.002)
    assert there() < before + 25


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_has_threads_of_its_own() -> None:
    list(ConcurrentRequests(Window(), (PendingRequest(0, partial(time.sleep, 0.01), 0) for _ in range(8))))
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs ends, too
        try:
            answers = dict(
                ConcurrentRequests(Window(), (PendingRequest(number, partial(abs, number), 0) for number in range(20)))
            )
            os._exit(0 if len(answers) == 20 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
