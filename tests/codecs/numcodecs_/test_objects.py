"""The codecs for objects: `json2`, `msgpack2`, `pickle`, `vlen-array`, and the predecessors `json` and `msgpack`."""

from __future__ import annotations

import json
import math
import tracemalloc
from dataclasses import replace
from typing import Any

import numcodecs
import numcodecs.pickles
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.codecs.binding import bind_array, config_problems, from_config, object_array, spec_of

from omnizarr._json import Problems
from omnizarr.codecs.numcodecs_.objects.pickle_ import Pickle
from omnizarr.config import config as settings
from omnizarr.errors import CodecError, MissingDependencyError

LISTED: list[dict[str, Any]] = [{"id": "json2"}, {"id": "json"}, {"id": "msgpack2"}, {"id": "msgpack"}]
NEW = [config for config in LISTED if config["id"].endswith("2")]
ALL = [*LISTED, {"id": "vlen-array", "dtype": "<i2"}]


def name(config: dict[str, Any]) -> str:
    return str(config["id"])


@pytest.fixture(autouse=True)
def _needs_msgpack(request: pytest.FixtureRequest) -> None:
    if "msgpack" in request.node.name and "without" not in request.node.name:
        pytest.importorskip("msgpack")


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3)


@st.composite
def arrays(draw: st.DrawFn) -> npt.NDArray[Any]:
    shape = draw(shapes)
    count = math.prod(shape)
    return object_array(draw(st.lists(values, min_size=count, max_size=count)), shape)


def same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and repr(a.ravel().tolist()) == repr(b.ravel().tolist())


@pytest.mark.parametrize("config", LISTED, ids=name)
@given(array=arrays())
def test_roundtrip(config: dict[str, Any], array: npt.NDArray[Any]) -> None:
    codec = bind_array(config, array)
    decoded = codec.decode(memoryview(codec.encode(array)))
    for result, expected in zip(decoded.ravel(), array.ravel(), strict=True):
        assert result == expected
        assert type(result) is type(expected)
    assert decoded.shape == array.shape


@pytest.mark.parametrize("config", NEW, ids=name)
@given(array=arrays())
def test_encoded_bytes_equal_those_of_numcodecs(config: dict[str, Any], array: npt.NDArray[Any]) -> None:
    if config["id"] == "msgpack2" and array.ndim == 0:
        return  # numcodecs fails
    written = bytes(numcodecs.get_codec(config).encode(array))
    assert bytes(bind_array(config, array).encode(array)) == written
    if array.ndim:
        flat = bytes(numcodecs.get_codec(config).encode(array.reshape(-1)))
        assert same(bind_array(config, array).decode(flat), bind_array(config, array).decode(written))


@pytest.mark.parametrize("config", NEW, ids=name)
def test_numcodecs_reads_our_bytes(config: dict[str, Any]) -> None:
    array = object_array(["a", None, {"b": 1}, True, 1.5, "ü"], (2, 3))
    assert same(numcodecs.get_codec(config).decode(bind_array(config, array).encode(array)), array)
    alone = object_array(["a"], ())
    decoded = numcodecs.get_codec(config).decode(bind_array(config, alone).encode(alone))
    assert decoded.reshape(()).item() == "a"
    assert bind_array(config, alone).decode(bind_array(config, alone).encode(alone)).item() == "a"


@pytest.mark.parametrize("config", NEW, ids=name)
@pytest.mark.parametrize("items", [[[1, 2], [3, 4]], [[1], [2, 3]], [[], []]], ids=str)
def test_lists_as_elements(config: dict[str, Any], items: list[Any]) -> None:
    array = object_array(items)
    written = numcodecs.get_codec(config).encode(array)
    assert bind_array(config, array).decode(written).tolist() == items


@pytest.mark.parametrize("config", LISTED, ids=name)
def test_other_types_than_objects(config: dict[str, Any]) -> None:
    for array in (
        np.arange(6, dtype="i4").reshape(2, 3),
        np.array([1.5, np.inf], "f4"),
        np.array([True, False]),
        np.array(["ab", ""], "U3"),
    ):
        codec = bind_array(config, array)
        assert same(codec.decode(codec.encode(array)), array)
        if config in NEW:
            assert bytes(numcodecs.get_codec(config).encode(array)) == bytes(codec.encode(array))
    strings = np.array(["a", "ü"], np.dtypes.StringDType())
    codec = bind_array(config, strings)
    assert same(codec.decode(codec.encode(strings)), strings)
    assert codec.decode(codec.encode(object_array(["a", None]))).tolist() == ["a", ""]
    with pytest.raises(CodecError, match="expected strings"):
        codec.decode(codec.encode(object_array(["a", 1])))
    ((_, message),) = config_problems(config, spec_of(np.zeros(2, "c8")))
    assert "cannot store elements of type complex64" in message


def test_json_has_the_members_of_numcodecs() -> None:
    array = object_array([{"b": 1, "a": "ü"}, float("nan")])
    for members in ({"indent": 2}, {"ensure_ascii": False}, {"sort_keys": False}, {"encoding": "utf-16"},
                    {"separators": [", ", " : "]}, {"indent": 1, "separators": [",", ":"]}):  # fmt: skip
        config = {"id": "json2", **members}
        theirs = numcodecs.get_codec(config)
        assert bytes(bind_array(config, array).encode(array)) == bytes(theirs.encode(array))
        assert from_config(config).to_config() | {"id": "json2"} == json.loads(json.dumps(theirs.get_config()))
        assert list(from_config(config).to_config()) == list(theirs.get_config())[1:]
    with pytest.raises(CodecError, match="cannot be written as JSON"):
        bind_array({"id": "json2", "allow_nan": False}, array).encode(array)


@pytest.mark.parametrize("config", LISTED, ids=name)
def test_numpy_scalars_are_written_as_plain_values(config: dict[str, Any]) -> None:
    array = object_array([np.int64(3), np.float32(1.5), np.bool_(True)])
    codec = bind_array(config, array)
    assert codec.decode(codec.encode(array)).tolist() == [3, 1.5, True]


@pytest.mark.parametrize("config", LISTED, ids=name)
@pytest.mark.parametrize("item", [object(), {1, 2}, np.arange(3), 1j])
def test_unsupported_objects(config: dict[str, Any], item: Any) -> None:
    array = object_array([item])
    with pytest.raises(CodecError, match="an object cannot be written as"):
        bind_array(config, array).encode(array)


def test_recursive_objects() -> None:
    item: list[Any] = []
    item.append(item)
    for config in LISTED:
        with pytest.raises(CodecError):
            bind_array(config, object_array([item])).encode(object_array([item]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "{}",
        "[]",
        '["|O"]',
        '["a","b","|O"]',
        '["a","b","|O",[3]]',
        '["a","b","|O",[2,1]]',
        '[["a","b"],"|O",[2]]',
        '["a","b",null,[2]]',
        '["a","b","|O",2]',
        '["a","b","|O",["2"]]',
        '["a","b","|O",[true,2]]',
        '["a","b","|O",[-1,-2]]',
        '["a","b","|O",[2.0]]',
        f'["a","b","|O",[{2**62},{2**62}]]',
        '["a","b","|O",[' + ",".join(["1"] * 70) + ",2]]",
        '["a","b","|O",[]]',
        "[" * 100_000,
        '["a","b"',
        "[1" + "0" * 5000 + ',"b","|O",[2]]',
        "\udcff",
    ],
)
def test_data_that_are_not_a_chunk(text: str) -> None:
    codec = bind_array({"id": "json2"}, object_array(["a", "b"]))
    with pytest.raises(CodecError):
        codec.decode(text.encode("utf-8", "surrogateescape"))


def test_flat_and_other_shapes_of_the_same_size_are_accepted() -> None:
    codec = bind_array({"id": "json2"}, object_array(list("abcd"), (2, 2)))
    for text in ('["a","b","c","d","|O",[4]]', '[["a","b"],["c","d"],"|O",[2,2]]', '[["a","b","c","d"],"|O",[1,4]]'):
        assert codec.decode(text.encode()).tolist() == [["a", "b"], ["c", "d"]]


def test_the_type_in_the_data_is_ignored() -> None:
    codec = bind_array({"id": "json2"}, object_array([1, 2]))
    assert codec.decode(b'[1,2,"V99999999999",[2]]').tolist() == [1, 2]


@pytest.mark.parametrize("config", ALL, ids=name)
@given(noise=st.binary(max_size=40), draw=st.data())
def test_any_bytes_decode_or_raise_codec_error(config: dict[str, Any], noise: bytes, draw: st.DataObject) -> None:
    array = object_array([[1, 2], [3], None] if config["id"] == "vlen-array" else ["a", None, [1, {"b": 2}]])
    codec = bind_array(config, array)
    good = bytes(codec.encode(array))
    at = draw.draw(st.integers(0, len(good)))
    for data in (noise, good[:at], good[:at] + noise, good[:at] + noise + good[at + len(noise) :]):
        try:
            assert codec.decode(data).shape == (3,)
        except CodecError:
            pass


@pytest.mark.parametrize("start", [b"\xdd\x00\x00\xff\xff", b"\xdc\xff\xff"], ids=["32", "16"])
def test_msgpack_lists_that_declare_too_many_items(start: bytes) -> None:
    codec = bind_array({"id": "msgpack2"}, object_array(["a", "b"]))
    codec.decode(codec.encode(object_array(["a", "b"])))
    data = start * 500 + bytes(70_000)
    tracemalloc.start()
    try:
        with pytest.raises(CodecError):
            codec.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_msgpack_bytes_that_only_look_like_lists() -> None:
    array = object_array([b"\xdd\x00\x01\x00\x00" * 20_000, "b"])
    codec = bind_array({"id": "msgpack2"}, array)
    assert codec.decode(codec.encode(array)).tolist() == array.tolist()
    with pytest.raises(CodecError):
        codec.decode(bytes(codec.encode(array)) + b"\0")


def test_msgpack_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.codecs.numcodecs_.objects import msgpack_

    msgpack_._library.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "msgpack", None)
    array = object_array(["a"])
    codec = bind_array({"id": "msgpack2"}, array)
    with pytest.raises(MissingDependencyError, match="codec `numcodecs.msgpack2` needs the package `msgpack`"):
        codec.encode(array)


def test_legacy_msgpack_without_an_encoding_gives_bytes() -> None:
    pytest.importorskip("msgpack")
    array = object_array(["a", None])
    codec = bind_array({"id": "msgpack", "encoding": None}, array)
    assert codec.decode(codec.encode(array)).tolist() == [b"a", None]


@pytest.mark.parametrize("config", ALL, ids=name)
def test_objects_are_limited_by_max_chunk_bytes(config: dict[str, Any]) -> None:
    with settings(max_chunk_bytes=12345):
        spec = bind_array(config, object_array([None])).encoded
    assert (spec.size, spec.limit) == (None, 12345)


# -- vlen-array


@given(
    parts=st.lists(st.lists(st.integers(-(2**15), 2**15 - 1), max_size=4), min_size=1, max_size=6),
    dtype=st.sampled_from(["<i2", ">i2", "<f8", ">U3", "<M8[s]"]),
)
def test_vlen_array_equals_numcodecs(parts: list[list[int]], dtype: str) -> None:
    array = object_array([np.array(part, "i8").astype(dtype) for part in parts])
    config = {"id": "vlen-array", "dtype": dtype}
    codec = bind_array(config, array)
    encoded = bytes(codec.encode(array))
    if "M" not in dtype:  # numcodecs does not support it
        assert encoded == bytes(numcodecs.get_codec(config).encode(array))
    decoded = codec.decode(encoded)
    for result, expected in zip(decoded, array, strict=True):
        assert result.tolist() == expected.tolist()
        assert result.dtype == expected.dtype.newbyteorder("=")
        assert result.dtype.isnative
        assert result.flags.owndata
        assert result.flags.writeable


def test_vlen_array_accepts_lists_None_and_0() -> None:
    """0 is the default fill value of zarr-python 2."""
    array = object_array([[1, 2], None, np.array([], "f8"), 0], (2, 2))
    codec = bind_array({"id": "vlen-array", "dtype": "<i2"}, array)
    assert [[item.tolist() for item in row] for row in codec.decode(codec.encode(array))] == [[[1, 2], []], [[], []]]


@pytest.mark.parametrize("item", [np.zeros((2, 2)), "text", [[1], [2, 3]], {}, 7, False, np.int16(0)])
def test_vlen_array_rejects_other_elements(item: Any) -> None:
    with pytest.raises(CodecError):
        bind_array({"id": "vlen-array", "dtype": "<i2"}, object_array([item])).encode(object_array([item]))


@pytest.mark.parametrize(
    "data",
    [
        "",
        "02",
        "03000000",
        "0200000000000000",
        "02000000 ffffffff 00000000",
        "02000000 01000000 01 00000000",
        "02000000 00000000 00000000 00",
        "ffffffff 00000000 00000000",
    ],
)
def test_damaged_vlen_array(data: str) -> None:
    with pytest.raises(CodecError):
        bind_array({"id": "vlen-array", "dtype": "<i2"}, object_array([None, None])).decode(bytes.fromhex(data))


# -- pickle


def test_A61_pickle_must_be_allowed() -> None:
    array = object_array(["a", {1, 2}, None, 1j], (2, 2))
    assert config_problems({"id": "pickle", "protocol": 4}, spec_of(array)) == [
        (
            "$",
            "codec `pickle` can execute arbitrary code; open with allow_pickle=True if you trust the source",
        )
    ]
    assert from_config({"id": "pickle", "protocol": 4}) == Pickle(4)
    assert from_config({"id": "pickle", "protocol": 4}).to_config() == {"protocol": 4}


def test_A61_a_document_cannot_allow_pickle() -> None:
    problems = Problems()
    codec = Pickle.from_config({"allowed": True}, "$", problems)
    assert codec is not None
    assert not codec.allowed
    assert [warning.path for warning in problems.warnings] == ["$.allowed"]
    assert "allowed" not in Pickle(allowed=True).configuration()


def test_allowed_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    array = object_array(["a", {1, 2}, None, 1j], (2, 2))
    codec = replace(from_config({"id": "pickle"}), allowed=True).bind(spec_of(array), "$", Problems())
    theirs = numcodecs.Pickle()
    assert codec.decode(theirs.encode(array)).tolist() == array.tolist()
    assert theirs.decode(codec.encode(array)).tolist() == array.tolist()
    assert codec.decode(theirs.encode(array.reshape(-1))).tolist() == array.tolist()
    for data in (b"", b"nonsense", theirs.encode(array[0]), theirs.encode("not an array")):
        with pytest.raises(CodecError):
            codec.decode(data)
    with pytest.raises(CodecError):
        codec.encode(object_array([lambda: 0] * 4, (2, 2)))
