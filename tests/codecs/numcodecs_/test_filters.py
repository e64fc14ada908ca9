"""The array → array codecs of numcodecs equal the library bit for bit, for all types and values."""

from __future__ import annotations

import json
import tracemalloc
import warnings
from typing import Any

import numcodecs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.codecs.binding import bind_array, bind_bytes, config_problems, from_config, object_array, spec_of

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs.contract import ChunkSpec
from omnizarr.codecs.numcodecs_.filter_on_bytes import FilterOnBytes
from omnizarr.errors import ArgumentError, CodecError, MetadataError

INTEGERS = [f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)]
FLOATS = ["f2", "f4", "f8"]
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=5)


def arrays(dtype: str) -> st.SearchStrategy[npt.NDArray[Any]]:
    return hnp.arrays(dtype, shapes)


def compare(config: dict[str, Any], array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Assert that numcodecs encodes and decodes to the same bytes; return the decoded array."""
    theirs = numcodecs.get_codec(config)
    ours = bind_array(config, array)
    before = array.tobytes()
    encoded = ours.encode(array)
    assert array.tobytes() == before
    assert encoded.shape == ours.encoded.shape
    assert encoded.dtype == ours.encoded.dtype
    decoded = ours.decode(encoded)
    assert decoded.shape == array.shape
    assert decoded.dtype == array.dtype
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numcodecs warns of overflows
        try:
            stored = array.dtype if (decoded_as := from_config(config).decoded_dtype) is None else decoded_as
            written = np.asarray(theirs.encode(np.ascontiguousarray(array, stored).reshape(array.shape)))
            read = np.asarray(theirs.decode(written))
        except (OverflowError, ValueError):
            return decoded  # numcodecs fails for integers that NumPy 2 no longer widens, and if NaN becomes an integer
    assert encoded.tobytes() == written.astype(written.dtype.newbyteorder("=")).tobytes()
    assert decoded.tobytes() == read.astype(read.dtype.newbyteorder("=")).tobytes()
    return decoded


@given(draw=st.data(), order=st.sampled_from("<>"))
def test_delta(draw: st.DataObject, order: str) -> None:
    dtype = draw.draw(st.sampled_from([*INTEGERS, *FLOATS, "c8"]))
    astype = draw.draw(st.sampled_from([dtype, "i8", "f8", "i1"])) if dtype != "c8" else dtype
    array = draw.draw(arrays(dtype))
    decoded = compare({"id": "delta", "dtype": order + dtype, "astype": order + astype}, array)
    if dtype in INTEGERS and astype in (dtype, "i8"):
        assert decoded.tobytes() == array.tobytes()  # integers wrap around in both directions


def test_delta_of_timedeltas_rejects_NaT() -> None:
    """A sum with NaT is NaT, so all later elements of the chunk would be lost."""
    spans = np.array([5, -3, 8], "m8[s]")
    assert compare({"id": "delta", "dtype": "<m8[s]"}, spans).tobytes() == spans.tobytes()
    spans[1] = "NaT"
    with pytest.raises(CodecError, match="NaT"):
        bind_array({"id": "delta", "dtype": "<m8[s]"}, spans).encode(spans)


def test_delta_of_timedeltas_wraps_around() -> None:
    """NumPy 2.5 raises an error for such a difference and such a sum of spans."""
    spans = np.array([-(2**63) + 9, 2**63 - 1, 0, 2**62], "i8").view("m8[ns]")
    assert compare({"id": "delta", "dtype": "<m8[ns]"}, spans).tobytes() == spans.tobytes()


@given(
    draw=st.data(), scale=st.sampled_from([1, 10, 0.5, -3, 1e300, 2**40]), offset=st.sampled_from([0, 7, -1.5, 1000])
)
def test_fixedscaleoffset(draw: st.DataObject, scale: float, offset: float) -> None:
    dtype = draw.draw(st.sampled_from([*INTEGERS, *FLOATS]))
    astype = draw.draw(st.sampled_from([*INTEGERS, *FLOATS]))
    config = {"id": "fixedscaleoffset", "scale": scale, "offset": offset, "dtype": dtype, "astype": astype}
    compare(config, draw.draw(arrays(dtype)))


def test_fixedscaleoffset_with_an_offset_outside_the_type() -> None:
    array = np.array([250, 3], "u1")
    codec = bind_array({"id": "fixedscaleoffset", "scale": 1, "offset": -1000, "dtype": "u1", "astype": "<u2"}, array)
    assert codec.encode(array).tolist() == [1250, 1003]
    assert codec.decode(codec.encode(array)).tolist() == [250, 3]


@given(draw=st.data(), digits=st.integers(-12, 20))
def test_quantize(draw: st.DataObject, digits: int) -> None:
    dtype, astype = draw.draw(st.sampled_from(FLOATS)), draw.draw(st.sampled_from(FLOATS))
    compare({"id": "quantize", "digits": digits, "dtype": dtype, "astype": astype}, draw.draw(arrays(dtype)))


@given(draw=st.data())
def test_bitround(draw: st.DataObject) -> None:
    dtype, bits = draw.draw(st.sampled_from([("f2", 10), ("f4", 23), ("f8", 52)]))
    elements = st.floats(width=8 * int(dtype[1]), allow_nan=False)  # type: ignore[arg-type]
    array = draw.draw(hnp.arrays(dtype, shapes, elements=elements))
    compare({"id": "bitround", "keepbits": draw.draw(st.integers(0, bits))}, array)


def test_bitround_keeps_nan() -> None:
    """In numcodecs, rounding a mantissa of ones carries into the exponent and the sign."""
    bits = np.array([0x7FFFFFFF, 0x7FC00000, 0xFFFFFFFF, 0x7F800001, 0x7F800000], "u4")
    encoded = bind_array({"id": "bitround", "keepbits": 3}, bits.view("f4")).encode(bits.view("f4"))
    assert np.isnan(encoded).tolist() == [True, True, True, True, False]
    theirs = np.asarray(numcodecs.BitRound(3).encode(bits.view("f4"))).view("f4")
    assert not np.isnan(theirs[0])
    assert encoded[[1, 4]].tobytes() == theirs[[1, 4]].tobytes()


@given(draw=st.data(), order=st.sampled_from("<>"))
def test_astype(draw: st.DataObject, order: str) -> None:
    kinds = st.sampled_from([*INTEGERS, *FLOATS, "c8"])
    dtype, astype = draw.draw(kinds), draw.draw(kinds)
    compare({"id": "astype", "encode_dtype": order + astype, "decode_dtype": order + dtype}, draw.draw(arrays(dtype)))


def test_astype_converts_text_to_numbers() -> None:
    array = np.array(["12", "7"], "U2")
    codec = bind_array({"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<U2"}, array)
    assert codec.encode(array).tolist() == [12, 7]
    assert codec.decode(codec.encode(array)).tolist() == ["12", "7"]
    with pytest.raises(CodecError, match="invalid literal"):
        codec.encode(np.array(["x", ""], "U2"))


@given(draw=st.data())
def test_packbits(draw: st.DataObject) -> None:
    array = draw.draw(arrays("?"))
    assert compare({"id": "packbits"}, array).tobytes() == array.tobytes()


@given(draw=st.data(), astype=st.sampled_from(["|u1", "<i2", ">i8"]))
def test_categorize(draw: st.DataObject, astype: str) -> None:
    words = st.sampled_from(["", "a", "b", "long", "ü"])
    labels = draw.draw(st.lists(words.filter(bool), max_size=5))
    config = {"id": "categorize", "labels": labels, "dtype": "<U4", "astype": astype}
    compare(config, draw.draw(hnp.arrays("U4", shapes, elements=words)))


def test_categorize_supports_all_types_of_strings() -> None:
    config = {"id": "categorize", "labels": ["a", "b"], "dtype": "|O", "astype": "|u1"}
    items = ["b", "a", "none of them", None, 7, ["a"], ""]
    array = object_array(items)
    codec = bind_array(config, array)
    assert codec.encode(array).tolist() == [2, 1, 0, 0, 0, 0, 0]
    assert codec.decode(np.array([2, 1, 0, 3, 255, 1, 0], "u1")).tolist() == ["b", "a", "", "", "", "a", ""]
    assert np.asarray(numcodecs.get_codec(config).encode(array[:4])).tolist() == [2, 1, 0, 0]
    strings = np.array(["b", "x"], np.dtypes.StringDType())
    decoded = bind_array(config, strings).decode(bind_array(config, strings).encode(strings))
    assert decoded.tolist() == ["b", ""]
    assert decoded.dtype == strings.dtype


def test_categorize_with_too_many_labels() -> None:
    array = np.array(["7"], "U3")
    config = {"id": "categorize", "labels": [str(number) for number in range(300)], "dtype": "<U3"}
    assert bind_array(config, array).decode(np.array([8], "u1")).tolist() == ["7"]
    with pytest.raises(CodecError, match="300 labels are too many"):
        bind_array(config, array).encode(array)


def test_arrays_of_any_layout_are_encoded_in_c_order() -> None:
    array = np.arange(12, dtype="i4").reshape(3, 4)
    for other in (np.asfortranarray(array), array[::-1][::-1], np.repeat(array, 2, axis=1)[:, ::2]):
        encoded = bind_array({"id": "delta", "dtype": "<i4"}, array).encode(other)
        assert encoded.tolist() == [[0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
        assert (
            bind_array({"id": "delta", "dtype": "<i4"}, array).decode(np.asfortranarray(encoded)).tolist()
            == array.tolist()
        )


def test_elements_are_reinterpreted_as_the_configured_type() -> None:
    """Like numcodecs, which interprets bytes; times are often stored this way."""
    times = np.array(["2020-01-01", "2020-01-03"], "M8[D]")
    codec = bind_array({"id": "delta", "dtype": "<i8"}, times)
    assert codec.encode(times).tolist() == [18262, 2]
    assert codec.decode(codec.encode(times)).tolist() == times.tolist()
    truths = np.array([True, False, True])
    codec = bind_array({"id": "delta", "dtype": "|u1"}, truths)
    assert codec.decode(np.array([1, 2, 0], "u1")).tolist() == [True, True, True]
    assert codec.decode(np.array([1, 2, 0], "u1")).view("u1").tolist() == [1, 1, 1]


def test_decoded_dtype_and_encoded_dtype_have_the_configured_byte_order() -> None:
    delta = from_config({"id": "delta", "dtype": ">i4", "astype": "<i2"})
    assert (delta.decoded_dtype.str, delta.encoded_dtype.str) == (">i4", "<i2")
    scaled = from_config({"id": "fixedscaleoffset", "scale": 2, "offset": 0, "dtype": ">f8", "astype": ">i2"})
    assert (scaled.decoded_dtype.str, scaled.encoded_dtype.str) == (">f8", ">i2")
    quantized = from_config({"id": "quantize", "digits": 2, "dtype": ">f8", "astype": ">f4"})
    assert (quantized.decoded_dtype.str, quantized.encoded_dtype.str) == (">f8", ">f4")
    cast = from_config({"id": "astype", "encode_dtype": ">i2", "decode_dtype": "<i4"})
    assert (cast.decoded_dtype.str, cast.encoded_dtype.str) == ("<i4", ">i2")
    packed = from_config({"id": "packbits"})
    assert (packed.decoded_dtype.str, packed.encoded_dtype.str) == ("|b1", "|u1")
    rounded = from_config({"id": "bitround", "keepbits": 2})
    assert (rounded.decoded_dtype, rounded.encoded_dtype) == (None, None)  # input and output have the same type
    named = from_config({"id": "categorize", "labels": [], "dtype": "|O", "astype": ">u2"})
    assert (named.decoded_dtype, named.encoded_dtype.str) == (None, ">u2")


@pytest.mark.parametrize(
    ("config", "dtype", "message"),
    [
        ({"id": "delta", "dtype": "<i8"}, "i4", "expected elements of type int64, found int32"),
        ({"id": "delta", "dtype": "<i4"}, "V6", "expected elements of type int32, found |V6"),
        ({"id": "delta", "dtype": "<i8"}, "O", "expected elements of type int64, found object"),
        ({"id": "delta", "dtype": "<c8", "astype": "<m8[s]"}, "c8", "does not support elements of type complex64: "),
        ({"id": "packbits"}, "i2", "expected elements of type bool"),
        ({"id": "categorize", "labels": [], "dtype": "<U4"}, "U5", "expected elements of type <U4"),
        ({"id": "categorize", "labels": [], "dtype": "|O"}, "i4", "expected elements of type |O"),
        (
            {"id": "fixedscaleoffset", "scale": 1, "offset": 0, "dtype": "|b1", "astype": "|b1"},
            "i2",
            "expected elements of",
        ),
    ],
)
def test_unsupported_types(config: dict[str, Any], dtype: str, message: str) -> None:
    ((_, found),) = config_problems(config, ChunkSpec((4,), np.dtype(dtype), np.zeros((), dtype)))
    assert message in found


@pytest.mark.parametrize(
    ("keepbits", "dtype", "message"),
    [
        (8, "u1", "expected floats of 16 to 64 bits, found uint8"),  # GDAL
        (24, "f4", "expected at most 23, the mantissa bits of float32, found 24"),
    ],
)
def test_bitround_decodes_any_type_and_encodes_floats(keepbits: int, dtype: str, message: str) -> None:
    config = {"id": "bitround", "keepbits": keepbits}
    array = np.arange(6, dtype=dtype)
    bound = bind_array(config, array)
    assert bound.decode(array).tolist() == array.tolist()
    with pytest.raises(CodecError, match=message):
        bound.encode(array)
    with pytest.raises(ArgumentError, match=message):
        omnizarr.create_array(None, data=array, filters=[config], zarr_format=2)


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({"id": "delta", "dtype": "<f4"}, "<c8"),  # GDAL
        ({"id": "delta", "dtype": "<f8"}, "<c16"),
        ({"id": "delta", "dtype": "<i2", "astype": "<i4"}, "<i8"),
        ({"id": "fixedscaleoffset", "scale": 2, "offset": 1, "dtype": "<f4", "astype": "<i2"}, "<c8"),
        ({"id": "quantize", "digits": 1, "dtype": "<f4"}, "<c8"),
        ({"id": "astype", "encode_dtype": "<f8", "decode_dtype": "<f4"}, "<c8"),
    ],
)
def test_a_filter_may_name_the_type_of_parts_of_the_elements(config: dict[str, Any], dtype: str) -> None:
    """numcodecs interprets the bytes of a chunk without regard to the type of the array."""
    array = np.array([[1, 2, 300], [4, -5, 6]], dtype)
    if array.dtype.kind == "c":
        array.imag = array.real[::-1]
    bound = bind_array(config, array)
    numcodec = numcodecs.get_codec(dict(config))
    encoded = numcodec.encode(array)
    assert bound.encode(array).tobytes() == encoded.tobytes()
    decoded = bound.decode(encoded)
    assert (decoded.shape, decoded.dtype) == (array.shape, array.dtype)
    assert decoded.tobytes() == numcodec.decode(encoded).tobytes()


@pytest.mark.parametrize("data", [[], [8, 1], [1], [9], [255, 0, 0], [0, 0, 0], [5, 255]])
def test_damaged_packbits(data: list[int]) -> None:
    array = np.zeros(5, "?")
    with pytest.raises(CodecError):
        bind_array({"id": "packbits"}, array).decode(np.array(data, "u1"))


def test_the_fill_value_is_cast_but_not_encoded() -> None:
    spec = ChunkSpec((2,), np.dtype("f8"), np.array(7.0))
    codec = from_config({"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<f8"}).bind(spec, "$", Problems())
    assert codec.encoded.fill == np.array(7, "i2")
    assert codec.encoded.fill.dtype == "i2"
    nan = ChunkSpec((2,), np.dtype("f8"), np.array(np.nan))
    assert (
        from_config({"id": "delta", "dtype": "<f8", "astype": "<i2"}).bind(nan, "$", Problems()).encoded.fill.dtype
        == "i2"
    )


def test_a_missing_type_is_the_type_of_the_array() -> None:
    from omnizarr.codecs.numcodecs_ import AsType, FixedScaleOffset, Quantize

    array = np.array([1.26, 2.5], "f4")
    for codec, expected in (
        (FixedScaleOffset(10, 0), [1.3, 2.5]),
        (FixedScaleOffset(10, 0, astype="<i2"), [1.3, 2.5]),
        (Quantize(1), [1.25, 2.5]),
        (AsType("<i2"), [1, 2]),
    ):
        bound = codec.bind(spec_of(array), "$", Problems())
        assert bound is not None
        assert "dtype" not in codec.configuration()
        assert bound.decode(bound.encode(array)).dtype == "f4"
        assert bound.decode(bound.encode(array)).tolist() == pytest.approx(expected)
    problems = Problems()
    assert Quantize(1).bind(spec_of(np.array([1, 2])), "$", problems) is None
    assert FixedScaleOffset(1, 0).bind(spec_of(np.array(["x"])), "$", problems) is None
    assert ["does not support elements of type" in problem.message for problem in problems.found] == [True, True]


# -- filters on bytes


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({"id": "delta", "dtype": ">i4", "astype": "<i2"}, ">i4"),
        ({"id": "fixedscaleoffset", "scale": 2, "offset": 1, "dtype": "<f4", "astype": ">i2"}, "<f4"),
        ({"id": "quantize", "digits": 2, "dtype": ">f8", "astype": "<f4"}, ">f8"),
        ({"id": "astype", "encode_dtype": ">i2", "decode_dtype": "<i4"}, "<i4"),
        ({"id": "packbits"}, "?"),
        ({"id": "categorize", "labels": ["a", "bc"], "dtype": ">U2", "astype": ">u2"}, ">U2"),
    ],
    ids=lambda value: value["id"] if isinstance(value, dict) else "",
)
def test_a_filter_on_bytes_equals_numcodecs(config: dict[str, Any], dtype: str) -> None:
    array = np.array(["a", "bc", "x"], dtype) if dtype == ">U2" else np.array([0, 1, 1, 0, 1, 1, 1, 0, 1]).astype(dtype)
    theirs = numcodecs.get_codec(config)
    data = array.tobytes()
    written = np.asarray(theirs.encode(data)).tobytes()
    filter = from_config(config)
    for size in (len(data), None):
        codec = FilterOnBytes(filter).bind(bytes_spec(size), "$", Problems())
        assert codec is not None
        assert codec.encoded.size in (None, len(written))
        assert len(written) <= codec.encoded.limit
        assert bytes(codec.encode(data)) == written
        assert bytes(codec.decode(written)) == np.asarray(theirs.decode(written)).tobytes()
        for wrong in (b"", written[:-1], written + b"\0", written * 2):
            if size is not None:
                with pytest.raises(CodecError):
                    codec.decode(wrong)


def bytes_spec(size: int | None) -> Any:
    from omnizarr.codecs.contract import ByteSpec

    return ByteSpec(size, 1000 if size is None else size)


@given(data=st.binary(max_size=40))
def test_a_filter_on_any_bytes(data: bytes) -> None:
    for config in ({"id": "packbits"}, {"id": "delta", "dtype": "<f4", "astype": ">i2"}):
        codec = FilterOnBytes(from_config(config)).bind(bytes_spec(None), "$", Problems())
        assert codec is not None
        try:
            codec.decode(data)
        except CodecError:
            pass


def test_filters_that_cannot_follow_bytes() -> None:
    problems = Problems()
    assert FilterOnBytes(from_config({"id": "bitround", "keepbits": 3})).bind(bytes_spec(8), "$", problems) is None
    assert FilterOnBytes(from_config({"id": "delta", "dtype": "<i4"})).bind(bytes_spec(7), "$", problems) is None
    assert [problem.message for problem in problems.found] == [
        "codec `numcodecs.bitround` encodes arrays and cannot follow a codec with bytes as output",
        "codec `numcodecs.delta`: expected whole elements of type <i4, found 7 bytes",
    ]


def test_a_chain_with_a_filter_on_bytes_equals_numcodecs() -> None:
    chain = [{"id": "shuffle", "elementsize": 2}, {"id": "delta", "dtype": "|u1"}, {"id": "zlib"}]
    data = np.arange(100, dtype="<i2").tobytes()
    theirs: Any = np.frombuffer(data, "<i2")
    for config in chain:
        theirs = numcodecs.get_codec(config).encode(theirs)
    shuffled = bind_bytes(chain[0], 200).encode(data)
    over = FilterOnBytes(from_config(chain[1])).bind(bytes_spec(200), "$", Problems())
    assert over is not None
    assert over.encode(shuffled) == bind_bytes(chain[2], 200).decode(theirs)


def test_very_long_text_is_rejected_before_memory_is_allocated() -> None:
    """NumPy allocates memory for 128 elements to cast one."""
    filters = [{"id": "astype", "encode_dtype": "<U100000", "decode_dtype": "|u1"}]
    document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1", "compressor": None, "fill_value": 0}
    store = {".zarray": json.dumps({**document, "order": "C", "filters": filters}).encode()}
    tracemalloc.start()
    try:
        with pytest.raises(MetadataError, match="more than 65536 bytes"):
            omnizarr.open_array(store)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
