"""The memory of groups is used again only when nothing refers to it, and returns to the system with its loader."""

from __future__ import annotations

import os
import pickle
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.loaders.memory import GroupMemory

FLOAT = np.dtype("f4")
LARGE = (512, 1024)  # 2 MiB of float32


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_memory_is_used_again_as_soon_as_nothing_refers_to_it() -> None:
    memory = GroupMemory()
    group = memory.new_array(LARGE, FLOAT)
    assert (group.shape, group.dtype) == (LARGE, FLOAT)
    place, part = address(group), memoryview(group[7:9].reshape(2, 32, 32)[:, ::2])
    del group
    other = memory.new_array(LARGE, FLOAT)
    assert address(other) != place, "a part of the group is still in use"
    del part
    assert address(memory.new_array((400, 1024), FLOAT)) == place, "it is freed, and large enough"


def test_memory_of_another_size_returns_to_the_system() -> None:
    memory = GroupMemory()
    for shape in (LARGE, (2000, 1024), (10, 1024), (80, 1024)):
        assert memory.new_array(shape, FLOAT).shape == shape
    assert [len(free) for free in memory._free] == [80 * 1024 * 4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_copies_and_children_have_memory_of_their_own() -> None:
    memory = GroupMemory()
    memory.new_array(LARGE, FLOAT)
    assert not pickle.loads(pickle.dumps(memory))._free
    child = os.fork()
    if child == 0:
        memory.new_array((100, 1024), FLOAT)
        os._exit(len(memory._free))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert len(memory._free) == 1


def test_batches_that_are_kept_stay_as_they_are(tmp_path: Path) -> None:
    a = np.arange(4096 * 256, dtype="f4").reshape(4096, 256)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(64, 256))
    loader = omnizarr.loader(z, 100, shuffle=True, buffer_bytes="2 MiB")
    kept = []
    for _ in range(3):
        kept += list(loader)[::7]
    for batch in kept:
        np.testing.assert_array_equal(batch, a[batch[:, 0].astype(int) // 256])


def test_a_loader_that_is_dropped_frees_its_memory(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=np.zeros((4096, 256), "f4"), chunks=(64, 256))
    loader = omnizarr.loader(z, 100, buffer_bytes="2 MiB")
    last = list(loader)[-1]
    memory = weakref.ref(loader._source.memory)
    del loader
    for _ in range(1000):  # a thread may just be finishing
        if memory() is None:
            break
        time.sleep(0.01)
    assert memory() is None
    assert last.sum() == 0
