"""Creating arrays: chunks, shards and codecs in all spellings, and the documents that they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.nodes.create.arrays import create, document

from omnizarr.codecs import Blosc, Bytes, Crc32c, Gzip, Sharding, Transpose, Zstd
from omnizarr.errors import ArgumentError, MetadataError, OmnizarrError

# -- chunks and shards


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        (10, (10, 10)),
        ((10, 20), (10, 20)),
        ([10, -1], (10, 60)),
        ((None, 7), (100, 7)),
        (-1, (100, 60)),
        (False, (100, 60)),
        (None, (100, 60)),
        (np.int64(3), (3, 3)),
        (np.array([3, 4]), (3, 4)),
        ((200, 60), (200, 60)),
    ],
)
def test_chunks_as_users_give_them(chunks: Any, expected: tuple[int, ...]) -> None:
    z = create(chunks=chunks)
    assert z.chunks == expected
    assert z.shards is None
    assert document(z)["chunk_grid"] == {"name": "regular", "configuration": {"chunk_shape": list(expected)}}


@pytest.mark.parametrize(
    "chunks", [0, (10, 0), (10,), (1, 2, 3), (10, -2), "large", (1.5, 2), 2.5, object(), {"a": 1}, ("a", 1)]
)
def test_invalid_chunks(chunks: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        create(chunks=chunks)
    assert caught.value.argument == "chunks"


@pytest.mark.parametrize("shape", [(), 0, (0, 5), 1, (3, 4), (10**7,), (4000, 4000), (10**12, 3)])
@pytest.mark.parametrize("shards", [None, "auto"])
def test_automatic_chunks_fit(shape: Any, shards: Any) -> None:
    z = create(shape=shape, chunks="auto", shards=shards)
    assert len(z.chunks) == z.ndim
    assert all(isinstance(size, int) and size >= 1 for size in z.chunks)
    if shards:
        assert z.shards is not None
        assert all(outer % inner == 0 for outer, inner in zip(z.shards, z.chunks, strict=True))  # type: ignore[operator]
    assert create(shape=shape, chunks=True, shards=shards).chunks == z.chunks


def test_a_zero_length_dimension_has_chunks_of_one() -> None:
    z = create(shape=(0, 4), chunks=(-1, 2))
    assert z.chunks == (1, 2)
    assert z.nchunks == 0


@pytest.mark.parametrize(
    ("options", "chunks", "shards"),
    [
        ({"chunks": (10, 10), "shards": (50, 60)}, (10, 10), (50, 60)),
        ({"chunks": 10, "shards": 20}, (10, 10), (20, 20)),
        ({"chunks": (10, 10), "shards": (-1, 20)}, (10, 10), (100, 20)),
        ({"chunks": (10, 10), "shards": [20, 20]}, (10, 10), (20, 20)),
        ({"chunks": -1, "shards": (200, 60)}, (100, 60), (200, 60)),
    ],
)
def test_shards_as_users_give_them(options: Any, chunks: Any, shards: Any) -> None:
    z = create(**options)
    assert (z.chunks, z.shards) == (chunks, shards)


def test_chunks_are_chosen_to_divide_given_shards() -> None:
    z = create(shape=(6000, 6000), shards=(3000, 3000))
    assert z.shards == (3000, 3000)
    assert all(3000 % size == 0 for size in z.chunks)  # type: ignore[operator]


@pytest.mark.parametrize("shards", [(15, 60), (50,), "large", 0, (50.0, 60), 2.5])
def test_invalid_shards(shards: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        create(chunks=(10, 10), shards=shards)
    assert caught.value.argument == "shards"


# -- codecs


@pytest.mark.parametrize(
    ("compressors", "expected"),
    [
        (None, ()),
        ([], ()),
        ("zstd", (Zstd(),)),
        (Gzip(1), (Gzip(1),)),
        (["gzip", Crc32c()], (Gzip(), Crc32c())),
        ({"name": "gzip", "configuration": {"level": 2}}, (Gzip(2),)),
        ((codec for codec in [Gzip(2)]), (Gzip(2),)),
    ],
)
def test_compressors_as_users_give_them(compressors: Any, expected: Any) -> None:
    z = create(compressors=compressors)
    assert z.compressors == expected


@pytest.mark.parametrize(
    "compressors", ["gzap", 3, "bytes", [3], Transpose((1, 0)), Gzip, {"name": "gzip", "level": 3}]
)
def test_invalid_compressors(compressors: Any) -> None:
    with pytest.raises(OmnizarrError) as caught:
        create(compressors=compressors)
    assert caught.value.argument == "compressors"  # type: ignore[attr-defined]


def test_filters_and_serializers() -> None:
    z = create(filters=[Transpose("F")], serializer="bytes", compressors=None)
    assert z.filters == (Transpose((1, 0)),)
    assert z.serializer == Bytes("little")
    with pytest.raises(ArgumentError, match="filters"):
        create(filters="gzip")
    with pytest.raises(ArgumentError, match="serializer"):
        create(serializer="gzip")


def test_R85_A39_endian_is_written_only_for_types_of_several_bytes() -> None:
    assert create(serializer="bytes").serializer == Bytes("little")
    assert create(dtype="uint8", serializer=Bytes("big")).serializer == Bytes()
    assert create(dtype="bool").serializer == Bytes()
    assert create(dtype="r24", serializer=Bytes("little")).serializer == Bytes()
    inner = create(dtype="uint8", chunks=(10, 10), serializer=Sharding((5, 5)))
    assert inner.serializer == Bytes()


def test_parameters_of_a_sharding_codec_are_resolved() -> None:
    z = create(chunks=(10, 10), serializer=Sharding((5, 5), ("bytes", "crc32c"), ("bytes",)))  # type: ignore[arg-type]
    assert z.metadata.codecs == (Sharding((5, 5), (Bytes("little"), Crc32c()), (Bytes("little"),)),)
    z[...] = 3
    assert (z[...] == 3).all()


@pytest.mark.parametrize("dtype", [">i2", ">f8", [("a", ">i2"), ("b", "u1")], [("a", [("b", ">f4")])]])
def test_a_big_endian_type_is_stored_big_endian(dtype: Any) -> None:
    z = create(dtype=dtype, shape=4, chunks=4, compressors=None)
    assert z.serializer == Bytes("big")
    assert z.dtype == np.dtype(dtype).newbyteorder("=")
    data = np.ones(4, dtype)
    z[...] = data
    assert bytes(z.store.get("c/0") or b"") == data.tobytes()
    np.testing.assert_array_equal(z[...], data)


def test_mixed_byte_orders_are_stored_little_endian() -> None:
    assert create(dtype=[("a", ">i2"), ("b", "<i2")]).serializer == Bytes("little")


def test_order_F_is_a_transpose_codec() -> None:
    z = create(order="F", shape=(3, 4, 5), chunks=(3, 4, 5), compressors=None)
    assert z.metadata.codecs[0] == Transpose((2, 1, 0))
    assert z.order == "F"
    values = np.arange(60, dtype="int16").reshape(3, 4, 5)
    z[...] = values
    assert bytes(z.store.get("c/0/0/0") or b"") == values.tobytes("F")
    assert create(order="F", shape=5).filters == ()
    assert create(order="F", shape=5).order == "C"
    sharded = create(order="F", chunks=(10, 10), shards=(50, 60))
    assert (sharded.order, sharded.filters) == ("F", (Transpose((1, 0)),))
    with pytest.raises(ArgumentError, match="order"):
        create(order="A")


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "float64", "complex128", "r24", [("a", "i2"), ("b", "f8")]]
)
def test_the_default_compression_round_trips(dtype: Any) -> None:
    data = np.zeros((30, 20), dtype if dtype != "r24" else "V3")
    data.view("u1").reshape(30, -1)[3:7] = 1
    z = create(shape=(30, 20), dtype=dtype, chunks=(7, 6))
    assert z.compressors
    z[...] = data
    assert z[...].tobytes() == data.tobytes()


def test_R91_resolved_parameters_are_recorded() -> None:
    (codec,) = create(compressors=Blosc("lz4", 1, "shuffle")).compressors
    assert isinstance(codec, Blosc)
    assert codec.typesize == 2


def test_codecs_that_do_not_fit_the_chunks_are_rejected() -> None:
    with pytest.raises(MetadataError, match="does not divide"):
        create(chunks=(10, 10), serializer=Sharding((3, 3)))
    with pytest.raises(MetadataError, match="order"):
        create(filters=[Transpose((0, 1, 2))])
