"""`engine/route.py` takes the route that its table names, and all routes give the same elements."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Blosc, Zstd
from omnizarr.engine import read, route
from omnizarr.engine.read import cached, native, python, remote, salvage, shards
from omnizarr.engine.write import native as native_write
from omnizarr.engine.write import splice, writer
from omnizarr.store import LocalStore, MemoryStore, Store, TransparentStore
from omnizarr.store.local.capabilities import KernelFiles

SHAPE = (48, 40)
SMALL = {"chunks": (16, 8)}
SHARDS = {"chunks": (8, 8), "shards": (16, 16)}
PLAIN: dict[str, Any] = {"compressors": None}
CODECS: dict[str, dict[str, Any]] = {
    "none": PLAIN,
    "zstd": {"compressors": Zstd(1)},
    "crc32c": {"compressors": "crc32c"},  # not in the kernel
}
KEYS: dict[str, Any] = {
    "element": (5, 3),
    "window": (slice(1, 7), slice(1, 6)),
    "steps": (slice(1, 7, 2), slice(1, 6, 2)),
    "several": (slice(3, 40), slice(2, 30)),
    "all": ...,
    "indices": ([3, 40, 5], slice(2, 30)),
}


class Remote(TransparentStore):
    """A local store that the engine treats as a remote one."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.remote = True


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The routes that reads and writes take, in order."""
    taken: list[str] = []

    def record(owner: Any, name: str, route_name: str) -> None:
        function = getattr(owner, name)

        def recorded(*arguments: Any, **options: Any) -> Any:
            taken.append(route_name)
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, recorded)

    record(KernelFiles, "path", "A")
    record(native.NativeReader, "_read_inner", "A")
    read_groups = native.NativeReader.read_groups

    def recorded_groups(*arguments: Any) -> None:
        taken.append("B" if len(arguments) < 7 or arguments[6] is None else "C")
        read_groups(*arguments)

    monkeypatch.setattr(native.NativeReader, "read_groups", recorded_groups)
    record(native.reader, "_elements", "C")
    record(python.ChunkReader, "__call__", "D")
    record(python.ChunkReader, "place_fetched", "D")
    record(python, "read_part", "E")
    record(shards.ShardReader, "read", "F")
    record(shards.ShardReader, "place_fetched", "F")
    record(remote, "fetch", "G")
    record(cached.CachedReader, "__call__", "H")
    record(salvage, "salvage", "I")
    record(native_write, "write_row", "native")
    record(native_write, "write_values", "native values")
    record(writer.Writer, "_encode_row", "encode")
    record(splice, "splice", "splice")
    record(writer, "update_chunk", "update")
    one_chunk = route.read_chunk

    def read_chunk(*arguments: Any) -> None:
        before = len(taken)
        one_chunk(*arguments)
        if len(taken) == before:  # otherwise it was a part, route E
            taken.append("D")

    monkeypatch.setattr(route, "read_chunk", read_chunk)
    return taken


def array(store: Store | Path | None, layout: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    a = np.arange(np.prod(SHAPE), dtype="u4").reshape(SHAPE)
    z = omnizarr.create_array(store, data=a, **layout, **options)
    return a, z


def expected(layout: str, codec: str, key: str, loop: str) -> set[str]:
    """The row of the table for a local store."""
    slices = key != "indices"
    if loop == "native" and codec != "crc32c" and slices:
        single = key in ("element", "window", "steps")
        return {"A" if single else "B"}
    if loop == "native" and codec != "crc32c":
        return {"C"}
    return {"F" if layout == "shards" else "D"}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("layout", ["chunks", "shards"])
def test_local_store(loop: str, routes: list[str], tmp_path: Path, layout: str, codec: str, key: str) -> None:
    a, z = array(tmp_path, (SHARDS if layout == "shards" else SMALL) | CODECS[codec])
    routes.clear()
    np.testing.assert_array_equal(z[KEYS[key]], a[KEYS[key]])
    assert {*routes} == expected(layout, codec, key, loop)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("layout", ["chunks", "shards"])
def test_memory_store(routes: list[str], layout: str, codec: str, key: str) -> None:
    a, z = array(MemoryStore(), (SHARDS if layout == "shards" else SMALL) | CODECS[codec])
    routes.clear()
    np.testing.assert_array_equal(z[KEYS[key]], a[KEYS[key]])
    assert {*routes} == {"F" if layout == "shards" else "D"}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("layout", ["chunks", "shards"])
def test_remote_store(routes: list[str], tmp_path: Path, layout: str, key: str) -> None:
    a, _ = array(tmp_path, (SHARDS if layout == "shards" else SMALL) | PLAIN)
    z = omnizarr.open_array(Remote(LocalStore(tmp_path)), mode="r")
    routes.clear()
    np.testing.assert_array_equal(z[KEYS[key]], a[KEYS[key]])
    assert {*routes} == {"G", "F" if layout == "shards" else "D"}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("layout", ["chunks", "shards"])
def test_cache(routes: list[str], tmp_path: Path, layout: str, key: str) -> None:
    a, _ = array(tmp_path, (SHARDS if layout == "shards" else SMALL) | PLAIN)
    z = omnizarr.open_array(tmp_path, mode="r", cache="1 MiB")
    for _ in range(2):
        routes.clear()
        np.testing.assert_array_equal(z[KEYS[key]], a[KEYS[key]])
        assert {*routes} == {"H"}


def test_damaged_chunk(loop: str, routes: list[str], tmp_path: Path) -> None:
    a, _ = array(tmp_path, SMALL | PLAIN)
    (tmp_path / "c" / "0" / "0").write_bytes(b"short")
    a[:16, :8] = 0
    z = omnizarr.open_array(tmp_path, mode="r", on_corrupt="fill")
    routes.clear()
    np.testing.assert_array_equal(z[...], a)
    assert "I" in routes
    assert ("B" in routes) == (loop == "native")
    assert "D" in routes


@pytest.mark.parametrize("selection", ["indices", "mask"])
def test_points_of_one_dimension(loop: str, routes: list[str], tmp_path: Path, selection: str) -> None:
    a = np.arange(100, dtype="u4")
    key: Any = a % 7 == 2 if selection == "mask" else [3, 70, 5]
    for layout in ({"chunks": 10}, {"chunks": 5, "shards": 20}):
        z = omnizarr.create_array(tmp_path, data=a, overwrite=True, compressors=None, **layout)
        routes.clear()
        np.testing.assert_array_equal(z[key], a[key])
        python_route = "F" if "shards" in layout else "D"
        native_route = loop == "native" and (python_route == "D" or selection == "indices")
        assert {*routes} == {"C" if native_route else python_route}


@pytest.mark.parametrize("compressor", [None, Blosc("lz4", blocksize=2**14), Zstd(1)])
def test_part_of_a_large_chunk(loop: str, routes: list[str], tmp_path: Path, compressor: Any) -> None:
    """Decoding some of the blocks is faster than decoding all of them. The kernel knows the blocks of Blosc."""
    a = np.arange(2**19, dtype="u4").reshape(2**9, 2**10)
    z = omnizarr.create_array(tmp_path, data=a, chunks=a.shape, compressors=compressor)
    for key in ((5, 3), (slice(5, 9), slice(3, 70)), (slice(5, 9, 2), slice(3, 70, 3))):
        routes.clear()
        np.testing.assert_array_equal(z[key], a[key])
        assert {*routes} == {"A" if loop == "native" and not isinstance(compressor, Zstd) else "E"}


def test_unusual_chunks_are_read_again_in_python(loop: str, routes: list[str], tmp_path: Path) -> None:
    a, z = array(tmp_path, SMALL | PLAIN)
    with omnizarr.config(max_chunk_bytes=16 * 8 * 4):
        np.testing.assert_array_equal(z[...], a)
    with omnizarr.config(max_chunk_bytes=16 * 8 * 4 - 1):
        routes.clear()
        with pytest.raises(omnizarr.errors.ChunkError, match="more than the limit"):
            z[3, 3]
        assert "A" not in routes
    out = np.zeros(SHAPE, "f8")  # the kernel converts no types
    routes.clear()
    z.read(out=out)
    np.testing.assert_array_equal(out, a)
    assert {*routes} == {"D"}


@pytest.mark.parametrize("chunks", [(2**40, 2**40), (2**62, 1), (2**31, 2**30)])
def test_chunks_too_large_for_the_kernel(tmp_path: Path, chunks: tuple[int, int]) -> None:
    z = omnizarr.create_array(tmp_path, shape=chunks, dtype="u2", chunks=chunks)
    for key in ((0, 0), (slice(0, 3, 2), 0), ([0], [0])):
        with pytest.raises(omnizarr.errors.ChunkError, match="more than the limit"):
            z[key]


@pytest.mark.parametrize(
    ("layout", "value", "key", "native_route", "python_route"),
    [
        ({**SMALL, **PLAIN}, None, ..., {"native"}, {"encode"}),
        ({**SMALL, "compressors": "crc32c"}, None, ..., {"encode", "native values"}, {"encode"}),
        ({**SMALL, **PLAIN}, 7, ..., {"encode", "native values"}, {"encode"}),
        ({**SMALL, **PLAIN}, None, (slice(1, 5), slice(1, 5)), {"update"}, {"update"}),
        ({**SHARDS, **PLAIN}, None, ..., {"update"}, {"update"}),
    ],
)
def test_writes(
    loop: str,
    routes: list[str],
    tmp_path: Path,
    layout: dict[str, Any],
    value: Any,
    key: Any,
    native_route: set[str],
    python_route: set[str],
) -> None:
    a, z = array(tmp_path, layout)
    a[key] = a[key] + 1 if value is None else value
    routes.clear()
    z[key] = a[key] if value is None else value
    assert {*routes} - {"splice"} == (native_route if loop == "native" else python_route)
    np.testing.assert_array_equal(z[...], a)


def test_part_of_a_large_shard_is_spliced(routes: list[str], tmp_path: Path) -> None:
    a = np.random.default_rng(0).integers(0, 2**32, (512, 512), "u4")
    z = omnizarr.create_array(tmp_path, data=a, chunks=(64, 64), shards=a.shape, compressors=None)
    routes.clear()
    z[1:5, 1:5] = a[1:5, 1:5] = 7
    assert {*routes} == {"update", "splice"}
    np.testing.assert_array_equal(z[...], a)


def test_the_table_names_a_module_for_each_route() -> None:
    """Ten routes, and no other module that reads."""
    assert route.__doc__ is not None
    named = {
        (letter, name.lower()) for letter, name in re.findall(r"\| ([A-J]) (\w+) +\|$", route.__doc__, re.MULTILINE)
    }
    assert [letter for letter, _ in sorted(named)] == [*"ABCDEFGHIJ"]
    modules = {module.name for module in pkgutil.iter_modules(read.__path__)}
    assert {name for _, name in named} == modules
