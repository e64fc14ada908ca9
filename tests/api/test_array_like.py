"""Arrays like another one: `from_array` and the `…_like` functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.registries import restoring

import omnizarr
from omnizarr.codecs import Bytes, Gzip, Sharding, Transpose, Zstd
from omnizarr.errors import ArgumentError, OmnizarrWarning
from omnizarr.formats.draft.extensions import extensions

SOURCE_OPTIONS: list[dict[str, Any]] = [
    {"chunks": (2, 3)},
    {"chunks": (2, 3), "shards": (4, 6), "compressors": ["gzip"], "order": "F"},
    {"chunks": (4, 6), "serializer": Sharding((2, 3), (Bytes("big"),), (Bytes("big"),), "start")},
    {"chunks": (4, 6), "filters": [Transpose((1, 0))], "serializer": Sharding((3, 2))},
    {"chunks": (4, 6), "serializer": Sharding((2, 3)), "compressors": [Gzip(1)]},
    {"chunks": (2, 3), "chunk_key_encoding": "v2", "dimension_names": ("y", None), "attributes": {"a": [1]}},
    {"chunks": (2, 3), "dtype": ">f4", "fill_value": np.nan, "compressors": None},
    {"chunks": (2, 3), "dtype": [("a", "i2"), ("b", "f8")]},
]


@pytest.mark.parametrize("options", SOURCE_OPTIONS)
def test_from_array_copies_an_array(options: dict[str, Any]) -> None:
    source = omnizarr.create_array(None, **{"shape": (7, 9), "dtype": "int16", **options})
    source[1:5] = np.ones((4, 9), source.dtype)
    made = omnizarr.from_array(None, data=source)
    assert made.metadata == source.metadata
    assert made[...].tobytes() == source[...].tobytes()
    empty = omnizarr.empty_like(source)
    assert empty.metadata == source.metadata
    assert empty.nchunks_initialized == 0


def test_from_array_with_changes() -> None:
    source = omnizarr.create_array(
        None,
        data=np.arange(24, dtype="int16").reshape(4, 6),
        chunks=(2, 3),
        shards=(4, 6),
        order="F",
        compressors="gzip",
    )
    assert omnizarr.from_array(None, data=source, chunks=(1, 2)).chunks == (1, 2)
    assert omnizarr.from_array(None, data=source, shards=None).shards is None
    made = omnizarr.from_array(None, data=source, compressors=Zstd(1))
    assert (made.compressors, made.chunks, made.shards, made.order) == ((Zstd(1),), (2, 3), (4, 6), "F")
    made = omnizarr.from_array(None, data=source, order="C")
    assert (made.order, made.filters) == ("C", ())
    made = omnizarr.from_array(None, data=source, dtype="float64", attributes={"n": 1}, name="deep/er")
    assert (made.dtype, made.attrs.asdict(), made.path) == (np.dtype("float64"), {"n": 1}, "deep/er")
    for array in (made, omnizarr.from_array(None, data=source, chunks=(1, 2))):
        np.testing.assert_array_equal(array[...], source[...])
    assert omnizarr.from_array(None, data=source, write_data=False)[...].tolist() == np.zeros((4, 6)).tolist()


def test_from_array_accepts_the_defaults_of_zarr_python() -> None:
    """`"keep"`, and None for `order` and `zarr_format`."""
    source = omnizarr.create_array(None, shape=(4, 6), dtype="int8", chunks=(2, 3), order="F", zarr_format=2)
    kept = dict.fromkeys(["chunks", "shards", "filters", "compressors", "serializer"], "keep")
    assert omnizarr.from_array(None, data=source, **kept, order=None, zarr_format=None).metadata == source.metadata
    assert omnizarr.from_array(None, data=np.arange(3), chunks="keep", zarr_format=None).zarr_format == 3
    text = omnizarr.create_array(None, shape=2, dtype=str)
    assert omnizarr.from_array(None, data=text, fill_value="keep", write_data=False)[0] == "keep"

    assert omnizarr.create_array(None, shape=3, dtype="int8", order=None, zarr_format=None).order == "C"
    group = omnizarr.create_group(None, zarr_format=None)
    assert group.zarr_format == 3
    assert group.create_array("a", shape=1, dtype="int8", zarr_format=None).zarr_format == 3
    old = omnizarr.create_group(None, zarr_format=2)
    assert omnizarr.create_array(old.store, name="a", shape=1, dtype="int8", zarr_format=None).zarr_format == 2
    assert omnizarr.create_group(old.store, path="b/c", zarr_format=None).zarr_format == 2
    omnizarr.save(old.store, [1, 2], path="d", zarr_format=None)
    assert omnizarr.load(old.store, "d").tolist() == [1, 2]


@pytest.mark.parametrize("data", [np.arange(10), [[1, 2], [3, 4]], 5, np.float32(2), np.zeros((0, 3))])
def test_from_array_of_numpy_arrays_and_lists(data: Any) -> None:
    made = omnizarr.from_array(None, data=data)
    assert made.dtype == np.asarray(data).dtype
    np.testing.assert_array_equal(made[...], data)


def test_from_array_does_not_erase_its_source() -> None:
    group = omnizarr.create_group(None)
    source = group.create_array("a/b", data=[1, 2, 3])
    reader = omnizarr.open_array(group.store, path="a/b", mode="r")
    for data in (source, reader):
        for name in ("a/b", "a", None):
            with pytest.raises(ArgumentError, match="overwrite"):
                omnizarr.from_array(group.store, data=data, name=name, overwrite=True)
    assert omnizarr.from_array(group.store, data=source, name="a/c", overwrite=True)[...].tolist() == [1, 2, 3]
    assert source[...].tolist() == [1, 2, 3]


def test_like_functions() -> None:
    source = omnizarr.create_array(
        None, data=np.full((4, 6), 9, "int16"), chunks=(2, 3), fill_value=5, compressors="gzip"
    )
    for made, value in (
        (omnizarr.zeros_like(source), 0),
        (omnizarr.ones_like(source), 1),
        (omnizarr.full_like(source, 7), 7),
        (omnizarr.empty_like(source), 5),
    ):
        assert (made[...] == value).all()
        assert (made.chunks, made.compressors, made.dtype) == ((2, 3), (Gzip(),), np.dtype("int16"))
    assert omnizarr.zeros_like(np.ones((2, 2), "float32"), dtype="int8").dtype == "int8"
    store = omnizarr.MemoryStore()
    assert omnizarr.ones_like(source, store=store, path="x").same_array(omnizarr.open(store, path="x"))


GENERATIONS: list[Any] = [1, 2, "3-draft-2020", "3-draft-2022", 3]
EXTENSIONS = [{"extension": "https://example.org/e", "must_understand": True, "configuration": {"a": 1}}]
FEATURES: dict[str, dict[str, Any]] = {
    "an extension that readers must understand": {"extensions": EXTENSIONS},
    "an extension that readers may ignore": {
        "extensions": [{"extension": "https://example.org/e", "must_understand": False, "configuration": {}}]
    },
    "a fallback type": {"dtype": "M8[s]", "fallback": "r64"},
    "shards": {"shards": (4, 6)},
    "dimension names": {"dimension_names": ("y", "x")},
    "attributes": {"attributes": {"a": [1, None]}},
    "an undefined fill value": {"fill_value": None},
    "a fill value": {"fill_value": 7},
    "order F": {"order": "F"},
}


def feature_of(array: omnizarr.Array, name: str) -> Any:
    """The property of an array that a feature sets."""
    model = array.metadata
    return {
        "extensions": [dict(item) for item in model.extensions],
        "fallback": model.fallback is not None,
        "shards": array.shards,
        "dimension_names": array.dimension_names,
        "attributes": {key: value for key, value in array.attrs.asdict().items() if key != "_ARRAY_DIMENSIONS"},
        "fill_value": None if model.fill is None else model.fill.tolist(),
        "order": array.order,
    }[name]


@pytest.fixture
def known_extension() -> Iterator[None]:
    with restoring(extensions):
        extensions.register("https://example.org/e", lambda configuration, path, problems: None)
        yield


@pytest.mark.usefixtures("known_extension")
@pytest.mark.filterwarnings("ignore:the fill value of")
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("source_format", GENERATIONS)
def test_a_copy_of_another_generation_keeps_each_feature_or_is_rejected(source_format: Any, feature: str) -> None:
    options = {"shape": (7, 9), "chunks": (2, 3), "dtype": "int16", "compressors": None, **FEATURES[feature]}
    try:
        source = omnizarr.create_array(None, zarr_format=source_format, **options)
    except ArgumentError:
        return  # the generation does not have it
    for zarr_format in GENERATIONS:
        store = omnizarr.MemoryStore()
        try:
            copy = omnizarr.from_array(store, data=source, zarr_format=zarr_format)
        except ArgumentError:
            assert list(store.list()) == []
            continue
        name = list(FEATURES[feature])[-1]
        if feature == "an undefined fill value":
            assert feature_of(copy, name) in (None, 0)
        else:
            assert feature_of(copy, name) == feature_of(source, name)


@pytest.mark.usefixtures("known_extension")
def test_a_copy_without_extensions_and_fallback() -> None:
    source = omnizarr.create_array(
        None, shape=3, dtype="M8[s]", zarr_format="3-draft-2020", extensions=EXTENSIONS, fallback="<i8"
    )
    with pytest.raises(ArgumentError, match="only the drafts of v3 have extensions") as caught:
        omnizarr.from_array(None, data=source, zarr_format=3)
    assert caught.value.hint == "`extensions=None` leaves them out"
    with pytest.raises(ArgumentError, match="`fallback`") as caught:
        omnizarr.from_array(None, data=source, zarr_format=3, extensions=None)
    assert caught.value.hint == "`fallback=None` leaves it out"
    assert omnizarr.from_array(None, data=source, zarr_format=3, extensions=None, fallback=None).zarr_format == 3


def test_a_copy_that_defines_an_undefined_fill_value_warns() -> None:
    source = omnizarr.create_array(None, shape=3, dtype="int8", fill_value=None, compressors=None, zarr_format=2)
    with pytest.warns(omnizarr.OmnizarrWarning, match="undefined, and that of the copy is np.int8\\(0\\)"):
        assert omnizarr.from_array(None, data=source, zarr_format=3).fill_value == 0
    assert omnizarr.from_array(None, data=source, zarr_format=3, fill_value=5).fill_value == 5
    assert omnizarr.from_array(None, data=source, zarr_format=1).fill_value is None


def test_a_copy_without_unknown_members_warns() -> None:
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, data=np.arange(4))
    document = {**json.loads(store["zarr.json"]), "later": {"must_understand": False}}
    store["zarr.json"] = json.dumps(document).encode()
    source = omnizarr.open_array(store)
    for zarr_format in (3, 2):
        with pytest.warns(OmnizarrWarning, match="lacks what omnizarr does not know in its metadata: `later`"):
            copy = omnizarr.from_array({}, data=source, zarr_format=zarr_format)
        assert copy[...].tolist() == [0, 1, 2, 3]
    assert omnizarr.empty_like(source).shape == (4,)  # a new array: nothing is lost, and there is no warning
