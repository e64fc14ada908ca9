"""Arrays of text and of bytes of variable length: all operations of arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr import MemoryStore
from omnizarr.codecs import VlenBytes, VlenUtf8, Zstd
from omnizarr.errors import ArgumentError, ChunkError, MetadataError
from omnizarr.testing import SlowStore

TEXT = np.dtypes.StringDType()
Make: TypeAlias = Callable[..., omnizarr.Array]
LAYOUTS: dict[str, dict[str, Any]] = {
    "one chunk": {"chunks": (5, 9)},
    "chunks": {"chunks": (2, 3)},
    "shards": {"chunks": (2, 3), "shards": (4, 6)},
    "one shard": {"chunks": (1, 3), "shards": (5, 9)},
    "transposed": {"chunks": (2, 3), "order": "F"},
    "transposed in shards": {"chunks": (2, 3), "shards": (4, 6), "order": "F"},
    "plain": {"chunks": (2, 3), "compressors": None},
    "blosc": {"chunks": (2, 3), "compressors": "blosc"},
    "compressed shards": {
        "chunks": (4, 6),
        "serializer": {
            "name": "sharding_indexed",
            "configuration": {"chunk_shape": [2, 3], "codecs": [{"name": "vlen-utf8"}]},
        },
        "compressors": "zstd",
    },
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@pytest.fixture(params=["memory", "local", "slow"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    stores = {"memory": MemoryStore, "local": lambda: tmp_path / "z", "slow": lambda: SlowStore(MemoryStore(), 0.0001)}
    return lambda **options: omnizarr.create_array(stores[request.param](), **options)


def words(*shape: int) -> np.ndarray[Any, Any]:
    """Short and long texts, ASCII and not; as objects, because StringDType rejects some keys before NumPy 2.5."""
    found = np.empty(int(np.prod(shape)), object)
    for n in range(found.size):
        found[n] = ("é" if n % 3 else "e") * (n % 40) + str(n)
    return found.reshape(shape)


def blobs(*shape: int) -> np.ndarray[Any, Any]:
    found = np.empty(int(np.prod(shape)), object)
    for n in range(found.size):
        found[n] = bytes([n % 256, 0]) * (n % 20)
    return found.reshape(shape)


def filled(shape: tuple[int, ...], fill: Any) -> np.ndarray[Any, Any]:
    found = np.empty(shape, object)
    found[...] = np.array(fill, object)
    return found


KEYS: list[Any] = [
    ...,
    (slice(1, 4), slice(2, 8)),
    (0, 0),
    (4, 8),
    (slice(None, None, 2), 3),
    (slice(None, None, -1), slice(7, 1, -2)),
    ([0, 4, 0], [8, 0, 1]),
    (3,),
    (slice(2, 2), 0),
    (np.newaxis, slice(1, 3)),
    (slice(None), [1, 5, 8]),
]


@layouts
@pytest.mark.parametrize(("dtype", "fill"), [("string", ""), ("string", "fill é"), ("bytes", b""), ("bytes", b"\0")])
def test_indexing_matches_numpy(make: Make, layout: dict[str, Any], dtype: str, fill: Any) -> None:
    if dtype == "bytes" and "serializer" in layout:
        pytest.skip("that is for text")
    z = make(shape=(5, 9), dtype=dtype, fill_value=fill, **layout)
    model = filled((5, 9), fill)
    values = (words if dtype == "string" else blobs)(5, 9)
    assert z[...].tolist() == model.tolist()
    for number, key in enumerate(KEYS):
        value = np.roll(values, number)[key]
        z[key] = value
        model[key] = value
        assert z[...].tolist() == model.tolist(), key
        for other in KEYS:
            found, expected = z[other], model[other]
            assert type(found) is type(expected)
            assert not isinstance(found, np.ndarray) or found.dtype == z.dtype
            assert np.shape(found) == np.shape(expected)
            assert np.asarray(found, object).tolist() == np.asarray(expected, object).tolist(), other
    z[1:, ::2] = np.array(fill, z.dtype)
    model[1:, ::2] = np.array(fill, object)
    assert z[...].tolist() == model.tolist()
    assert z.read((slice(None), 1), out=np.empty(5, z.dtype)).tolist() == model[:, 1].tolist()
    assert z.oindex[[0, 3], [1, 8]].tolist() == model[np.ix_([0, 3], [1, 8])].tolist()
    assert z.blocks[0].tolist() == model[: (z.shards or z.chunks)[0]].tolist()
    assert pickle.loads(pickle.dumps(z))[...].tolist() == model.tolist()


@layouts
def test_resizing_and_appending(make: Make, layout: dict[str, Any]) -> None:
    z = make(shape=(5, 9), dtype=str, fill_value="?", **layout)
    z[...] = words(5, 9)
    z.append(words(2, 9))
    z.append(np.full((7, 1), "side"), axis=1)
    assert z.shape == (7, 10)
    model = np.concatenate([words(5, 9), words(2, 9)])
    assert z[:, :9].tolist() == model.tolist()
    assert (z[:, 9] == "side").all()
    z.resize((3, 4))
    z.resize((5, 9))
    expected = filled((5, 9), "?")
    expected[:3, :4] = model[:3, :4]
    assert z[...].tolist() == expected.tolist()


def test_R16_chunks_of_only_the_fill_value_are_not_stored(make: Make) -> None:
    for dtype, fill, other in ((str, "x", ""), (bytes, b"\0", b"")):
        z = make(shape=(4,), chunks=(1,), dtype=dtype, fill_value=fill, overwrite=True)
        z[...] = np.array(other, z.dtype)
        assert z.nchunks_initialized == 4
        z[1:3] = fill
        assert z.nchunks_initialized == 2
        assert z[...].tolist() == [other, fill, fill, other]
        assert z.fill_value == fill
        assert type(z.fill_value) is type(fill)


@given(st.lists(st.text(), min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 3))
def test_any_text_round_trips(texts: list[str], chunk: int, many: int) -> None:
    data = np.array(texts, TEXT)
    for shards in (None, (chunk * many,)):
        z = omnizarr.create_array(MemoryStore(), data=data, chunks=(chunk,), shards=shards)
        assert z[...].tolist() == texts
        assert z.dtype == TEXT


@given(st.lists(st.tuples(st.text(max_size=40), st.booleans()), min_size=1, max_size=12), st.integers(1, 5))
def test_masks_select_text(pairs: list[tuple[str, bool]], chunk: int) -> None:
    texts, chosen = [text for text, _ in pairs], np.array([one for _, one in pairs])
    for chunks in (chunk, ([chunk] * 12,)):
        z = omnizarr.create_array(MemoryStore(), data=np.array(texts, TEXT), chunks=chunks)
        assert z[chosen].tolist() == [text for text, one in pairs if one]
        z[chosen] = np.array([f"{text}é" for text, one in pairs if one], TEXT)
        assert z[...].tolist() == [f"{text}é" if one else text for text, one in pairs]


@given(st.lists(st.binary(), min_size=1, max_size=12), st.integers(1, 5))
def test_any_bytes_round_trip(items: list[bytes], chunk: int) -> None:
    z = omnizarr.create_array(MemoryStore(), data=items, dtype="bytes", chunks=(chunk,))
    assert z[...].tolist() == items


# -- new arrays


@pytest.mark.parametrize("dtype", [str, "string", TEXT, "U", {"name": "string"}])
def test_R145_spellings_of_the_text_type(dtype: Any) -> None:
    z = omnizarr.create_array(MemoryStore(), shape=(3,), dtype=dtype)
    assert z.data_type.name == "string"
    assert z.serializer == VlenUtf8()
    assert z.compressors == (Zstd(level=1),)
    assert z.fill_value == ""
    assert z.dtype == TEXT


@pytest.mark.parametrize("dtype", [bytes, "bytes", "S", "variable_length_bytes"])
def test_R146_spellings_of_the_bytes_type(dtype: Any) -> None:
    z = omnizarr.create_array(MemoryStore(), shape=(3,), dtype=dtype, shards="auto")
    assert z.data_type.name == "bytes"
    assert z.serializer == VlenBytes()
    assert z.compressors == (Zstd(level=1),)
    assert z.fill_value == b""


def test_the_data_type_follows_from_data() -> None:
    def create(data: Any, **options: Any) -> omnizarr.Array:
        z = omnizarr.create_array(MemoryStore(), data=data, **options)
        assert z[...].tolist() == np.asarray(data).tolist()
        return z

    assert create(np.array(["a", "bcd"])).data_type.to_json()["configuration"] == {"length_bytes": 12}
    assert create(["a", "bcd"]).data_type.name == "fixed_length_utf32"
    assert create(["a", "bcd"], dtype=str).data_type.name == "string"
    assert create(np.array(["a", "bcd"], object), dtype=str).data_type.name == "string"
    assert create(np.array(["a", "bcd"], TEXT)).data_type.name == "string"
    assert create(np.array([b"a", b"bcd"])).data_type.name == "null_terminated_bytes"
    assert create(np.array(["2020-01-01", "NaT"], "M8[D]")).data_type.name == "numpy.datetime64"
    assert create(np.array([1, 2], "m8[10us]")).data_type.name == "numpy.timedelta64"
    record = create(np.array([("a", "2020"), ("bc", "2021")], [("t", "U3"), ("d", "M8[Y]")]))
    assert record.data_type.name == "struct"
    assert record["t"].tolist() == ["a", "bc"]
    with pytest.raises(ArgumentError, match="does not define how to store the objects"):
        create(np.array(["a", "bcd"], object))


def test_require_array_of_text() -> None:
    group = omnizarr.create_group(MemoryStore())
    group.create_array("z", data=["a", "b"], dtype=str)
    assert group.require_array("z", data=np.array(["a", "b"], object), dtype=str)[...].tolist() == ["a", "b"]
    assert group.require_array("z", shape=(2,), dtype=str, exact=True).data_type.name == "string"
    assert "z (2,) string" in str(group.tree())
    assert "string" in str(group["z"].info)


# -- mistakes


@pytest.mark.parametrize("value", [None, 1, b"a", ["a", None, "b", "c"], np.arange(4), "\ud800"])
def test_values_that_are_not_text_are_rejected(value: Any) -> None:
    z = omnizarr.create_array(MemoryStore(), data=["a", "b", "c", "d"], dtype=str, chunks=(1,))
    with pytest.raises(ArgumentError):
        z[...] = value
    with pytest.raises(ArgumentError):
        z.append([value])
    assert z[...].tolist() == ["a", "b", "c", "d"]
    assert z.shape == (4,)


@pytest.mark.parametrize("value", [None, 1, "a", [b"a", None, b"b", b"c"], np.arange(4)])
def test_values_that_are_not_bytes_are_rejected(value: Any) -> None:
    z = omnizarr.create_array(MemoryStore(), data=[b"a", b"b", b"c", b"d"], dtype=bytes, chunks=(1,))
    with pytest.raises(ArgumentError):
        z[...] = value
    assert z[...].tolist() == [b"a", b"b", b"c", b"d"]


def test_data_that_are_not_text_are_rejected_before_the_array_exists() -> None:
    store = MemoryStore()
    with pytest.raises(ArgumentError, match="found 2 \\(int\\)"):
        omnizarr.create_array(store, data=["a", 2], dtype=str)
    assert list(store.list_prefix("")) == []


def test_codecs_that_do_not_fit() -> None:
    with pytest.raises(MetadataError, match="cannot store elements of variable length") as caught:
        omnizarr.create_array(MemoryStore(), shape=(3,), dtype=str, serializer="bytes")
    assert caught.value.hint == "use `vlen-utf8`"
    with pytest.raises(MetadataError, match="expected data type `string`"):
        omnizarr.create_array(MemoryStore(), shape=(3,), dtype="U5", serializer="vlen-utf8")


def test_records_that_v3_cannot_express_are_rejected() -> None:
    store = MemoryStore()
    for dtype in ([("a", "i4", (2,))], np.dtype([("a", ">i4", (2,)), ("b", "<i2")])):
        with pytest.raises(ArgumentError, match="v3 has no data type for"):
            omnizarr.create_array(store, shape=(3,), dtype=dtype)
    assert list(store.list_prefix("")) == []


def test_objects_need_a_codec() -> None:
    from omnizarr.dtypes import Objects

    with pytest.raises(ArgumentError, match="expected a codec for objects"):
        omnizarr.create_array(MemoryStore(), shape=(3,), dtype=Objects())


def test_max_chunk_bytes_limits_chunks() -> None:
    z = omnizarr.create_array(MemoryStore(), data=["a" * 1000], dtype=str, compressors="gzip")
    with omnizarr.config(max_chunk_bytes=500):
        small = omnizarr.open_array(z.store, mode="r")
        with pytest.raises(ChunkError):
            small[...]


@pytest.mark.parametrize("shards", [None, (4,)])
def test_damaged_chunks_are_named(shards: Any) -> None:
    z = omnizarr.create_array(
        MemoryStore(), data=["a", "b", "c", "d"], dtype=str, chunks=(2,), shards=shards, compressors=None
    )
    key = "c/0"
    data = bytearray(z.store.get(key))  # type: ignore[arg-type]
    data[0] ^= 1  # the count of elements
    z.store.set(key, bytes(data))
    with pytest.raises(ChunkError, match="chunk \\(0,\\) .*expected 2 elements, found 3"):
        z[...]
    with pytest.raises(ChunkError):
        z[0] = "x"
