"""A shared cache never gives a wrong chunk, whatever processes write, are killed or empty it, and keeps its size."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import omnizarr
from omnizarr.engine.cache_file import CacheFile, open_cache_file
from omnizarr.errors import ArgumentError, OmnizarrWarning, StoreError
from omnizarr.store.local import flock

MEBIBYTE = 2**20


@pytest.fixture(autouse=True)
def loop() -> None:
    """Route H does not use the kernel: run the tests once, not twice as those of the engine."""


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def value(number: int, state: int, size: int) -> bytes:
    return random.Random(number * 1000 + state).randbytes(size)


def stored(file: CacheFile, number: int, state: int) -> bytes | None:
    place = file.find(key(number), key(state))
    if place is None:
        return None
    data = bytearray(place.length)
    return bytes(data) if file.read_into(place, [memoryview(data)]) else None


def put(file: CacheFile, number: int, state: int, size: int) -> None:
    file.store(key(number), key(state), memoryview(value(number, state, size)))


def old(folder: Path) -> None:
    """Let the versions of files be certain: those that were written a moment ago are not."""
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))
    time.sleep(0.15)


# -- the file


class Machine(RuleBasedStateMachine):
    """Two handles of one file, as two processes have, against a dictionary of what was stored."""

    @initialize(seed=st.integers(0, 2**30))
    def start(self, seed: int) -> None:
        self.first = open_cache_file(None, MEBIBYTE)
        self.second = CacheFile("", os.dup(self.first._file), MEBIBYTE)
        self.sizes: dict[int, tuple[int, int]] = {}

    @rule(number=st.integers(0, 30), state=st.integers(0, 2), size=st.integers(1, 300_000), second=st.booleans())
    def store(self, number: int, state: int, size: int, second: bool) -> None:
        put(self.second if second else self.first, number, state, size)

    @rule(number=st.integers(0, 30), state=st.integers(0, 2), second=st.booleans())
    def read(self, number: int, state: int, second: bool) -> None:
        data = stored(self.second if second else self.first, number, state)
        assert data is None or data == value(number, state, len(data))

    @rule(second=st.booleans())
    def clear(self, second: bool) -> None:
        (self.second if second else self.first).clear()

    @rule(offset=st.integers(0, MEBIBYTE - 64))
    def a_half_written_entry(self, offset: int) -> None:
        start = 4096 + offset // 64 * 64 % 4096  # in the only bucket
        os.pwrite(self.first._file, os.urandom(40), start)

    @rule()
    def size_is_kept(self) -> None:
        assert os.fstat(self.first._file).st_size == MEBIBYTE
        assert self.first.count()[1] <= MEBIBYTE


def test_processes_never_read_a_wrong_value() -> None:
    run_state_machine_as_test(Machine, settings=settings(max_examples=15, stateful_step_count=40, deadline=None))


def test_a_full_ring_keeps_most_of_what_it_holds() -> None:
    file = open_cache_file(None, MEBIBYTE)
    hits = []
    for _ in range(4):  # a loop over twice as much
        hits.append(0)
        for number in range(40):
            if stored(file, number, 0) is None:
                put(file, number, 0, 50_000)
            else:
                hits[-1] += 1
    assert hits[0] == 0
    assert min(hits[1:]) >= 10


def test_an_overwritten_value_is_not_given() -> None:
    file = open_cache_file(None, MEBIBYTE)
    put(file, 0, 0, 200_000)
    place = file.find(key(0), key(0))
    assert place is not None
    for number in range(1, 80):
        put(file, number, 0, 200_000)
    assert not file.read_into(place, [memoryview(bytearray(place.length))])


def test_a_value_is_read_into_several_places_even_if_the_system_reads_little_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = open_cache_file(None, MEBIBYTE)
    put(file, 0, 0, 1000)
    place = file.find(key(0), key(0))
    assert place is not None
    preadv = os.preadv

    def read_few(descriptor: int, targets: list[memoryview], start: int) -> int:
        return preadv(descriptor, [targets[0][:70]], start)

    for read in (preadv, read_few):
        monkeypatch.setattr(os, "preadv", read)
        data = bytearray(1000)
        assert file.read_into(place, [memoryview(data)[start : start + 100] for start in range(0, 1000, 100)])
        assert data == value(0, 0, 1000)
    monkeypatch.setattr(os, "preadv", lambda *_: 0)  # the file was cut
    assert not file.read_into(place, [memoryview(data)])


def test_a_file_of_another_start_of_the_system_is_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "cache")
    file = open_cache_file(path, MEBIBYTE)
    put(file, 1, 1, 100)
    assert open_cache_file(path, MEBIBYTE) is file
    del file
    file = open_cache_file(path, MEBIBYTE)
    assert stored(file, 1, 1) == value(1, 1, 100)
    del file
    monkeypatch.setattr("omnizarr.engine.cache_file._system_start", lambda: b"another start   ")
    assert stored(open_cache_file(path, MEBIBYTE), 1, 1) is None


def test_wrong_files(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    for content in (b"some text that is not a cache", bytes(16) + b"elements", bytes(5000)):
        other.write_bytes(content)
        with pytest.raises(ArgumentError, match=r"notes.txt exists and is not a cache"):
            omnizarr.SharedChunkCache("2 MiB", other)
        assert other.read_bytes() == content
    with pytest.raises(StoreError, match="cannot open the cache file"):
        omnizarr.SharedChunkCache("2 MiB", tmp_path / "missing" / "cache")
    with pytest.raises(ArgumentError, match="at least 1048576"):
        omnizarr.SharedChunkCache(1000)


@pytest.mark.parametrize("writes", range(4))
def test_a_process_that_is_killed_while_it_makes_the_file(
    writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, left, pwrite = str(tmp_path / "cache"), [writes], os.pwrite

    def write(*arguments: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(5, "the process is killed here")
        return pwrite(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", write)
        if writes < 3:
            with pytest.raises(StoreError):
                open_cache_file(path, MEBIBYTE)
    file = open_cache_file(path, MEBIBYTE)
    put(file, 1, 1, 100)
    assert stored(file, 1, 1) == value(1, 1, 100)


def test_a_file_that_cannot_be_read_any_more_is_an_empty_cache(tmp_path: Path) -> None:
    """As on a network file system, after another computer removed the file."""
    file = open_cache_file(str(tmp_path / "cache"), MEBIBYTE)
    put(file, 1, 1, 100)
    place = file.find(key(1), key(1))
    assert place is not None
    folder = os.open(tmp_path, os.O_RDONLY)
    os.dup2(folder, file._file)  # reads fail
    os.close(folder)
    assert file.find(key(1), key(1)) is None
    assert not file.read_into(place, [memoryview(bytearray(100))])


def test_a_file_that_other_machines_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock, "file_system", lambda path: "nfs4")
    with pytest.warns(OmnizarrWarning, match="is on `nfs4`: let the programs of one machine only use it"):
        omnizarr.SharedChunkCache("2 MiB", tmp_path / "cache")


def _write_forever(path: str, seed: int) -> None:
    file = open_cache_file(path, MEBIBYTE)
    numbers = random.Random(seed)
    while True:
        put(file, numbers.randrange(40), numbers.randrange(2), numbers.randrange(1, 150_000))


def test_killed_writers_leave_it_unlocked_and_right(tmp_path: Path) -> None:
    path = str(tmp_path / "cache")
    file = open_cache_file(path, MEBIBYTE)
    context = multiprocessing.get_context("fork")
    right = 0
    for turn in range(6):
        writers = [context.Process(target=_write_forever, args=(path, 2 * turn + number)) for number in range(2)]
        for writer in writers:
            writer.start()
        begin, before = time.monotonic(), right
        # At least until a writer has begun, which takes a while on a busy machine.
        while (passed := time.monotonic() - begin) < 0.05 or (right == before and passed < 30):
            for number in range(40):
                for state in range(2):
                    data = stored(file, number, state)
                    assert data is None or data == value(number, state, len(data))
                    right += data is not None
        for writer in writers:
            assert writer.pid is not None
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
        for attempt in range(20):  # a full ring admits one of 8
            put(file, 100 + attempt, turn, 10)
        assert any(stored(file, 100 + attempt, turn) for attempt in range(20))
    assert right


# -- arrays


@pytest.mark.parametrize("file", [None, "cache"])
@pytest.mark.parametrize("shards", [None, (20, 6)])
def test_arrays_of_several_processes(tmp_path: Path, file: str | None, shards: Any) -> None:
    data = np.arange(240, dtype="i2").reshape(40, 6)
    omnizarr.create_array(tmp_path / "z", data=data, chunks=(5, 6), shards=shards)
    old(tmp_path / "z")
    cache = omnizarr.SharedChunkCache("2 MiB", None if file is None else tmp_path / file)
    z = omnizarr.open_array(tmp_path / "z", mode="r", cache=cache)
    child = os.fork()
    if not child:
        os._exit(not np.array_equal(z[:], data))
    assert os.waitpid(child, 0)[1] == 0
    assert len(cache) == 8
    z = omnizarr.open_array(tmp_path / "z", mode="r", cache=cache)
    assert np.array_equal(z[3:33], data[3:33])
    assert cache.hits == 7
    assert cache.nbytes == data.nbytes
    assert repr(cache).startswith("<SharedChunkCache in ")
    omnizarr.open_array(tmp_path / "z")[7] = -1
    data[7] = -1
    assert np.array_equal(z[3:33], data[3:33])
    cache.clear()
    assert len(cache) == 0
    assert np.array_equal(z[:], data)


def _read(z: omnizarr.Array, queue: Any) -> None:
    queue.put((int(z[:].sum()), z._context.cache.hits))  # type: ignore[union-attr]


def test_a_spawned_child_finds_the_memory(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "z", data=np.arange(100), chunks=(10,))
    old(tmp_path / "z")
    z = omnizarr.open_array(tmp_path / "z", mode="r", cache=omnizarr.SharedChunkCache("2 MiB"))
    assert z[:].sum() == 4950
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_read, args=(z, queue))
    child.start()
    assert queue.get(timeout=100) == (4950, 10)
    child.join()


def test_a_pickle_in_the_same_process_is_the_same_file() -> None:
    cache = omnizarr.SharedChunkCache("2 MiB")
    again = pickle.loads(pickle.dumps(cache))
    assert again._file is cache._file
    gone = cache.__reduce__()[0](2**21, "/proc/1/fd/99999")
    assert len(gone) == 0


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system does not list open files")
@pytest.mark.parametrize("content", [b"", bytes(100), b"a line of a log"])
def test_a_pickle_whose_memory_is_gone_changes_no_other_file(content: bytes, tmp_path: Path) -> None:
    """The address may lead to a file of another program by then: processes in containers often have the same number."""
    cache = omnizarr.SharedChunkCache("2 MiB")
    pickled, number = pickle.dumps(cache), cache._file._file
    del cache
    log = tmp_path / "log"
    log.write_bytes(content)
    file = os.open(log, os.O_RDWR)
    if file != number:
        os.dup2(file, number)
        os.close(file)
    try:
        assert len(pickle.loads(pickled)) == 0
    finally:
        os.close(number)
    assert log.read_bytes() == content


def test_handles_that_decode_differently_do_not_share(tmp_path: Path) -> None:
    cache = omnizarr.SharedChunkCache("2 MiB")
    results = []
    z = omnizarr.create_array(tmp_path / "z", data=np.arange(10, dtype="i2"), chunks=(5,), compressors=None)
    for dtype in ("int16", "uint16", "float16"):
        document = tmp_path / "z" / "zarr.json"
        document.write_text(document.read_text().replace(f'"{z.dtype.name}"', f'"{dtype}"'))
        old(tmp_path / "z")
        z = omnizarr.open_array(tmp_path / "z", mode="r", cache=cache)
        results.append(z[:].dtype.name)
        assert z[:].tobytes() == np.arange(10, dtype="i2").tobytes()
    assert results == ["int16", "uint16", "float16"]


@pytest.mark.parametrize("shards", [None, (40, 160)])
@pytest.mark.parametrize("chunks", [(10, 160), (10, 80), (1500, 160), (64, 160)])
def test_rows_come_from_the_cache_as_from_the_array(tmp_path: Path, chunks: Any, shards: Any) -> None:
    """Whole chunks in any order, parts, repeats, edges and transposed blocks; all of them when read a second time."""
    a = np.random.default_rng(0).random((200, 160), "f4")
    shards = None if shards is None or shards[0] % chunks[0] else shards
    z = omnizarr.create_array(tmp_path / "z", data=a, chunks=chunks, shards=shards, compressors="zstd")
    del z
    old(tmp_path / "z")
    cache = omnizarr.SharedChunkCache("4 MiB")
    z = omnizarr.open_array(tmp_path / "z", mode="r", cache=cache)
    rng = np.random.default_rng(1)
    rows: list[Any] = [
        *(rng.permutation(200), rng.permutation(200)[:150], rng.permutation(20), rng.integers(0, 200, 300)),
        *(np.arange(200)[::-1], np.arange(30), np.arange(3, 37), rng.permutation(10), np.repeat(np.arange(10), 2)),
    ]
    keys: list[Any] = [row.tolist() for row in rows] + [slice(None), slice(7, 133), slice(0, 200, 3), slice(10, 20)]
    for _ in range(2):
        for chosen in keys:
            for columns in (slice(None), slice(0, 80), slice(3, 160), [5, 3]):
                np.testing.assert_array_equal(z.oindex[chosen, columns], a[chosen][:, columns])
            out = np.empty((160, len(a[chosen])), "f4").T
            np.testing.assert_array_equal(z.read(chosen, out=out), a[chosen])
    misses = cache.misses
    np.testing.assert_array_equal(z[:], a)
    assert cache.misses == misses


def test_what_cannot_be_shared_is_read() -> None:
    cache = omnizarr.SharedChunkCache("2 MiB")
    store = omnizarr.MemoryStore()  # its versions have no meaning in other processes
    omnizarr.create_array(store, data=np.arange(10))
    z = omnizarr.open_array(store, cache=cache)
    assert z[:].sum() == z[:].sum() == 45
    text = omnizarr.MemoryStore()
    omnizarr.create_array(text, data=np.array(["a", "b"], np.dtypes.StringDType()))
    assert omnizarr.open_array(text, cache=cache)[:].tolist() == ["a", "b"]
    assert len(cache) == cache.hits == 0


def test_a_disk_without_space_only_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    omnizarr.create_array(tmp_path / "z", data=np.arange(100), chunks=(10,))
    old(tmp_path / "z")
    z = omnizarr.open_array(tmp_path / "z", mode="r", cache=omnizarr.SharedChunkCache("2 MiB"))

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert z[:].sum() == z[:].sum() == 4950
