"""Threads of the kernel: any number of them, with many callers, and after a fork."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr

ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_its_own_threads(tmp_path: Path) -> None:
    a = np.random.default_rng(1).integers(0, 9, (64, 2**12), "u2")
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, 2**10), compressors=ZSTD)
    with omnizarr.config(threads=4):
        for _ in range(3):
            assert np.array_equal(z[...], a)  # now there are idle threads
            pid = os.fork()
            if pid == 0:
                try:
                    signal.alarm(60)
                    os._exit(0 if all(np.array_equal(z[...], a) for _ in range(3)) else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(pid, 0)[1] == 0
        assert np.array_equal(z[...], a)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_a_fork_ends_idle_threads(tmp_path: Path) -> None:
    a = np.random.default_rng(1).integers(0, 9, (64, 2**12), "u2")
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, 2**10), compressors=ZSTD)
    with omnizarr.config(threads=1):
        z[...]
    before = len(os.listdir("/proc/self/task"))
    with omnizarr.config(threads=4):
        z[...]
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        assert len(os.listdir("/proc/self/task")) <= before
        assert os.waitpid(pid, 0)[1] == 0
        np.testing.assert_array_equal(z[...], a)


@pytest.mark.parametrize("threads", [1, 64, 2**31, 2**70])
def test_any_number_of_threads(tmp_path: Path, threads: int) -> None:
    a = np.arange(2**21, dtype="u2")
    z = omnizarr.create_array(tmp_path, data=a, chunks=2**18)
    mask = a % 1000 == 5
    with omnizarr.config(threads=threads):
        np.testing.assert_array_equal(z[mask], a[mask])
        np.testing.assert_array_equal(z[5:], a[5:])


def test_many_threads_read_at_once(tmp_path: Path) -> None:
    a = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(8, 8), compressors=ZSTD)
    wrong: list[Any] = []

    def work() -> None:
        for start in range(20):
            if not np.array_equal(z[start : start + 30], a[start : start + 30]) or z[start, 5] != a[start, 5]:
                wrong.append(start)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
