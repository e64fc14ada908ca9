"""Creating v1 and v2 arrays with the arguments of zarr-python: numcodecs objects, configurations and ids, arrays of
objects, and subarray dtypes."""

from __future__ import annotations

import json
from typing import Any

import numcodecs
import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Blosc, Bytes, Crc32c, Gzip, Transpose, VlenBytes, VlenUtf8, Zstd
from omnizarr.codecs.numcodecs_ import Bz2, Delta, FilterOnBytes, Json2, PackBits, Pickle, Shuffle, VlenArray, Zlib
from omnizarr.errors import ArgumentError, MetadataError, NodeExistsError
from omnizarr.store import MemoryStore, WrapperStore
from omnizarr.store.wrappers import ForwardedUpdates, forwarded

DATA = np.arange(24, dtype="<i4").reshape(4, 6)


def document(store: omnizarr.MemoryStore, key: str = ".zarray") -> Any:
    return json.loads(bytes(store.get(key) or b""))


def create(**options: Any) -> tuple[omnizarr.MemoryStore, omnizarr.Array]:
    store = omnizarr.MemoryStore()
    return store, omnizarr.create_array(store, **{"zarr_format": 2} | options)


# -- codecs


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (numcodecs.Zlib(1), Zlib(1)),
        (numcodecs.BZ2(3), Bz2(3)),
        (numcodecs.Blosc("zstd", 3, 2), Blosc("zstd", 3, "bitshuffle")),
        (numcodecs.Zstd(2), Zstd(2)),
        (numcodecs.GZip(4), Gzip(4)),
        ({"id": "zlib", "level": 1}, Zlib(1)),
        ({"id": "crc32c"}, Crc32c()),
        ("zlib", Zlib(1)),
        ("bz2", Bz2(1)),
        ("numcodecs.zlib", Zlib(1)),
    ],
    ids=str,
)
def test_compressors_as_numcodecs_has_them(given: Any, wanted: Any) -> None:
    store, z = create(data=DATA, compressors=given)
    assert z.compressors == (wanted,)
    assert (omnizarr.open_array(store)[...] == DATA).all()
    if not isinstance(given, (str, dict)):
        assert document(store)["compressor"]["id"] == given.codec_id


def test_filters_as_numcodecs_has_them() -> None:
    store, z = create(data=DATA, filters=[numcodecs.Delta("<i4")], compressors=numcodecs.Zlib(1))
    assert z.metadata.codecs == (Delta("<i4"), Bytes("little"), Zlib(1))
    assert document(store)["filters"] == [{"id": "delta", "dtype": "<i4", "astype": "<i4"}]
    assert (omnizarr.open_array(store)[...] == DATA).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("given", [{"id": "pcodec", "level": 4}, {"id": "zfpy", "mode": 4, "tolerance": -1}], ids=str)
def test_compressors_that_take_arrays(given: Any, order: Any) -> None:
    store, _ = create(data=DATA, compressors=[given], order=order, chunks=(3, 4))
    stored = document(store)
    assert given.items() <= stored["compressor"].items()
    assert stored["filters"] is None
    assert (omnizarr.open_array(store)[...] == DATA).all()
    chunk = numcodecs.get_codec(stored["compressor"]).decode(store.get("0.0"))
    assert (np.frombuffer(chunk, "<i4").reshape((3, 4), order=order) == DATA[:3, :4]).all()
    store, _ = create(data=DATA, filters=[given], compressors="zlib", order=order)
    assert [config["id"] for config in document(store)["filters"]] == [given["id"]]
    assert (omnizarr.open_array(store)[...] == DATA).all()
    with pytest.raises(ArgumentError, match="takes arrays and cannot follow a codec that produces bytes"):
        create(data=DATA, compressors=["zlib", given])


def test_only_necessary_codec_members_are_recorded() -> None:
    store, _ = create(data=DATA, compressors={"id": "zlib", "level": -1})
    assert document(store)["compressor"] == {"id": "zlib", "level": 6}
    store, _ = create(data=DATA, compressors=Zstd(3))
    assert document(store)["compressor"] == {"id": "zstd", "level": 3}  # TensorStore accepts no other member
    store, _ = create(data=DATA, compressors=Zstd(3, checksum=True))
    assert document(store)["compressor"] == {"id": "zstd", "level": 3, "checksum": True}


def test_lzma_formats_that_numcodecs_cannot_decode_are_rejected() -> None:
    chain = [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]
    with pytest.raises(ArgumentError, match="numcodecs cannot read other formats"):
        create(data=DATA, compressors={"id": "lzma", "filters": chain})
    store, _ = create(data=DATA, compressors={"id": "lzma", "format": 3, "filters": chain})
    assert (omnizarr.open_array(store)[...] == DATA).all()


def test_lossy_deltas_of_times_are_rejected() -> None:
    spans = np.array([1, "NaT", 3], "m8[s]")
    with pytest.raises(omnizarr.OmnizarrError, match="expected no NaT"):
        create(data=spans, filters=[{"id": "delta", "dtype": "<m8[s]"}])
    for dtype in ("m8[s]", "M8[s]"):
        store, _ = create(data=spans.view(dtype), filters=[{"id": "delta", "dtype": "<i8"}])
        assert omnizarr.open_array(store)[...].view("i8").tolist() == spans.view("i8").tolist()
    for dtype in ("|b1", "<M8[s]"):
        with pytest.raises(MetadataError, match="expected a type of numbers"):
            create(shape=3, dtype=dtype, filters=[{"id": "delta", "dtype": dtype}])


def test_names_refer_to_numcodecs_in_v2() -> None:
    """The `packbits` of v3 is another codec, which starts at the other end of a byte."""
    flags = np.array([True, False, False])
    store, z = create(data=flags, filters=["packbits"], compressors=None)
    assert z.filters == (PackBits(),)
    assert bytes(store.get("0") or b"") == b"\x05\x80"
    assert omnizarr.open_array(store)[...].tolist() == flags.tolist()


def test_numcodecs_objects_in_v3() -> None:
    store, _ = create(data=DATA, filters=[numcodecs.Delta("<i4")], compressors=numcodecs.Zlib(1), zarr_format=3)
    names = [codec["name"] for codec in document(store, "zarr.json")["codecs"]]
    assert names == ["numcodecs.delta", "bytes", "numcodecs.zlib"]
    assert (omnizarr.open_array(store)[...] == DATA).all()
    with pytest.raises((ArgumentError, MetadataError)):
        create(data=DATA, compressors="base64", zarr_format=3)


@pytest.mark.parametrize("given", [{"id": "zlip"}, {"id": "zlib", "level": 77}, "zlip", 5, object(), numcodecs.Zlib])
def test_objects_that_are_not_codecs_are_rejected(given: Any) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises((ArgumentError, MetadataError), match="compressors"):
        omnizarr.create_array(store, data=DATA, compressors=given, zarr_format=2)
    assert list(store.list()) == []


def test_filters_keep_their_order() -> None:
    data = np.arange(8, dtype="<u2")
    filters = [{"id": "shuffle", "elementsize": 2}, {"id": "delta", "dtype": "|u1"}]
    store, z = create(data=data, filters=filters, compressors=None)
    assert z.metadata.codecs == (Bytes("little"), Shuffle(2), FilterOnBytes(Delta("|u1")))
    assert [one["id"] for one in document(store)["filters"]] == ["shuffle", "delta"]
    assert (omnizarr.open_array(store)[...] == data).all()
    with pytest.raises(ArgumentError, match="cannot follow a codec that produces bytes"):
        create(data=data, filters=["crc32", "pcodec"])


@pytest.mark.parametrize("astype", ["<i2", ">i2", "<i8", ">i8"])
@pytest.mark.parametrize("dtype", ["<i4", ">i4"])
def test_filters_are_stored_in_the_byte_order_that_they_name(dtype: str, astype: str) -> None:
    filters = [{"id": "delta", "dtype": dtype, "astype": astype}]
    store, _ = create(data=DATA, dtype=dtype, filters=filters, compressors=None)
    assert document(store)["dtype"] == dtype
    stored = np.frombuffer(bytes(store.get("0.0") or b""), astype)
    assert stored.tolist() == [0] + [1] * 23
    assert (omnizarr.open_array(store)[...] == DATA).all()


def test_a_filter_of_another_byte_order_is_rejected() -> None:
    store = omnizarr.MemoryStore()
    filters = [{"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<f8", "astype": "<i4"}, Delta(">i4")]
    with pytest.raises((ArgumentError, MetadataError), match="another byte order"):
        omnizarr.create_array(store, shape=3, dtype="<f8", filters=filters, zarr_format=2)
    assert list(store.list()) == []


def test_filters_without_a_dtype_take_any_type() -> None:
    data = np.array([True, False, True])
    store, z = create(data=data, filters="packbits")
    assert z.filters == (PackBits(),)
    assert document(store)["dtype"] == "|b1"
    assert (omnizarr.open_array(store)[...] == data).all()
    data = np.linspace(0, 1, 9).astype(">f4")
    store, _ = create(data=data, dtype=">f4", filters=[{"id": "bitround", "keepbits": 10}])
    assert document(store)["dtype"] == ">f4"
    assert np.allclose(omnizarr.open_array(store)[...], data, rtol=1e-3)


def test_records_with_byte_orders_of_their_own() -> None:
    dtype = np.dtype([("a", ">i2"), ("b", "<f4"), ("c", "S2")])
    data = np.array([[(1, 2.5, b"x")] * 3] * 2, dtype)
    for order in "CF":
        store, z = create(data=data, dtype=dtype, order=order)
        assert document(store)["dtype"] == [["a", ">i2"], ["b", "<f4"], ["c", "|S2"]]
        assert omnizarr.open_array(store)[...].tolist() == data.tolist()
        assert z.order == order


# -- objects


TEXT = np.array([["a", ""], ["ü🦀", "longer text"]], object)
BYTES = np.array([b"", b"\0\xff", b"abc"], object)
ANY = np.array(["a", 1, None, 2.5, True, {"k": [1, None]}], object)
RAGGED = np.empty(3, object)
RAGGED[:] = [np.array([1, 2], "<i4"), np.array([], "<i4"), np.array([3], "<i4")]


@pytest.mark.parametrize("given", ["vlen-utf8", {"id": "vlen-utf8"}, numcodecs.VLenUTF8(), VlenUtf8()], ids=repr)
@pytest.mark.parametrize("order", ["C", "F"])
def test_V24_text(given: Any, order: str) -> None:
    store, z = create(data=TEXT, dtype=object, filters=[given], order=order)
    assert document(store)["dtype"] == "|O"
    assert document(store)["filters"] == [{"id": "vlen-utf8"}]
    assert z.serializer == VlenUtf8()
    assert z.dtype == np.dtypes.StringDType()
    assert omnizarr.open_array(store)[...].tolist() == TEXT.tolist()


def test_V24_text_by_the_name_of_its_type() -> None:
    store, _ = create(data=["a", "ü"], dtype="string")
    assert document(store)["dtype"] == "|O"
    assert document(store)["filters"] == [{"id": "vlen-utf8"}]
    assert document(store)["fill_value"] == ""


def test_V24_bytes() -> None:
    store, z = create(data=BYTES, dtype=object, filters=["vlen-bytes"])
    assert z.serializer == VlenBytes()
    assert omnizarr.open_array(store)[...].tolist() == BYTES.tolist()


@pytest.mark.parametrize("given", [{"id": "vlen-array", "dtype": "<i4"}, numcodecs.VLenArray("<i4"), VlenArray("<i4")])
def test_V24_arrays(given: Any) -> None:
    store, _ = create(data=RAGGED, dtype=object, filters=[given])
    assert document(store)["filters"] == [{"id": "vlen-array", "dtype": "<i4"}]
    assert [part.tolist() for part in omnizarr.open_array(store)[...]] == [[1, 2], [], [3]]


def test_V24_a_fill_value_of_bytes() -> None:
    store, z = create(shape=2, dtype=object, filters=["vlen-bytes"], fill_value=b"\xff")
    assert document(store)["fill_value"] == "/w=="
    assert z[...].tolist() == omnizarr.open_array(store)[...].tolist() == [b"\xff", b"\xff"]
    with pytest.raises(ArgumentError, match="JSON cannot represent a bytes"):
        create(shape=2, dtype=object, filters=["json2"], fill_value=b"\xff")


@pytest.mark.parametrize("dtype", [object, str])
@pytest.mark.parametrize("order", ["C", "F"])
def test_V24_labels(dtype: Any, order: Any) -> None:
    labels = np.array([["b", "a"], ["", "b"], ["a", "a"]], object)
    categorize = numcodecs.Categorize(["a", "b"], dtype=object)
    store, z = create(data=labels, dtype=dtype, chunks=(2, 2), filters=[categorize], compressors=None, order=order)
    assert document(store)["dtype"] == "|O"
    assert document(store)["filters"] == [{"id": "categorize", "labels": ["a", "b"], "dtype": "|O", "astype": "|u1"}]
    assert z[...].tolist() == omnizarr.open_array(store)[...].tolist() == labels.tolist()
    assert store.get("0.0") == bytes([2, 1, 0, 2] if order == "C" else [2, 0, 1, 2])


@pytest.mark.parametrize("name", ["json2", "json", "msgpack2", "msgpack"])
def test_V24_any_objects(name: str) -> None:
    store, z = create(data=ANY, dtype=object, filters=[name])
    assert document(store)["filters"][0]["id"] == name
    assert document(store)["fill_value"] is None
    assert z.dtype == np.dtype(object)
    assert omnizarr.open_array(store)[...].tolist() == ANY.tolist()


def test_V24_objects_of_numcodecs() -> None:
    store, z = create(data=ANY, dtype=object, filters=[numcodecs.JSON()])
    assert z.serializer == Json2()
    assert document(store)["filters"] == [numcodecs.JSON().get_config() | {"separators": [",", ":"]}]
    store, _ = create(data=ANY, dtype=object, filters=[numcodecs.MsgPack()])
    assert document(store)["filters"] == [numcodecs.MsgPack().get_config()]
    assert omnizarr.open_array(store)[...].tolist() == ANY.tolist()


def test_V24_a_missing_object_is_the_fill_value() -> None:
    store, z = create(shape=3, dtype=object, filters=["json2"], fill_value={"none": 0})
    assert z[0] == {"none": 0}
    assert document(store)["fill_value"] == {"none": 0}
    store, z = create(shape=3, dtype=object, filters=["json2"])
    assert z[...].tolist() == [None] * 3
    assert create(shape=2, dtype=object, filters=["vlen-utf8"], fill_value=0)[1][...].tolist() == ["", ""]


@pytest.mark.parametrize("options", [{}, {"filters": None}, {"filters": ["shuffle"]}, {"compressors": None}])
def test_V24_A56_objects_need_a_codec(options: Any) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match="json2"):
        omnizarr.create_array(store, shape=3, dtype=object, zarr_format=2, **options)
    assert list(store.list()) == []


@pytest.mark.parametrize("given", ["pickle", {"id": "pickle"}, numcodecs.Pickle(), Pickle()], ids=repr)
def test_A61_pickle_is_rejected_by_name(given: Any) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(MetadataError, match="`pickle` can execute arbitrary code"):
        omnizarr.create_array(store, shape=3, dtype=object, filters=[given], zarr_format=2)
    assert list(store.list()) == []


def test_A61_pickles_need_allow_pickle() -> None:
    store, z = create(data=ANY, dtype=object, filters=[Pickle(allowed=True)])
    z.attrs["a"] = 1  # the handle that wrote pickles may read them
    assert z.attrs.asdict() == {"a": 1}
    with pytest.raises(MetadataError, match="allow_pickle"):
        omnizarr.open_array(store)
    assert omnizarr.open_array(store, allow_pickle=True)[...].tolist() == ANY.tolist()
    group = omnizarr.create_group(zarr_format=2)
    group.create_array("p", data=ANY, dtype=object, filters=[Pickle(allowed=True)])
    assert isinstance(dict(group.members())["p"], omnizarr.UnreadableNode)


@pytest.mark.parametrize("name", ["json2", "msgpack2", "json", "msgpack"])
def test_objects_with_a_shape_reject_order_F(name: str) -> None:
    data = np.array([["a", 1], [None, 2.5]], object)
    with pytest.raises(ArgumentError, match="in F order"):
        create(data=data, dtype=object, filters=[name], order="F")


# -- subarray dtypes


@pytest.mark.parametrize("zarr_format", [2, 3, 1, "3-draft-2020", "3-draft-2022", "n5"])
@pytest.mark.parametrize("dtype", [("<i4", (2,)), "(2,)<i4", np.dtype(("<i4", (2,)))])
def test_a_subarray_dtype_adds_a_dimension(zarr_format: Any, dtype: Any) -> None:
    z = omnizarr.create_array(shape=(3, 4), chunks=(2, 2), dtype=dtype, zarr_format=zarr_format)
    assert z.shape == np.empty((3, 4), dtype).shape == (3, 4, 2)
    assert z.chunks == (2, 2, 2)
    assert z.dtype == np.dtype("i4")
    z[1, 2] = [5, 6]
    assert z[1, 2].tolist() == [5, 6]


def test_a_subarray_dtype_of_several_dimensions() -> None:
    z = omnizarr.create_array(shape=3, dtype=("<f8", (2, 5)), dimension_names=["x"], chunks=2)
    assert z.shape == (3, 2, 5)
    assert z.chunks == (2, 2, 5)
    assert z.dimension_names == ("x", None, None)
    z = omnizarr.create_array(shape=4, dtype=("<f8", (2,)), chunks=1, shards=(2,))
    assert (z.chunks, z.shards) == ((1, 2), (2, 2))
    assert omnizarr.create_array(shape=3, dtype=("<f8", (2,)), chunks=(2, 1)).chunks == (2, 1)
    assert omnizarr.create_array(shape=3, dtype=("<f8", (2,))).shape == (3, 2)


def test_data_of_a_subarray_dtype() -> None:
    dtype = np.dtype(("<i4", (2,)))
    z = omnizarr.create_array(data=[1, 2, 3], dtype=dtype, zarr_format=2, chunks=2)
    assert z[...].tolist() == np.array([1, 2, 3], dtype).tolist() == [[1, 1], [2, 2], [3, 3]]
    assert z.chunks == (2, 2)


def test_require_array_of_a_subarray_dtype_and_of_objects() -> None:
    group = omnizarr.create_group(zarr_format=2)
    group.create_array("a", shape=3, dtype=("<i4", (2,)))
    assert group.require_array("a", shape=3, dtype=("<i4", (2,))).shape == (3, 2)
    group.create_array("o", shape=3, dtype=object, filters=["json2"])
    assert group.require_array("o", shape=3, dtype=object).dtype == np.dtype(object)


# -- options that v2 cannot express


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("no shards", {"shards": (4, 4), "chunks": (2, 2)}),
        ("not otherwise", {"shape": (2, 2, 2), "filters": [Transpose((1, 0, 2))]}),
        ("not otherwise", {"shape": (2, 2), "filters": [Delta("<i2"), Transpose((1, 0))]}),
        ("only the default NaN", {"dtype": "<f4", "fill_value": np.array(0x7FC00001, "u4").view("f4")[()]}),
        ("only the default NaN", {"dtype": "<c8", "fill_value": np.array([0x7FC00001, 0], "u4").view("c8")[0]}),
        ("a time needs a unit", {"dtype": "M8"}),
        ("a time needs a unit", {"dtype": [("a", "<i2"), ("b", "<m8")]}),
        ("expected one of the separators", {"chunk_key_encoding": "default"}),
        ("expected one of the separators", {"chunk_key_encoding": {"name": "default", "separator": "/"}}),
        ("ASCII", {"name": "ä"}),
        (
            "only the drafts of v3 have extensions",
            {"extensions": [{"extension": "https://example.org/", "must_understand": False}]},
        ),
        ("only the drafts of v3 have extensions", {"fallback": "<i2"}),
    ],
)
def test_options_that_v2_cannot_express_are_rejected(reason: str, options: dict[str, Any]) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match=reason):
        omnizarr.create_array(store, **{"shape": (4, 4), "dtype": "<i2", "zarr_format": 2} | options)
    assert list(store.list()) == []


def test_shards_are_rejected_in_v2() -> None:
    store = omnizarr.MemoryStore()
    index = omnizarr.codecs.Sharding((2, 2), [Bytes("little")])
    with pytest.raises(ArgumentError, match="no shards"):
        omnizarr.create_array(store, shape=(4, 4), dtype="<i2", serializer=index, zarr_format=2)
    assert list(store.list()) == []


def test_dimension_names_are_an_attribute_in_v2() -> None:
    store, z = create(shape=(3, 3), dtype="i1", dimension_names=["y", "x"], attributes={"a": 1})
    assert z.dimension_names == ("y", "x")
    assert document(store, ".zattrs") == {"a": 1, "_ARRAY_DIMENSIONS": ["y", "x"]}
    z.attrs["_ARRAY_DIMENSIONS"] = "nonsense"
    assert omnizarr.open_array(store).dimension_names is None


@pytest.mark.parametrize("first", ["3-draft-2020", "3-draft-2022"])
def test_a_concurrently_created_hierarchy_is_not_changed(first: str) -> None:
    """Another writer creates it between the check and the first write."""
    second = "3-draft-2022" if first == "3-draft-2020" else "3-draft-2020"

    class LateUpdates(ForwardedUpdates):
        def write(self, key: str, value: Any, version: Any) -> bool:
            if key == "zarr.json" and not begun:
                begun.append(True)
                omnizarr.create_array(self.store, name="b", shape=2, dtype="i4", zarr_format=second)
            return super().write(key, value, version)

    class Late(WrapperStore):
        updates = forwarded("updates", LateUpdates)

    begun: list[bool] = []
    store = Late(MemoryStore())
    with pytest.raises(NodeExistsError, match="a hierarchy of another kind"):
        omnizarr.create_array(store, name="a", shape=2, dtype="i4", zarr_format=first)
    assert list(omnizarr.open_group(store, mode="r")) == ["b"]
