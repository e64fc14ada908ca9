"""Codecs and chunk grids of `omnizarr.compat.zarr`, used without an array."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

import omnizarr.compat.zarr as zarr
from omnizarr.compat.zarr.codecs.numcodecs import Delta, Shuffle
from omnizarr.compat.zarr.codecs.sharding import _ShardReader
from omnizarr.compat.zarr.core.array_spec import ArraySpec, parse_array_config
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype
from omnizarr.compat.zarr.core.chunk_grids import ChunkGrid
from omnizarr.compat.zarr.core.dtype import parse_dtype
from omnizarr.compat.zarr.core.indexing import BasicIndexer, OrthogonalIndexer

DATA = np.arange(24, dtype="<i4").reshape(4, 6)


def spec(array: np.ndarray[Any, Any]) -> ArraySpec:
    kind = parse_dtype(array.dtype, zarr_format=3)
    return ArraySpec(array.shape, kind, kind.cast_scalar(0), parse_array_config(None), default_buffer_prototype())


@pytest.mark.parametrize("codec", [zarr.codecs.BytesCodec(), zarr.codecs.ShardingCodec(chunk_shape=(2, 3))])
def test_arrays_to_bytes(codec: Any) -> None:
    own = spec(DATA)
    encoded = codec._encode_sync(own.prototype.nd_buffer.from_numpy_array(DATA), own)
    assert np.array_equal(codec._decode_sync(encoded, own).as_numpy_array(), DATA)


@pytest.mark.parametrize("codec", [zarr.codecs.ZstdCodec(), zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()])
def test_bytes_to_bytes(codec: Any) -> None:
    own = spec(DATA)
    encoded = codec._encode_sync(own.prototype.buffer.from_bytes(DATA.tobytes()), own)
    assert codec._decode_sync(encoded, own).to_bytes() == DATA.tobytes()
    assert encoded.to_bytes() != DATA.tobytes()


@pytest.mark.parametrize("location", ["start", "end"])
def test_index_of_a_shard(location: str) -> None:
    codec = zarr.codecs.ShardingCodec(chunk_shape=(2, 3), index_location=location)
    own = spec(DATA)
    encoded = codec._encode_sync(own.prototype.nd_buffer.from_numpy_array(DATA), own)
    reader = asyncio.run(_ShardReader.from_bytes(encoded, codec, (2, 2)))
    assert len(reader) == 4
    assert not reader.is_empty()
    assert np.array_equal(np.frombuffer(reader[1, 1].to_bytes(), "<i4").reshape(2, 3), DATA[2:, 3:])


@pytest.mark.parametrize("codecs", [{"filters": [Delta(dtype="<i4")]}, {"compressors": [Shuffle(elementsize=4)]}])
def test_codecs_of_numcodecs_in_v3(codecs: dict[str, Any]) -> None:
    pytest.importorskip("numcodecs")
    array = zarr.create_array({}, shape=DATA.shape, dtype="i4", **codecs)
    array[:] = DATA
    assert np.array_equal(array[:], DATA)


def test_names_of_members_warn() -> None:
    with pytest.warns(DeprecationWarning, match="pass the string 'start'"):
        assert zarr.codecs.ShardingCodecIndexLocation.start == "start"


@pytest.mark.parametrize("sizes", [(2, 4), ([1, 3], 4), ([1, 3], [2, 2, 2])])
@pytest.mark.parametrize("selection", [np.s_[1:4:2, 3], np.s_[:, ::3], np.s_[2, 5], np.s_[0:0, :]])
def test_indexers_select_as_numpy_does(sizes: Any, selection: Any) -> None:
    grid = ChunkGrid.from_sizes(DATA.shape, sizes)
    for kind in (BasicIndexer, OrthogonalIndexer):
        indexer = kind(selection, DATA.shape, grid)
        result = np.zeros(indexer.shape, DATA.dtype)
        for coords, inside, outside, _ in indexer:
            chunk = grid[coords]
            assert chunk is not None
            part = DATA[chunk.slices][inside]
            result[outside] = np.reshape(part, result[outside].shape)
        assert np.array_equal(np.reshape(result, DATA[selection].shape), DATA[selection])


def test_arrays_iterate_over_their_grid() -> None:
    array = zarr.create_array({}, shape=(4, 6), chunks=(1, 3), shards=(2, 6), dtype="i4")
    assert len(list(array._iter_chunk_coords())) == 8
    assert list(array._iter_shard_keys()) == ["c/0/0", "c/1/0"]
    assert list(array._iter_shard_regions()) == [np.s_[0:2:1, 0:6:1], np.s_[2:4:1, 0:6:1]]


def test_values_of_another_shape() -> None:
    array = zarr.create_array({}, shape=(4,), dtype="i4")
    with pytest.raises(ValueError, match="shape mismatch"):
        array[:2] = np.zeros((3, 2), "i4")
