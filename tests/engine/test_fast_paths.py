"""What makes the fast ways safe: values that are too short, too long or torn are noticed on every one of them, and
writers who meet do not undo each other."""

from __future__ import annotations

import os
import threading
import time
import tracemalloc
from concurrent.futures import Future
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.codecs import Blosc, Gzip, Zstd
from omnizarr.engine import buffers, pool, schedule
from omnizarr.errors import ChunkError
from omnizarr.grids.regular import RegularAxis
from omnizarr.indexing import Projection, key_items, numpy_key, only_chunk, pieces
from omnizarr.store import LocalStore, MemoryStore, Store, WrapperStore
from omnizarr.store.wrappers import ForwardedUpdates, forwarded

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
            "omnizarr.store.local.files._preadv", lambda file, rooms, start: real(file, [rooms[0][:7]], start)
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

    pool.run(range(51), lambda: work, 4, caller_first=True)
    assert len(set(names)) == 1
    names.clear()
    started = threading.Barrier(2, timeout=10)

    def wait(item: int) -> bool:
        names.append(threading.current_thread().name)
        if item > 0:
            started.wait()  # passes only if two threads work
        return True

    pool.run(range(3), lambda: wait, 2, caller_first=True)
    assert len(set(names)) == 2


def test_callers_that_are_many_share_their_helpers() -> None:
    """Eight threads of a program with two cores are eight at work, and one that helps the first."""
    most = busy = 0
    lock = threading.Lock()

    def work(_: int) -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.002)
        with lock:
            busy -= 1

    with omnizarr.config(threads=2):
        callers = [
            threading.Thread(target=copy_context().run, args=(pool.run, range(20), lambda: work, 2)) for _ in range(8)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert most <= 9
    assert pool._reserved == 0


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

    restless = Restless(store)
    np.testing.assert_array_equal(omnizarr.open_array(restless, mode="r")[4:6], [44, 55])
    assert restless.turn == 3


def test_parts_of_a_shard_come_from_one_state_though_they_are_asked_for_side_by_side() -> None:
    """A store that sends the requests of a batch together may answer the last of them first."""
    inner = MemoryStore()
    z = omnizarr.create_array(inner, shape=16, dtype="i4", chunks=2, shards=16, compressors=None)
    z[...] = 7
    z[4:6] = [44, 55]

    class Hasty(WrapperStore):
        turn = 0

        def __init__(self, inner: Store) -> None:
            super().__init__(inner)
            self.remote, self.in_memory = True, False

        def get_partial_values(self, requests: Any) -> Any:
            answers = [self.inner.get(*requests[-1])]
            if self.turn < 3:
                self.turn += 1
                z[0:2] = 0 if self.turn % 2 else 7
            return [*(self.inner.get(*request) for request in requests[:-1]), *answers]

    np.testing.assert_array_equal(omnizarr.open_array(Hasty(inner), mode="r")[4:6], [44, 55])


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_inner_chunks_that_a_codec_leaves_as_they_are_outlive_the_next_row(kind: str, tmp_path: Path) -> None:
    """A codec may give back the very memory that it was given, which is used again for the next row."""
    a = np.random.default_rng(2).integers(0, 255, (12, 12), np.uint8)
    codec = {"name": "numcodecs.shuffle", "configuration": {"elementsize": 1}}
    z = omnizarr.create_array(
        stores(kind, tmp_path), data=a, chunks=(2, 2), shards=(8, 8), compressors=[codec], fill_value=9
    )
    np.testing.assert_array_equal(z[...], a)
    np.testing.assert_array_equal(z[3, 1:9], a[3, 1:9])


def test_a_chunk_of_a_row_that_cannot_be_written_is_named() -> None:
    casting = {"name": "cast_value", "configuration": {"data_type": "int16"}}
    z = omnizarr.create_array(None, shape=(4, 64), dtype="f8", chunks=(4, 4), filters=[casting], fill_value=0)
    a = np.ones(z.shape)
    a[2, 41] = 1e9
    with omnizarr.config(threads=1), pytest.raises(ChunkError, match="out of the range") as caught:
        z[...] = a
    assert (caught.value.chunk, caught.value.key) == ((0, 10), "c/0/10")


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
    """The partial writer has read the old chunk when the whole write comes, and has to read it again."""
    inner = MemoryStore()
    omnizarr.create_array(inner, shape=4, dtype="i4", chunks=4)[...] = 1
    read, written = threading.Event(), threading.Event()

    class SlowUpdates(ForwardedUpdates):
        def read(self, key: str, limit: int | None = None) -> Any:
            value = super().read(key, limit)
            if key == "c/0" and not read.is_set():
                read.set()
                written.wait()
            return value

    class Slow(WrapperStore):
        updates = forwarded("updates", SlowUpdates)

    partial = threading.Thread(target=lambda: omnizarr.open_array(Slow(inner)).__setitem__(0, 5))
    partial.start()
    read.wait()
    omnizarr.open_array(inner)[...] = 9
    written.set()
    partial.join()
    assert omnizarr.open_array(inner)[...].tolist() == [5, 9, 9, 9]


def test_sizes_in_a_shard_index_are_bounded() -> None:
    store = MemoryStore()
    z = omnizarr.create_array(store, shape=64, dtype="u1", chunks=1, shards=64, compressors=None)
    entries = np.zeros((64, 2), "<u8")
    entries[:, 1] = 2**20  # each inner chunk, of one byte, is said to be the whole file
    from fastcrc import crc32

    index = entries.tobytes()
    store.set("c/0", bytes(2**20) + index + crc32.iscsi(index).to_bytes(4, "little"))
    for key in (3, slice(0, 20), ...):
        with pytest.raises(ChunkError, match="can have at most 1 bytes"):
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


def bounds() -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(-9, 9)


@given(
    shape=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    key=st.lists(
        st.integers(-8, 8) | st.builds(slice, bounds(), bounds(), st.sampled_from([None, 1, 2, -1])), max_size=4
    ),
)
def test_a_plain_key_means_what_the_long_way_makes_of_it(shape: tuple[int, ...], key: list[Any]) -> None:
    quick = numpy_key.plain_selection(tuple(key), shape)
    if quick is not None:
        assert quick == numpy_key.basic_selection(key_items.parse_items(tuple(key), shape))
    else:
        odd = any(isinstance(item, slice) and item.step not in (None, 1) for item in key)
        outside = any(
            isinstance(item, int) and not -length <= item < length for item, length in zip(key, shape, strict=False)
        )
        assert odd or outside or len(key) > len(shape)


@given(
    picks=st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 3), st.integers(1, 8)), min_size=1, max_size=3
    )
)
def test_the_only_chunk_is_the_one_that_a_projection_finds(picks: list[tuple[int, int, int, int]]) -> None:
    taken = [slice(start, start + length, step) for start, length, step, _ in picks]
    axes = [RegularAxis(40, size) for *_, size in picks]
    cells = list(Projection(taken, (), axes))
    found = only_chunk(taken, axes)
    if found is None:
        assert len(cells) > 1 or any(pick.step > 1 for pick in taken)  # a step may lead past the next chunk
    else:
        assert [(cell.chunk, cell.inner) for cell in cells] == [found]


@pytest.mark.python_loop
@pytest.mark.parametrize("shards", [None, (8, 16, 20)])
@pytest.mark.parametrize("helper", ["none", "at once", "late", "real"])
@pytest.mark.parametrize("codec", CODECS)
def test_rows_come_to_lie_where_they_belong_whoever_places_them(
    helper: str, codec: str, shards: tuple[int, ...] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller alone, another thread at once, another thread that is behind, or whoever has time."""
    a = np.arange(16 * 48 * 40, dtype="u2").reshape(16, 48, 40)
    a[4:8, 8:16, 4:8] = 9
    options: dict[str, Any] = {"chunks": (4, 8, 4), "shards": shards, "compressors": CODECS[codec], "fill_value": 9}
    z = omnizarr.create_array(tmp_path, data=a, **options)
    placed: list[str] = []

    def submit(work: Any) -> Future[object] | None:
        if helper == "none":
            return None
        if helper == "real":
            return pool.submit(work)
        placed.append(helper)
        done: Future[object] = Future()
        if helper == "at once":
            done.set_result(work())
        else:
            threading.Timer(0.02, lambda: done.set_result(work())).start()
        return done

    monkeypatch.setattr(buffers, "submit", submit)
    monkeypatch.setattr(schedule, "_LONG_ROW", 0)
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    with omnizarr.config(threads=2):
        np.testing.assert_array_equal(z[...], a)
        np.testing.assert_array_equal(z[2:13, 3:41, 1:39], a[2:13, 3:41, 1:39])
    assert bool(placed) == (helper in ("at once", "late"))


@pytest.mark.parametrize("codec", CODECS)
def test_rows_that_go_to_the_result_by_way_of_another_array_are_not_placed_late(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a shard that a mask takes entirely, the rows are like those of a slice, but go to an array between."""
    a = np.random.default_rng(0).integers(0, 2**16, 4096).astype("u2")
    z = omnizarr.create_array(None, data=a, chunks=(32,), shards=(512,), compressors=CODECS[codec])
    mask = np.ones(len(a), bool)
    mask[[5, 3000]] = False

    def submit(work: Any) -> Future[object]:
        done: Future[object] = Future()
        threading.Timer(0.02, lambda: done.set_result(work())).start()
        return done

    monkeypatch.setattr(buffers, "submit", submit)
    monkeypatch.setattr(schedule, "_LONG_ROW", 0)
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    with omnizarr.config(threads=2):
        np.testing.assert_array_equal(z[mask], a[mask])


def test_an_error_of_the_thread_that_places_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    z = omnizarr.create_array(None, data=np.arange(64 * 64).reshape(64, 64), chunks=(2, 2), compressors=None)

    asked: list[Any] = []

    def submit(work: Any) -> Future[object]:
        asked.append(work)
        done: Future[object] = Future()
        done.set_exception(MemoryError("no room"))
        return done

    monkeypatch.setattr(buffers, "submit", submit)
    monkeypatch.setattr(schedule, "_LONG_ROW", 0)
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    with omnizarr.config(threads=2), pytest.raises(MemoryError, match="no room"):
        z[...]
    assert len(asked) == 1  # nobody writes to a result that was given up


@given(
    picks=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(1, 5), st.integers(1, 8)), min_size=1, max_size=3
    ),
    most=st.integers(1, 5),
)
def test_pieces_made_on_the_way_are_those_of_the_list(picks: list[tuple[int, int, int, int]], most: int) -> None:
    taken = [slice(start, start + length, step) for start, length, step, _ in picks]
    axes = [RegularAxis(50, size) for *_, size in picks]
    listed = Projection(taken, (), axes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_MOST_LISTED", 0)
        lazy = Projection(taken, (), axes)
    assert len(lazy) == len(listed) == len(list(listed))
    assert list(lazy) == list(listed)
    assert list(lazy.rows(most)) == list(listed.rows(most))


def test_ten_million_chunks_need_no_list_of_them() -> None:
    """Listed, they would take 5 GB before the first is touched."""
    rows = Projection([slice(0, 10**8, 1)], (), [RegularAxis(10**8, 10)]).rows(64)
    tracemalloc.start()
    try:
        assert [cell.chunk for cell in next(rows).cells] == [(number,) for number in range(64)]
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
