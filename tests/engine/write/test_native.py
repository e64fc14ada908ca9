"""The kernel stores the same bytes as Python."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import native
from omnizarr.engine.write import native as native_writing
from omnizarr.store import LocalStore

ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
CODECS: dict[str, Any] = {"raw": None, "zstd": ZSTD, "blosc": BLOSC, "gzip": GZIP}


def stored(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("codec", ["raw", "blosc", "bits", "blosc of zstd", "gzip"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u2", "f8", "c8", "M8[s]", "S3"])
def test_the_kernel_stores_the_same_bytes_as_python(tmp_path: Path, codec: str, order: Any, dtype: str) -> None:
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
            z[:4, 8:16, :8] = z.fill_value  # erases a chunk
    assert stored(tmp_path / "0") == stored(tmp_path / "1")


@pytest.mark.parametrize("checksum", [False, True])
def test_python_reads_zstd_of_the_kernel(tmp_path: Path, checksum: bool) -> None:
    a = np.random.default_rng(0).integers(0, 99, (64, 64), "u4")
    codec = {"name": "zstd", "configuration": {"level": 3, "checksum": checksum}}
    z = omnizarr.create_array(tmp_path, data=a, chunks=(16, 16), compressors=codec)
    with omnizarr.config(native=0):
        np.testing.assert_array_equal(z[...], a)
    frames = [value for key, value in stored(tmp_path).items() if key != "zarr.json"]
    assert len(frames) == 16
    assert all(bool(frame[4] & 4) == checksum for frame in frames)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_contexts_of_high_levels_are_freed(tmp_path: Path) -> None:
    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    size = 3 * 2**20
    a = np.arange(2 * size).astype("u1")
    codec = {"name": "zstd", "configuration": {"level": 22, "checksum": False}}
    z = omnizarr.create_array(tmp_path, shape=a.shape, dtype="u1", chunks=size, compressors=codec)
    z[:5] = 1  # loads all libraries
    before = used()
    with omnizarr.config(threads=2):
        z[...] = a
    assert used() - before < 32 * 2**20  # two contexts of this level take 130 MiB


@pytest.mark.parametrize("fill", [0.0, -0.0, np.nan, 7.5])
def test_empty_chunks_are_not_stored(tmp_path: Path, fill: float) -> None:
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
def test_python_writes_unusual_chunks(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: list[int]
) -> None:
    class Unwilling:
        def write(self, target: Any, temporaries: list[str], *how: Any) -> bytes:
            there = [f"no/{name}" if place in fails else name for place, name in enumerate(temporaries)]
            found: bytes = native.kernel().write(target, there, *how)
            assert [place for place, status in enumerate(found) if status] == fails
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(native.kernel(), name)

    monkeypatch.setattr(native_writing, "kernel", Unwilling)
    a = np.arange(16)
    z = omnizarr.create_array(tmp_path / "z", shape=16, dtype="i8", chunks=4)
    with omnizarr.config(threads=1):
        z[...] = a
    np.testing.assert_array_equal(z[...], a)
    assert len(stored(tmp_path / "z")) == 5, "no temporary file is left"


def test_the_kernel_writes_values_that_python_encodes(calls: list[str], tmp_path: Path) -> None:
    a = np.random.default_rng(0).integers(0, 99, (64, 64), "u4")
    for codec in (ZSTD, "crc32c"):
        calls.clear()
        z = omnizarr.create_array(tmp_path / "z", data=a, chunks=(16, 16), compressors=codec, overwrite=True)
        assert "write_files" in calls
        assert "write" not in calls
        np.testing.assert_array_equal(z[...], a)
        assert len(stored(tmp_path / "z")) == 17


def test_errors_of_files_are_those_of_the_store(calls: list[str], tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("c/1/below", b"x")  # a directory with the name of a chunk
    for loop in (1, 0):
        z = omnizarr.create_array(store, shape=16, dtype="u1", chunks=4, compressors=ZSTD)
        with omnizarr.config(native=loop), pytest.raises(omnizarr.OmnizarrError, match="c/1"):
            z[...] = np.arange(16)
        assert [path.name for path in (tmp_path / "c").iterdir() if path.name.startswith(".")] == []
        store.erase("zarr.json")


def test_a_removed_directory_is_created_again(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(16), chunks=4)
    shutil.rmtree(tmp_path / "c")
    z[...] = np.arange(16)
    assert z[...].tolist() == list(range(16))
    z[...] = 0
    assert not (tmp_path / "c").exists()
