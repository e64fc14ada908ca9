"""Third-party codecs that documents of the draft of 2022 name by URI, of every kind and in every place (S28, S34)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.formats.draft.documents import array, entry, problem_paths, read, store_of
from tests.registries import restoring_all

import omnizarr
from omnizarr.codecs import ArrayCodec, Bytes, ChunkSpec, Gzip, Serializer, Transpose
from omnizarr.codecs.contract import BoundArrayCodec, BoundSerializer, ByteSpec
from omnizarr.errors import ArgumentError

URI = "https://example.org/codecs"


@dataclass(frozen=True)
class Widen(ArrayCodec):
    """Stores each element in the next larger type, plus a number."""

    name: ClassVar[str] = f"{URI}/widen/1.0"
    plus: int = 0

    @classmethod
    def parse(cls, configuration: Any, path: str, problems: Any) -> Any:
        return cls(**configuration)

    def configuration(self) -> dict[str, Any]:
        return {"plus": self.plus}

    def bind(self, spec: ChunkSpec, path: str, problems: Any) -> BoundArrayCodec:
        return BoundWiden(spec, self.plus)


class BoundWiden(BoundArrayCodec):
    def __init__(self, spec: ChunkSpec, plus: int) -> None:
        self.spec, self.plus = spec, plus
        wide = np.dtype(f"{spec.dtype.kind}{2 * spec.dtype.itemsize}")
        self.encoded = ChunkSpec(spec.shape, wide, spec.fill.astype(wide))

    def encode(self, array: Any) -> Any:
        return (array.astype(self.encoded.dtype) + self.plus).astype(self.encoded.dtype)

    def decode(self, array: Any) -> Any:
        return (array - self.plus).astype(self.spec.dtype)


@dataclass(frozen=True)
class Backwards(Serializer):
    """Stores little-endian elements in reverse order."""

    name: ClassVar[str] = f"{URI}/backwards/1.0"

    @classmethod
    def parse(cls, configuration: Any, path: str, problems: Any) -> Any:
        return cls()

    def configuration(self) -> dict[str, Any]:
        return {}

    def bind(self, spec: ChunkSpec, path: str, problems: Any) -> BoundSerializer:
        return BoundBackwards(spec)


class BoundBackwards(BoundSerializer):
    def __init__(self, spec: ChunkSpec) -> None:
        self.spec = spec
        self.encoded = ByteSpec(spec.nbytes, spec.nbytes)

    def encode(self, array: Any) -> bytes:
        return bytes(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)[::-1].tobytes())

    def decode(self, data: Any) -> Any:
        elements = np.frombuffer(data, self.spec.dtype.newbyteorder("<"))[::-1]
        return elements.reshape(self.spec.shape).astype(self.spec.dtype)


class Swapped(Transpose):
    """A memory layout."""

    name = f"{URI}/swapped/1.0"

    @classmethod
    def parse(cls, configuration: Any, path: str, problems: Any) -> Any:
        return cls((1, 0)) if configuration == {"type": "swapped"} else None

    def configuration(self) -> Any:
        return {"type": "swapped"}

    def resolved(self, ndim: int) -> Any:
        return self


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with restoring_all():
        omnizarr.register_codec(Widen)
        omnizarr.register_codec(Backwards)
        omnizarr.register_chunk_memory_layout(Swapped)
        yield


WIDEN = {"type": Widen.name, "configuration": {"plus": 5}}
BACKWARDS = {"type": Backwards.name, "configuration": {}}
ENDIAN = {"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {"endian": "big"}}
GZIP = {"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 1}}

LISTS = {
    "array → array": [WIDEN],
    "array → array twice": [WIDEN, WIDEN],
    "array → array, big-endian": [WIDEN, ENDIAN, GZIP],
    "array → array, compressed": [WIDEN, GZIP],
    "array → bytes": [BACKWARDS, GZIP],
    "both": [WIDEN, BACKWARDS],
    "array codec behind bytes": [ENDIAN, WIDEN, GZIP],
    "array codec behind third-party bytes": [WIDEN, BACKWARDS, WIDEN],
    "array → bytes codec behind bytes": [BACKWARDS, BACKWARDS],
}


@pytest.mark.parametrize("layout", ["C", "F", {"extension": Swapped.name, "type": "swapped"}], ids=["C", "F", "URI"])
@pytest.mark.parametrize("codecs", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("name", ["int8", "int16"])
def test_S28_S34_changes_of_metadata_keep_codecs_and_layout(name: str, codecs: Any, layout: Any) -> None:
    """The array → array codec became the memory layout at the next change, so the array could not be opened again."""
    document = array(2022, data_type=name, codecs=codecs, chunk_memory_layout=layout)
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document})
    data = np.arange(60, dtype=name).reshape(10, 6)
    z = omnizarr.open_array(store, path="a")
    z[...] = data
    z.attrs["b"] = 2
    z.resize((12, 6))
    stored = json.loads(bytes(store.get("meta/a.array.json") or b""))
    assert stored == document | {"shape": [12, 6], "attributes": {"a": 1, "b": 2}}
    reopened = omnizarr.open_array(store, path="a", mode="r")
    np.testing.assert_array_equal(reopened[:10], data)
    assert (reopened[10:] == 7).all()


@pytest.mark.parametrize("codecs", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_S28_copies_keep_third_party_codecs(codecs: Any, shards: Any) -> None:
    document = array(2022, codecs=codecs, chunk_memory_layout="F")
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document})
    data = np.arange(60, dtype="i2").reshape(10, 6)
    source = omnizarr.open_array(store, path="a")
    source[...] = data
    omnizarr.from_array(store, data=source, name="copy", shards=shards)
    copied = json.loads(bytes(store.get("meta/copy.array.json") or b""))
    assert (copied["chunk_memory_layout"], copied["codecs"]) == ("F", codecs)
    assert len(copied.get("storage_transformers", [])) == (shards is not None)
    np.testing.assert_array_equal(omnizarr.open_array(store, path="copy", mode="r")[...], data)


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i2"])
def test_S28_new_arrays_with_third_party_codecs(dtype: str) -> None:
    data = np.arange(60, dtype=dtype).reshape(10, 6)
    root = omnizarr.create_group({}, zarr_format="3-draft-2022")
    widened = root.create_array("a", data=data, filters=[Widen(3)], compressors=[Gzip(1)])
    swapped = root.create_array(
        "b", data=data, filters=[Swapped((1, 0)), Widen(3)], serializer=Backwards(), compressors=None
    )
    for ours in (widened, swapped):
        reopened = omnizarr.open_array(root.store, path=ours.path, mode="r")
        np.testing.assert_array_equal(reopened[...], data)
        assert reopened.metadata.codecs == ours.metadata.codecs
    document = json.loads(bytes(root.store.get("meta/b.array.json") or b""))
    assert document["chunk_memory_layout"] == {"extension": Swapped.name, "type": "swapped"}
    assert document["codecs"] == [{"type": Widen.name, "configuration": {"plus": 3}}, BACKWARDS]


FILTERS: list[list[Any]] = [[], [Widen(3)]]
SERIALIZERS: list[Any] = ["auto", Bytes("big"), Backwards()]
BEHIND_BYTES: list[list[Any]] = [
    [Widen(5)],
    [Backwards()],
    [Widen(5), Backwards(), Gzip(1)],
    [{"name": Widen.name, "configuration": {"plus": 2}}, Widen(1)],
]


@pytest.mark.parametrize("compressors", BEHIND_BYTES)
@pytest.mark.parametrize("serializer", SERIALIZERS)
@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i2"])
def test_S34_new_arrays_with_array_codecs_behind_bytes(
    dtype: str, filters: Any, serializer: Any, compressors: Any
) -> None:
    """The document names the byte order before such a codec; it would receive the elements otherwise."""
    data = np.arange(60, dtype=dtype).reshape(10, 6)
    root = omnizarr.create_group({}, zarr_format="3-draft-2022")
    ours = root.create_array("a", data=data, filters=filters, serializer=serializer, compressors=compressors)
    copies = [ours, omnizarr.from_array(root.store, data=ours, name="b"), omnizarr.from_array({}, data=ours)]
    for z in copies:
        reopened = omnizarr.open_array(z.store, path=z.path)
        np.testing.assert_array_equal(reopened[...], data)
        assert reopened.metadata.codecs == z.metadata.codecs == ours.metadata.codecs
        key = f"data/{z.path}/c0/0" if z.path else "data/c0/0"
        assert z.store.get(key) == root.store.get("data/a/c0/0")
        reopened.attrs["more"] = 1
        np.testing.assert_array_equal(omnizarr.open_array(z.store, path=z.path)[...], data)


@pytest.mark.parametrize("zarr_format", [3, "3-draft-2020", 2])
def test_S34_other_generations_have_no_array_codecs_behind_bytes(zarr_format: Any) -> None:
    with pytest.raises((ArgumentError, omnizarr.errors.MetadataError), match="widen"):
        omnizarr.create_array({}, shape=3, dtype="i2", compressors=[Widen(1)], zarr_format=zarr_format)


def test_S34_core_codecs_on_arrays_are_no_compressors() -> None:
    with pytest.raises(ArgumentError, match="give it as `filters`"):
        omnizarr.create_array({}, shape=3, dtype="i2", compressors=[Transpose((0,))], zarr_format="3-draft-2022")


def test_S34_array_codecs_cannot_follow_the_bytes_of_structs() -> None:
    """Structs have no codec `endian`, so that the codec would receive the elements."""
    with pytest.raises((ArgumentError, omnizarr.errors.MetadataError), match="cannot receive the bytes"):
        omnizarr.create_array({}, shape=3, dtype=[("a", "<i2")], compressors=[Backwards()], zarr_format="3-draft-2022")


def test_S34_an_array_codec_receives_bytes_as_uint8() -> None:
    document = array(2022, codecs=[BACKWARDS, WIDEN])
    store = store_of({"zarr.json": entry(2022), "meta/a.array.json": document})
    omnizarr.open_array(store, path="a")[...] = 0x0102
    stored = np.frombuffer(bytes(store.get("data/a/c0/0") or b""), "<u2")
    assert stored.tolist() == [2 + 5, 1 + 5] * 12


def test_S34_an_array_codec_needs_bytes_of_a_known_size() -> None:
    assert problem_paths(array(2022, codecs=[GZIP, WIDEN]), 2022) == ["$.codecs[1]"]


def test_S16_the_default_byte_order_behind_a_codec_that_changes_the_type() -> None:
    assert read(array(2022, data_type="int8", codecs=[WIDEN]), 2022).codecs == (Widen(5), Bytes("little"))


def test_an_unregistered_codec_is_rejected_before_anything_is_stored() -> None:
    class Unknown(Widen):
        name = f"{URI}/unknown/1.0"

    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match="could not be opened"):
        omnizarr.create_array(store, shape=3, dtype="i2", filters=[Unknown(1)], zarr_format="3-draft-2022")
    assert list(store.list()) == []
