"""`Chain`: order of the codecs, binding, encoding; and parsing of codec lists and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr._json import Json, Problems
from omnizarr.codecs import (
    ArrayCodec,
    Blosc,
    Bytes,
    Chain,
    ChunkSpec,
    Codec,
    Crc32c,
    Gzip,
    Sharding,
    Transpose,
    Zstd,
    codec_of,
    codecs,
    parse_codecs,
)
from omnizarr.codecs.contract import BoundArrayCodec
from omnizarr.errors import ArgumentError, CodecError, MetadataError


def spec(shape: tuple[int, ...] = (4, 6), dtype: Any = "int16", fill: Any = 0) -> ChunkSpec:
    return ChunkSpec(shape, np.dtype(dtype), np.array(fill, dtype))


def bound(*chain: Codec, to: ChunkSpec | None = None) -> Chain:
    problems = Problems()
    bound = Chain.bind(chain, to or spec(), "$.codecs", problems)
    assert bound is not None, problems.found
    return bound


def places(chain: Sequence[Codec], to: ChunkSpec | None = None) -> list[str]:
    problems = Problems()
    assert Chain.bind(chain, to or spec(), "$.codecs", problems) is None
    return [problem.path for problem in problems.found]


def test_R78_array_codecs_then_one_serializer_then_bytes_codecs() -> None:
    assert bound(Transpose((1, 0)), Transpose((1, 0)), Bytes("little"), Gzip(1), Crc32c())
    assert bound(Bytes("little"))


@pytest.mark.parametrize(
    ("chain", "where"),
    [
        ([], ["$.codecs"]),
        ([Gzip(1)], ["$.codecs"]),
        ([Transpose((1, 0))], ["$.codecs"]),
        ([Bytes("little"), Bytes("little")], ["$.codecs"]),
        ([Bytes("little"), Sharding((2, 2))], ["$.codecs"]),
        ([Bytes("little"), Transpose((1, 0))], ["$.codecs[1]"]),
        ([Gzip(1), Bytes("little")], ["$.codecs[0]"]),
        ([Gzip(1), Bytes("little"), Transpose((1, 0))], ["$.codecs[0]", "$.codecs[2]"]),
    ],
)
def test_R78_wrong_order_or_number_is_an_error(chain: list[Codec], where: list[str]) -> None:
    assert places(chain) == where


def test_R79_codecs_encode_in_order_and_decode_in_reverse() -> None:
    array = np.arange(24, dtype="int16").reshape(4, 6)
    chain = bound(Transpose((1, 0)), Bytes("big"), Zstd(1), Crc32c())
    data = bytes(chain.encode(array))
    last_steps = bound(Bytes(), Zstd(1), Crc32c(), to=spec((48,), "uint8"))
    assert last_steps.decode(data).tobytes() == array.T.astype(">i2").tobytes()
    np.testing.assert_array_equal(chain.decode(data), array)


CHAINS: list[tuple[Codec, ...]] = [
    (Bytes("little"),),
    (Bytes("big"), Crc32c()),
    (Transpose((1, 0)), Bytes("little"), Gzip(1)),
    (Transpose((1, 0)), Bytes("big"), Blosc("lz4", 1, "shuffle", 2, 0), Crc32c()),
    (Bytes("little"), Zstd(1), Gzip(1), Crc32c()),
    (Sharding((2, 3)),),
    (Transpose((1, 0)), Sharding((3, 2), (Transpose((1, 0)), Bytes("big"), Zstd(1))), Gzip(1)),
    (Sharding((2, 6), (Sharding((1, 3), (Bytes("big"),)), Crc32c())),),
]


@given(st.sampled_from(CHAINS), st.lists(st.integers(-(2**15), 2**15 - 1), min_size=24, max_size=24))
def test_R79_roundtrip(chain: tuple[Codec, ...], numbers: list[int]) -> None:
    array = np.array(numbers, "int16").reshape(4, 6)
    ready = bound(*chain)
    data = ready.encode(array)
    if ready.encoded.size is not None:
        assert len(data) == ready.encoded.size
    np.testing.assert_array_equal(ready.decode(data), array)
    out = np.empty_like(array)
    decoded = ready.decode(data, out)
    np.testing.assert_array_equal(decoded, array)


@given(st.sampled_from(CHAINS), st.binary(max_size=200))
def test_any_bytes_decode_or_raise_codec_error(chain: tuple[Codec, ...], data: bytes) -> None:
    try:
        decoded = bound(*chain).decode(data)
    except CodecError:
        return
    assert (decoded.shape, decoded.dtype) == ((4, 6), np.dtype("int16"))


@given(st.sampled_from(CHAINS), st.integers(0, 10**6), st.integers(0, 255))
def test_a_changed_byte_gives_an_array_or_a_codec_error(chain: tuple[Codec, ...], at: int, byte: int) -> None:
    ready = bound(*chain)
    data = bytearray(ready.encode(np.arange(24, dtype="int16").reshape(4, 6)))
    data[at % len(data)] = byte
    for damaged in (bytes(data), bytes(data[: at % len(data)]), bytes(data) + b"x"):
        try:
            assert ready.decode(damaged).shape == (4, 6)
        except CodecError:
            pass


def test_R80_each_codec_is_bound_to_the_output_of_the_previous_one() -> None:
    chain = bound(Transpose((2, 0, 1)), Bytes("little"), Crc32c(), to=spec((2, 3, 5)))
    assert chain.arrays[0].encoded.shape == (5, 2, 3)
    assert chain.serializer.encoded.size == 60
    assert chain.encoded.size == 64


@pytest.mark.parametrize(
    ("chain", "where"),
    [
        ([Transpose((0,)), Bytes("little")], "$.codecs[0].configuration.order"),
        ([Bytes()], "$.codecs[0].configuration"),
        ([Sharding((3, 3))], "$.codecs[0].configuration.chunk_shape[0]"),
        ([Transpose((1, 0)), Sharding((2, 3))], "$.codecs[1].configuration.chunk_shape[1]"),
    ],
)
def test_R80_a_codec_that_does_not_fit_is_a_problem_at_its_path(chain: list[Codec], where: str) -> None:
    assert where in places(chain)


def test_R81_R140_the_core_codecs_are_registered() -> None:
    core = {"bytes", "transpose", "gzip", "blosc", "zstd", "crc32c", "sharding_indexed"}
    assert core <= set(codecs.names())


def test_R82_partial_reads_decode_the_whole_chunk() -> None:
    z = omnizarr.create_array(shape=(10, 10), dtype="int16", chunks=(10, 10), compressors="gzip")
    z[...] = np.arange(100).reshape(10, 10)
    assert z[3, 4:6].tolist() == [34, 35]


@dataclass(frozen=True)
class Shifted(ArrayCodec):
    """Adds a number to every element, also to the fill value: the simplest codec that changes values."""

    name: ClassVar[str] = "test.shifted"
    by: int = 5

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Shifted:
        return cls(configuration["by"])

    def configuration(self) -> dict[str, Json]:
        return {"by": self.by}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec:
        return BoundShifted(self.by, ChunkSpec(spec.shape, spec.dtype, np.asarray(spec.fill + self.by, spec.dtype)))


class BoundShifted(BoundArrayCodec):
    def __init__(self, by: int, encoded: ChunkSpec) -> None:
        self.by = by
        self.encoded = encoded

    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(array + self.by, array.dtype)

    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(array - self.by, array.dtype)


def test_R83_A37_array_codecs_encode_the_fill_value() -> None:
    """An absent inner chunk decodes to the fill value of the array, because the sharding codec uses the encoded one."""
    z = omnizarr.create_array(
        shape=8, dtype="int16", chunks=8, fill_value=3, filters=[Shifted(5)], serializer=Sharding((2,))
    )
    z[2:4] = [10, 11]
    assert z[...].tolist() == [3, 3, 10, 11, 3, 3, 3, 3]
    sharding = z._layout.chain((0,)).serializer
    assert isinstance(sharding, omnizarr.codecs.BoundSharding)
    assert sharding.spec.fill == 8
    assert [part is not None for part in sharding.split(z.store.get("c/0") or b"")] == [False, True, False, False]


def test_R83_inside_a_shard() -> None:
    inner = Sharding((2,), (Shifted(5), Bytes("little")))
    z = omnizarr.create_array(shape=8, dtype="int16", chunks=8, fill_value=3, serializer=inner)
    z[2] = 10
    assert z[...].tolist() == [3, 3, 10, 3, 3, 3, 3, 3]
    assert z[0] == 3


def test_R84_an_absent_chunk_contains_the_fill_value() -> None:
    z = omnizarr.create_array(shape=(5, 5), dtype="float32", chunks=2, fill_value="NaN")
    assert np.isnan(z[...]).all()
    z[0, 0] = 1
    z.store.erase("c/0/0")
    assert np.isnan(z[0, 0])


# -- codecs from arguments and documents


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("crc32c", Crc32c()),
        (Gzip(3), Gzip(3)),
        ({"name": "gzip", "configuration": {"level": 3}}, Gzip(3)),
        ("bytes", Bytes()),
        ({"name": "transpose", "configuration": {"order": [1, 0]}}, Transpose((1, 0))),
    ],
)
def test_codec_arguments(value: Any, expected: Codec) -> None:
    assert codec_of(value, "compressors") == expected


@pytest.mark.parametrize("name", ["gzip", "blosc", "zstd", "crc32c", "bytes"])
def test_a_bare_name_means_the_default_options(name: str) -> None:
    assert codec_of(name, "x").name == name


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("gzap", MetadataError),
        ("transpose", MetadataError),
        ("sharding_indexed", MetadataError),
        ({"name": "gzip", "configuration": {"level": 99}}, MetadataError),
        ({}, MetadataError),
        (3, ArgumentError),
        (Gzip, ArgumentError),
        (None, ArgumentError),
    ],
)
def test_invalid_codec_arguments(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="compressors") as caught:
        codec_of(value, "compressors")
    assert caught.value.argument == "compressors"  # type: ignore[attr-defined]


def test_all_problems_of_a_list_are_reported() -> None:
    problems = Problems()
    parse_codecs(["gzap", {"name": "gzip", "configuration": {"level": 99, "x": 1}}, 3], "$.codecs", problems)
    assert [problem.path for problem in problems.found] == [
        "$.codecs[0]",
        "$.codecs[1].configuration.level",
        "$.codecs[1].configuration.x",
        "$.codecs[2]",
    ]
