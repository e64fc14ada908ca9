"""`zfpy` and `pcodec`, which need optional packages."""

from __future__ import annotations

import sys
import tracemalloc
from typing import Any

import numcodecs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codecs.binding import bind_array, config_problems, from_config

from omnizarr.codecs.contract import ChunkSpec
from omnizarr.codecs.numcodecs_ import pcodec_, zfpy_
from omnizarr.errors import CodecError, MissingDependencyError

EXACT: list[dict[str, Any]] = [
    {"id": "zfpy"},
    {"id": "pcodec"},
    {"id": "pcodec", "level": 0, "delta_encoding_order": 2},
]
LOSSY: list[dict[str, Any]] = [
    {"id": "zfpy", "mode": 4, "tolerance": 1e-3},
    {"id": "zfpy", "mode": 2, "rate": 16},
    {"id": "zfpy", "mode": 2, "rate": 64},
    {"id": "zfpy", "mode": 3, "precision": 20},
    {"id": "zfpy", "mode": 4, "tolerance": 0},
]


def name(config: dict[str, Any]) -> str:
    return " ".join(map(str, config.values()))


@pytest.fixture(autouse=True)
def _needs_libraries(request: pytest.FixtureRequest) -> None:
    if "without" not in request.node.name:
        pytest.importorskip("zfpy")
        pytest.importorskip("pcodec")


def floats(dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.cumsum(np.random.default_rng(0).normal(size=shape), axis=-1).astype(dtype)


@pytest.mark.parametrize("config", [*EXACT, *LOSSY], ids=name)
@pytest.mark.parametrize("shape", [(1,), (5,), (9, 7), (4, 4, 4), (2, 3, 5, 6)], ids=str)
@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_results_equal_those_of_numcodecs(config: dict[str, Any], shape: tuple[int, ...], dtype: str) -> None:
    array = (floats("f8", shape) * 10).astype(dtype)
    theirs = numcodecs.get_codec(config)
    ours = bind_array(config, array)
    written = bytes(theirs.encode(array))
    assert bytes(ours.encode(np.asfortranarray(array))) == written
    assert len(written) <= ours.encoded.limit
    decoded = ours.decode(memoryview(written))
    assert decoded.tobytes() == theirs.decode(written).tobytes()
    assert (decoded.shape, decoded.dtype) == (array.shape, array.dtype)
    if config in EXACT:
        assert decoded.tobytes() == array.tobytes()
    assert ours.encoded.size is None


@pytest.mark.parametrize("dtype", ["u2", "u4", "u8", "i2", "f2"])
def test_other_types_of_pcodec(dtype: str) -> None:
    array = (floats("f8", (30,)) * 10).astype("i2").astype(dtype)
    codec = bind_array({"id": "pcodec"}, array)
    assert codec.decode(codec.encode(array)).tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[10us]", "c8", "c16"])
def test_pcodec_stores_times_as_integers_and_complex_numbers_as_pairs(dtype: str) -> None:
    array = np.arange(-12, 12).astype("m8[s]" if dtype[0] in "Mm" else "f4").astype(dtype).reshape(4, 6)
    if array.dtype.kind == "c":
        array.imag = array.real[::-1]
    codec = bind_array({"id": "pcodec"}, array)
    data = codec.encode(array)
    numbers = array.view("i8" if array.dtype.kind in "mM" else f"f{array.itemsize // 2}").reshape(-1)
    assert data == bytes(numcodecs.get_codec({"id": "pcodec"}).encode(numbers))
    decoded = codec.decode(data)
    assert (decoded.dtype, decoded.shape, decoded.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_arrays_without_dimensions() -> None:
    for config in EXACT:
        array = np.array(1.5)
        codec = bind_array(config, array)
        assert codec.decode(codec.encode(array)).shape == ()
        assert codec.decode(codec.encode(array)) == 1.5


def test_zfp_of_a_flat_chunk_is_accepted() -> None:
    array = floats("f8", (6, 5))
    flat = numcodecs.get_codec({"id": "zfpy"}).encode(array.reshape(-1))
    assert bind_array({"id": "zfpy"}, array).decode(flat).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("config", "dtype", "shape"),
    [
        ({"id": "zfpy"}, "u4", (4,)),
        ({"id": "zfpy"}, "f2", (4,)),
        ({"id": "zfpy"}, "f8", (1, 1, 1, 1, 4)),
        ({"id": "pcodec"}, "u1", (4,)),
        ({"id": "pcodec"}, "?", (4,)),
        ({"id": "pcodec"}, "S4", (4,)),
    ],
)
def test_unsupported_types_and_shapes(config: dict[str, Any], dtype: str, shape: tuple[int, ...]) -> None:
    ((_, message),) = config_problems(config, ChunkSpec(shape, np.dtype(dtype), np.zeros((), dtype)))
    assert f"codec `numcodecs.{config['id']}`: expected" in message


@pytest.mark.parametrize(("dtype", "fewest"), [("f4", 9), ("f8", 12), ("i4", 1), ("i8", 1)])
@pytest.mark.parametrize("ndim", [0, 1, 2, 4])
def test_rates_with_too_few_or_too_many_bits_per_block(dtype: str, fewest: int, ndim: int) -> None:
    """The library would write beyond its buffer."""
    pytest.importorskip("zfpy")
    spec = ChunkSpec((9,) * ndim, np.dtype(dtype), np.zeros((), dtype))
    values = 4 ** (ndim or 1)
    for rate in (0, 1e-9, (fewest - 0.51) / values, 32769 / values, 1e300, 2**70):
        ((place, message),) = config_problems({"id": "zfpy", "mode": 2, "rate": rate}, spec)
        assert place == "$.configuration.rate"
        assert f"expected {fewest} to 32768 bits per block" in message
    array = np.ones(spec.shape, dtype)
    for rate in (fewest / values, 32768 / values):
        codec = bind_array({"id": "zfpy", "mode": 2, "rate": rate}, array)
        assert codec.decode(codec.encode(array)).shape == spec.shape


@pytest.mark.parametrize("config", [*EXACT, *LOSSY], ids=name)
def test_unexpected_shape(config: dict[str, Any]) -> None:
    array = floats("f8", (10, 10))
    data = bind_array(config, array).encode(array)
    for dtype, shape in (("f4", (10, 10)), ("i8", (10, 10)), ("f8", (10, 9)), ("f8", (10, 11)), ("f8", (1,))):
        with pytest.raises(CodecError):
            bind_array(config, np.zeros(shape, dtype)).decode(data)


@pytest.mark.parametrize("config", [*EXACT, *LOSSY], ids=name)
@given(noise=st.binary(max_size=30), draw=st.data())
def test_any_bytes_decode_or_raise_codec_error(config: dict[str, Any], noise: bytes, draw: st.DataObject) -> None:
    array = floats("f4", (9, 7))
    codec = bind_array(config, array)
    good = bytes(codec.encode(array))
    at = draw.draw(st.integers(0, len(good)))
    for data in (noise, good[:at], good[:at] + noise, good[:at] + noise + good[at + len(noise) :]):
        try:
            assert codec.decode(data).shape == (9, 7)
        except CodecError:
            pass


def test_a_wrong_zfp_header_allocates_little_memory() -> None:
    array = floats("f8", (8,))
    good = bytearray(bind_array({"id": "zfpy"}, array).encode(array))
    good[4:11] = (0xFFFFFFFFFFF << 8 | good[4]).to_bytes(7, "little")  # very many elements
    rates = bytearray(bind_array({"id": "zfpy"}, array).encode(array))
    rates[10:18] = (0xF | 0xFFFFFFFFFFFFFFFF << 4 & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")  # many bits per block
    tracemalloc.start()
    try:
        for data in (good, rates):
            with pytest.raises(CodecError):
                bind_array({"id": "zfpy"}, array).decode(data)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_configurations_equal_those_of_numcodecs() -> None:
    for config in (*EXACT, *LOSSY):
        result = {"id": config["id"], **from_config(config).to_config()}
        assert result == numcodecs.get_codec(config).get_config()
        assert list(result) == list(numcodecs.get_codec(config).get_config())
        assert from_config(result) == from_config(config)


@pytest.mark.parametrize(("id", "module"), [("zfpy", zfpy_), ("pcodec", pcodec_)])
def test_without_the_packages(id: str, module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module._library.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == id]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, id, None)
    array = np.zeros(4)
    codec = bind_array({"id": id}, array)  # binding does not need the package
    for work in (lambda: codec.encode(array), lambda: codec.decode(b"zfp\5" + bytes(20))):
        with pytest.raises(MissingDependencyError, match=f"codec `numcodecs.{id}` needs the package `{id}`"):
            work()
    module._library.cache_clear()
