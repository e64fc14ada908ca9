"""What makes the fast ways safe: values that are too short, too long or torn are noticed on every one of them, and
writers who meet do not undo each other."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Blosc, Gzip, Zstd
from omnizarr.engine import pool
from omnizarr.errors import ChunkError
from omnizarr.store import LocalStore, MemoryStore, Store, WrapperStore

CODECS: dict[str, Any] = {"raw": None, "zstd": Zstd(1), "blosc": Blosc("lz4"), "gzip": Gzip(1)}
# How a chunk reaches its place: in a row that is staged, in a row that is contiguous where it goes, alone and entire,
# alone and in part.
WAYS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "staged": ((8, 40), (4, 4), ...),
    "contiguous": ((40, 8), (4, 8), ...),
    "flat": ((160,), (16,), ...),
    "single": ((4, 8), (4, 8), ...),
    "part": ((4, 8), (4, 8), (slice(1, 3), slice(2, 5))),
}


def stores(kind: str, tmp_path: Path) -> Store:
    return MemoryStore() if kind == "memory" else LocalStore(tmp_path / "x.zarr")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", ["memory", "local"])
@pytest.mark.parametrize("damage", ["short", "long", "empty", "huge"])
def test_a_value_of_the_wrong_length_is_noticed(kind: str, codec: str, way: str, damage: str, tmp_path: Path) -> None:
    shape, chunks, key = WAYS[way]
    store = stores(kind, tmp_path)
    z = omnizarr.create_array(store, shape=shape, dtype="i4", chunks=chunks, compressors=CODECS[codec])
    z[...] = np.arange(z.size).reshape(shape) + 1
    chunk = "c/" + "/".join("0" for _ in shape)
    good = bytes(store.get(chunk) or b"")
    bad = {"short": good[:-1], "long": good + b"x", "empty": b"", "huge": good + b"x" * 100_000}[damage]
    store.set(chunk, bad)
    with pytest.raises(ChunkError) as caught:
        z[key]
    assert str(caught.value).count("cannot read chunk") == 1
    assert caught.value.key == chunk
    store.set(chunk, good)
    np.testing.assert_array_equal(z[key], (np.arange(z.size).reshape(shape) + 1)[key])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", ["i4", ">i4", "f8", "bool", "c8", "V3", [("a", "i2"), ("b", "?")]])
def test_every_way_gives_the_same_elements(codec: str, way: str, dtype: Any, tmp_path: Path) -> None:
    """Fast ways and the plain one, which reads a chunk at a time through a store that is in no way special."""
    shape, chunks, key = WAYS[way]
    rng = np.random.default_rng(0)
    a = np.frombuffer(rng.integers(0, 2, np.dtype(dtype).itemsize * int(np.prod(shape)), np.uint8), dtype).reshape(
        shape
    )
    z = omnizarr.create_array(tmp_path, shape=shape, dtype=dtype, chunks=chunks, compressors=CODECS[codec])
    z[...] = a
    plain = omnizarr.open_array(Plain(LocalStore(tmp_path)))
    for got in (z[key], plain[key]):
        assert got.astype(z.dtype).tobytes() == a[key].astype(z.dtype).tobytes()


class Plain(WrapperStore):
    """Answers as a remote store does, so that no row and no room of the engine's own is used."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.remote = True


def test_out_of_another_type_is_converted_and_not_copied() -> None:
    a = np.arange(320, dtype="i4").reshape(8, 40)
    z = omnizarr.create_array(None, data=a, chunks=(4, 4), compressors=None)
    np.testing.assert_array_equal(z.read(out=np.zeros(a.shape, "f4")), a)


@pytest.mark.parametrize("function", ["read", "preadv"])
def test_files_that_give_less_at_a_time_are_read_to_their_end(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(os, function):
        pytest.skip("this system has no such call")
    a = np.arange(320, dtype="i4").reshape(8, 40)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, 4), compressors=None)
    real = getattr(os, function)
    if function == "read":
        monkeypatch.setattr(os, "read", lambda file, size: real(file, min(size, 7)))
    else:
        monkeypatch.setattr(
            "omnizarr.store.files._preadv", lambda file, rooms, start: real(file, [rooms[0][:7]], start)
        )
    np.testing.assert_array_equal(z[...], a)
    np.testing.assert_array_equal(z[1:3, 2:5], a[1:3, 2:5])


def test_work_stops_soon_after_a_failure() -> None:
    done: list[int] = []

    def work(item: int) -> None:
        if item == 3:
            raise ValueError("three")
        done.append(item)

    with pytest.raises(ValueError, match="three"):
        pool.run(range(1_000_000), lambda: work, 4)
    assert len(done) < 100_000


def test_a_caller_works_alone_until_it_has_to_wait() -> None:
    names: list[str] = []

    def work(item: int) -> bool:
        names.append(threading.current_thread().name)
        return item == 50

    pool.run(range(51), lambda: work, 4, alone=True)
    assert len(set(names)) == 1
    names.clear()
    started = threading.Barrier(2, timeout=10)

    def wait(item: int) -> bool:
        names.append(threading.current_thread().name)
        if item > 0:
            started.wait()  # passes only if two threads work
        return True

    pool.run(range(3), lambda: wait, 2, alone=True)
    assert len(set(names)) == 2


def test_work_is_done_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThreads:
        def submit(self, *args: Any) -> Any:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pool, "_pool", NoThreads)
    done: list[int] = []
    pool.run(range(10), lambda: done.append, 4)
    assert done == list(range(10))


def test_parts_of_a_shard_come_from_one_state_of_it(tmp_path: Path) -> None:
    """A shard that is replaced between the request for its index and that for its chunks is read again."""
    store = LocalStore(tmp_path)
    z = omnizarr.create_array(store, shape=16, dtype="i4", chunks=2, shards=16, compressors=None)
    z[...] = 7
    z[4:6] = [44, 55]

    class Restless(WrapperStore):
        """Another writer comes between any two requests."""

        turn = 0

        def get_partial_values(self, requests: Any) -> Any:
            if self.turn < 3:
                self.turn += 1
                z[0:2] = 0 if self.turn % 2 else 7  # an inner chunk goes or comes, and all others move
            return super().get_partial_values(requests)

    reader = omnizarr.open_array(Restless(store), mode="r")
    np.testing.assert_array_equal(reader[4:6], [44, 55])


def test_one_array_through_two_roots_loses_no_update(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, name="a", shape=200, dtype="i4", chunks=200)
    handles = [omnizarr.open_group(tmp_path)["a"], omnizarr.open_array(tmp_path / "a")]

    def work(which: int) -> None:
        for index in range(which, 200, 2):
            handles[which][index] = index + 1

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(handles[0][...], np.arange(1, 201))


def test_a_whole_write_is_not_undone_by_a_partial_one() -> None:
    """The partial writer has read the old chunk when the whole write comes: one waits for the other."""
    inner = MemoryStore()
    omnizarr.create_array(inner, shape=4, dtype="i4", chunks=4)[...] = 1
    read, written = threading.Event(), threading.Event()

    class Slow(WrapperStore):
        def get(self, key: str, range: Any = None) -> Any:
            value = super().get(key, range)
            if key == "c/0" and not read.is_set():
                read.set()
                written.wait(0.2)  # long enough for a whole write that does not wait
            return value

    partial = threading.Thread(target=lambda: omnizarr.open_array(Slow(inner)).__setitem__(0, 5))
    partial.start()
    read.wait()
    omnizarr.open_array(inner)[...] = 9
    written.set()
    partial.join()
    assert omnizarr.open_array(inner)[...].tolist() in ([9, 9, 9, 9], [5, 9, 9, 9])


def test_sizes_in_a_shard_index_are_bounded() -> None:
    store = MemoryStore()
    z = omnizarr.create_array(store, shape=64, dtype="u1", chunks=1, shards=64, compressors=None)
    entries = np.zeros((64, 2), "<u8")
    entries[:, 1] = 2**20  # each inner chunk, of one byte, is said to be the whole file
    from fastcrc import crc32

    index = entries.tobytes()
    store.set("c/0", bytes(2**20) + index + crc32.iscsi(index).to_bytes(4, "little"))
    for key in (3, slice(0, 20), ...):
        with pytest.raises(ChunkError, match="more than the 1 it can have"):
            z[key]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_no_value_and_holds_nobody_up(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, shape=(4, 8), dtype="i4", chunks=(4, 4), fill_value=3, compressors=None)
    (tmp_path / "c" / "0").mkdir(parents=True)
    os.mkfifo(tmp_path / "c" / "0" / "0")
    assert (z[...] == 3).all()
    assert (z[1:2, 1:3] == 3).all()


def test_what_took_the_place_of_a_directory_is_not_emptied(tmp_path: Path) -> None:
    """A directory that was moved away and linked to: erasing removes the link at most, never what it points to."""
    group = omnizarr.create_group(tmp_path / "g.zarr")
    group.create_array("x", data=np.arange(4))
    (tmp_path / "g.zarr" / "x").rename(tmp_path / "elsewhere")
    try:
        (tmp_path / "g.zarr" / "x").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    except OSError:
        pytest.skip("this system lets nobody make links")
    with pytest.raises(omnizarr.OmnizarrError):
        group.store.erase_prefix("x/")
    assert sorted(file.name for file in (tmp_path / "elsewhere").iterdir()) == ["c", "zarr.json"]


def test_arrays_of_as_many_dimensions_as_can_be_held() -> None:
    shape = (1,) * 61 + (2, 9)
    a = np.arange(18, dtype="i4").reshape(shape)
    for layout in ({}, {"shards": (1,) * 61 + (2, 6)}):
        z = omnizarr.create_array(None, data=a, chunks=(1,) * 61 + (2, 3), **layout)
        np.testing.assert_array_equal(z[...], a)
    with pytest.raises(omnizarr.OmnizarrError, match="at most 63 dimensions"):
        omnizarr.zeros((1,) * 64)
