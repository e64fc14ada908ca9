"""The `vlen-utf8` and `vlen-bytes` codecs."""

from __future__ import annotations

import struct
from typing import Any

import numcodecs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs import Chain, Codec, Sharding, Transpose, VlenBytes, VlenUtf8, Zstd, codecs
from omnizarr.codecs.contract import BoundSerializer, ChunkSpec
from omnizarr.dtypes import String, VariableBytes, data_type_of
from omnizarr.errors import ArgumentError, CodecError

TEXT = np.dtypes.StringDType()
BOTH = pytest.mark.parametrize("codec", [VlenUtf8(), VlenBytes()], ids=lambda codec: codec.name)


def spec(codec: Codec, shape: tuple[int, ...]) -> ChunkSpec:
    kind = data_type_of("string" if isinstance(codec, VlenUtf8) else "bytes")
    return ChunkSpec(shape, kind.dtype, kind.default_fill())


def bound(codec: Any, shape: tuple[int, ...]) -> BoundSerializer:
    problems = Problems()
    bound = codec.bind(spec(codec, shape), "$.codecs[0]", problems)
    assert bound is not None, problems.found
    return bound  # type: ignore[no-any-return]


def stored(*items: bytes, count: int | None = None) -> bytes:
    """The expected bytes of a chunk."""
    number = len(items) if count is None else count
    return struct.pack("<I", number) + b"".join(struct.pack("<I", len(item)) + item for item in items)


def elements(codec: Codec, *items: bytes) -> np.ndarray[Any, Any]:
    if isinstance(codec, VlenUtf8):
        return np.array([item.decode() for item in items], TEXT)
    array = np.empty(len(items), object)
    array[:] = items
    return array


@BOTH
def test_R125_R126_golden_bytes(codec: Any) -> None:
    items = (b"a", b"", "né\U0001f600".encode(), b"\0\0", b"x" * 300)
    one = bound(codec, (5,))
    array = elements(codec, *items)
    assert bytes(one.encode(array)) == stored(*items)
    for data in (stored(*items), bytearray(stored(*items)), memoryview(stored(*items))):
        decoded = one.decode(data)
        assert decoded.dtype == array.dtype
        assert decoded.tolist() == array.tolist()


@BOTH
def test_R125_R126_elements_are_stored_in_C_order(codec: Any) -> None:
    items = tuple(b"%d" % number for number in range(6))
    array = elements(codec, *items).reshape(2, 3)
    one = bound(codec, (2, 3))
    for given_array in (array, np.asfortranarray(array), array[::-1][::-1]):
        assert bytes(one.encode(given_array)) == stored(*items)
    assert one.decode(stored(*items)).tolist() == array.tolist()
    turned = bound(codec, (3, 2)).encode(array.T)
    assert bytes(turned) == stored(*(items[index] for index in (0, 3, 1, 4, 2, 5)))


@BOTH
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (1, 1)])
def test_scalars_and_empty_chunks(codec: Any, shape: tuple[int, ...]) -> None:
    one = bound(codec, shape)
    array = np.empty(shape, one.decode(one.encode(np.full(shape, spec(codec, ()).fill))).dtype)
    array[...] = elements(codec, b"only")[0]
    decoded = one.decode(one.encode(array))
    assert decoded.shape == shape
    assert decoded.tolist() == array.tolist()


def test_R125_bytes_equal_those_of_numcodecs() -> None:
    texts = np.array(["a", "", "ñ", "\U0001f600" * 9], TEXT)
    assert bytes(bound(VlenUtf8(), (4,)).encode(texts)) == bytes(numcodecs.VLenUTF8().encode(texts.astype(object)))


@BOTH
def test_names_and_configuration(codec: Any) -> None:
    assert codecs.get(codec.name) is type(codec)
    assert codec.id == codec.name
    assert codec.to_json() == {"name": codec.name}
    assert codec.to_config() == {}
    problems = Problems()
    assert type(codec).parse({}, "$", problems) == codec
    assert type(codec).from_config({}, "$", problems) == codec
    assert not problems.warnings
    assert type(codec).parse({"level": 1}, "$", problems) is None
    assert type(codec).from_config({"level": 1}, "$", problems) == codec
    assert problems.warnings[0].path == "$.level"
    assert not codec.private


@pytest.mark.parametrize(
    ("codec", "dtype"),
    [
        *[(VlenUtf8(), "U5"), (VlenUtf8(), "i4"), (VlenUtf8(), "S5")],
        *[(VlenBytes(), "S5"), (VlenBytes(), "u1"), (VlenBytes(), "V3")],
    ],
)
def test_R125_R126_R147_other_data_types(codec: Any, dtype: Any) -> None:
    problems = Problems()
    dtype = np.dtype(dtype)
    assert codec.bind(ChunkSpec((2,), dtype, np.zeros((), dtype)), "$.codecs[0]", problems) is None
    assert "data type `string`" in problems.found[0].message or "data type `bytes`" in problems.found[0].message


@pytest.mark.parametrize(("serializer", "dtype"), [("vlen-utf8", "bytes"), ("vlen-bytes", "string")])
def test_R125_R126_new_arrays_have_the_codec_of_their_data_type(serializer: str, dtype: str) -> None:
    with pytest.raises(ArgumentError, match=f"`{serializer}` is not for data type `{dtype}`"):
        omnizarr.create_array(None, shape=3, dtype=dtype, serializer=serializer)


@BOTH
def test_too_many_elements_for_the_count(codec: Any) -> None:
    problems = Problems()
    assert codec.bind(spec(codec, (2**16, 2**16)), "$", problems) is None
    assert "2^32" in problems.found[0].message


@BOTH
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "at least 12 bytes, found 0"),
        (stored(b"a", b"b")[:11], "at least 12"),
        (stored(b"a"), "at least 12"),
        (stored(b"a", b"b", b"c"), "expected 2 elements, found 3"),
        (stored(b"a", b"b", count=2**32 - 1), "expected 2 elements, found 4294967295"),
        (stored(b"abc", b"def")[:-1], "truncated"),
        (stored(b"abcd") + b"\xff\xff\xff\xff" + b"d", "at least|expected 2|truncated"),
        (struct.pack("<II", 2, 2**32 - 1) + b"\0\0\0\0", "truncated"),
        (struct.pack("<II", 2, 2**31) + b"\0" * 9, "truncated"),
        (stored(b"a", b"b") + b"c", "no bytes after the last element, found 1"),
        (stored(b"a", b"b") + b"\0" * 7, "no bytes after the last element, found 7"),
    ],
)
def test_R125_R126_damaged_chunks(codec: Any, data: bytes, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        bound(codec, (2,)).decode(data)


def test_surplus_bytes_after_text_that_is_not_ascii() -> None:
    one = bound(VlenUtf8(), (2,))
    data = stored("ñ".encode(), "\U0001f600".encode())
    assert one.decode(data).tolist() == ["ñ", "\U0001f600"]
    with pytest.raises(CodecError, match="no bytes after the last element, found 4"):
        one.decode(data + b"\0" * 4)


@pytest.mark.parametrize("item", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"])
def test_R125_invalid_utf8(item: bytes) -> None:
    with pytest.raises(CodecError, match="utf-8"):
        bound(VlenUtf8(), (2,)).decode(stored(b"a", item))
    assert bound(VlenBytes(), (2,)).decode(stored(b"a", item)).tolist() == [b"a", item]


@BOTH
@given(
    data=st.binary(max_size=60)
    | st.lists(st.binary(max_size=6), max_size=4).map(lambda items: stored(*items, count=3))
    | st.tuples(st.lists(st.binary(max_size=6), min_size=3, max_size=3), st.integers(0, 30), st.integers(0, 255)).map(
        lambda given: bytes(byte if index != given[1] else given[2] for index, byte in enumerate(stored(*given[0])))
    )
)
def test_any_bytes_decode_or_raise_codec_error(codec: Any, data: bytes) -> None:
    one = bound(codec, (3,))
    try:
        decoded = one.decode(data)
    except CodecError:
        return
    assert decoded.shape == (3,)
    assert bytes(one.encode(decoded)) == data


@given(st.lists(st.text(), min_size=4, max_size=4))
def test_R125_roundtrip(texts: list[str]) -> None:
    one = bound(VlenUtf8(), (2, 2))
    assert one.decode(one.encode(np.array(texts, TEXT).reshape(2, 2))).reshape(-1).tolist() == texts


@given(st.lists(st.binary(), min_size=4, max_size=4))
def test_R126_roundtrip(items: list[bytes]) -> None:
    one = bound(VlenBytes(), (2, 2))
    array = elements(VlenBytes(), *items).reshape(2, 2)
    assert one.decode(one.encode(array)).reshape(-1).tolist() == items


@pytest.mark.parametrize("item", [None, 0, "a", bytearray(b"a"), np.bytes_(b"a"), [b"a"]])
def test_R126_other_objects_are_rejected(item: Any) -> None:
    array = np.empty(2, object)
    array[0], array[1] = b"a", item
    with pytest.raises(CodecError, match="expected elements of type bytes"):
        bound(VlenBytes(), (2,)).encode(array)


def test_R125_invalid_text_from_numpy_conversions() -> None:
    """Before 2.5, NumPy converts `S` to text without validation."""
    try:
        wrong = np.array([b"\xff"]).astype(TEXT)
    except TypeError:
        pytest.skip("this NumPy looks")
    with pytest.raises(CodecError, match="utf-8"):
        bound(VlenUtf8(), (1,)).encode(wrong)


@BOTH
def test_chunks_are_limited_by_max_chunk_bytes(codec: Any) -> None:
    with omnizarr.config(max_chunk_bytes=100):
        one = bound(codec, (1,))
    assert one.encoded.limit == 100
    assert one.encoded.size is None
    fits, long = elements(codec, b"x" * 92), elements(codec, b"x" * 93)
    assert one.decode(one.encode(fits)).tolist() == fits.tolist()
    with pytest.raises(CodecError, match="more than the limit of 100"):
        one.encode(long)
    with pytest.raises(CodecError, match="at most 100 bytes"):
        one.decode(stored(b"x" * 93))


def test_a_decompression_bomb_fails_before_it_becomes_text() -> None:
    problems = Problems()
    with omnizarr.config(max_chunk_bytes=1000):
        chain = Chain.bind((VlenUtf8(), Zstd()), spec(VlenUtf8(), (1,)), "$", problems)
    assert chain is not None
    bomb = bytes(numcodecs.Zstd().encode(stored(b"\0" * 10**6)))
    assert len(bomb) < 1000
    with pytest.raises(CodecError, match="zstd"):
        chain.decode(bomb)


@BOTH
@pytest.mark.parametrize(
    "around",
    [
        lambda codec: (codec,),
        lambda codec: (Transpose((1, 0)), codec, Zstd()),
        lambda codec: (Sharding((2, 1), (codec,)),),
        lambda codec: (Transpose((1, 0)), Sharding((1, 2), (Transpose((1, 0)), codec, Zstd())), Zstd()),
        lambda codec: (Sharding((2, 3), (Sharding((1, 3), (codec,)),)),),
    ],
)
def test_R145_among_other_codecs(codec: Any, around: Any) -> None:
    problems = Problems()
    chain = Chain.bind(around(codec), spec(codec, (4, 6)), "$", problems)
    assert chain is not None, problems.found
    assert not chain.direct
    array = elements(codec, *(b"%d" % number * (number % 5) for number in range(24))).reshape(4, 6)
    array[:2, :3] = spec(codec, ()).fill
    assert chain.decode(chain.encode(array)).tolist() == array.tolist()


def test_the_data_types_use_these_codecs() -> None:
    assert String().dtype.kind == "T"
    assert VariableBytes().dtype == object
