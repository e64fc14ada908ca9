"""Codecs that other packages registered with numcodecs, in v2 arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numcodecs
import numpy as np
import pytest
from numcodecs.abc import Codec
from numcodecs.compat import ensure_contiguous_ndarray

import omnizarr
from omnizarr.errors import ArgumentError, ChunkError, MetadataError


class Flip(Codec):
    """Flips some bits of each byte."""

    codec_id = "tests.flip"

    def __init__(self, bits: int = 1) -> None:
        self.bits = bits

    def encode(self, buf: Any) -> bytes:
        return (ensure_contiguous_ndarray(buf).view("u1") ^ self.bits).tobytes()

    def decode(self, buf: Any, out: Any = None) -> bytes:
        return self.encode(buf)


class Image(Codec):
    """Takes only 2-D arrays of bytes, like image codecs, and restores their shape and dtype."""

    codec_id = "tests.image"

    def encode(self, buf: Any) -> bytes:
        plane = np.asarray(buf)
        if plane.ndim != 2 or plane.dtype.kind != "u":
            raise TypeError(f"{plane.dtype} of shape {plane.shape} is no image")
        return bytes([*plane.shape, *plane.dtype.str.encode()]) + plane.tobytes()

    def decode(self, buf: Any, out: Any = None) -> Any:
        data = bytes(buf)
        return np.frombuffer(data[5:], data[2:5].decode()).reshape(data[0], data[1])


class Halves(Codec):
    """Takes floats, and returns an array of another dtype."""

    codec_id = "tests.halves"

    def encode(self, buf: Any) -> Any:
        return (np.asarray(buf) * 2).astype("<i2")

    def decode(self, buf: Any, out: Any = None) -> Any:
        return (ensure_contiguous_ndarray(buf).view("<i2") / 2).astype("<f8")


class Words(Codec):
    """Takes objects."""

    codec_id = "tests.words"

    def encode(self, buf: Any) -> bytes:
        return " ".join(buf.reshape(-1, order="A")).encode()

    def decode(self, buf: Any, out: Any = None) -> Any:
        return np.array(bytes(buf).decode().split(" "), object)


class Stranger(Codec):
    """Not registered."""

    codec_id = "tests.stranger"

    def encode(self, buf: Any) -> Any:
        return buf

    def decode(self, buf: Any, out: Any = None) -> Any:
        return buf


@pytest.fixture(autouse=True)
def _register_codecs() -> Iterator[None]:
    known = (Flip, Image, Halves, Words)
    for codec in known:
        numcodecs.register_codec(codec)
    yield
    for codec in known:
        del numcodecs.registry.codec_registry[codec.codec_id]


FLOATS = np.arange(20.0).reshape(4, 5) / 2
PLANE = np.arange(20, dtype="u2").reshape(4, 5)
RECORDS = np.array([[(1, 2.5), (3, 4)]] * 4, [("a", ">i2"), ("b", "<f4")])
WORDS = np.array([["a", "b"], ["c", "dd"], ["e", ""]], object)
FLIP, IMAGE = {"id": "tests.flip", "bits": 7}, {"id": "tests.image"}
HALVES, WORD = {"id": "tests.halves"}, {"id": "tests.words"}
ZLIB = {"id": "zlib", "level": 1}
DELTA = {"id": "delta", "dtype": "<u2", "astype": "<u2"}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("data", "given", "filters", "compressor"),
    [
        (FLOATS, {"compressors": Flip(7)}, None, FLIP),
        (FLOATS, {"filters": [Flip(7)], "compressors": "zlib"}, [FLIP], ZLIB),
        (FLOATS.astype(">f4"), {"compressors": [Flip(7)]}, None, FLIP),
        (FLOATS, {"filters": ["zlib"], "compressors": Flip(7)}, [ZLIB], FLIP),
        (RECORDS, {"compressors": Flip(7)}, None, FLIP),
        (PLANE, {"compressors": Image()}, None, IMAGE),
        (PLANE.astype(">u2"), {"compressors": Image()}, None, IMAGE),
        (PLANE, {"filters": [Image()], "compressors": "zlib"}, [IMAGE], ZLIB),
        (PLANE, {"filters": [numcodecs.Delta("<u2")], "compressors": Image()}, [DELTA], IMAGE),
        (FLOATS, {"filters": [Halves(), Flip(7)], "compressors": None}, [HALVES], FLIP),
        (WORDS, {"filters": [Words()], "compressors": "zlib"}, [WORD], ZLIB),
        (WORDS, {"filters": [Words()], "compressors": None}, [WORD], None),
    ],
)
def test_foreign_codecs_as_filters_and_compressors(
    data: Any, given: dict[str, Any], filters: Any, compressor: Any, order: Any
) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, data=data, dtype=data.dtype, chunks=(3, 2), order=order, zarr_format=2, **given)
    document = json.loads(bytes(store.get(".zarray") or b""))
    assert (document["filters"], document["compressor"]) == (filters, compressor)
    if data.dtype.names is None:
        assert document["dtype"] == data.dtype.str
    again = omnizarr.open_array(store)
    assert again.metadata.codecs == z.metadata.codecs
    assert z[...].tolist() == again[...].tolist() == data.tolist()
    again[1, :] = data[0, :]
    assert z[1, :].tolist() == data[0, :].tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_chunks_are_what_numcodecs_itself_decodes(order: Any) -> None:
    store = omnizarr.MemoryStore()
    options: dict[str, Any] = {"zarr_format": 2, "chunks": (4, 5), "compressors": Image(), "order": order}
    omnizarr.create_array(store, data=PLANE, **options)
    chunk = Image().decode(store.get("0.0"))
    # Like zarr-python: the elements as they lie in memory, in the order that the document states.
    assert chunk.reshape(-1, order="A").reshape((4, 5), order=order).tolist() == PLANE.tolist()


def test_errors_inside_a_foreign_codec_name_it() -> None:
    with pytest.raises(ChunkError, match=r"`tests\.image`: TypeError: float64 of shape \(4, 5\) is no image"):
        omnizarr.create_array(data=FLOATS, compressors=Image(), zarr_format=2)
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, data=PLANE, compressors=Image(), chunks=(4, 5), zarr_format=2)
    for damaged in (b"", b"\4\5", b"\4\5<u2", b"\4\5<u2" + bytes(39), b"\2\5<u2" + bytes(20), b"\4\5|xx" + bytes(40)):
        store.set("0.0", damaged)
        with pytest.raises(ChunkError, match=r"tests\.image"):
            omnizarr.open_array(store)[...]
    store = omnizarr.MemoryStore()
    omnizarr.create_array(
        store, data=WORDS, dtype=object, filters=Words(), compressors=None, chunks=(3, 2), zarr_format=2
    )
    for damaged in (b"a b", b"\xff"):
        store.set("0.0", damaged)
        with pytest.raises(ChunkError, match=r"tests\.words"):
            omnizarr.open_array(store)[...]


def test_foreign_codecs_are_rejected_in_other_generations() -> None:
    """zarr-python 3 has names only for the codecs of numcodecs itself."""
    for zarr_format in (1, "3-draft-2022", 3):
        store = omnizarr.MemoryStore()
        with pytest.raises(ArgumentError, match=r"`tests\.flip`" if zarr_format != 1 else None):
            omnizarr.create_array(store, data=FLOATS, compressors=Flip(), zarr_format=zarr_format)
        assert list(store.list()) == []


def test_an_unregistered_codec_is_named_in_the_error() -> None:
    with pytest.raises(MetadataError, match=r"unknown codec `tests\.stranger`") as caught:
        omnizarr.create_array(data=FLOATS, compressors={"id": "tests.stranger"}, zarr_format=2)
    assert "registers it with numcodecs" in str(caught.value.problems[0].hint)
    for place in ("filters", "compressors"):
        with pytest.raises(ArgumentError, match=f"`{place}`: codec `tests.stranger` is not registered") as rejected:
            omnizarr.create_array(data=FLOATS, zarr_format=2, **{place: Stranger()})
        assert "`numcodecs.register_codec(Stranger)`" in str(rejected.value)


class Duck:
    """Has no base class."""

    codec_id = "tests.duck"

    def encode(self, buf: Any) -> bytes:
        return bytes(buf)[::-1]

    def decode(self, buf: Any, out: Any = None) -> bytes:
        return bytes(buf)[::-1]

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Duck:
        return cls()


def test_duck_typed_codecs_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(numcodecs.registry.codec_registry, Duck.codec_id, Duck)
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, data=FLOATS, filters=[Duck()], compressors=Duck(), zarr_format=2)
    assert omnizarr.open_array(store)[...].tolist() == FLOATS.tolist()


def test_a_codec_from_a_broken_package_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Offered:
        def load(self) -> Any:
            raise ImportError("No module named 'something_else'")

    monkeypatch.setitem(numcodecs.registry.entries, "tests.broken", Offered())
    with pytest.raises(MetadataError, match=r"`tests\.broken`.*No module named 'something_else'"):
        omnizarr.create_array(data=FLOATS, compressors={"id": "tests.broken"}, zarr_format=2)
