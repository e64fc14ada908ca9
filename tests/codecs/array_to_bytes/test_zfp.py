"""The `zfp` codec."""

from __future__ import annotations

import json
import sys
import tracemalloc
from math import floor, log2
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of

import omnizarr
from omnizarr.codecs import Crc32c, Sharding, Zfp
from omnizarr.codecs.array_to_bytes import zfp
from omnizarr.codecs.array_to_bytes.zfp import ZfpExpert
from omnizarr.errors import ArgumentError, ChunkError, CodecError, MetadataError, MissingDependencyError

zfpy = pytest.importorskip("zfpy")

SHAPES = ((), (1,), (5,), (4, 4), (3, 9), (2, 3, 5), (2, 3, 4, 5))
NATIVE = ("i4", "i8", "f4", "f8")
NARROW = ("i1", "u1", "i2", "u2", "f2")


def wave(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Smooth data, which zfp can compress."""
    axes = np.indices(shape).sum(axis=0) if shape else np.zeros(())
    return np.asarray(100 + 20 * np.sin(axes / 3)).astype(dtype)


# -- lossless


@pytest.mark.parametrize("dtype", [*NATIVE, *NARROW, "u4", "u8", "M8[s]", "m8[ms]"])
@pytest.mark.parametrize("shape", SHAPES)
def test_R139_reversible(shape: tuple[int, ...], dtype: str) -> None:
    array = wave(shape, "i8").view(dtype) if dtype[0] in "mM" else wave(shape, dtype)
    codec = bind(parse_valid("zfp", mode="reversible"), array)
    encoded = codec.encode(array)
    assert len(encoded) <= codec.encoded.limit
    decoded = codec.decode(encoded)
    assert decoded.dtype == array.dtype
    assert decoded.shape == shape
    assert decoded.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", [*NATIVE, *NARROW])
@given(data=st.data())
def test_R139_reversible_is_lossless_for_all_numbers(dtype: str, data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=0, max_dims=4, max_side=6))
    array = data.draw(arrays.arrays(dtype, shape))
    if dtype[0] == "f":
        array = np.where(np.isnan(array), 0, array).astype(dtype)  # zfp does not preserve the bits of a NaN
    codec = bind(Zfp(), array)
    assert codec.decode(codec.encode(array)).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ["bfloat16", "int4", "uint4", "int2", "uint2"])
def test_R139_small_numbers(name: str) -> None:
    library = pytest.importorskip("ml_dtypes")
    array = (np.arange(24).reshape(4, 6) % 2).astype(getattr(library, name))
    codec = bind(Zfp(), array)
    assert codec.decode(codec.encode(array)).tobytes() == array.tobytes()


# -- the stream format


@pytest.mark.parametrize(
    ("members", "arguments"),
    [
        ({"mode": "reversible"}, {}),
        ({"mode": "fixed_accuracy", "tolerance": 0.05}, {"tolerance": 0.05}),
        ({"mode": "fixed_accuracy", "tolerance": 0}, {"tolerance": 0}),
        ({"mode": "fixed_rate", "rate": 10.5}, {"rate": 10.5}),
        ({"mode": "fixed_precision", "precision": 19}, {"precision": 19}),
        ({"mode": "fixed_precision", "precision": 1000}, {"precision": 64}),
    ],
)
@pytest.mark.parametrize("dtype", NATIVE)
def test_R139_streams_equal_those_of_zfpy_without_header(
    members: dict[str, Any], arguments: dict[str, Any], dtype: str
) -> None:
    array = wave((7, 5, 3), dtype)
    codec = bind(parse_valid("zfp", **members), array)
    stream = bytes(codec.encode(array))
    assert stream == zfpy.compress_numpy(array, write_header=False, **arguments)
    assert not stream.startswith(b"zfp")
    theirs = zfpy.decompress_numpy(zfpy.compress_numpy(array, write_header=True, **arguments))
    assert codec.decode(stream).tobytes() == theirs.tobytes()


def test_R139_the_last_dimension_is_the_fastest() -> None:
    array = wave((3, 8), "f4")
    for order in ("C", "F"):
        assert bind(Zfp(), array).encode(np.asarray(array, order=order)) == zfpy.compress_numpy(  # type: ignore[call-overload]
            array, write_header=False
        )


def test_R139_no_dimensions_equal_one_of_length_one() -> None:
    array = np.array(1.5)
    assert bind(Zfp(), array).encode(array) == zfpy.compress_numpy(array.reshape(1), write_header=False)


def test_R139_narrow_integers_are_promoted() -> None:
    for dtype, bits, middle in (("i1", 8, 0), ("u1", 8, 128), ("i2", 16, 0), ("u2", 16, 32768)):
        info = np.iinfo(dtype)
        array = np.array([info.min, info.max, 0, 1, 77], dtype)
        promoted = (array.astype("i4") - middle) << (31 - bits)
        assert bind(Zfp(), array).encode(array) == zfpy.compress_numpy(promoted, write_header=False)


def test_A26_lossy_results_stay_in_the_range_of_narrow_integers() -> None:
    for dtype in ("i1", "u1", "i2", "u2"):
        info = np.iinfo(dtype)
        array = np.tile(np.array([info.min, info.max, info.max, info.min], dtype), 16)
        codec = bind(Zfp("fixed_precision", precision=3), array)
        result = codec.decode(codec.encode(array)).astype(int)
        assert (np.abs(result - array.astype(int)) < 2 ** (info.bits - 2)).all()


@pytest.mark.parametrize(("dtype", "most"), [("u4", 2**31 - 1), ("u8", 2**63 - 1)])
def test_R139_large_unsigned_integers_are_rejected(dtype: str, most: int) -> None:
    array = np.array([0, 1, most], dtype)
    codec = bind(Zfp(), array)
    assert codec.decode(codec.encode(array)).tolist() == array.tolist()
    with pytest.raises(CodecError, match=f"signed integers, found {most + 1}"):
        codec.encode(np.array([0, most + 1], dtype))
    assert codec.decode(bind(Zfp(), np.zeros(3, f"i{array.itemsize}")).encode(np.array([-5, 0, 7], f"i{array.itemsize}"))).tolist() == [0, 0, 7]  # fmt: skip  # noqa: E501


# -- lossy

FINITE = st.floats(-1e4, 1e4, width=32)


@given(arrays.arrays("f8", arrays.array_shapes(max_dims=4, max_side=6), elements=FINITE), st.floats(1e-6, 10))
def test_R139_fixed_accuracy_respects_the_tolerance(array: npt.NDArray[Any], tolerance: float) -> None:
    codec = bind(Zfp("fixed_accuracy", tolerance=tolerance), array)
    assert np.abs(codec.decode(codec.encode(array)) - array).max(initial=0) <= tolerance


@given(arrays.arrays("f8", arrays.array_shapes(max_dims=3, max_side=9), elements=FINITE), st.integers(20, 64))
def test_R139_fixed_precision_is_relative_to_the_block(array: npt.NDArray[Any], precision: int) -> None:
    codec = bind(Zfp("fixed_precision", precision=precision), array)
    error = np.abs(codec.decode(codec.encode(array)) - array).max(initial=0)
    assert error <= np.abs(array).max(initial=0) * 2.0 ** (4 * array.ndim + 4 - precision)


@pytest.mark.parametrize("rate", [4, 8, 10.5, 32])
@pytest.mark.parametrize("shape", [(64,), (16, 16), (8, 8, 8), (4, 4, 4, 4)])
def test_R139_fixed_rate_has_a_fixed_size(rate: float, shape: tuple[int, ...]) -> None:
    array = wave(shape, "f4")
    codec = bind(Zfp("fixed_rate", rate=rate), array)
    encoded = codec.encode(array)
    assert len(encoded) == -(-int(array.size * rate) // 64) * 8
    assert codec.decode(encoded).shape == shape


# -- expert mode, which zfpy lacks

EXPERT = {"mode": "expert", "minbits": 1, "maxbits": 16658, "maxprec": 64, "minexp": floor(log2(0.05))}


@pytest.mark.parametrize("dtype", NATIVE)
@pytest.mark.parametrize("shape", SHAPES)
def test_R139_expert_streams_can_be_decoded(shape: tuple[int, ...], dtype: str) -> None:
    """Expert mode can express all other modes, so their streams serve as samples."""
    array = wave(shape, dtype)
    accuracy = bind(Zfp("fixed_accuracy", tolerance=0.05), array)
    stream = accuracy.encode(array)
    decoded = bind(parse_valid("zfp", **EXPERT), array).decode(stream)
    assert decoded.tobytes() == accuracy.decode(stream).tobytes()
    precision = bind(Zfp("fixed_precision", precision=11), array)
    stream = precision.encode(array)
    expert = parse_valid("zfp", mode="expert", minbits=1, maxbits=2**32 - 1, maxprec=11, minexp=-1074)
    assert bind(expert, array).decode(stream).tobytes() == precision.decode(stream).tobytes()
    bits = 8 * 4 ** max(1, len(shape))
    rate = bind(Zfp("fixed_rate", rate=8), array)
    stream = rate.encode(array)
    expert = parse_valid("zfp", mode="expert", minbits=bits, maxbits=bits, maxprec=64, minexp=-1074)
    assert bind(expert, array).decode(stream).tobytes() == rate.decode(stream).tobytes()


def test_R139_expert_streams_cannot_be_encoded() -> None:
    array = wave((4, 4), "f4")
    with pytest.raises(CodecError, match="zfpy cannot compress in the mode `expert`"):
        bind(parse_valid("zfp", **EXPERT), array).encode(array)
    with pytest.raises(MetadataError, match="zfpy cannot compress in the mode `expert`"):
        omnizarr.create_array(
            omnizarr.MemoryStore(), shape=(4,), dtype="f4", serializer={"name": "zfp", "configuration": EXPERT}
        )
    with pytest.raises(ArgumentError, match="`mode`: expected `reversible`"):
        Zfp("expert")  # type: ignore[arg-type]


def test_R139_an_array_in_expert_mode_can_be_opened_and_read() -> None:
    array = wave((8, 8), "f4")
    store = omnizarr.MemoryStore()
    made = omnizarr.create_array(
        store, data=array, serializer=Sharding((4, 4), [Zfp("fixed_accuracy", tolerance=0.05), Crc32c()])
    )
    document = bytes(store.get("zarr.json") or b"").decode()
    expert = document.replace('"mode": "fixed_accuracy",', '"mode": "expert", "minbits": 1, "maxbits": 16658,')
    expert = expert.replace('"tolerance": 0.05', f'"maxprec": 64, "minexp": {EXPERT["minexp"]}')
    store.set("zarr.json", expert.encode())
    assert omnizarr.open_array(store)[...].tobytes() == made[...].tobytes()


# -- configurations


@pytest.mark.parametrize(
    ("configuration", "places"),
    [
        ({}, ["mode"]),
        ({"mode": 2}, ["mode"]),
        ({"mode": "fast"}, ["mode"]),
        ({"mode": "reversible", "rate": 3}, ["rate"]),
        ({"mode": "fixed_rate"}, ["rate"]),
        ({"mode": "fixed_rate", "rate": -1}, ["rate"]),
        ({"mode": "fixed_rate", "rate": 1e9}, ["rate"]),
        ({"mode": "fixed_rate", "rate": "8"}, ["rate"]),
        ({"mode": "fixed_rate", "rate": True}, ["rate"]),
        ({"mode": "fixed_rate", "precision": 8}, ["precision", "rate"]),
        ({"mode": "fixed_accuracy", "tolerance": -0.5}, ["tolerance"]),
        ({"mode": "fixed_accuracy", "tolerance": float("inf")}, ["tolerance"]),
        ({"mode": "fixed_precision", "precision": 1.5}, ["precision"]),
        ({"mode": "fixed_precision", "precision": -1}, ["precision"]),
        ({"mode": "expert"}, ["minbits", "maxbits", "maxprec", "minexp"]),
        ({**EXPERT, "minbits": -1}, ["minbits"]),
        ({**EXPERT, "tolerance": 1}, ["tolerance"]),
        ({"mode": "reversible", "write_header": True}, ["write_header"]),
    ],
)
def test_R139_invalid_configurations(configuration: dict[str, Any], places: list[str]) -> None:
    assert paths_of(parse_problems("zfp", configuration)) == [f".configuration.{place}" for place in places]


def test_R139_invalid_arguments() -> None:
    for arguments in ({"rate": 3}, {"mode": "fixed_rate"}, {"mode": "fixed_rate", "rate": -1}, {"mode": 4}):
        with pytest.raises(ArgumentError, match="codec `zfp`"):
            Zfp(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("members", [{"minbits": 0}, {"minbits": 20, "maxbits": 19}, {"maxprec": 0}])
def test_R139_impossible_limits_in_expert_mode(members: dict[str, Any]) -> None:
    assert paths_of(bind_problems(parse_valid("zfp", **{**EXPERT, **members}), wave((4,), "f4"))) == [".configuration"]


@pytest.mark.parametrize(("dtype", "fewest"), [("f4", 9), ("f8", 12), ("i4", 1), ("i8", 1), ("f2", 9), ("u1", 1)])
@pytest.mark.parametrize("ndim", [0, 1, 2, 4])
def test_R139_rates_with_too_few_bits_per_block(dtype: str, fewest: int, ndim: int) -> None:
    """With fewer bits than sign and exponent need, the library would write beyond its buffer."""
    array = wave((9,) * ndim, dtype)
    values = 4 ** (ndim or 1)
    for rate in (0, 1e-9, (fewest - 0.51) / values):
        ((place, message),) = bind_problems(Zfp("fixed_rate", rate=rate), array)
        assert place == ".configuration.rate"
        assert f"at least {fewest} bits per block" in message
    codec = bind(Zfp("fixed_rate", rate=fewest / values), array)
    encoded = codec.encode(array)
    assert codec.decode(encoded).shape == array.shape
    assert len(encoded) == -(-fewest * 3**ndim // 64) * 8


@pytest.mark.parametrize(("dtype", "fewest", "reversible"), [("f4", 9, 16), ("f8", 12, 20), ("i4", 1, 6), ("i8", 1, 7)])
def test_R139_expert_mode_with_too_few_bits_per_block(dtype: str, fewest: int, reversible: int) -> None:
    for minexp, bits in ((-1074, fewest), (-1075, reversible)):
        bind(ZfpExpert(1, bits, 64, minexp), wave((9,), dtype))
        if bits > 1:
            assert paths_of(bind_problems(ZfpExpert(1, bits - 1, 64, minexp), wave((9,), dtype))) == [
                ".configuration.maxbits"
            ]


@pytest.mark.parametrize("codec", [Zfp(), ZfpExpert(1, 100, 64, -5)])
def test_R139_more_than_four_dimensions(codec: Any) -> None:
    assert bind_problems(codec, np.zeros((1,) * 5, "f4")) == [
        ("", "codec `zfp`: expected at most 4 dimensions, found 5")
    ]


@pytest.mark.parametrize("dtype", ["?", "c8", "S3", "V2", [("a", "f4")]])
def test_R139_unsupported_types(dtype: Any) -> None:
    assert paths_of(bind_problems(Zfp(), np.zeros(3, dtype))) == [""]


@pytest.mark.parametrize("name", ["zarrs.zfp", "https://codec.zarrs.dev/array_to_bytes/zfp"])
def test_R139_older_names_of_zarrs(name: str) -> None:
    assert parse_valid(name, mode="reversible", write_header=False) == Zfp()


# -- damaged data


@pytest.mark.parametrize("codec", [Zfp(), Zfp("fixed_rate", rate=9), Zfp("fixed_precision", precision=20)])
def test_streams_that_are_much_too_short_or_too_long(codec: Zfp) -> None:
    array = wave((40, 40), "f8")
    bound = bind(codec, array)
    for data in (b"", bytes(bound.encoded.limit + 1)):
        with pytest.raises(CodecError, match="expected a stream of"):
            bound.decode(data)


def test_a_fixed_rate_determines_the_stream_length() -> None:
    array = wave((16, 16), "f4")
    bound = bind(Zfp("fixed_rate", rate=8), array)
    stream = bytes(bound.encode(array))
    with pytest.raises(CodecError, match="expected a stream of 256 to"):
        bound.decode(stream[:-1])


@pytest.mark.parametrize("dtype", NATIVE)
@given(data=st.binary(max_size=300))
def test_any_bytes_decode_or_raise_codec_error(dtype: str, data: bytes) -> None:
    array = np.zeros((5, 6), dtype)
    for codec in (Zfp(), Zfp("fixed_rate", rate=3), Zfp("fixed_accuracy", tolerance=1), ZfpExpert(1, 50, 30, -9)):
        try:
            assert bind(codec, array).decode(data).shape == (5, 6)
        except CodecError:
            pass


@pytest.mark.parametrize("shape", [(9,), (5, 6), (1, 1, 40), (1, 1, 1, 30)])
@pytest.mark.parametrize("dtype", NATIVE)
@given(seed=st.integers(0, 2**32), length=st.integers(0, 60), bias=st.sampled_from([0, 0xFF, 0x0F, None]))
def test_zfpy_never_reads_beyond_the_padding(
    dtype: str, shape: tuple[int, ...], seed: int, length: int, bias: int | None
) -> None:
    """Bytes after the zeros that `decode` appends do not change the result."""
    array = np.zeros(shape, dtype)
    kind = zfpy.dtype_to_ztype(array.dtype)
    for codec in (
        Zfp(),
        Zfp("fixed_rate", rate=3),
        Zfp("fixed_rate", rate=70),
        Zfp("fixed_accuracy", tolerance=0.001),
        Zfp("fixed_precision", precision=40),
    ):
        bound = bind(codec, array)
        size = -(-bound._min_bits // 8) + length
        noise = np.random.default_rng(seed).bytes(size)
        cut = bytes(bound.encode(wave(shape, dtype)))[:size].ljust(size, b"\0")
        for stream in (noise, cut, noise[: size // 2] + bytes([bias or 0]) * (size - size // 2)):
            both = [
                zfpy._decompress(stream + bytes(bound._zeros - 64) + rest, kind, shape, **codec.arguments)
                for rest in (bytes(20000), b"\xff" * 20000)
            ]
            assert both[0].tobytes() == both[1].tobytes() == bound.decode(stream).tobytes()


def test_thin_chunks_need_little_memory() -> None:
    array = wave((1, 1, 1, 20000), "f8")
    codec = bind(Zfp(), array)
    encoded = codec.encode(array)
    tracemalloc.start()
    try:
        assert codec.decode(encoded).tobytes() == array.tobytes()
        assert tracemalloc.get_traced_memory()[1] < 10 * array.nbytes
    finally:
        tracemalloc.stop()


def test_binding_allocates_little_memory() -> None:
    """Opening an array with chunks that are too large to read allocates no memory for them."""
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, shape=(6, 4), dtype="f4", serializer=Zfp(), compressors=None)
    document = json.loads(store["zarr.json"])
    document["chunk_grid"]["configuration"]["chunk_shape"] = [6, 2**40]
    store["zarr.json"] = json.dumps(document).encode()
    tracemalloc.start()
    try:
        array = omnizarr.open_array(store)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
    with pytest.raises(ChunkError, match="more than the limit"):
        array[0, 0]


# -- in arrays


@pytest.mark.smoke
def test_arrays_and_shards() -> None:
    data = wave((9, 10), "f4")
    for serializer in (Zfp(), Sharding((2, 5), [Zfp(), Crc32c()])):
        store = omnizarr.MemoryStore()
        omnizarr.create_array(store, data=data, chunks=(4, 5), serializer=serializer, compressors=None)
        assert omnizarr.open_array(store)[1:7, ::3].tobytes() == data[1:7, ::3].tobytes()


def test_without_zfpy(monkeypatch: pytest.MonkeyPatch) -> None:
    store = omnizarr.MemoryStore()
    data = wave((4,), "f4")
    omnizarr.create_group(store).create_array("waves", data=data, serializer=Zfp(), compressors=None)
    zfp._library.cache_clear()
    monkeypatch.setitem(sys.modules, "zfpy", None)
    try:
        array = omnizarr.open_array(store, path="waves")  # opening does not need the library
        assert array.shape == (4,)
        with pytest.raises(MissingDependencyError, match="codec `zfp` needs the package `zfpy`") as reading:
            array[...]
        with pytest.raises(MissingDependencyError, match="codec `zfp` needs the package `zfpy`") as writing:
            omnizarr.open_array(store, path="waves", mode="r+")[...] = data
        for error in (reading.value, writing.value):
            assert "waves" in str(error)
            assert "pip install" in str(error)
    finally:
        zfp._library.cache_clear()


def test_errors_name_the_array_and_the_chunk() -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, data=wave((9,), "f4"), serializer=Zfp(), compressors=None)
    store.set("c/0", b"")
    with pytest.raises(ChunkError, match=r"chunk \(0,\) of array `/` .*codec `zfp`: expected a stream of"):
        array[...]
