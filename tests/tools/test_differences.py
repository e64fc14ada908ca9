"""`diff`: metadata first, then elements; how arrays are stored does not count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store import MemoryStore
from omnizarr.tools import diff

DATA = np.arange(4 * 6 * 5, dtype="f4").reshape(4, 6, 5)
FORMS: list[dict[str, Any]] = [
    {"chunks": (2, 3, 5)},
    {"chunks": (1, 6, 2), "compressors": ["gzip"]},
    {"chunks": (2, 2, 5), "shards": (4, 6, 5)},
    {"chunks": (3, 4, 2), "zarr_format": 2},
    {"chunks": (4, 1, 1), "zarr_format": 1},
    {"chunks": (2, 3, 5), "zarr_format": "3-draft-2020"},
    {"chunks": (2, 3, 5), "zarr_format": "3-draft-2022"},
    {"chunks": (2, 3, 5), "zarr_format": "n5"},
]


def array(data: Any = DATA, **options: Any) -> omnizarr.Array:
    return omnizarr.create_array({}, data=data, **{"chunks": (2, 3, 5), **options})


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_equal_elements_are_equal_however_they_are_stored(form: dict[str, Any]) -> None:
    result = diff(array(), array(**form))
    assert result.equal
    assert (result.metadata, result.data, result.compared_bytes) == ((), (), DATA.nbytes)


def test_first_difference_count_and_largest() -> None:
    changed = DATA.copy()
    changed[1, 2, 3] += 4
    changed[3, 5, 4] -= 9
    (found,) = diff(array(), array(changed, chunks=(4, 6, 5))).data
    assert (found.index, found.first, found.second) == ((1, 2, 3), DATA[1, 2, 3], changed[1, 2, 3])
    assert (found.count, found.size, found.largest) == (2, DATA.size, 9.0)
    assert diff(array(), array(changed), atol=9).equal
    assert diff(array(), array(changed), atol=8).data[0].count == 1
    assert diff(array(), array(changed), rtol=0.5).equal


def test_elements_of_equal_bits_are_equal_and_other_nans_on_request() -> None:
    bits = np.full(8, 0x7FC00000, "u4")
    nan = bits.view("f4").copy()
    bits[3] = 0x7FC00001
    other = bits.view("f4").copy()
    assert diff(array(nan, chunks=2), array(nan, chunks=3)).equal
    assert diff(array(nan, chunks=2), array(other, chunks=3)).data[0].index == (3,)
    assert diff(array(nan, chunks=2), array(other, chunks=3), equal_nan=True).equal


def test_identical_chunks_are_not_decoded() -> None:
    first, second = array(), array()
    result = diff(first, second)
    assert result.equal
    assert result.identical_bytes == DATA.nbytes
    store = second.store
    assert isinstance(store, MemoryStore)
    key = next(key for key in store.list() if key.startswith("c/"))
    for damaged in (first.store, store):  # undecodable, but identical
        damaged.__class__.set(damaged, key, b"not a chunk")
    assert diff(first, second).equal


def test_metadata_differences_have_their_place() -> None:
    a = omnizarr.create_group({}, attributes={"title": "x", "only": 1})
    b = omnizarr.create_group({}, attributes={"title": "y"}, zarr_format=2)
    for group, names in ((a, ["t", "x"]), (b, ["time", "x"])):
        group.create_array("same", data=np.zeros(3), dimension_names=["x"])
        group.create_array("named", data=np.zeros((2, 3)), dimension_names=names)
    a.create_array("shape", data=np.zeros(3))
    b.create_array("shape", data=np.zeros(4))
    a.create_array("type", data=np.zeros(3))
    b.create_array("type", data=np.zeros(3, "i2"))
    a.create_array("gone", data=np.zeros(3))
    a.create_group("kind")
    b.create_array("kind", data=np.zeros(3))
    result = diff(a, b)
    places = [(item.path, item.place) for item in result.metadata]
    assert places == [
        ("/", "attributes.only"),
        ("/", "attributes.title"),
        ("/gone", "node"),
        ("/kind", "node"),
        ("/named", "dimension_names"),
        ("/shape", "shape"),
        ("/type", "data_type"),
    ]
    assert {path for path, _ in [(item.path, item) for item in diff(a, b, data_only=True).metadata]} == {
        "/gone",
        "/kind",
        "/shape",
        "/type",
    }


def test_an_array_and_a_group_have_nothing_to_compare() -> None:
    group = omnizarr.create_group({})
    group.create_array("x", data=np.zeros(3))
    (found,) = diff(array(), group).metadata
    assert (found.path, found.place, found.first, found.second) == ("/", "node", "array", "group")


@pytest.mark.parametrize("wrong", [{"rtol": -1}, {"atol": -1}, {"rtol": float("nan")}, {"atol": float("nan")}])
def test_wrong_tolerances(wrong: dict[str, float]) -> None:
    with pytest.raises(omnizarr.errors.ArgumentError, match="of at least 0"):
        diff(array(), array(), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array(["a", "bb", ""], "T"), np.array(["a", "b", ""], "T")),
        (np.array([1, 2], "M8[s]"), np.array([1, 3], "M8[s]")),
        (np.array([True, False]), np.array([True, True])),
        (np.array([1 + 2j, 3]), np.array([1 + 2j, 4])),
        (np.array([(1, 2.0)], "i4,f8"), np.array([(1, 3.0)], "i4,f8")),
        (np.array(5), np.array(6)),
    ],
    ids=lambda value: str(value.dtype),
)
def test_elements_of_other_types(first: Any, second: Any) -> None:
    chunks = first.shape
    assert diff(array(first, chunks=chunks), array(first, chunks=chunks, compressors=None)).equal
    result = diff(array(first, chunks=chunks), array(second, chunks=chunks))
    assert result.data[0].count == 1


@pytest.mark.parametrize(
    "data",
    [
        np.arange(300, dtype="i4"),
        np.array([f"word {n}" for n in range(300)], "T"),
        np.array([(n, n / 2) for n in range(300)], "i4,f8"),
        np.arange(300).astype("M8[s]"),
    ],
    ids=["numbers", "text", "records", "times"],
)
def test_many_blocks_of_elements(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are read into the same memory."""
    monkeypatch.setattr("omnizarr.tools.differences._BLOCK", 64)
    first, second = array(data, chunks=(7,)), array(data, chunks=(5,))
    assert diff(first, second).equal
    for index in (0, 150, 299):
        changed = data.copy()
        changed[index] = data[index - 1]
        (difference,) = diff(first, array(changed, chunks=(5,))).data
        assert (difference.index, difference.count) == ((index,), 1)


def test_memory_is_bounded_by_blocks(tmp_path: Path) -> None:
    """Two arrays of 512 MiB with different chunks; the comparison may take a quarter of that."""
    code = """
import resource, sys
import numpy as np, omnizarr
from omnizarr.tools import diff
for name, chunks in (("a", (256, 1024)), ("b", (1024, 256))):
    z = omnizarr.create_array(name, shape=(16384, 4096), chunks=chunks, dtype="f8", overwrite=True)
    for start in range(0, 16384, 1024):
        z[start : start + 1024] = start + np.arange(4096.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert diff(omnizarr.open_array("a"), omnizarr.open_array("b")).equal
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert float(result.stdout) < 300  # MiB
