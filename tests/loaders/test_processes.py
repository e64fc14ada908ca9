"""Loaders in forked and spawned processes, over stores of all kinds, and within their memory."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.testing import SlowStore

OPTIONS = {"block_bytes": 2000, "buffer_bytes": 100_000}


def _sum(loader: Any, rank: int, queue: Any) -> None:
    queue.put((rank, sorted(int(number) for batch in loader for number in batch[:, 0])))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_the_samples(tmp_path: Path, method: str) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(4000).reshape(2000, 2), chunks=(50, 2))
    context = multiprocessing.get_context(method)
    loaders = [omnizarr.loader(z, 32, shuffle=True, rank=rank, world_size=2, **OPTIONS) for rank in range(2)]
    _ = next(iter(loaders[0]))  # the parent has threads of its own
    queue = context.Queue()
    processes = [context.Process(target=_sum, args=(loader, rank, queue)) for rank, loader in enumerate(loaders)]
    for loader in loaders:
        loader.set_epoch(0)
    for process in processes:
        process.start()
    results = dict(queue.get(timeout=200) for _ in processes)
    for process in processes:
        process.join()
    assert sorted(results[0] + results[1]) == list(range(0, 4000, 2))


def test_a_forked_child_continues_an_iterator(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(2000), chunks=(50,))
    expected = list(omnizarr.loader(z, 32, shuffle=True, **OPTIONS))
    iterator = iter(omnizarr.loader(z, 32, shuffle=True, **OPTIONS))
    for _ in range(10):
        next(iterator)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, np.concatenate(list(iterator)).astype("i8").tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    rest = np.frombuffer(os.read(read, 2**17), "i8")
    os.close(read)
    os.close(write)
    assert np.array_equal(rest, np.concatenate(expected[10:]))
    assert np.array_equal(np.concatenate(list(iterator)), rest)


def test_a_forked_worker_sees_the_epoch_of_the_program(tmp_path: Path) -> None:
    loader = omnizarr.loader(omnizarr.array(np.arange(10)))
    loader.set_epoch(3)
    to_child, from_parent = os.pipe()
    from_child, to_parent = os.pipe()
    child = os.fork()
    if not child:
        assert loader.epoch == 3
        iter(loader)
        os.write(to_parent, b"1")
        os.read(to_child, 1)
        os.write(to_parent, str(loader.epoch).encode())
        os._exit(0)
    os.read(from_child, 1)
    loader.set_epoch(7)
    os.write(from_parent, b"1")
    assert os.read(from_child, 10) == b"7"
    os.waitpid(child, 0)
    for end in (to_child, from_parent, from_child, to_parent):
        os.close(end)


def test_a_remote_store_gets_requests_ahead() -> None:
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, data=np.arange(8000).reshape(4000, 2), chunks=(50, 2))
    z = omnizarr.open_array(SlowStore(inner, 0.002), mode="r")
    loader = omnizarr.loader(z, 32, shuffle=True, **OPTIONS)
    order = [int(number) for batch in loader for number in batch[:, 0]]
    assert sorted(order) == list(range(0, 8000, 2))
    loader.set_epoch(0)
    iterator = iter(loader)
    next(iterator)
    again = omnizarr.loader(z, 32, shuffle=True, **OPTIONS)
    again.load_state_dict(loader.state_dict())
    assert [int(number) for batch in again for number in batch[:, 0]] == order[32:]


MEASURE = """
import pathlib, sys
import numpy as np, omnizarr

z = omnizarr.open_array(sys.argv[1], mode="r")
z[:10]
for _ in omnizarr.loader(z, 8, shuffle=True, buffer_bytes="1 MiB"): break
def peak():  # `ru_maxrss` of a new process is at least that of its parent
    return int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
total = 0
for epoch in range(2):
    for batch in omnizarr.loader(z, 64, shuffle=bool(epoch), buffer_bytes="40 MiB"):
        total += len(batch)
print(total, (peak() - before) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory is measured on Linux only")
def test_the_buffer_limits_the_memory(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, shape=(20_000, 2048), dtype="f4", chunks=(128, 2048), compressors=None)
    z[:] = 1.5  # 160 MiB
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    # On a busy machine more threads of the loader run at the same time, each with a chunk of 1 MiB, and by default with
    # an arena of the allocator.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    total, mebibytes = map(int, done.stdout.split())
    assert total == 40_000
    assert mebibytes <= 40 + 20, "the buffer, and some memory of the allocator"
