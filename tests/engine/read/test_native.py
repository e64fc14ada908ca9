"""The compiled loop over chunks gives what NumPy gives, leaves to Python what is not usual, and is hard to misuse."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.transformers.places import BackwardKeys

import omnizarr
from omnizarr import native
from omnizarr._json import Problems
from omnizarr.chunk_keys import chunk_key_encodings
from omnizarr.codecs.contract import ByteSpec
from omnizarr.engine.read import native as native_reading
from omnizarr.engine.write import native as native_writing
from omnizarr.errors import ChunkError
from omnizarr.store import LocalStore, PrefixStore, WrapperStore, provides
from omnizarr.store.local.capabilities import KernelFiles, LocalSnapshots

ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
CODECS: dict[str, Any] = {"raw": None, "zstd": ZSTD, "blosc": BLOSC, "gzip": GZIP}
TYPES = ["u1", "i2", "f4", "f8", "c16", "M8[s]", "S3", "V5"]


@pytest.mark.skipif(
    os.name != "posix" or shutil.which("cc") is None or not Path(sysconfig.get_path("include"), "Python.h").exists(),
    reason="there is no C compiler, or no headers of Python",
)
def test_it_is_there_where_there_is_a_compiler() -> None:
    assert native.kernel() is not None
    assert [native.codec(name) for name in ("raw", "blosc", "zstd", "gzip")] == [0, 1, 2, 3]
    assert native.codec("lzma") is None


@st.composite
def arrays(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    shape = draw(st.lists(st.integers(1, 13), min_size=1, max_size=4))
    chunks = [draw(st.integers(1, length + 2)) for length in shape]
    shards = None
    if draw(st.booleans()):
        shards = [size * draw(st.integers(1, 3)) for size in chunks]
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    size = int(np.prod(shape)) * dtype.itemsize
    data = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 3, size, np.uint8)
    if dtype.kind in "fc":
        values = data[: int(np.prod(shape))].astype(dtype)
    else:
        values = np.frombuffer(data.tobytes(), dtype)
    options = {"chunks": chunks, "shards": shards, "compressors": CODECS[draw(st.sampled_from([*CODECS]))]}
    return values.reshape(shape), options


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    key: list[Any] = []
    for length in shape:
        start, stop = sorted([draw(st.integers(0, length)), draw(st.integers(0, length))])
        step = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))
        one = draw(st.integers(-length, length - 1))
        key.append(draw(st.sampled_from([one, slice(start, stop), slice(None, None, step), slice(start, None, step)])))
    return tuple(key[: draw(st.sampled_from([len(key), draw(st.integers(0, len(key)))]))])


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_reads_what_numpy_does(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    a, options = data.draw(arrays())
    z = omnizarr.create_array(tmp_path_factory.mktemp("z"), shape=a.shape, dtype=a.dtype, **options)
    half = tuple(slice(0, data.draw(st.integers(0, length))) for length in a.shape)
    z[half] = a[half]  # the rest is not stored
    expected = np.full(a.shape, z.fill_value, a.dtype)
    expected[half] = a[half]
    for _ in range(4):
        key = data.draw(keys(a.shape))
        threads = data.draw(st.sampled_from([1, 2, 5]))
        with omnizarr.config(threads=threads):
            found = z[key[0] if len(key) == 1 else key]
        assert type(found) is type(expected[key])
        np.testing.assert_array_equal(found, expected[key])
        outer = np.full([length * 2 for length in expected[key].shape], b"" if a.dtype.kind in "SV" else 0, a.dtype)
        out = outer[tuple(slice(None, None, -2) for _ in outer.shape)]
        if out.shape:
            z.read(key, out=out)
            np.testing.assert_array_equal(out, expected[key])


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_takes_what_numpy_does(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    length = data.draw(st.integers(1, 60))
    dtype = data.draw(st.sampled_from(TYPES))
    a = np.frombuffer(np.random.default_rng(0).integers(0, 3, length * 240, np.uint8).tobytes(), dtype)[:length]
    codec = data.draw(st.sampled_from([*CODECS]))
    chunks = data.draw(st.integers(1, length + 2))
    z = omnizarr.create_array(
        tmp_path_factory.mktemp("z"), shape=length, dtype=dtype, chunks=chunks, compressors=CODECS[codec]
    )
    stop = data.draw(st.integers(0, length))
    z[:stop] = a[:stop]
    expected = np.full(length, z.fill_value, dtype)
    expected[:stop] = a[:stop]
    indices = data.draw(st.lists(st.integers(-length, length - 1), max_size=80))
    if data.draw(st.booleans()):
        indices.sort()
    index = np.array(indices, np.intp)
    for found in (z[index], z.oindex[index], z.vindex[index], z[index.reshape(1, -1)][0]):
        np.testing.assert_array_equal(found, expected[index])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=length, max_size=length)))
    np.testing.assert_array_equal(z[mask], expected[mask])
    out = np.full(2 * len(index), expected[0], dtype)
    z.read(index, out=out[::-2])
    np.testing.assert_array_equal(out[::-2], expected[index])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "S3"])
@pytest.mark.parametrize("share", [0, 1e-5, 0.02, 0.5, 1])
def test_masks_of_many_elements(tmp_path: Path, codec: str, dtype: str, share: float) -> None:
    length = 2**20 + 77 if dtype == "i2" else 10_007
    random = np.random.default_rng(1)
    a = random.integers(0, 100, length).astype(dtype)
    z = omnizarr.create_array(tmp_path, shape=length, dtype=dtype, chunks=length // 3, compressors=CODECS[codec])
    z[: length // 2] = a[: length // 2]
    expected = np.full(length, z.fill_value, dtype)
    expected[: length // 2] = a[: length // 2]
    mask = random.random(length) < share
    mask[length // 9] = True
    odd = (mask * random.integers(1, 256, length)).astype(np.uint8).view(bool)  # any byte but 0 is true
    apart = np.repeat(mask, 2)[::2]
    for given_mask in (mask, odd, apart):
        for found in (z[given_mask], z.oindex[given_mask], z.vindex[given_mask]):
            np.testing.assert_array_equal(found, expected[mask])
    out = np.full(2 * int(mask.sum()), expected[0], dtype)
    z.read(mask, out=out[::-2])
    np.testing.assert_array_equal(out[::-2], expected[mask])


@pytest.mark.parametrize("codec", CODECS)
def test_few_elements_of_large_chunks(calls: list[str], tmp_path: Path, codec: str) -> None:
    """Of one that is not compressed, no more is read than they are."""
    a = np.random.default_rng(1).integers(0, 9, 2**18, "u4")
    z = omnizarr.create_array(tmp_path, data=a, chunks=2**16, compressors=CODECS[codec])
    (tmp_path / "c" / "3").unlink()
    a[3 * 2**16 :] = 0
    for index in ([5], [3, 2**16, 2**18 - 1], [2**17, 0, -1, 7, 7], range(0, 2**18, 2**10)):
        calls.clear()
        np.testing.assert_array_equal(z[list(index)], a[list(index)])
        np.testing.assert_array_equal(z.oindex[np.sort(index)], a[np.sort(index)])
        assert calls == ["take", "take"]
    if codec == "raw":
        for size in (2**18 - 1, 2**18 + 1):
            os.truncate(tmp_path / "c" / "1", size)
            with pytest.raises(ChunkError, match="chunk \\(1,\\)"):
                z[[3, 2**16]]


def test_few_chunks_by_a_short_way(calls: list[str], tmp_path: Path) -> None:
    """As many as there are, absent ones and those at the edge among them; what is damaged is named."""
    a = np.arange(70 * 9, dtype="u2").reshape(70, 9)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(8, 4), compressors=None, fill_value=7)
    (tmp_path / "c" / "3" / "1").unlink()
    a[24:32, 4:8] = 7
    keys: list[Any] = [
        5,
        -1,
        slice(3, 60),
        slice(65, 99),
        (slice(20, 40), 5),
        (slice(None), slice(2, -1)),
        (30, slice(3, 9)),
    ]
    for key in keys:
        calls.clear()
        np.testing.assert_array_equal(z[key], a[key])
        assert calls in (["read"], ["read_one"])
    os.truncate(tmp_path / "c" / "4" / "2", 3)
    with pytest.raises(ChunkError, match="4, 2"):
        z[30:40]


@pytest.mark.parametrize(
    "key",
    [
        *(70, -71, 2**70, -(2**70), True, None, ..., np.int64(3), np.True_, "x", 1.5, [1, 2], b"", slice(0, 70, 2)),
        *(
            slice(5, 5),
            slice(60, 3),
            slice(None, None, -1),
            slice(0, 2**70),
            slice(-(2**70), 5),
            slice(1.5),
            slice("x"),
        ),
        *((1, 2, 3), (1, ...), (slice(3), True), (1, 2**70), (slice(None, None, 2**70), 1), (np.int8(1), slice(2))),
    ],
)
def test_unusual_keys_are_what_they_are_without_it(tmp_path: Path, key: Any) -> None:
    a = np.arange(70 * 9).reshape(70, 9)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(8, 4))
    outcomes: list[Any] = []
    for loop in (1, 0):
        with omnizarr.config(native=loop):
            try:
                outcomes.append((type(z[key]), np.shape(z[key]), z[key].tolist()))
            except omnizarr.OmnizarrError as error:
                outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


def test_keys_of_somebody_elses_making(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunk_key_encodings._items, BackwardKeys.name, BackwardKeys)
    a = np.arange(16 * 20).reshape(16, 20)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(8, 4), chunk_key_encoding=BackwardKeys.name)
    assert (tmp_path / "k" / "4" / "1").exists()
    for key in (..., (3, 5), slice(3, 5), (slice(None), 7), (slice(1, 9), slice(2, 20, 3))):
        np.testing.assert_array_equal(z[key], a[key])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_child_finds_helpers_of_its_own(tmp_path: Path) -> None:
    a = np.random.default_rng(1).integers(0, 9, (64, 2**12), "u2")
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, 2**10), compressors=ZSTD)
    with omnizarr.config(threads=4):
        for _ in range(3):
            assert np.array_equal(z[...], a)  # now there are some, and they wait
            pid = os.fork()
            if pid == 0:
                try:
                    signal.alarm(60)
                    os._exit(0 if all(np.array_equal(z[...], a) for _ in range(3)) else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(pid, 0)[1] == 0
        assert np.array_equal(z[...], a)


def test_a_chunk_that_is_unusual_among_others(calls: list[str], tmp_path: Path) -> None:
    """It is read by Python, and the others with it from then on."""
    a = np.arange(64)
    z = omnizarr.create_array(tmp_path, data=a, chunks=8, compressors=GZIP)
    chunk = tmp_path / "c" / "3"
    chunk.write_bytes(gzip.compress(a[24:28].tobytes()) + gzip.compress(a[28:32].tobytes()))  # as gzip may be
    calls.clear()
    for _ in range(3):
        np.testing.assert_array_equal(z[5:60], a[5:60])
    assert calls == ["read"] * 4, "the first of them twice"


def test_who_replaces_where_files_are_is_asked_for_each(tmp_path: Path) -> None:
    class MovedSnapshots(LocalSnapshots):
        def open(self, key: str) -> Any:
            return super().open(moved(key))

    class MovedFiles(KernelFiles):
        def path(self, key: str) -> Any:
            return super().path(moved(key))

        def paths(self, rows: Any) -> Any:
            return super().paths([(moved(start), ends) for start, ends in rows])

    class Moved(LocalStore):
        snapshots = provides(MovedSnapshots)
        local_files = provides(MovedFiles)

        def get(self, key: str, range: Any = None) -> Any:
            return super().get(moved(key), range)

        def get_into(self, key: str, start: int, target: memoryview) -> Any:
            return super().get_into(moved(key), start, target)

        def get_each(self, requests: Any) -> Any:
            return super().get_each([(moved(key), range) for key, range in requests])

    def moved(key: str) -> str:
        return "moved/" + key if key.startswith("c/") else key

    omnizarr.create_array(tmp_path, data=np.arange(10), chunks=4, compressors=None)
    omnizarr.create_array(tmp_path / "moved", data=np.arange(10) + 100, chunks=4, compressors=None)
    z = omnizarr.open_array(Moved(tmp_path))
    for _ in range(2):
        assert (z[2], z[1:7].tolist(), z[[9]].tolist()) == (102, list(range(101, 107)), [109])
        z.store.size("c/0")


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="it is Linux that tells of threads")
def test_helpers_are_gone_when_somebody_forks(tmp_path: Path) -> None:
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


def test_an_index_that_fails_is_not_hidden(tmp_path: Path) -> None:
    class Failing:
        def __index__(self) -> int:
            raise KeyError("mine")

    z = omnizarr.create_array(tmp_path, data=np.arange(9), chunks=4)
    with pytest.raises(KeyError, match="mine"):
        z[slice(Failing(), None)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, loop: str) -> list[str]:
    """Which functions of the kernel were called to read or write."""
    if loop == "python":
        pytest.skip("it is turned off")
    found: list[str] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            if name != "locate":
                found.append(name)
            return getattr(native.kernel(), name)

    monkeypatch.setattr(native_reading, "kernel", Watched)
    monkeypatch.setattr(native_writing, "kernel", Watched)
    return found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shards", [None, (8, 8)])
def test_it_is_used(calls: list[str], tmp_path: Path, codec: str, shards: Any) -> None:
    a = np.arange(256, dtype="u2").reshape(16, 16)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, 4), shards=shards, compressors=CODECS[codec])
    calls.clear()
    np.testing.assert_array_equal(z[...], a)
    assert calls == ["read"]
    np.testing.assert_array_equal(z[1:3, 1:3], a[1:3, 1:3])
    assert z[5, -1] == a[5, -1]
    assert calls == ["read", "read_one", "read_one"]
    np.testing.assert_array_equal(z[1:3:2, 1:3], a[1:3:2, 1:3])
    assert calls[3:] == ["read_one"]
    calls.clear()
    np.testing.assert_array_equal(z[1], a[1])
    np.testing.assert_array_equal(z[3:9], a[3:9])
    assert calls == ["read", "read"]
    for other in (PrefixStore(LocalStore(tmp_path.parent), tmp_path.name), LocalStore(tmp_path, read_only=True)):
        calls.clear()
        np.testing.assert_array_equal(omnizarr.open_array(other, mode="r")[...], a)
        assert calls == ["read"]


def test_it_passes_by_nobody_who_wants_to_know(calls: list[str], tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(256), chunks=4)

    class Watching(WrapperStore):
        pass

    class Own(LocalStore):
        pass

    for store in (Watching(LocalStore(tmp_path)), Own(tmp_path)):
        calls.clear()
        assert omnizarr.open_array(store)[...].tolist() == list(range(256))
        assert calls == []
    with omnizarr.config(native=0):
        assert omnizarr.open_array(tmp_path)[...].tolist() == list(range(256))
    assert calls == []


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shards", [None, 64])
@pytest.mark.parametrize("damage", ["cut", "longer", "empty", "other", "folder", "pipe"])
def test_what_is_damaged_is_an_error_that_names_it(tmp_path: Path, codec: str, shards: int | None, damage: str) -> None:
    a = np.random.default_rng(0).integers(0, 9, 256, "u2")
    z = omnizarr.create_array(tmp_path, data=a, chunks=16, shards=shards, compressors=CODECS[codec])
    chunk = tmp_path / "c" / "1"
    value = chunk.read_bytes()
    chunk.unlink()
    if damage == "folder":
        chunk.mkdir()
    elif damage == "pipe":
        os.mkfifo(chunk)
    else:
        damaged = {"cut": value[:-1], "longer": value + b"\0" * 70, "empty": b"", "other": bytes(len(value))}
        chunk.write_bytes(damaged[damage])
    keys: list[Any] = [..., slice(10, 100), slice((shards or 16), (shards or 16) + 1), ((shards or 16) + 3,)]
    for key in keys:
        outcomes = []
        for loop in (1, 0):
            with omnizarr.config(native=loop):
                try:
                    outcomes.append(z[key].tolist())
                except ChunkError as error:
                    outcomes.append((error.chunk, str(error)))
        assert outcomes[0] == outcomes[1]
        if damage in ("cut", "empty", "longer") and codec == "raw" and shards is None:
            assert outcomes[0][0] == (1,)


def test_a_link_is_refused(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "z", data=np.arange(8), chunks=4, compressors=None)
    (tmp_path / "z" / "c" / "1").rename(tmp_path / "elsewhere")
    (tmp_path / "z" / "c" / "1").symlink_to(tmp_path / "elsewhere")
    for key in (..., (5,), slice(5, 6)):
        with pytest.raises(omnizarr.errors.InvalidKeyError, match="link"):
            z[key]
    assert omnizarr.open_array(LocalStore(tmp_path / "z", follow_symlinks=True))[...].tolist() == list(range(8))


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


@pytest.mark.parametrize("shards", [None, 8])
def test_as_many_dimensions_as_there_can_be(calls: list[str], tmp_path: Path, shards: int | None) -> None:
    ones = (1,) * 62
    a = np.arange(16).reshape(16, *ones)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, *ones), shards=shards and (shards, *ones))
    np.testing.assert_array_equal(z[...], a)
    np.testing.assert_array_equal(z[5:7:2], a[5:7:2])
    assert z[(5, *[0] * 62)] == 5
    assert {"read", "read_one"} <= {*calls}


@pytest.mark.parametrize("step", [3, 5, 2**31, 2**61, 2**70])
@pytest.mark.parametrize("shards", [None, 40])
def test_steps_longer_than_chunks(tmp_path: Path, step: int, shards: int | None) -> None:
    a = np.arange(80).reshape(2, 40)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(2, 4), shards=shards and (2, shards), compressors=None)
    for key in (slice(None, None, step), slice(1, 4, step), slice(3, None, step), slice(None, None, -step)):
        np.testing.assert_array_equal(z[:, key], a[:, key])
        np.testing.assert_array_equal(z[key, 1:3], a[key, 1:3])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not have such names")
def test_a_directory_whose_name_is_no_text(tmp_path: Path) -> None:
    root = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    z = omnizarr.create_array(LocalStore(root), data=np.arange(16), chunks=4)
    assert z[...].tolist() == list(range(16))
    assert (z[5], z[(5,)], z[5:6:2].tolist()) == (5, 5, [5])
    assert omnizarr.open_array(PrefixStore(LocalStore(root), ""))[(5,)] == 5


def test_an_index_that_is_too_large_is_refused(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(100, dtype="u1"), chunks=1, shards=50)
    with omnizarr.config(max_chunk_bytes=100):
        for key in (..., 3, (3,), slice(3, 4)):
            with pytest.raises(ChunkError, match="the index of a shard has 804 bytes"):
                z[key]


@pytest.mark.skipif(os.name != "posix", reason="the limit is of Unix")
def test_it_is_content_with_few_open_files(tmp_path: Path) -> None:
    import resource

    z = omnizarr.create_array(tmp_path, data=np.arange(500), chunks=1, shards=5)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(tmp_path, os.O_RDONLY)
    os.close(free)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + 6, before[1]))
        assert z[...].tolist() == list(range(500))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def stored(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("codec", ["raw", "blosc", "bits", "blosc of zstd", "gzip"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u2", "f8", "c8", "M8[s]", "S3"])
def test_it_stores_what_python_does(tmp_path: Path, codec: str, order: Any, dtype: str) -> None:
    compressors: dict[str, Any] = CODECS | {
        "bits": {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 9, "shuffle": "bitshuffle"}},
        "blosc of zstd": {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1, "blocksize": 512}},
    }
    a = np.asarray(np.random.default_rng(0).integers(0, 99, (16, 33, 40)).astype(dtype), order=order)
    a[:8, :8, :8] = np.zeros((), dtype)
    for loop in (0, 1):
        with omnizarr.config(native=loop):
            z = omnizarr.create_array(
                tmp_path / str(loop), shape=a.shape, dtype=dtype, chunks=(4, 8, 8), compressors=compressors[codec]
            )
            z[...] = a
            z[:4, 8:16, :8] = z.fill_value  # goes again
    assert stored(tmp_path / "0") == stored(tmp_path / "1")


@pytest.mark.parametrize("checksum", [False, True])
def test_its_zstd_is_read_by_python(tmp_path: Path, checksum: bool) -> None:
    a = np.random.default_rng(0).integers(0, 99, (64, 64), "u4")
    codec = {"name": "zstd", "configuration": {"level": 3, "checksum": checksum}}
    z = omnizarr.create_array(tmp_path, data=a, chunks=(16, 16), compressors=codec)
    with omnizarr.config(native=0):
        np.testing.assert_array_equal(z[...], a)
    frames = [value for key, value in stored(tmp_path).items() if key != "zarr.json"]
    assert len(frames) == 16
    assert all(bool(frame[4] & 4) == checksum for frame in frames)


@pytest.mark.skipif(sys.platform != "linux", reason="it is Linux that tells how much memory is used")
def test_high_levels_keep_no_memory(tmp_path: Path) -> None:
    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    size = 3 * 2**20
    a = np.arange(2 * size).astype("u1")
    codec = {"name": "zstd", "configuration": {"level": 22, "checksum": False}}
    z = omnizarr.create_array(tmp_path, shape=a.shape, dtype="u1", chunks=size, compressors=codec)
    z[:5] = 1  # whatever is loaded is there now
    before = used()
    with omnizarr.config(threads=2):
        z[...] = a
    assert used() - before < 32 * 2**20  # two contexts of such a level have 130


@pytest.mark.parametrize("fill", [0.0, -0.0, np.nan, 7.5])
def test_what_is_empty_is_not_stored(tmp_path: Path, fill: float) -> None:
    a = np.repeat(np.array([0.0, -0.0, np.nan, 7.5]), 4)
    for loop in (0, 1):
        with omnizarr.config(native=loop):
            for keep in (False, True):
                path = tmp_path / f"{loop}{keep}"
                z = omnizarr.create_array(
                    path, shape=16, dtype="f8", chunks=4, fill_value=fill, write_empty_chunks=keep
                )
                z[...] = a
                np.testing.assert_array_equal(z[...], a)
    assert stored(tmp_path / "0True") == stored(tmp_path / "1True")
    assert stored(tmp_path / "0False") == stored(tmp_path / "1False")
    assert len(stored(tmp_path / "1True")) == 5
    assert len(stored(tmp_path / "1False")) == 4


@pytest.mark.parametrize("fails", [[0, 1, 2, 3], [1], [3]])
def test_what_it_leaves_is_written_by_python(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: list[int]
) -> None:
    class Unwilling:
        def write(self, paths: list[str], *how: Any) -> bytes:
            there = [str(tmp_path / "no" / "folder") if place in fails else path for place, path in enumerate(paths)]
            found: bytes = native.kernel().write(there, *how)
            assert [place for place, became in enumerate(found) if became] == fails
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(native.kernel(), name)

    monkeypatch.setattr(native_writing, "kernel", Unwilling)
    a = np.arange(16)
    z = omnizarr.create_array(tmp_path / "z", shape=16, dtype="i8", chunks=4)
    with omnizarr.config(threads=1):
        z[...] = a
    np.testing.assert_array_equal(z[...], a)
    assert len(stored(tmp_path / "z")) == 5, "nothing else is left there"


def test_what_python_encodes_is_written_as_files_all_the_same(calls: list[str], tmp_path: Path) -> None:
    a = np.random.default_rng(0).integers(0, 99, (64, 64), "u4")
    for codec in (ZSTD, "crc32c"):
        calls.clear()
        z = omnizarr.create_array(tmp_path / "z", data=a, chunks=(16, 16), compressors=codec, overwrite=True)
        assert "write_files" in calls
        assert "write" not in calls
        np.testing.assert_array_equal(z[...], a)
        assert len(stored(tmp_path / "z")) == 17


def test_values_that_cannot_be_written_as_files_are_set(calls: list[str], tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("c/1/below", b"x")  # a folder, where a file is to be
    for loop in (1, 0):
        z = omnizarr.create_array(store, shape=16, dtype="u1", chunks=4, compressors=ZSTD)
        with omnizarr.config(native=loop), pytest.raises(omnizarr.OmnizarrError, match="c/1"):
            z[...] = np.arange(16)
        assert [path.name for path in (tmp_path / "c").iterdir() if path.name.startswith(".")] == []
        store.erase("zarr.json")


def test_a_folder_that_others_remove_is_made_again(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(16), chunks=4)
    shutil.rmtree(tmp_path / "c")
    z[...] = np.arange(16)
    assert z[...].tolist() == list(range(16))
    z[...] = 0
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(native.kernel() is None, reason="there is no compiled loop here")
class TestKernel:
    """What it does with arguments that our own code never gives it."""

    def read(self, **changed: Any) -> bytearray:
        target = np.zeros(16, np.uint8)
        status = changed.pop("status", bytearray([3]))
        given = {
            "groups": [([str(changed.pop("path"))], 0, ([0, 0, 16, 0],), None)],
            "flags": os.O_RDONLY,
            "status": status,
            "codec": 0,
            "decoded": 16,
            "limit": 16,
            "itemsize": 1,
            "source_strides": (1,),
            "target_strides": (1,),
            "target": target.__array_interface__["data"][0],
            "low": 0,
            "high": 16,
            "threads": 1,
        } | changed
        native.kernel().read(*given.values())
        self.target = target
        return status

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        (tmp_path / "chunk").write_bytes(bytes(range(16)))
        return tmp_path / "chunk"

    def test_it_reads(self, path: Path) -> None:
        assert self.read(path=path) == bytearray([native.DONE])
        assert self.target.tolist() == list(range(16))

    def test_it_leaves_alone_what_is_not_to_be_read(self, path: Path) -> None:
        assert self.read(path=path, status=bytearray([native.UNUSUAL])) == bytearray([native.UNUSUAL])
        assert not self.target.any()

    @pytest.mark.parametrize(
        "pieces", [[1, 0, 16, 0], [0, 1, 16, 0], [-1, 0, 2, 0], [0, -1, 2, 0], [0, 0, 0, 0], [0, 0, 2**62, 0]]
    )
    def test_it_writes_nowhere_else(self, path: Path, pieces: list[int]) -> None:
        groups = [([str(path)], 0, (pieces,), None)]
        assert self.read(path=path, groups=groups) == bytearray([native.UNUSUAL])
        assert not self.target.any()

    @pytest.mark.parametrize("count", [3, 2**61 + 1, 2**62 + 1])
    def test_nor_by_sums_that_are_too_large(self, path: Path, count: int) -> None:
        groups = [([str(path)], 0, ([0, 0, count, 0],), None)]
        wide = {"itemsize": 8, "source_strides": (8,), "target_strides": (8,)}
        assert self.read(path=path, groups=groups, **wide) == bytearray([native.UNUSUAL])

    @pytest.mark.parametrize(
        "changed",
        [
            {"groups": [([], 0, ([0, 0, 16, 0],), None)]},
            {"groups": [(["\0"], 0, ([0, 0, 16, 0],), None)]},
            {"groups": [(["\ud800"], 0, ([0, 0, 16, 0],), None)]},
            {"groups": [(["x"], 0, ([0, 0, 16],), None)]},
            {"groups": [(["x"], 0, (), None)]},
            {"groups": [(["x"], 0, ([0, 0, "16", 0],), None)]},
            {"groups": [(0, 0, ([0, 0, 16, 0],), None)]},
            {"groups": [("x",)]},
            {"status": bytearray(2)},
            {"codec": 7},
            {"source_strides": (1,) * 65},
            {"target_strides": ()},
            {"itemsize": 0},
        ],
    )
    def test_it_refuses_nonsense(self, path: Path, changed: dict[str, Any]) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.read(path=path, **changed)

    @pytest.mark.parametrize(
        ("entries", "status"),
        [
            ([4, 16], native.UNUSUAL),
            ([0, 16], native.DONE),
            ([2**64 - 1] * 2, native.ABSENT),
            ([0, 2**63], native.UNUSUAL),
            ([2**63, 16], native.UNUSUAL),
            ([], native.UNUSUAL),
        ],
    )
    def test_parts_of_an_open_file(self, path: Path, entries: list[int], status: int) -> None:
        with path.open("rb") as file:
            groups = [(file.fileno(), 0, ([0, 0, 16, 0],), np.array(entries, np.uint64))]
            assert self.read(path=path, groups=groups) == bytearray([status])

    @pytest.mark.parametrize(
        ("sources", "places", "status"),
        [
            ([5, 0, 5], 0, 0),
            ([5, 0], [2, 1], 0),
            ([16], 0, 2),
            ([-1], 0, 2),
            ([0], 3, 2),
            ([0], [-1], 2),
            ([0] * 4, 0, 2),
        ],
    )
    def test_it_takes_no_more_than_there_is(self, tmp_path: Path, sources: Any, places: Any, status: int) -> None:
        assert native.codec("zstd") == 2
        (tmp_path / "chunk").write_bytes(
            omnizarr.codecs.Zstd(1).bind(ByteSpec(16, 16, 1), "", Problems()).encode(bytes(range(16)))
        )
        target = np.full(3, 99, np.uint8)
        became = bytearray([3])
        at = places if isinstance(places, int) else np.array(places, np.int64)
        chunks = [(str(tmp_path / "chunk"), np.array(sources, np.int64), at, -1)]
        address = target.__array_interface__["data"][0]
        native.kernel().take(chunks, os.O_RDONLY, became, 2, 16, 99, 1, 1, address, 3, 1)
        assert became == bytearray([status])
        if status:
            assert target.tolist() == [99] * 3
        unequal = [(chunks[0][0], np.zeros(2, np.int64), np.zeros(1, np.int64), -1)]
        with pytest.raises(ValueError, match="sizes"):
            native.kernel().take(unequal, 0, became, 2, 16, 99, 1, 1, address, 3, 1)
        masked = [(chunks[0][0], np.zeros(8, bool), np.zeros(1, np.int64), 0)]
        with pytest.raises(ValueError, match="sizes"):
            native.kernel().take(masked, 0, became, 2, 16, 99, 1, 1, address, 3, 1)

    @pytest.mark.parametrize(
        ("marked", "first", "count", "length", "fits"),
        [
            ([0, 64, 70], 0, 3, 80, True),
            ([1, 79], 1, 2, 80, True),
            ([], 3, 0, 80, True),
            ([1, 2, 3], 0, 2, 80, False),
            ([1], 0, 2, 80, False),
            ([70, 71], 0, 1, 80, False),
            ([1, 2], 2, 2, 80, False),
            ([1], 3, 1, 80, False),
            ([], 4, 0, 80, False),
            ([1], -1, 1, 80, False),
            ([1], 0, 1, 81, False),
            ([1], 0, 2**62, 80, False),
        ],
    )
    def test_nor_by_a_mask(
        self, tmp_path: Path, marked: list[int], first: int, count: int, length: int, fits: bool
    ) -> None:
        (tmp_path / "chunk").write_bytes(bytes(range(80)))
        target = np.full(3, 99, np.uint8)
        mask = np.zeros(length, np.uint8)
        mask[marked] = 255
        became = bytearray([3])
        address = target.__array_interface__["data"][0]
        chunks = [(str(tmp_path / "chunk"), mask, first, count)]
        native.kernel().take(chunks, os.O_RDONLY, became, 0, 80, 80, 1, 1, address, 3, 1)
        assert became == bytearray([native.DONE if fits else native.UNUSUAL])
        if fits:
            assert target[first : first + count].tolist() == marked

    @pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 2**18 - 1, 2**18, 2**18 + 1, 3 * 2**18 + 7])
    @pytest.mark.parametrize("threads", [1, 3])
    def test_it_finds_what_is_not_zero(self, length: int, threads: int) -> None:
        random = np.random.default_rng(length)
        for share in (0, 0.001, 0.5, 1):
            mask = random.random(length) < share
            expected = mask.nonzero()[0]
            values = (mask * random.integers(1, 256, length)).astype(np.uint8)
            for given_mask in (mask, values):
                count, found = native.kernel().find(given_mask, length, threads)
                assert count == len(expected)
                np.testing.assert_array_equal(np.frombuffer(found, np.int64), expected)
            if len(expected):
                assert native.kernel().find(mask, len(expected) - 1, threads) == (len(expected), None)

    @pytest.mark.parametrize(
        "arguments",
        [
            ([1], b"", 1, "/", 9),
            ((1,), bytes(41), 1, "/", 9),
            ((1,), bytes(40 * 65), 1, "/", 9),
            ((1,), bytes(40), 1, "//", 9),
            ((1,), bytes(40), "1", "/", 9),
            ((1,), "x", 1, "/", 9),
            ((1,), bytes(40), 1, "/"),
        ],
    )
    def test_it_locates_no_nonsense(self, arguments: tuple[Any, ...]) -> None:
        with pytest.raises((ValueError, TypeError)):
            native.kernel().locate(*arguments)

    @pytest.mark.parametrize("side", [(0, 4, 4, 1, 1), (9, 0, 4, 1, 1), (9, 4, 0, 1, 1), (-9, 4, 4, 1, 1)])
    def test_it_locates_nothing_where_nothing_is(self, side: tuple[int, ...]) -> None:
        sides = np.array(side, np.int64).tobytes()
        for key in ((), (0,), (slice(None),), (slice(0, 1),)):
            assert native.kernel().locate(key, sides, 1, "/", 9) is None

    def test_as_much_as_there_can_be_is_located(self) -> None:
        side = np.array([2**63 - 1, 2**62, 2**62, 1, 1], np.int64).tobytes()
        locate = native.kernel().locate
        assert locate((2**63 - 2,), side, 1, "/", 9) == ((1,), (), "1", 2**62 - 2, 0)
        assert locate((slice(2**62 - 1, 2**62 + 1),), side, 1, "/", 9) == (
            (2,),
            (2,),
            [["0", "1"]],
            ([2**62 - 1, 0, 1, 0, 0, 1, 1, 0],),
        )
        assert locate((slice(None),), side, 2, "/", 9) is None, "the result would be too large to count its bytes"
        assert locate((slice(None),), side, 1, "/", 1) is None
        assert locate((slice(0, 2),) * 3, side * 3, 2**62, "/", 9) is None

    def read_one(
        self,
        out: Any,
        file: str | int,
        *,
        place: tuple[int, int] = (0, -1),
        decoding: tuple[int, ...] = (0, 16, 16, 1),
        strides: Any = (1,),
        offset: int = 0,
        shape: Any = (4,),
    ) -> int:
        packed = np.array(decoding, np.int64).tobytes()
        status: int = native.kernel().read_one(out, file, os.O_RDONLY, *place, packed, strides, offset, shape)
        return status

    def test_one_chunk_fills_any_buffer(self, path: Path) -> None:
        """A contiguous one of any shape, and one with the shape of the box and any strides."""
        for out in (np.zeros(4, "u1"), np.zeros((1, 4, 1), "u1"), np.zeros((2, 2), "u1"), np.zeros(8, "u1")[::-2]):
            assert self.read_one(out, str(path), strides=(3,), offset=2) == native.DONE
            assert out.reshape(-1).tolist() == [2, 5, 8, 11]
        whole = np.zeros((4, 6), "u1")
        for out in (whole[::2, ::3], whole.T[1::3, 1:3], whole[::-2, 4::-3]):
            assert self.read_one(out, str(path), strides=(5, 2), shape=(2, 2)) == native.DONE
            assert out.tolist() == [[0, 2], [5, 7]]

    @pytest.mark.parametrize(
        ("out", "changed"),
        [
            (np.zeros(3, "u1"), {}),
            (np.zeros(5, "u1"), {}),
            (np.zeros((4, 2), "u1")[:, :1], {}),
            (np.zeros((2, 4), "u1")[:, ::2], {}),
            (np.zeros(8, "u1")[::2], {"shape": (2, 2), "strides": (2, 1)}),
            (np.zeros(4, "u2")[::2], {}),
            (np.zeros(4, "u1"), {"shape": (4, 1)}),
            (np.zeros(4, "u1"), {"shape": (-4,)}),
            (np.zeros(4, "u1"), {"shape": (2**62, 2**62), "strides": (1, 1)}),
            (np.zeros(4, "u1"), {"shape": "x"}),
            (np.zeros(4, "u1"), {"decoding": (0, 16, 16)}),
            (np.zeros(4, "u1"), {"decoding": (9, 16, 16, 1)}),
            (np.zeros(4, "u1"), {"decoding": (-1, 16, 16, 1)}),
            (np.zeros(4, "u1"), {"decoding": (2**32, 16, 16, 1)}),
            (np.broadcast_to(np.uint8(0), 4), {}),
            (bytes(4), {}),
        ],
    )
    def test_one_chunk_fills_no_other_buffer(self, path: Path, out: Any, changed: dict[str, Any]) -> None:
        with pytest.raises((ValueError, TypeError, BufferError)):
            self.read_one(out, str(path), **changed)

    @pytest.mark.parametrize("offset", [-1, 17, 2**62, 2**63 - 2])
    @pytest.mark.parametrize("place", [(0, -1), (2**63 - 1, 16)])
    def test_nor_by_an_offset(self, path: Path, offset: int, place: tuple[int, int]) -> None:
        out = np.zeros(4, np.uint8)
        with path.open("rb") as file:
            given_file = str(path) if place[1] < 0 else file.fileno()
            result = self.read_one(out, given_file, place=place, offset=offset)
        assert result == native.UNUSUAL
        assert not out.any()

    def test_it_decodes_what_is_in_memory(self) -> None:
        number, decode = native.codec("zstd"), native.kernel().decode
        frame = omnizarr.codecs.Zstd(1).bind(ByteSpec(16, 16, 1), "", Problems()).encode(bytes(range(16)))
        assert decode(number, frame, 16) == bytes(range(16))
        for wrong, size in ((frame, 15), (frame, 17), (b"", 16), (frame[:-1], 16), (b"x" * 99, 16)):
            assert decode(number, wrong, size) is None
        for arguments in ((0, b"x", 1), (9, b"x", 1), (number, frame, 0), (number, frame, -1)):
            with pytest.raises(ValueError, match="sizes|codec"):
                decode(*arguments)

    def test_more_than_a_frame_of_blosc_can_hold_is_left_to_python(self, tmp_path: Path) -> None:
        number = native.codec("blosc")
        element = np.zeros(1, np.uint8)
        address = element.__array_interface__["data"][0]
        options = (b"lz4", 1, 0, 0, 1)
        how = (address, [0], (2**31,), (0,), 1, None, number, options)
        assert native.kernel().write([str(tmp_path / "x")], *how) == bytes([native.UNUSUAL])
        assert not (tmp_path / "x").exists()

    def test_a_signal_is_heard_in_the_middle(self, path: Path) -> None:
        class Heard(Exception):
            pass

        def hear(*_: object) -> None:
            raise Heard

        before = signal.signal(signal.SIGALRM, hear)
        count = 3_000_000  # several seconds
        status = bytearray([3]) * count
        groups = [([str(path)] * count, 0, ([0, 0, 16, 0] * count,), None)]

        def interrupted() -> None:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            self.read(path=path, groups=groups, status=status)

        try:
            with pytest.raises(Heard):
                interrupted()
            assert status[-1] == native.TO_DO
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
