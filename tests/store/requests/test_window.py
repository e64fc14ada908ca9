"""The memory for requests in flight: one budget for the process, and equal parts for threads that read at once."""

from __future__ import annotations

import threading
from functools import partial

import omnizarr
from omnizarr.store.requests import window as window_module
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window

MIB = 2**20


def test_all_windows_share_one_budget() -> None:
    before = window_module._total.held
    windows = [Window() for _ in range(8)]
    with omnizarr.config(max_request_bytes=before + 20 * MIB):
        entered = [(window, window.enter(MIB)) for _ in range(20) for window in windows]
        admitted = [(window, admission) for window, admission in entered if admission is not None]
        assert len(admitted) == 20
        assert window_module._total.held == before + 20 * MIB
        assert all(sum(window is other for other, _ in admitted) >= 2 for window in windows)
    for number, (window, admission) in enumerate(admitted):
        if number % 2:
            window.failed(admission)
        else:
            window.leave(window.answered(admission, 3 * MIB))
    assert window_module._total.held == before


def test_a_second_reader_gets_its_part_although_the_first_one_is_greedy() -> None:
    window = Window()
    window._room = 16 * MIB
    release = threading.Event()
    started = {"first": 0, "second": 0}
    lock = threading.Lock()

    def get(name: str) -> None:
        with lock:
            started[name] += 1
        assert release.wait(30)

    def reader(name: str) -> ConcurrentRequests[int, None]:
        pending = (PendingRequest(number, partial(get, name), MIB) for number in range(200))
        return ConcurrentRequests(window, pending, lambda _: MIB)

    first, second = reader("first"), reader("second")
    first.begin()
    second.begin()
    for _ in range(1000):
        if started["first"] >= 8 and started["second"] >= 8:
            break
        threading.Event().wait(0.01)
    assert started == {"first": 8, "second": 8}  # of a window of 16 MiB
    release.set()
    assert len(list(first)) == len(list(second)) == 200
    assert window.readers == 0
