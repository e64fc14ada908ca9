"""Late requests are sent again, within a budget; the first answer counts."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from omnizarr.store.requests.hedging import Budget, Hedging
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window


def _window() -> Window:
    window = Window()
    window.hedging = Hedging()
    window.hedging.after = 0.05
    window.hedging._budget = Budget(1, 1000)  # on a busy machine, many requests are late
    return window


class _Server:
    """Answers the first requests for a key in `stalled` only at the end of the test."""

    def __init__(self, stalled: dict[int, int], *, fails: bool = False) -> None:
        self.stalled = stalled
        self.fails = fails
        self.sent: dict[int, int] = {}
        self.end = threading.Event()
        self._lock = threading.Lock()

    def get(self, key: int) -> int:
        with self._lock:
            self.sent[key] = copy = self.sent.get(key, 0) + 1
        if copy <= self.stalled.get(key, 0):
            assert self.end.wait(30)
            if self.fails:
                raise ZeroDivisionError
        return key * key


def _requests(server: _Server, count: int) -> list[PendingRequest[int, int]]:
    return [PendingRequest(key, partial(server.get, key), 0) for key in range(count)]


def test_late_requests_are_sent_again() -> None:
    server = _Server({3: 1, 70: 2})
    window = _window()
    answers = dict(ConcurrentRequests(window, _requests(server, 100), hedge=True))
    assert answers == {key: key * key for key in range(100)}
    assert server.sent[3] >= 2
    assert server.sent[70] >= 3
    server.end.set()


def test_only_reads_are_sent_again() -> None:
    server = _Server({3: 1})
    timer = threading.Timer(0.5, server.end.set)
    timer.start()
    answers = dict(ConcurrentRequests(_window(), _requests(server, 10)))
    assert answers == {key: key * key for key in range(10)}
    assert set(server.sent.values()) == {1}
    timer.join()


def test_the_failure_of_a_late_copy_does_not_count() -> None:
    server = _Server({1: 1}, fails=True)
    requests = ConcurrentRequests(_window(), _requests(server, 40), hedge=True)
    answers = dict([next(requests) for _ in range(40)])
    server.end.set()
    assert dict(requests) == {}
    assert answers == {key: key * key for key in range(40)}


def test_the_room_of_all_copies_is_released() -> None:
    server = _Server({3: 2, 5: 1})
    window = _window()
    requests = ConcurrentRequests(window, _requests(server, 20), lambda _: 2**20, hedge=True)
    assert len(dict(requests)) == 20
    server.end.set()
    for _ in range(1000):
        if window._inside == 0:
            break
        threading.Event().wait(0.01)
    assert (window._inside, window._under_way, window._unread, window._requests, window.readers) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("late", [0.001, 0.1])
def test_a_request_is_late_after_three_times_the_usual_time(late: float) -> None:
    hedging = Hedging()
    for number in range(640):
        hedging.observe(2.0 if number % 50 == 0 else late)
    assert hedging.after == pytest.approx(max(0.05, 3 * late))


def test_a_budget_is_a_share_of_the_requests() -> None:
    budget = Budget(0.05, 10)
    assert sum(budget.spend() for _ in range(100)) == 10
    for _ in range(1000):
        budget.earn()
    assert sum(budget.spend() for _ in range(100)) in (49, 50)
