"""Routes A to C: the kernel gives the same elements as NumPy, and leaves unusual chunks to Python."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.transformers.places import BackwardKeys

import omnizarr
from omnizarr import native
from omnizarr.chunk_keys import chunk_key_encodings
from omnizarr.errors import ChunkError
from omnizarr.store import LocalStore, PrefixStore, WrapperStore, provides
from omnizarr.store.local.capabilities import KernelFiles, LocalSnapshots

ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
CODECS: dict[str, Any] = {"raw": None, "zstd": ZSTD, "blosc": BLOSC, "gzip": GZIP}
TYPES = ["u1", "i2", "f4", "f8", "c16", "M8[s]", "S3", "V5"]


@pytest.mark.skipif(
    os.name != "posix"
    or bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    or shutil.which("cc") is None
    or not Path(sysconfig.get_path("include"), "Python.h").exists(),
    reason="needs a C compiler, the headers of Python, and an interpreter with the global lock",
)
def test_the_kernel_exists_if_there_is_a_compiler() -> None:
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
def test_slices_match_numpy(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
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
def test_points_match_numpy(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
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
    """Of an uncompressed chunk, only these elements are read."""
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


def test_keys_of_integers_and_slices(calls: list[str], tmp_path: Path) -> None:
    """One chunk and several, with absent chunks and edge chunks; a damaged chunk is named."""
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
def test_unusual_keys_give_the_same_without_the_kernel(tmp_path: Path, key: Any) -> None:
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


def test_third_party_chunk_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunk_key_encodings._items, BackwardKeys.name, BackwardKeys)
    a = np.arange(16 * 20).reshape(16, 20)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(8, 4), chunk_key_encoding=BackwardKeys.name)
    assert (tmp_path / "k" / "4" / "1").exists()
    for key in (..., (3, 5), slice(3, 5), (slice(None), 7), (slice(1, 9), slice(2, 20, 3))):
        np.testing.assert_array_equal(z[key], a[key])


def test_an_unusual_chunk_among_others(calls: list[str], tmp_path: Path) -> None:
    """Python reads it, and from then on all chunks of such a key go through a selection."""
    a = np.arange(64)
    z = omnizarr.create_array(tmp_path, data=a, chunks=8, compressors=GZIP)
    chunk = tmp_path / "c" / "3"
    chunk.write_bytes(gzip.compress(a[24:28].tobytes()) + gzip.compress(a[28:32].tobytes()))
    calls.clear()
    for _ in range(3):
        np.testing.assert_array_equal(z[5:60], a[5:60])
    assert calls == ["read"] * 4, "the first key is read twice"


def test_paths_come_from_the_capability_of_a_subclass(tmp_path: Path) -> None:
    class MovedSnapshots(LocalSnapshots):
        def open(self, key: str) -> Any:
            return super().open(moved(key))

    class MovedFiles(KernelFiles):
        def path(self, key: str) -> Any:
            return super().path(moved(key))

        def paths(self, rows: Any) -> Any:
            return super().paths([(moved(start), ends) for start, ends in rows])

    class Moved(LocalStore):
        snapshots = provides(lambda store: MovedSnapshots(store._paths))
        local_files = provides(lambda store: MovedFiles(store._paths, store._writer, store.check_writable))

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


def test_an_exception_of_an_index_is_raised(tmp_path: Path) -> None:
    class Failing:
        def __index__(self) -> int:
            raise KeyError("mine")

    z = omnizarr.create_array(tmp_path, data=np.arange(9), chunks=4)
    with pytest.raises(KeyError, match="mine"):
        z[slice(Failing(), None)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shards", [None, (8, 8)])
def test_the_kernel_is_used(calls: list[str], tmp_path: Path, codec: str, shards: Any) -> None:
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


def test_the_kernel_does_not_bypass_subclasses_and_wrappers(calls: list[str], tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(256), chunks=4)

    class Watching(WrapperStore):
        pass

    class Own(LocalStore):
        def get(self, key: str, range: Any = None) -> Any:
            return super().get(key, range)

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
def test_damaged_chunks_give_the_same_error_without_the_kernel(
    tmp_path: Path, codec: str, shards: int | None, damage: str
) -> None:
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


def test_a_symbolic_link_is_rejected(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "z", data=np.arange(8), chunks=4, compressors=None)
    (tmp_path / "z" / "c" / "1").rename(tmp_path / "elsewhere")
    (tmp_path / "z" / "c" / "1").symlink_to(tmp_path / "elsewhere")
    for key in (..., (5,), slice(5, 6)):
        with pytest.raises(omnizarr.errors.InvalidKeyError, match="link"):
            z[key]
    assert omnizarr.open_array(LocalStore(tmp_path / "z", follow_symlinks=True))[...].tolist() == list(range(8))


@pytest.mark.parametrize("shards", [None, 8])
def test_the_maximum_number_of_dimensions(calls: list[str], tmp_path: Path, shards: int | None) -> None:
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


@pytest.mark.skipif(sys.platform != "linux", reason="needs file names that are not Unicode")
def test_a_directory_whose_name_is_not_unicode(tmp_path: Path) -> None:
    root = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    z = omnizarr.create_array(LocalStore(root), data=np.arange(16), chunks=4)
    assert z[...].tolist() == list(range(16))
    assert (z[5], z[(5,)], z[5:6:2].tolist()) == (5, 5, [5])
    assert omnizarr.open_array(PrefixStore(LocalStore(root), ""))[(5,)] == 5


def test_a_shard_index_over_the_size_limit_is_rejected(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(100, dtype="u1"), chunks=1, shards=50)
    with omnizarr.config(max_chunk_bytes=100):
        for key in (..., 3, (3,), slice(3, 4)):
            with pytest.raises(ChunkError, match="the index of a shard has 804 bytes"):
                z[key]


@pytest.mark.skipif(os.name != "posix", reason="needs the limit of open files")
def test_few_open_files_suffice(tmp_path: Path) -> None:
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
