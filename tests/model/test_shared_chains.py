"""Arrays with equal codecs share their bound codecs; arrays that differ in anything do not."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import omnizarr
from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import DefaultKeys
from omnizarr.codecs import Blosc, Bytes, BytesCodec, ByteSpec, Chain, Codec, Crc32c, Gzip, Transpose, Zstd
from omnizarr.codecs.bytes_to_bytes.crc32c import BoundCrc32c
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config
from omnizarr.dtypes import data_type_of
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel
from omnizarr.store import MemoryStore


def model_of(
    *codecs: Codec, dtype: Any = "u2", fill: Any = 0, shape: tuple[int, ...] = (4, 6), chunks: tuple[int, ...] = (2, 3)
) -> ArrayModel:
    data_type = data_type_of(dtype)
    fill = np.array(fill, data_type.dtype)
    return ArrayModel(shape, data_type, fill, Regular(chunks), DefaultKeys(), codecs or (Bytes("little"),))


def chain_of(model: ArrayModel) -> Chain:
    problems = Problems()
    (shape,) = model.grid.chunk_shapes(model.shape)
    chain = model.chain(shape, "$.codecs", problems)
    assert chain is not None, problems.found
    return chain


LITTLE = Bytes("little")
DIFFERENT = [
    model_of(),
    model_of(Bytes("big")),
    model_of(dtype="i2"),
    model_of(dtype="f4"),
    model_of(dtype="f4", fill=-0.0),
    model_of(dtype="f4", fill=np.nan),
    model_of(dtype="f4", fill=np.array(0x7FC00001, "u4").view("f4")),
    model_of(fill=1),
    model_of(chunks=(3, 2)),
    model_of(Transpose((1, 0)), LITTLE),
    model_of(LITTLE, Zstd(1)),
    model_of(LITTLE, Zstd(2)),
    model_of(LITTLE, Gzip(1)),
    model_of(LITTLE, Blosc("lz4", 1, "shuffle", 2)),
    model_of(LITTLE, Blosc("lz4", 1, "shuffle", 1)),
    model_of(LITTLE, Crc32c()),
    model_of(LITTLE, Crc32c(), Crc32c()),
]


def test_equal_arrays_share_their_bound_codecs() -> None:
    assert chain_of(model_of(LITTLE, Zstd(3))) is chain_of(model_of(LITTLE, Zstd(3), shape=(8, 8)))
    assert chain_of(model_of(dtype="f4", fill=np.nan)) is chain_of(model_of(dtype="f4", fill=np.nan))


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(range(len(DIFFERENT)), 2)))
def test_arrays_that_differ_share_nothing(one: int, other: int) -> None:
    assert chain_of(DIFFERENT[one]) is not chain_of(DIFFERENT[other])


def test_a_limit_of_the_settings_is_a_difference() -> None:
    first = chain_of(model_of(LITTLE, Zstd(4)))
    with omnizarr.config(max_chunk_bytes=100):
        second = chain_of(model_of(LITTLE, Zstd(4)))
    assert first is not second
    assert first.encoded.limit > second.encoded.limit or first.encoded.ceiling != second.encoded.ceiling
    with omnizarr.config(max_codecs=1):
        assert model_of(LITTLE, Zstd(4)).chain((2, 3), "$", Problems()) is None


@dataclass(frozen=True)
class Derived(Crc32c):
    """A subclass whose bound form may depend on anything."""

    name: ClassVar[str] = "derived"


@dataclass(frozen=True)
class Warns(BytesCodec):
    """Warns each array about something."""

    name: ClassVar[str] = "warns"
    shares_bound: ClassVar[bool] = True

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Warns:
        return cls()

    def configuration(self) -> dict[str, Json]:
        return {}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundCrc32c:
        problems.warn(path, "beware")
        return BoundCrc32c(spec)


def test_subclasses_and_codecs_that_warn_are_bound_for_each_array() -> None:
    assert chain_of(model_of(LITTLE, Derived())) is not chain_of(model_of(LITTLE, Derived()))
    for _ in range(2):
        problems = Problems()
        assert model_of(LITTLE, Warns()).chain((2, 3), "$", problems) is not None
        assert [problem.message for problem in problems.warnings] == ["beware"]


def test_mutable_fill_values_are_not_shared() -> None:
    assert chain_of(model_of(dtype="r16", fill=b"ab")) is not chain_of(model_of(dtype="r16", fill=b"ab"))


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft-2020", "3-draft-2022", "n5"])
def test_arrays_of_one_hierarchy_keep_their_own_codecs(zarr_format: Any) -> None:
    """Arrays that differ in one property each, opened twice in turn."""
    root = None if zarr_format == 1 else omnizarr.create_group(MemoryStore(), zarr_format=zarr_format)
    elements = np.arange(24).reshape(4, 6)
    types = ["u2", ">u2"] if zarr_format in (1, 2) else ["u2", "i2"]
    compressors: list[Any] = [None, {"id": "zlib", "level": 1} if zarr_format == 1 else "gzip"]
    if zarr_format == 2:
        compressors += [{"id": "gzip", "level": 2}, {"id": "blosc", "cname": "lz4", "shuffle": 0}]
    arrays: list[omnizarr.Array] = []
    fills = [0] if zarr_format == "n5" else [0, 7]
    for dtype, compressor, fill, chunks in itertools.product(types, compressors, fills, [(2, 3), (3, 2)]):
        options: Any = {
            "shape": (4, 6),
            "dtype": dtype,
            "compressors": compressor,
            "fill_value": fill,
            "chunks": chunks,
        }
        if root is None:
            array = omnizarr.create_array(MemoryStore(), zarr_format=1, **options)
        else:
            array = root.create_array(f"a{len(arrays)}", **options)
        array[: chunks[0]] = elements[: chunks[0]]
        arrays.append(array)
    for array in [*arrays, *reversed(arrays)]:
        again = omnizarr.open_array(array.store, mode="r") if root is None else root[array.name]
        rows = array.chunks[0]
        assert (again[:rows] == elements[:rows]).all()
        assert (again[rows:] == array.fill_value).all()
        assert (again.compressors, again.serializer, again.chunks) == (
            array.compressors,
            array.serializer,
            array.chunks,
        )


def test_configurations_of_core_codecs_are_parsed_alike_each_time() -> None:
    """The parser of v2 keeps parsed configurations; equal Python values may be different JSON."""
    configs: list[Any] = [
        {"id": "gzip", "level": 1},
        {"id": "gzip", "level": True},
        {"id": "gzip", "level": 1.0},
        {"id": "gzip", "level": "1"},
        {"id": "gzip", "level": 1, "other": 2},
        {"id": "gzip", "level": 10},
        {"id": "zstd", "level": 1},
        {"id": "blosc", "cname": "lz4", "clevel": 1, "shuffle": 1},
        {"id": "blosc", "cname": "lz4", "clevel": 1, "shuffle": True},
        {"id": "crc32c", "location": "start"},
    ]
    results = []
    for config in [*configs, *configs]:
        problems = Problems()
        codec = codec_from_config(config, "$.compressor", problems)
        results.append((codec, problems.found, problems.warnings))
    assert results[: len(configs)] == results[len(configs) :]
    assert [codec is None for codec, _, _ in results[:6]] == [False, True, False, False, False, True]
    assert results[4][2]
