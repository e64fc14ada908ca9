"""N5: keys, headers, contents and sizes of blocks, hostile ones, and the codec `n5_default` of v3."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tests.formats.n5_values import COMPRESS, array_document, block, encode, hierarchy, memory_below

import omnizarr
from omnizarr.codecs import Bytes, Gzip, N5Default, Transpose, Zstd
from omnizarr.codecs.array_to_bytes.n5_block import N5_TYPES
from omnizarr.errors import ChunkError, CodecError, OmnizarrError

DATA = np.arange(35, dtype="u2").reshape(7, 5)


def stored(values: dict[str, bytes], **members: Any) -> omnizarr.Array:
    """An array of 7 × 5 elements in blocks of 4 × 3; in N5, 5 × 7 in 3 × 4."""
    return omnizarr.open_array(hierarchy({"": {"n5": "4.0.0", **array_document([5, 7], [3, 4], **members)}}, values))


# -- what the specification says


def test_K13_K14_K15_the_example_of_the_specification() -> None:
    z = omnizarr.create_array(
        store := {}, data=np.arange(1, 7, dtype="u2").reshape(3, 2, 1), compressors=None, zarr_format="n5"
    )
    header = "0000 0003 00000001 00000002 00000003"
    assert bytes(store["0/0/0"]) == bytes.fromhex(header + "0001 0002 0003 0004 0005 0006")
    assert z[2, 0, 0] == 5


def test_K13_keys_have_the_coordinates_in_reverse() -> None:
    store = omnizarr.create_array(None, data=np.ones((2, 4, 6)), chunks=(1, 2, 2), zarr_format="n5").store
    keys = [f"{x}/{y}/{z}" for x in range(3) for y in range(2) for z in range(2)]
    assert sorted(store.list()) == [*keys, "attributes.json"]
    z = omnizarr.open_array(store)
    assert z.nchunks_initialized == 12
    z.resize((1, 4, 6))
    assert sorted(store.list()) == [*[key for key in keys if key.endswith("0")], "attributes.json"]


def test_K13_an_array_without_dimensions_has_the_block_0() -> None:
    store: dict[str, Any] = {}
    omnizarr.create_array(store, data=np.array(5, "u2"), compressors=None, zarr_format="n5")
    assert bytes(store["0"]) == bytes.fromhex("0000 0000 0005")
    assert omnizarr.open_array(store)[()] == 5


@pytest.mark.parametrize("name", COMPRESS)
@pytest.mark.parametrize("short", [False, True])
def test_K8_K14_K17_blocks_of_other_writers(name: str, short: bool) -> None:
    config, compress = COMPRESS[name]
    padded = np.zeros((8, 6), "u2")
    padded[:7, :5] = DATA
    whole = DATA if short else padded
    values = {
        f"{x}/{y}": encode(whole[4 * y : 4 * y + 4, 3 * x : 3 * x + 3], compress) for x in range(2) for y in range(2)
    }
    z = stored(values, compression=config)
    np.testing.assert_array_equal(z[...], DATA)
    np.testing.assert_array_equal(z[2:6, ::2], DATA[2:6, ::2])
    z[6, 4] = 99
    np.testing.assert_array_equal(z[...].reshape(-1)[:-1], DATA.reshape(-1)[:-1])
    z.resize((8, 6))
    assert z[6:, 4:].tolist() == [[99, 0], [0, 0]]


def test_K17_a_short_block_inside_the_array_is_filled_up() -> None:
    z = stored({"0/0": encode(DATA[:2, :1]), "1/1": encode(DATA[4:, 3:])})
    expected = np.zeros_like(DATA)
    expected[:2, :1] = DATA[:2, :1]
    expected[4:, 3:] = DATA[4:, 3:]
    np.testing.assert_array_equal(z[...], expected)


def test_K18_every_block_that_is_written_has_the_full_size() -> None:
    store: dict[str, Any] = {}
    z = omnizarr.create_array(store, data=DATA, chunks=(4, 3), compressors=None, zarr_format="n5")
    for x in range(2):
        for y in range(2):
            assert len(store[f"{x}/{y}"]) == 12 + 2 * 12
    assert bytes(store["1/1"]) == encode(np.pad(DATA[4:, 3:], ((0, 1), (0, 1))))
    z.resize((8, 6))
    assert z[7].tolist() == [0] * 6


def test_K19_missing_blocks_are_zeros() -> None:
    z = stored({"0/0": encode(DATA[:4, :3])})
    assert z.fill_value == 0
    assert z[4:].sum() == 0
    store = omnizarr.create_array(None, data=np.zeros((4, 4)), chunks=2, zarr_format="n5").store
    assert list(store.list()) == ["attributes.json"]


# -- modes and hostile blocks


def test_K16_blocks_of_the_mode_varlength() -> None:
    content = DATA[:4, :3].astype(">u2").tobytes()
    assert stored({"0/0": block((3, 4), content, mode=1, count=12)})[3, 2] == 17
    short = DATA[:4, :1].astype(">u2").tobytes()
    assert stored({"0/0": block((1, 4), short, mode=1, count=4)})[3, :2].tolist() == [15, 0]


CONTENT = DATA[:4, :3].astype(">u2").tobytes()
HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "expected a header of 12 bytes, found 0"),
    "short header": (block((3, 4), b"")[:11], "expected a header of 12 bytes, found 11"),
    "mode object": (block((3, 4), CONTENT, mode=2, count=12), r"found mode 2 \(object\)"),
    "unknown mode": (block((3, 4), CONTENT, mode=0x8000), r"found mode 32768 \(unknown\)"),
    "too few dimensions": (block((12,), CONTENT), "expected a block of 2 dimensions, found 1"),
    "too many dimensions": (block((3, 4, 1), CONTENT), "expected a block of 2 dimensions, found 3"),
    "many dimensions": (block((3, 4), CONTENT, ndim=65535), "found 65535"),
    "too long": (block((3, 5), CONTENT), r"expected a block of at most \(3, 4\) elements, found \(3, 5\)"),
    "huge": (block((2**32 - 1, 2**32 - 1), CONTENT), r"found \(4294967295, 4294967295\)"),
    "no elements": (block((0, 4), b""), r"found \(0, 4\)"),
    "too few elements": (block((3, 4), CONTENT[:-1]), "expected 24 bytes, found 23"),
    "too many elements": (block((3, 4), CONTENT + b"\0"), "expected 24 bytes, found 25"),
    "shape of other size": (block((3, 3), CONTENT), "expected 18 bytes, found 24"),
    "varlength without count": (block((3, 4), b"\0", mode=1), "expected a header of 16 bytes, found 13"),
    "varlength of other length": (block((3, 4), CONTENT, mode=1, count=13), "has 13 elements, but its shape has 12"),
    "varlength of huge length": (block((3, 4), CONTENT, mode=1, count=2**32 - 1), "has 4294967295 elements"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_K14_K16_K17_hostile_blocks_are_rejected_in_little_memory(kind: str) -> None:
    value, message = HOSTILE[kind]
    z = stored({"0/0": value})
    with memory_below(2**20), pytest.raises(ChunkError, match=message) as caught:
        z[...]
    assert isinstance(caught.value.__cause__, CodecError)
    assert "0/0" in str(caught.value)
    with pytest.raises(ChunkError):
        z[0, 0] = 1
    z[:4, :3] = DATA[:4, :3]  # a write of the whole block replaces it
    assert z[3, 2] == 17


@pytest.mark.parametrize("name", COMPRESS)
def test_K8_a_block_that_decodes_to_more_than_its_shape_is_rejected_in_little_memory(name: str) -> None:
    config, compress = COMPRESS[name]
    bomb = compress(bytes(2**25 if name != "raw" else 2**12))
    z = stored({"0/0": block((3, 4), bomb)}, compression=config)
    with memory_below(2**24), pytest.raises(ChunkError):  # a stream of xz needs 8 MiB
        z[...]


@given(st.data())
def test_K14_any_header_gives_an_array_or_an_error(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 5), max_size=4))
    value = block(
        tuple(lengths),
        data.draw(st.binary(max_size=40)),
        mode=data.draw(st.integers(0, 3) | st.integers(0, 2**16 - 1)),
        ndim=data.draw(st.none() | st.integers(0, 2**16 - 1)),
    )
    try:
        assert stored({"0/0": value[: data.draw(st.integers(0, len(value)))]})[...].shape == (7, 5)
    except OmnizarrError:
        pass


# -- laws


@st.composite
def arrays(draw: st.DrawFn) -> npt.NDArray[Any]:
    dtype = np.dtype(draw(st.sampled_from(sorted(N5_TYPES))))
    shape = draw(npst.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=5))
    return draw(npst.arrays(dtype, shape))


@given(arrays(), st.sampled_from([None, "gzip", "zlib", "bz2", "lzma", "lz4", "blosc", "zstd"]), st.data())
def test_K15_K18_what_is_written_is_read(array: npt.NDArray[Any], compressor: Any, data: st.DataObject) -> None:
    chunks = tuple(data.draw(st.integers(1, 6)) for _ in array.shape)
    store: dict[str, Any] = {}
    omnizarr.create_array(
        store, data=array, chunks=chunks, compressors=compressor, zarr_format="n5", write_empty_chunks=True
    )
    z = omnizarr.open_array(store)
    assert z[...].tobytes() == array.tobytes()
    for key in store:
        if key == "attributes.json":
            continue
        mode, ndim, *lengths = struct.unpack_from(f">HH{array.ndim}I", bytes(store[key]))
        assert (mode, ndim, tuple(lengths)) == (0, array.ndim, chunks[::-1])


# -- the codec `n5_default` of v3


@pytest.mark.parametrize("compressor", [None, Gzip(3), Zstd(1)])
def test_K24_v3_reads_the_blocks_of_n5_in_place(compressor: Any) -> None:
    """Without transpose the v3 array has the dimensions of the N5 document, and the keys of N5."""
    array = np.arange(210, dtype="i4").reshape(7, 5, 6)
    n5: dict[str, Any] = {}
    omnizarr.create_array(n5, data=array, chunks=(4, 3, 2), compressors=compressor, zarr_format="n5")
    codecs = [Transpose((2, 1, 0)), Bytes("big"), *([] if compressor is None else [compressor])]
    v3: dict[str, Any] = {}
    omnizarr.create_array(
        v3, shape=array.shape[::-1], chunks=(2, 3, 4), dtype="i4", serializer=N5Default(codecs), compressors=None
    )
    v3 |= {key: value for key, value in n5.items() if key != "attributes.json"}
    np.testing.assert_array_equal(omnizarr.open_array(v3)[...], array.T)
    again = omnizarr.open_array(v3)
    again[...] = again[...]
    assert {key: bytes(v3[key]) for key in n5 if key in v3} == {key: bytes(n5[key]) for key in n5 if key in v3}


@pytest.mark.parametrize("compressor", [None, Gzip(3), Zstd(1)])
def test_K24_a_transpose_and_n5_default_store_the_same_bytes(compressor: Any) -> None:
    array = np.arange(210, dtype="i4").reshape(7, 5, 6)
    codecs = [Transpose((2, 1, 0)), Bytes("big"), *([] if compressor is None else [compressor])]
    v3: dict[str, Any] = {}
    source = omnizarr.create_array(
        v3, data=array, chunks=(4, 3, 2), filters=Transpose((2, 1, 0)), serializer=N5Default(codecs), compressors=None
    )
    n5: dict[str, Any] = {}
    copy = omnizarr.from_array(n5, data=source, zarr_format="n5")
    assert copy.compressors == (() if compressor is None else (compressor,))
    for z, y, x in np.ndindex(2, 2, 3):
        assert bytes(n5[f"{x}/{y}/{z}"]) == bytes(v3[f"{z}/{y}/{x}"])


def test_K24_n5_default_alone_reverses_the_dimensions() -> None:
    serializer = N5Default([Transpose((1, 0)), Bytes("big")])
    source = omnizarr.create_array(None, data=DATA, serializer=serializer, compressors=None)
    with pytest.raises(OmnizarrError, match="N5 has no codec `n5_default`"):
        omnizarr.from_array(None, data=source, zarr_format="n5")
    copy = omnizarr.from_array(None, data=source, zarr_format="n5", serializer="auto")
    np.testing.assert_array_equal(copy[...], DATA)
