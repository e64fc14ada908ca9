"""The same operations give the same results in all five generations."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tests.formats.draft.documents import conventions

import omnizarr
from omnizarr.codecs.array_to_bytes.n5_block import N5_TYPES
from omnizarr.errors import ArgumentError, NodeExistsError, OmnizarrError

GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
HIERARCHIES = GENERATIONS[1:]

DTYPES = [
    "|b1", "|i1", "|u1", "<i2", ">i4", "<i8", ">u2", "<u4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16",
    "<M8[ns]", ">m8[s]", "|S3", "<U2", [("a", "<i4"), ("b", ">f8")], [("x", "|S2"), ("y", "|b1")],
]  # fmt: skip


def assert_same(found: Any, expected: np.ndarray[Any, Any]) -> None:
    """Compares bits, because a field of a struct may be NaN."""
    assert (found.shape, found.dtype, found.tobytes()) == (expected.shape, expected.dtype, expected.tobytes())


def default_values(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The default value of unwritten elements: not-a-time, or zero."""
    return np.full(shape, "NaT", dtype) if dtype.kind in "mM" else np.zeros(shape, dtype)


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """A NumPy array, options for storing it, and later writes."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
    chunks = tuple(draw(st.integers(2, 4)) for _ in shape)
    elements = npst.from_dtype(dtype.newbyteorder("="), allow_nan=False) if dtype.names is None else None
    data = draw(npst.arrays(dtype.newbyteorder("="), shape, elements=elements))
    part = tuple(slice(*sorted((draw(st.integers(0, length)), draw(st.integers(0, length))))) for length in shape)
    return {
        "dtype": dtype,
        "data": data,
        "chunks": chunks,
        "order": draw(st.sampled_from("CF")),
        "part": part,
        "shape": tuple(draw(st.integers(0, 7)) for _ in shape),
        "attributes": draw(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)),
        "blosc": draw(st.booleans()),
    }


@given(cases())
def test_the_same_array_reads_the_same_in_every_generation(case: dict[str, Any]) -> None:
    data, part = case["data"], case["part"]
    expected = default_values(data.shape, data.dtype)
    expected[part] = data[part]
    rows = data[:1]
    for zarr_format in GENERATIONS:
        if zarr_format == 1 and case["order"] == "F" and data.ndim > 1 and data.dtype.kind in "mM":
            continue  # v1 supports F order only with blosc, and blosc does not support times there
        if zarr_format == "n5" and (data.dtype.name not in N5_TYPES or (case["order"] == "F" and data.ndim > 1)):
            continue
        store = omnizarr.MemoryStore()
        options: dict[str, Any] = {}
        if not case["blosc"] and not (zarr_format == 1 and case["order"] == "F"):
            options["compressors"] = None
        array = omnizarr.create_array(
            store,
            shape=data.shape,
            dtype=case["dtype"],
            chunks=case["chunks"],
            order=case["order"],
            attributes=case["attributes"],
            zarr_format=zarr_format,
            **options,
        )
        array[part] = data[part]
        again = omnizarr.open_array(store)
        for handle in (array, again):
            assert (handle.shape, handle.dtype, handle.chunks) == (data.shape, expected.dtype, case["chunks"])
            assert handle.zarr_format == zarr_format
            assert handle.attrs == case["attributes"]
            assert_same(handle[...], expected)
        again.resize(case["shape"])
        kept = tuple(slice(min(old, new)) for old, new in zip(data.shape, case["shape"], strict=True))
        resized = default_values(case["shape"], expected.dtype)
        resized[kept] = expected[kept]
        assert_same(omnizarr.open_array(store)[...], resized)
        again.resize(data.shape)
        again.append(rows)
        again.attrs["more"] = [1]
        final = omnizarr.open_array(store, mode="r")
        assert final.shape == (data.shape[0] + len(rows), *data.shape[1:])
        assert_same(final[data.shape[0] :], rows)
        assert final.attrs == case["attributes"] | {"more": [1]}


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_a_hierarchy_behaves_the_same_in_every_generation(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    root = omnizarr.create_group(store, attributes={"root": True}, zarr_format=zarr_format)
    root.create_array("a", data=np.arange(6).reshape(2, 3), dimension_names=["t", "x"])
    root.create_group("g", attributes={"in": 1}).create_array("b", data=[1.5])
    root.create_array("g/deep/er/c", data=[True] if zarr_format != "n5" else [1])
    assert root.zarr_format == root["g/b"].zarr_format == zarr_format
    again = omnizarr.open_group(store, mode="r+")
    assert again.attrs == {"root": True}
    assert list(again) == ["a", "g"]
    assert (list(again.array_keys()), list(again.group_keys())) == (["a"], ["g"])
    assert [path for path, _ in again.members(max_depth=None)] == [
        "a",
        "g",
        "g/b",
        "g/deep",
        "g/deep/er",
        "g/deep/er/c",
    ]
    assert again["a"].dimension_names == ("t", "x")
    assert "g/deep" in again
    assert "g/d" not in again
    assert len(str(again.tree()).splitlines()) == 7
    again["g"].attrs["more"] = 2
    again["g/deep"].attrs["new"] = True  # of a group that had no attributes, and in the drafts no document
    assert omnizarr.open(store, path="g").attrs == {"in": 1, "more": 2}
    assert omnizarr.open(store, path="g/deep").attrs == {"new": True}
    again.move("g", "moved/here")
    assert "g" not in again
    assert omnizarr.open(store, path="moved/here/deep/er/c")[...].tolist() == [1]
    assert omnizarr.open(store, path="moved/here").attrs == {"in": 1, "more": 2}
    del again["moved/here/deep"]
    assert list(again["moved/here"]) == ["b"]
    with pytest.raises(OmnizarrError):
        again.create_group("a/below")
    with pytest.raises(OmnizarrError):
        again.create_array("a", data=[1])
    again.create_array("a", data=[1, 2], overwrite=True)
    assert again["a"][...].tolist() == [1, 2]
    again.clear()
    assert list(again) == []
    assert omnizarr.open(store).attrs == {"root": True}


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_an_array_at_the_root(zarr_format: Any, tmp_path: Any) -> None:
    omnizarr.create_array(tmp_path / "x", data=[[1, 2]], zarr_format=zarr_format, attributes={"a": 1})
    found = omnizarr.open(tmp_path / "x")
    assert isinstance(found, omnizarr.Array)
    assert (found.path, found.attrs, found[...].tolist()) == ("", {"a": 1}, [[1, 2]])
    with pytest.raises(OmnizarrError):
        omnizarr.create_array(tmp_path / "x", data=[1], zarr_format=zarr_format)
    for other in GENERATIONS:
        with pytest.raises(OmnizarrError):
            omnizarr.create_group(tmp_path / "x", zarr_format=other)
    omnizarr.create_array(tmp_path / "x", data=[3], zarr_format=3, overwrite=True)
    assert omnizarr.open(tmp_path / "x")[...].tolist() == [3]
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == ["c", "zarr.json"]


def test_v1_is_a_single_array() -> None:
    with pytest.raises(ArgumentError, match="no groups"):
        omnizarr.create_group(None, zarr_format=1)
    with pytest.raises(ArgumentError, match="path"):
        omnizarr.create_array(None, name="a", shape=3, dtype="i4", zarr_format=1)


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020"])
def test_undefined_fill_values(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=3, dtype="i4", fill_value=None, zarr_format=zarr_format)
    array = omnizarr.open_array(store)
    assert array.fill_value is None
    assert array.metadata.fill is None
    assert array[...].tolist() == [0, 0, 0]
    array.attrs["a"] = 1
    assert omnizarr.open_array(store).fill_value is None


@pytest.mark.parametrize("zarr_format", ["3-draft-2020", "3-draft-2022", 3])
def test_shards_in_generations_that_have_them(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    data = np.arange(13 * 7).reshape(13, 7)
    options = conventions(zarr_format)
    array = omnizarr.create_array(store, data=data, chunks=(2, 3), shards=(6, 6), zarr_format=zarr_format, **options)
    array[3, 4] = -1
    again = omnizarr.open_array(store)
    assert (again.chunks, again.shards) == ((2, 3), (6, 6))
    assert again[3, 4] == -1
    assert again[5:, 2:].tolist() == data[5:, 2:].tolist()
    assert sum("c" in key and "json" not in key for key in store.list()) == 3 * 2


@pytest.mark.parametrize("zarr_format", [1, 2])
def test_shards_are_rejected_in_other_generations(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match="no shards"):
        omnizarr.create_array(store, shape=8, dtype="i4", chunks=2, shards=4, zarr_format=zarr_format)
    assert list(store.list()) == []


@pytest.mark.parametrize("zarr_format", ["3-draft-2020", "3-draft-2022"])
def test_hierarchy_options_are_set_at_the_root_only(zarr_format: Any) -> None:
    note = {"extension": "https://example.org/note", "must_understand": False}
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name="a", data=[1], zarr_format=zarr_format)
    with pytest.raises(OmnizarrError, match="a hierarchy with other options"):
        omnizarr.create_group(store, zarr_format=zarr_format, extensions=[note])
    with pytest.raises(ArgumentError, match="root"):
        omnizarr.create_group(store, path="g", zarr_format=zarr_format, extensions=[note])
    with pytest.raises(NodeExistsError):
        omnizarr.create_group(store, zarr_format=zarr_format)  # the root group exists without a document
    assert list(omnizarr.open_group(store)) == ["a"]
    omnizarr.create_group(store, zarr_format=zarr_format, extensions=[note], overwrite=True)
    assert b"example.org" in bytes(store.get("zarr.json") or b"")
    assert list(omnizarr.open_group(store)) == []
    omnizarr.create_array(store, name="b", data=[1], zarr_format=zarr_format)  # uses the existing hierarchy
    assert b"example.org" in bytes(store.get("zarr.json") or b"")


def test_an_accepted_deviation_warns_once(recwarn: pytest.WarningsRecorder) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, data=[[1, 2]], zarr_format=1, compressors=None)
    store.set("meta", bytes(store.get("meta") or b"").replace(b'"order": "C"', b'"order": "F"'))
    array = omnizarr.open_array(store)
    assert len(recwarn) == 1
    array.attrs["a"] = 1
    array.resize(2, 2)
    assert pickle.loads(pickle.dumps(array.store)) is not None
    assert pickle.loads(pickle.dumps(array))[0].tolist() == [1, 2]
    assert len(recwarn) == 1


ORDINARY_TYPES = [
    *("bool", "i1", "u2", "i8", "f2", "f4", ">f8", "c8", "c16", "S5", "U3", "V4", "M8[s]", "m8[ms]", str, bytes),
    [("a", "i2"), ("b", "f8")],
]


@pytest.mark.parametrize("shards", [None, 4])
@pytest.mark.parametrize("dtype", ORDINARY_TYPES, ids=str)
@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft-2020", "3-draft-2022"])
def test_arrays_of_ordinary_types_can_be_created(zarr_format: Any, dtype: Any, shards: int | None) -> None:
    """Except for text and bytes of any length in v1 and the draft of 2022, and shards in v1 and v2."""
    missing = (zarr_format in (1, "3-draft-2022") and dtype in (str, bytes)) or (zarr_format in (1, 2) and shards)
    for order in "CF":
        for compressors in ("auto", None):
            if zarr_format == 1 and order == "F":
                continue  # zarr 1.x reads F order only with blosc
            options = {"dtype": dtype, "shards": shards, "order": order, "compressors": compressors}
            if zarr_format == "3-draft-2020":
                options["conventions"] = "zarr-python-2"
            try:
                z = omnizarr.create_array(None, shape=(5, 5), chunks=2, zarr_format=zarr_format, **options)
            except omnizarr.OmnizarrError:
                if not missing:
                    raise
            else:
                assert not missing
                assert omnizarr.open_array(z.store).same_array(z)
