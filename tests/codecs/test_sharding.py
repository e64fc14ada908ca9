"""The sharding codec: configuration, the byte format of shards, and shards that are damaged or from other writers."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs import (
    BoundSharding,
    Bytes,
    Chain,
    ChunkSpec,
    Codec,
    Crc32c,
    Gzip,
    Sharding,
    Transpose,
    Zstd,
)
from omnizarr.errors import ArgumentError, ChunkError, CodecError, OmnizarrError

NONE = 2**64 - 1
RAW_INDEX = (Bytes("little"),)


def spec(shape: tuple[int, ...] = (4, 6), dtype: Any = "uint8", fill: Any = 0) -> ChunkSpec:
    return ChunkSpec(shape, np.dtype(dtype), np.array(fill, dtype))


def bound(codec: Sharding, to: ChunkSpec | None = None) -> BoundSharding:
    problems = Problems()
    bound = codec.bind(to or spec(), "$.codecs[0]", problems)
    assert bound is not None, problems.found
    return bound


def problems_of(codec: Sharding, to: ChunkSpec | None = None) -> list[str]:
    problems = Problems()
    assert codec.bind(to or spec(), "$", problems) is None
    return [problem.path for problem in problems.found]


def parsed(**configuration: Any) -> tuple[Sharding | None, list[str]]:
    problems = Problems()
    codec = Sharding.parse(configuration, "$", problems)
    return codec, [problem.path for problem in problems.found]


FULL: dict[str, Any] = {
    "chunk_shape": [2, 3],
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    "index_location": "end",
}


def index_of(data: bytes, count: int, *, start: bool = False) -> list[tuple[int, int]]:
    """The entries of a raw little-endian index."""
    part = data[: 16 * count] if start else data[-16 * count :]
    numbers = struct.unpack(f"<{2 * count}Q", part)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


# -- configuration


def test_configuration_roundtrip() -> None:
    result, problems = parsed(**FULL)
    assert problems == []
    assert result == Sharding((2, 3))
    assert result is not None
    assert result.configuration() == FULL
    assert result.to_json() == {"name": "sharding_indexed", "configuration": FULL}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"chunk_shape": None}, "$.configuration.chunk_shape"),
        ({"chunk_shape": [0, 3]}, "$.configuration.chunk_shape"),
        ({"chunk_shape": [2.0, 3]}, "$.configuration.chunk_shape"),
        ({"chunk_shape": [True, 3]}, "$.configuration.chunk_shape"),
        ({"chunk_shape": 2}, "$.configuration.chunk_shape"),
        ({"codecs": []}, "$.configuration.codecs"),
        ({"codecs": None}, "$.configuration.codecs"),
        ({"codecs": ["gzap"]}, "$.configuration.codecs[0]"),
        ({"index_codecs": []}, "$.configuration.index_codecs"),
        ({"index_codecs": ["gzap"]}, "$.configuration.index_codecs[0]"),
        ({"index_location": "middle"}, "$.configuration.index_location"),
        ({"index_location": None}, "$.configuration.index_location"),
        ({"write_order": "morton"}, "$.configuration.write_order"),
    ],
)
def test_R95_R96_R97_R99_R104_problems_have_their_path(change: dict[str, Any], where: str) -> None:
    result, problems = parsed(**{**FULL, **change})
    assert result is None
    assert problems == [where]


@pytest.mark.parametrize("member", ["chunk_shape", "codecs"])
def test_R95_R96_mandatory_members(member: str) -> None:
    result, problems = parsed(**{name: value for name, value in FULL.items() if name != member})
    assert result is None
    assert problems == [f"$.configuration.{member}"]


def test_all_problems_of_a_configuration_are_reported_together() -> None:
    result, problems = parsed(chunk_shape=[-1], codecs=["gzap"], index_codecs=[3], index_location=1, other=2)
    assert result is None
    assert len(problems) == 5


def test_R95_inner_chunks_divide_the_shard_in_every_dimension() -> None:
    assert bound(Sharding((4, 6))).grid == (1, 1)
    assert bound(Sharding((1, 2))).grid == (4, 3)
    assert problems_of(Sharding((3, 4))) == ["$.configuration.chunk_shape[0]", "$.configuration.chunk_shape[1]"]
    assert problems_of(Sharding((8, 6))) == ["$.configuration.chunk_shape[0]"]
    assert problems_of(Sharding((2,))) == ["$.configuration.chunk_shape"]


def test_R96_the_inner_codecs_are_a_chain_by_themselves() -> None:
    assert problems_of(Sharding((2, 3), (Bytes(), Bytes()))) == ["$.configuration.codecs"]
    assert problems_of(Sharding((2, 3), (Gzip(1),))) == ["$.configuration.codecs"]


def test_R97_the_index_has_a_fixed_size() -> None:
    for codec in (Gzip(1), Zstd(1)):
        assert problems_of(Sharding((2, 3), index_codecs=(Bytes("little"), codec))) == ["$.configuration.index_codecs"]
    assert problems_of(Sharding((2, 3), index_codecs=(Crc32c(),))) == ["$.configuration.index_codecs"]
    assert problems_of(Sharding((2, 3), index_codecs=(Bytes(),))) == ["$.configuration.index_codecs[0].configuration"]


def test_R98_default_index_codecs() -> None:
    z = omnizarr.create_array(shape=8, dtype="int16", chunks=2, shards=4)
    (codec,) = z.metadata.codecs
    assert isinstance(codec, Sharding)
    assert codec.index_codecs == (Bytes("little"), Crc32c())
    assert codec.index_location == "end"


def test_R99_the_default_index_location_is_the_end() -> None:
    result, problems = parsed(**{name: value for name, value in FULL.items() if name != "index_location"})
    assert problems == []
    assert result is not None
    assert result.index_location == "end"


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_shape": (0, 3)},
        {"chunk_shape": (2.5, 3)},
        {"chunk_shape": "ab"},
        {"chunk_shape": (True, 3)},
        {"chunk_shape": None},
        {"chunk_shape": (2,), "codecs": "bytes"},
        {"chunk_shape": (2,), "codecs": Bytes()},
        {"chunk_shape": (2,), "codecs": 3},
        {"chunk_shape": (2,), "codecs": [3]},
        {"chunk_shape": (2,), "index_codecs": "bytes"},
        {"chunk_shape": (2,), "index_location": "middle"},
    ],
)
def test_the_constructor_checks_its_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        Sharding(**options)


def test_arguments_may_be_names_json_and_numpy_integers() -> None:
    codec = Sharding((np.int64(2), 3), ["bytes", {"name": "gzip", "configuration": {"level": 1}}], ["bytes"])  # type: ignore[arg-type]
    assert codec == Sharding((2, 3), (Bytes(), Gzip(1)), (Bytes(),))
    assert Sharding(2) == Sharding((2,))  # type: ignore[arg-type]


def test_it_compares_hashes_and_pickles() -> None:
    codec = Sharding((2, 3), (Transpose("F"), Bytes("little")))
    assert codec == Sharding((2, 3), (Transpose((1, 0)), Bytes("little")))
    assert hash(codec) == hash(Sharding((2, 3), (Transpose((1, 0)), Bytes("little"))))
    assert pickle.loads(pickle.dumps(codec)) == codec


# -- the bytes of a shard


@pytest.mark.parametrize("start", [True, False])
def test_R100_R101_A38_the_index_has_offsets_from_the_start_and_sizes(start: bool) -> None:
    codec = Sharding((2, 3), (Bytes(),), RAW_INDEX, "start" if start else "end")
    shard = bound(codec)
    array = np.arange(1, 25, dtype="uint8").reshape(4, 6)
    data = bytes(shard.encode(array))
    assert len(data) == 24 + 16 * 4
    first = 64 if start else 0
    assert index_of(data, 4, start=start) == [(first, 6), (first + 6, 6), (first + 12, 6), (first + 18, 6)]
    assert data[first : first + 6] == array[:2, :3].tobytes()
    assert data[first + 6 : first + 12] == array[:2, 3:].tobytes()  # the index is in C order
    np.testing.assert_array_equal(shard.decode(data), array)


def test_R100_the_index_codecs_encode_the_index() -> None:
    for codecs, size in [(RAW_INDEX, 64), ((Bytes("big"), Crc32c()), 68), ((Bytes("big"), Crc32c(), Crc32c()), 72)]:
        shard = bound(Sharding((2, 3), (Bytes(),), codecs))
        assert shard.index_size == size
        data = bytes(shard.encode(np.ones((4, 6), "uint8")))
        assert len(data) == 24 + size
    assert struct.unpack(">2Q", data[24 : 24 + 16]) == (0, 6)


def test_R102_both_numbers_of_empty_inner_chunks_are_the_largest() -> None:
    shard = bound(Sharding((2, 3), (Bytes(),), RAW_INDEX), spec(fill=9))
    array = np.full((4, 6), 9, "uint8")
    array[0, 0] = 1
    data = bytes(shard.encode(array))
    assert index_of(data, 4) == [(0, 6), (NONE, NONE), (NONE, NONE), (NONE, NONE)]
    np.testing.assert_array_equal(shard.decode(data), array)


def test_R102_the_index_covers_inner_chunks_outside_the_array() -> None:
    z = omnizarr.create_array(
        shape=3, dtype="uint8", chunks=8, compressors=None, serializer=Sharding((2,), (Bytes(),), RAW_INDEX)
    )
    z[...] = 5
    data = bytes(z.store.get("c/0") or b"")
    assert index_of(data, 4) == [(0, 2), (2, 2), (NONE, NONE), (NONE, NONE)]


def test_R103_inner_chunks_may_have_any_order_gaps_and_shared_bytes() -> None:
    shard = bound(Sharding((2, 3), (Bytes(),), RAW_INDEX))
    payload = b"gap" + bytes(range(6)) + b"another gap" + bytes(range(10, 16))
    entries = [(20, 6), (3, 6), (20, 6), (NONE, NONE)]
    data = payload + struct.pack("<8Q", *(number for entry in entries for number in entry))
    decoded = shard.decode(data)
    assert decoded[0].tolist() == [10, 11, 12, 0, 1, 2]
    assert decoded[2].tolist() == [10, 11, 12, 0, 0, 0]
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(
        store, shape=(4, 6), dtype="uint8", chunks=(4, 6), serializer=Sharding((2, 3), (Bytes(),), RAW_INDEX)
    )
    store.set("c/0/0", data)
    np.testing.assert_array_equal(z[...], decoded)
    assert z[0, 0] == 10
    z[0, 0] = 99
    decoded[0, 0] = 99
    np.testing.assert_array_equal(z[...], decoded)


def test_R105_a_shard_has_the_key_of_its_chunk_and_an_empty_one_is_not_stored() -> None:
    z = omnizarr.create_array(shape=(8, 4), dtype="int16", chunks=(2, 2), shards=(4, 4))
    z[0, 0] = 5
    assert sorted(z.store.list()) == ["c/0/0", "zarr.json"]
    z[0, 0] = 0
    assert sorted(z.store.list()) == ["zarr.json"]


def test_R105_a_partial_write_keeps_the_rest_of_the_shard() -> None:
    z = omnizarr.create_array(shape=(8, 4), dtype="int16", chunks=(2, 2), shards=(4, 4))
    expected = np.arange(32, dtype="int16").reshape(8, 4)
    z[...] = expected
    z[1, 1:3] = expected[1, 1:3] = -1
    np.testing.assert_array_equal(z[...], expected)


def test_R105_sharding_does_not_change_elements() -> None:
    values = np.random.default_rng(1).integers(0, 100, (13, 7)).astype("int32")
    for shards in (None, (4, 4), (8, 12), (16, 8)):
        z = omnizarr.create_array(data=values, chunks=(4, 4), shards=shards)
        np.testing.assert_array_equal(z[...], values)
        np.testing.assert_array_equal(z[2:11:3, ::-1], values[2:11:3, ::-1])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([(0, 7)], None),
        ([(0, 89)], "but the shard has"),
        ([(10**6, 1)], "but the shard has"),
        ([(2**63, 2**63)], "but the shard has|no shard"),
        ([(NONE - 1, 2)], "but the shard has|no shard"),
        ([(NONE, 6)], "only one of offset and size"),
        ([(0, NONE)], "only one of offset and size"),
    ],
)
@pytest.mark.parametrize("place", ["memory", "local"])
def test_R106_ranges_beyond_the_shard_are_errors(
    entries: list[tuple[int, int]], message: str | None, place: str, tmp_path: Path
) -> None:
    payload = bytes(24)
    entries = entries + [(0, 6)] * (4 - len(entries))
    data = payload + struct.pack("<8Q", *(number for entry in entries for number in entry))
    store: omnizarr.Store = omnizarr.MemoryStore() if place == "memory" else omnizarr.LocalStore(tmp_path)
    codec = Sharding((2, 3), (Bytes(),), RAW_INDEX)
    z = omnizarr.create_array(store, shape=(4, 6), dtype="uint8", chunks=(4, 6), serializer=codec)
    store.set("c/0/0", data)
    with pytest.raises(ChunkError) as caught:
        z[...]
    assert (caught.value.key, caught.value.chunk) == ("c/0/0", (0, 0))  # type: ignore[attr-defined]
    if message is not None:
        with pytest.raises(CodecError, match=message):
            bound(codec).decode(data)
    with pytest.raises(ChunkError):
        z[0, 0]


def test_R106_a_shard_shorter_than_its_index_is_an_error() -> None:
    for location in ("start", "end"):
        z = omnizarr.create_array(
            shape=4,
            dtype="uint8",
            chunks=4,
            serializer=Sharding((2,), (Bytes(),), RAW_INDEX, location),  # type: ignore[arg-type]
        )
        z.store.set("c/0", b"x" * 31)
        for read in (lambda z=z: z[...], lambda z=z: z[0]):
            with pytest.raises(ChunkError, match="the shard is too short"):
                read()


def test_R106_the_checksum_detects_a_damaged_index() -> None:
    z = omnizarr.create_array(shape=4, dtype="uint8", chunks=2, shards=4)
    z[...] = [1, 2, 3, 4]
    data = bytearray(z.store.get("c/0") or b"")
    data[-10] ^= 1
    z.store.set("c/0", bytes(data))
    with pytest.raises(ChunkError, match="crc32c"):
        z[...]


def test_R106_shards_may_be_nested() -> None:
    inner = Sharding((2, 3), (Bytes("little"), Zstd(1)), index_location="start")
    codec = Sharding((4, 6), (inner, Crc32c()))
    values = np.arange(15 * 11, dtype="int32").reshape(15, 11)
    z = omnizarr.create_array(shape=(15, 11), dtype="int32", chunks=(8, 6), serializer=codec)
    z[...] = values
    np.testing.assert_array_equal(z[...], values)
    assert z[14, 10] == values[14, 10]
    z[3:9, 4:8] = values[3:9, 4:8] = -1
    np.testing.assert_array_equal(z[...], values)


def test_R107_after_a_transpose_the_inner_shape_is_that_of_the_transposed_shard() -> None:
    values = np.arange(48, dtype="int16").reshape(6, 8)
    z = omnizarr.create_array(
        shape=(6, 8), dtype="int16", chunks=(6, 4), filters=[Transpose((1, 0))], serializer=Sharding((2, 3))
    )
    z[...] = values
    np.testing.assert_array_equal(z[...], values)
    assert z.chunks == (3, 2)
    assert z.shards == (6, 4)
    assert z.cdata_shape == (2, 4)
    with pytest.raises(OmnizarrError, match="does not divide"):
        omnizarr.create_array(
            shape=(6, 8), dtype="int16", chunks=(6, 4), filters=[Transpose((1, 0))], serializer=Sharding((3, 2))
        )


def test_an_array_without_dimensions_can_be_sharded() -> None:
    z = omnizarr.create_array(shape=(), dtype="int16", chunks=(), shards=(), fill_value=3)
    assert z[()] == 3
    z[...] = 8
    assert z[()] == 8
    assert (z.nchunks, z.nchunks_initialized) == (1, 1)


@given(st.binary(max_size=120), st.sampled_from(["start", "end"]), st.booleans())
def test_any_bytes_decode_or_raise_an_omnizarr_error(data: bytes, location: Any, checksum: bool) -> None:
    index: tuple[Codec, ...] = (Bytes("little"), Crc32c()) if checksum else RAW_INDEX
    z = omnizarr.create_array(
        shape=(4, 6), dtype="uint8", chunks=(4, 6), serializer=Sharding((2, 3), (Bytes(),), index, location)
    )
    z.store.set("c/0/0", data)
    for read in (lambda: z[...], lambda: z[0, 0], lambda: z.nchunks_initialized, lambda: z.__setitem__((0, 0), 1)):
        try:
            read()
        except OmnizarrError:
            pass


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)) | st.just((NONE, NONE)), min_size=4, max_size=4))
def test_any_index_decodes_or_raises_an_omnizarr_error(entries: list[tuple[int, int]]) -> None:
    z = omnizarr.create_array(
        shape=(4, 6), dtype="uint8", chunks=(4, 6), serializer=Sharding((2, 3), (Bytes(),), RAW_INDEX)
    )
    z.store.set("c/0/0", bytes(24) + struct.pack("<8Q", *(number for entry in entries for number in entry)))
    whole = part = None
    try:
        whole = z[...]
    except ChunkError:
        pass
    try:
        part = z[0, 0]
    except ChunkError:
        pass
    if whole is not None:
        assert part == whole[0, 0]


def test_the_chain_of_a_shard_is_bound_once() -> None:
    chain = Chain.bind((Sharding((2, 3)),), spec(), "$", Problems())
    assert chain is not None
    assert isinstance(chain.serializer, BoundSharding)
    assert chain.serializer.inner.spec.shape == (2, 3)
    assert chain.encoded.size is None
