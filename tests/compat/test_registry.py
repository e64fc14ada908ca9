"""Codecs and chunk key encodings that a program registers with `zarr.registry` encode, decode and name chunks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr
from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from omnizarr.compat.zarr.codecs._classes import CODECS
from omnizarr.compat.zarr.core import chunk_key_encodings
from omnizarr.compat.zarr.core.chunk_key_encodings import ChunkKeyEncoding
from omnizarr.compat.zarr.registry import get_codec_class, register_chunk_key_encoding, register_codec

DATA = np.arange(24, dtype="i4").reshape(4, 6)


class Named:
    name: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "configuration": dict(vars(self))}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(**data.get("configuration", {}))


@dataclass(frozen=True)
class Flip(Named, BytesBytesCodec):
    """With coroutines for single chunks."""

    name: ClassVar[str] = "test-flip"
    key: int = 7

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_spec.prototype.buffer.from_bytes(bytes(byte ^ self.key for byte in chunk_data.to_bytes()))

    _decode_single = _encode_single


@dataclass(frozen=True)
class Add(Named, ArrayArrayCodec):
    """Without coroutines, and with another type of the encoded elements."""

    name: ClassVar[str] = "test-add"
    by: int = 1

    def resolve_metadata(self, chunk_spec: Any) -> Any:
        from omnizarr.compat.zarr.core.array_spec import ArraySpec
        from omnizarr.compat.zarr.core.dtype import Int64

        return ArraySpec(chunk_spec.shape, Int64(), 0, chunk_spec.config, chunk_spec.prototype)

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_spec.prototype.nd_buffer.from_numpy_array(chunk_data.as_numpy_array().astype("i8") + self.by)

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_spec.prototype.nd_buffer.from_numpy_array((chunk_data.as_numpy_array() - self.by).astype("i4"))


@dataclass(frozen=True)
class Text(Named, ArrayBytesCodec):
    """With coroutines for many chunks."""

    name: ClassVar[str] = "test-text"

    async def encode(self, chunks_and_specs: Any) -> Any:
        return [
            spec.prototype.buffer.from_bytes(",".join(map(str, data.as_numpy_array().ravel())).encode())
            for data, spec in chunks_and_specs
        ]

    async def decode(self, chunks_and_specs: Any) -> Any:
        return [
            spec.prototype.nd_buffer.from_numpy_array(
                np.array(data.to_bytes().decode().split(","), spec.dtype.to_native_dtype()).reshape(spec.shape)
            )
            for data, spec in chunks_and_specs
        ]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    classes: list[Any] = [Flip, Add, Text]
    for cls in classes:
        register_codec(cls.name, cls)
    yield
    for cls in classes:
        del CODECS[cls.name]


@pytest.mark.parametrize(
    ("options", "stored"),
    [
        ({"compressors": Flip(5), "dtype": "u1"}, bytes(byte ^ 5 for byte in DATA[:2, :3].astype("u1").tobytes())),
        ({"filters": Add(3), "compressors": None}, (DATA[:2, :3].astype("<i8") + 3).tobytes()),
        ({"serializer": Text(), "compressors": None}, b"0,1,2,6,7,8"),
        ({"filters": [Add(1)], "serializer": Text(), "compressors": [zarr.codecs.ZstdCodec(), Flip()]}, None),
        ({"compressors": [zarr.codecs.ZstdCodec(), Flip()], "shards": (4, 6)}, None),
    ],
)
def test_codecs_of_a_program(options: dict[str, Any], stored: bytes | None) -> None:
    store = zarr.storage.MemoryStore()
    array = zarr.create_array(store, **{"shape": DATA.shape, "chunks": (2, 3), "dtype": "i4", **options})
    array[...] = DATA
    if stored is not None:
        assert store._store_dict["c/0/0"].to_bytes() == stored
    array[3, 4:] = 0
    expected = DATA.copy()
    expected[3, 4:] = 0
    again = zarr.open_array(store, mode="r")
    assert np.array_equal(again[...], expected)
    assert np.array_equal(again[1:3, ::2], expected[1:3, ::2])
    assert again.metadata == array.metadata
    given = [codec for codec in (options.get("filters"), options.get("serializer")) if codec is not None]
    assert all(type(codec) in (Flip, Add, Text, zarr.codecs.ZstdCodec) for codec in again.compressors)
    assert not given or [*again.filters, again.serializer] != []
    copy = pickle.loads(pickle.dumps(again))
    assert np.array_equal(copy[...], expected)


def test_a_codec_that_fails() -> None:
    store = zarr.storage.MemoryStore()
    array = zarr.create_array(store, data=DATA, serializer=Text(), compressors=None)
    store._store_dict["c/0/0"] = zarr.buffer.cpu.Buffer.from_bytes(b"1,x")
    with pytest.raises(omnizarr.errors.ChunkError, match="test-text|Text"):
        array[...]
    store._store_dict["c/0/0"] = zarr.buffer.cpu.Buffer.from_bytes(b"1,2")
    with pytest.raises(omnizarr.errors.ChunkError):
        array[...]


def test_names_without_a_class() -> None:
    assert get_codec_class("test-flip") is Flip
    with pytest.raises(zarr.errors.UnknownCodecError):
        get_codec_class("test-absent")
    with pytest.raises(omnizarr.errors.MetadataError, match="test-absent"):
        zarr.create_array({}, shape=3, dtype="i4", compressors={"name": "test-absent", "configuration": {}})


def test_chunk_keys_of_a_program() -> None:
    @dataclass(frozen=True)
    class Reversed(ChunkKeyEncoding):
        name: ClassVar[str] = "test-reversed"
        prefix: str = "chunk"

        def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
            return "-".join([self.prefix, *map(str, reversed(chunk_coords))])

        def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
            return tuple(map(int, reversed(chunk_key.split("-")[1:])))

    register_chunk_key_encoding("test-reversed", Reversed)
    try:
        store = zarr.storage.MemoryStore()
        zarr.create_array(store, shape=(4, 6), dtype="i4", chunks=(2, 3), chunk_key_encoding=Reversed("x"))[...] = DATA
        assert "x-1-0" in store._store_dict
        array = zarr.open_array(store)
        assert np.array_equal(array[...], DATA)
        assert array.nchunks_initialized == 4
        assert isinstance(array.metadata.chunk_key_encoding, Reversed)
        array.resize((2, 3))
        assert sorted(store._store_dict) == ["x-0-0", "zarr.json"]
    finally:
        del chunk_key_encodings._classes["test-reversed"]
    with pytest.raises(ValueError, match="Unknown chunk key encoding"):
        ChunkKeyEncoding.from_dict({"name": "test-reversed"})
