"""Arrays on a rectilinear grid: creating, reading, writing, copying and displaying them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.nodes.rectilinear.arrays import DATA, EDGES, create, grid_of, rectilinear, with_grid

import omnizarr
from omnizarr.cli.program import program
from omnizarr.codecs import Reshape, Sharding, Transpose
from omnizarr.codecs.numcodecs_ import Shuffle
from omnizarr.errors import ArgumentError, ChunkError, MetadataError, OmnizarrError
from omnizarr.grids import Rectilinear, Regular
from omnizarr.store import LocalStore, MemoryStore
from omnizarr.testing import SlowStore
from omnizarr.transformers import MemoryCache

# -- creating


@pytest.mark.smoke
def test_chunks_of_any_length() -> None:
    z = create()
    assert z.chunks == ((10, 20, 30), (5, 5, 2))
    assert z.shards is None
    assert z.cdata_shape == (3, 3)
    assert z.nchunks == z.nchunks_initialized == 9
    np.testing.assert_array_equal(z[...], DATA)
    np.testing.assert_array_equal(omnizarr.open_array(z.store)[5:35, 3:], DATA[5:35, 3:])
    assert grid_of(z) == rectilinear([10, 20, 30], [[5, 2], 2])


@pytest.mark.parametrize(
    ("chunks", "chunk_shapes", "shown"),
    [
        (((10, 20, 30), 5), ([10, 20, 30], 5), ((10, 20, 30), (5, 5, 2))),
        ([[10, 20, 30], 5], ([10, 20, 30], 5), ((10, 20, 30), (5, 5, 2))),
        ((np.array([10, 20, 30]), np.int64(5)), ([10, 20, 30], 5), ((10, 20, 30), (5, 5, 2))),
        ((iter([10, 20, 30]), -1), ([10, 20, 30], 12), ((10, 20, 30), (12,))),
        ((range(10, 40, 10), None), ([10, 20, 30], 12), ((10, 20, 30), (12,))),
        (([(10, 2), 40], [12]), ([[10, 2], 40], [12]), ((10, 10, 40), (12,))),
        (([20] * 3, 5), ([[20, 3]], 5), ((20, 20, 20), (5, 5, 2))),
        (([40, 40, 40], 5), ([[40, 3]], 5), ((40, 20), (5, 5, 2))),
        (((60,), (12,)), ([60], [12]), ((60,), (12,))),
    ],
)
def test_lists_of_lengths_and_integers(chunks: Any, chunk_shapes: Any, shown: Any) -> None:
    z = create(chunks=chunks)
    assert grid_of(z) == rectilinear(*chunk_shapes)
    assert z.chunks == shown
    np.testing.assert_array_equal(z[...], DATA)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (([10, 20], 5), "the lengths on axis 0 add up to 30, less than the length 60 of the axis"),
        (([], 5), "on axis 0, found \\[\\]"),
        (([60, 0], 5), "integers of at least 1"),
        (([60, 1.5], 5), "integers of at least 1"),
        ((["60"], 5), "integers of at least 1"),
        (([60, [10, 2, 1]], 5), "pairs of a chunk length and a count, on axis 0, found \\(10, 2, 1\\)"),
        (([60, [10, 0]], 5), "integers of at least 1"),
        (([60], True), "integers of at least 1"),
        (([60], [12], [1]), "expected 2 lengths, found 3"),
        ((60, np.array(5), [1]), "expected 2 lengths, found 3"),
        (([60], np.array(5)), "integers of at least 1"),
    ],
)
def test_other_lists_are_rejected(chunks: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        create(chunks=chunks)


def test_a_missing_bracket_gets_a_hint() -> None:
    with pytest.raises(
        ArgumentError, match=r"`chunks=\(\(10, 20, 30\),\)` lists all chunk lengths of the only dimension"
    ):
        omnizarr.create_array(None, shape=60, dtype="i2", chunks=(10, 20, 30))


def test_a_regular_grid_stays_regular() -> None:
    z = create(chunks=(10, 5))
    assert isinstance(z.metadata.grid, Regular)
    assert grid_of(z) == {"name": "regular", "configuration": {"chunk_shape": [10, 5]}}
    z.resize((100, 12))
    assert grid_of(z) == {"name": "regular", "configuration": {"chunk_shape": [10, 5]}}


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", "n5"])
def test_other_generations_reject_rectilinear_grids(zarr_format: Any) -> None:
    store = MemoryStore()
    with pytest.raises(ArgumentError, match="have the same shape"):
        create(store, zarr_format=zarr_format)
    assert list(store.list_prefix("")) == []


# -- stored form


def test_R70_chunk_keys_are_grid_coordinates() -> None:
    z = create(compressors=None)
    for row, rows in enumerate([slice(0, 10), slice(10, 30), slice(30, 60)]):
        for column, columns in enumerate([slice(0, 5), slice(5, 10), slice(10, 12)]):
            assert bytes(z.store.get(f"c/{row}/{column}") or b"") == DATA[rows, columns].tobytes()


def test_R71_a_chunk_is_stored_in_its_declared_shape() -> None:
    z = create(chunks=([50, 30, 7], 8), compressors=None, fill_value=-1)
    assert {key: z.store.size(key) for key in z.store.list_prefix("c/")} == {
        "c/0/0": 50 * 8 * 4,
        "c/0/1": 50 * 8 * 4,
        "c/1/0": 30 * 8 * 4,
        "c/1/1": 30 * 8 * 4,
    }
    corner = np.frombuffer(z.store.get("c/1/1") or b"", "<i4").reshape(30, 8)
    assert corner[:10, :4].tobytes() == DATA[50:, 8:].tobytes()
    assert (corner[10:] == -1).all()
    assert (corner[:, 4:] == -1).all()


def test_R71_inner_chunks_divide_every_edge() -> None:
    z = create(chunks=(5, 2), shards=([10, 20, 35], [4, 2, 6]))
    assert (z.chunks, z.shards) == ((5, 2), ((10, 20, 30), (4, 2, 6)))
    assert z.cdata_shape == (12, 6)
    assert z.nchunks == z.nchunks_initialized == 72
    assert len(list(z.store.list_prefix("c/"))) == 9
    np.testing.assert_array_equal(z[7:42, 1::3], DATA[7:42, 1::3])
    with pytest.raises(ArgumentError, match="the length 36 of axis 0 is not a multiple of the chunk length 5"):
        create(chunks=(5, 2), shards=([10, 20, 36], [4, 2, 6]))
    with pytest.raises(ArgumentError, match="the chunks in a shard are equally long"):
        create(chunks=([5, 55], 2), shards=([60], 12))
    with pytest.raises(ArgumentError, match="the chunks in a shard are equally long"):
        create(chunks=([5, 55], 2), shards="auto")


def test_R71_a_document_with_indivisible_edges_is_rejected() -> None:
    codecs = [Sharding((5, 3)).to_json()]
    store = with_grid(rectilinear([10, 20, 31, 30], 6), (60, 12), codecs)
    with pytest.raises(MetadataError, match="5 does not divide the shard length 31") as caught:
        omnizarr.open_array(store)
    assert len(caught.value.problems) == 1


def test_R71_codecs_must_fit_all_combinations_of_edges() -> None:
    """Chunks of 2 × 3 and of 3 × 4 have a multiple of six elements, but chunks of 2 × 4 do not."""
    edges: Any = ([2, 3], [3, 4])
    for misfit in ({"filters": Reshape([-1, 6])}, {"dtype": "int8", "compressors": Shuffle(6)}):
        with pytest.raises(MetadataError, match="do not fit the array"):
            omnizarr.create_array(None, shape=(5, 7), chunks=edges, **{"dtype": "int16", **misfit})
    codecs = [Reshape([-1, 6]).to_json(), {"name": "bytes", "configuration": {"endian": "little"}}]
    with pytest.raises(MetadataError, match=r"\$\.codecs\[0\]\.configuration\.shape: .* elements of chunks \[2, 4\]"):
        omnizarr.open_array(with_grid(rectilinear(*edges), (5, 7), codecs))


def test_R72_a_regular_grid_and_the_same_rectilinear_one_store_the_same() -> None:
    regular = create(chunks=(25, 5))
    store = with_grid(rectilinear(25, 5), (60, 12))
    document = json.loads(bytes(regular.store.get("zarr.json") or b""))
    store.set("zarr.json", json.dumps({**document, "chunk_grid": rectilinear(25, 5)}).encode())
    z = omnizarr.open_array(store)
    z[...] = DATA
    assert z.chunks == ((25, 25, 10), (5, 5, 2))
    keys = list(regular.store.list_prefix("c/"))
    assert sorted(z.store.list_prefix("c/")) == sorted(keys)
    assert all(bytes(z.store.get(key) or b"") == bytes(regular.store.get(key) or b"") for key in keys)


LAYOUTS: dict[str, dict[str, Any]] = {
    "compressed": {},
    "plain": {"compressors": None},
    "F": {"order": "F"},
    "sharded": {"chunks": (5, 1), "shards": EDGES},
    "chosen inner chunks": {"chunks": "auto", "shards": EDGES},
    "transposed shards": {"filters": [Transpose((1, 0))], "serializer": Sharding((1, 5)), "compressors": None},
    "shards in shards": {"chunks": EDGES, "serializer": Sharding((10, 1), (Sharding((5, 1)),)), "compressors": None},
    "text": {"data": DATA.astype(str).astype(np.dtypes.StringDType())},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("kind", ["memory", "local", "remote"])
def test_all_codec_pipelines(layout: Any, kind: str, tmp_path: Path) -> None:
    stores = {"memory": MemoryStore(), "local": LocalStore(tmp_path), "remote": SlowStore(MemoryStore(), latency=0)}
    z = create(stores[kind], **layout)
    data = z[...]
    np.testing.assert_array_equal(data, layout.get("data", DATA))
    for key in [(slice(10, 30),), (slice(3, 47), slice(4, 11)), (slice(None), slice(5, 10)), ([1, 59, 12], [3, 11, 0])]:
        np.testing.assert_array_equal(omnizarr.open_array(z.store)[key], data[key])
    z[25:35, 4:6] = data[0, 0]
    data[25:35, 4:6] = data[0, 0]
    z[10:30] = data[20:40]
    data[10:30] = data[20:40].copy()
    np.testing.assert_array_equal(z[...], data)
    z[...] = z.fill_value
    assert z.nchunks_initialized == 0


def test_assigning_one_value_to_many_chunk_shapes() -> None:
    lengths = list(range(1, 60))
    z = omnizarr.create_array(None, shape=(sum(lengths),), dtype="i2", chunks=(lengths,))
    z[...] = 7
    assert (z[...] == 7).all()
    assert z.nchunks_initialized == 59


def test_the_number_of_cached_chains_is_bounded() -> None:
    lengths = list(range(1, 401))
    z = omnizarr.create_array(None, shape=(sum(lengths),), dtype="i2", chunks=(lengths,), compressors=None)
    data = np.arange(sum(lengths)).astype("i2")
    z[...] = data
    np.testing.assert_array_equal(z[...], data)
    assert len(z.metadata._chains) <= 256


def test_a_stored_chunk_longer_than_its_own_shape_is_not_read_whole(tmp_path: Path) -> None:
    z = create(tmp_path, compressors=None)
    (tmp_path / "c/0/0").write_bytes(bytes(10**6))
    with pytest.raises(ChunkError, match="more than the 200 bytes that a chunk can have"):
        z[0, 0]
    with pytest.raises(ChunkError):
        z[...]
    np.testing.assert_array_equal(z[10:], DATA[10:])


def test_R69_chunks_beyond_the_array_are_not_counted_until_it_grows() -> None:
    z = create(chunks=([60, 4, 6], 12), compressors=None)
    z.store.set("c/1/0", np.full((4, 12), 7, "<i4").tobytes())  # as another program may store it
    assert z.cdata_shape == (1, 1)
    assert z.nchunks == z.nchunks_initialized == 1
    np.testing.assert_array_equal(z[...], DATA)
    with pytest.raises(omnizarr.errors.OutOfBoundsError):
        z.blocks[1]
    z.resize((62, 12))
    assert z.nchunks_initialized == 2
    assert (z[60:] == 7).all()
    z.resize((60, 12))
    assert list(z.store.list_prefix("c/")) == ["c/0/0"]


def test_reading_through_a_memory_cache(tmp_path: Path) -> None:
    create(tmp_path)
    z = omnizarr.open_array(tmp_path, storage_transformers=[MemoryCache(max_bytes=10**6)])
    for _ in range(2):
        np.testing.assert_array_equal(z[7:33, 2:11], DATA[7:33, 2:11])


# -- blocks and rows


def test_blocks_follow_the_edges() -> None:
    z = create()
    assert [z.blocks[row].shape for row in range(3)] == [(10, 12), (20, 12), (30, 12)]
    np.testing.assert_array_equal(z.blocks[1, 1:], DATA[10:30, 5:])
    np.testing.assert_array_equal(z.blocks[-1, -1], DATA[30:, 10:])
    z.blocks[0, 0] = -1
    assert z.nchunks_initialized == 9
    assert (z[:10, :5] == -1).all()
    np.testing.assert_array_equal(z[10:], DATA[10:])
    with pytest.raises(omnizarr.errors.OutOfBoundsError):
        z.blocks[3]


def test_rows_come_chunk_by_chunk() -> None:
    np.testing.assert_array_equal(np.stack(list(create())), DATA)


def test_chunks_have_the_form_of_dask() -> None:
    z = create(chunks=([10, 40, 20, 5], 5))
    assert all(sum(lengths) == length for lengths, length in zip(z.chunks, z.shape, strict=True))  # type: ignore[arg-type]
    np.testing.assert_array_equal(omnizarr.create_array(None, data=z[...], chunks=z.chunks)[...], DATA)


# -- copies


def test_copies_keep_the_grid() -> None:
    z = create(chunks=([10, 20, 40], 5))
    copy = omnizarr.from_array(None, data=z)
    assert grid_of(copy) == grid_of(z)
    np.testing.assert_array_equal(copy[...], DATA)
    assert grid_of(omnizarr.zeros_like(z)) == grid_of(z)
    assert grid_of(omnizarr.empty_like(z, dtype="f4", compressors=None)) == grid_of(z)
    assert grid_of(omnizarr.from_array(None, data=z, chunks=(30, 6)))["name"] == "regular"
    longer = omnizarr.empty_like(z, shape=(150, 12))
    assert grid_of(longer) == rectilinear([10, 20, [40, 3]], 5)
    with pytest.raises(ArgumentError, match="expected 1 lengths, found 2"):
        omnizarr.empty_like(z, shape=(60,))
    with pytest.raises(ArgumentError, match="have the same shape"):
        omnizarr.from_array(None, data=z, zarr_format=2, chunk_key_encoding=".")


def test_copies_of_shards_keep_the_grid() -> None:
    z = create(chunks=(5, 2), shards=([10, 20, 30], 4))
    copy = omnizarr.from_array(None, data=z)
    assert (grid_of(copy), copy.chunks, copy.shards) == (grid_of(z), z.chunks, z.shards)
    changed = omnizarr.from_array(None, data=z, chunks=(10, 4))
    assert (grid_of(changed), changed.chunks) == (grid_of(z), (10, 4))
    np.testing.assert_array_equal(changed[...], DATA)
    assert omnizarr.empty_like(z, compressors=["gzip"]).shards == z.shards


def test_a_grid_object_as_chunks() -> None:
    z = create(chunks=Rectilinear((((10, 1), (50, 1)), 12)))
    assert z.chunks == ((10, 50), (12,))
    assert create(chunks=Regular((10, 5))).chunks == (10, 5)


def test_pickling_keeps_the_grid(tmp_path: Path) -> None:
    z = create(tmp_path)
    copy = pickle.loads(pickle.dumps(z))
    assert copy.same_array(z)
    assert copy.chunks == z.chunks
    z.attrs["a"] = 1
    assert grid_of(z) == rectilinear([10, 20, 30], [[5, 2], 2])
    group = omnizarr.create_group(None)
    group.create_array("a", data=DATA, chunks=EDGES)
    omnizarr.consolidate_metadata(group.store)
    found = omnizarr.open_group(group.store, use_consolidated=True)["a"]
    assert isinstance(found, omnizarr.Array)
    assert found.chunks == z.chunks


# -- display


def test_info_abbreviates_edges() -> None:
    assert dict(create().info.items)["Chunk shape"] == "((10, 20, 30), (2×5, 2))"
    assert dict(create(chunks=([10, 20, 30], 5)).info_complete().items)["Chunks stored"] == "9 of 9"
    sharded = dict(create(chunks=(5, 2), shards=([10, 20, 30], 4)).info.items)
    assert (sharded["Chunk shape"], sharded["Shard shape"]) == ((5, 2), "((10, 20, 30), 4)")
    lengths = list(range(1, 100))
    long = omnizarr.create_array(None, shape=(sum(lengths),), dtype="i1", chunks=(lengths,))
    assert dict(long.info.items)["Chunk shape"] == "((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …),)"


def test_the_command_line_shows_edges(tmp_path: Path) -> None:
    create(tmp_path)
    run = CliRunner()
    assert "(10, 20, 30) × (2×5, 2), 9 in total" in run.invoke(program, ["info", str(tmp_path)]).stdout
    facts = json.loads(run.invoke(program, ["info", "--json", "--stored", str(tmp_path)]).stdout)
    assert facts["chunks"] == [[10, 20, 30], [[5, 2], 2]]
    assert (facts["shards"], facts["nchunks"], facts["stored"]["chunks"]) == (None, 9, 9)


# -- documents that declare very many chunks


@pytest.mark.parametrize("entry", [[[1, 10**15]], [2, [1, 10**15]], [[1, 2**63 - 1], [2, 2**63 - 1]]])
def test_very_many_chunks_cost_nothing_until_they_are_read(entry: Any) -> None:
    z = omnizarr.open_array(with_grid(rectilinear(entry), (10**15,)))
    assert z.nchunks >= 10**15 - 1
    z[10**15 - 2 :] = [4, 5]
    assert z[10**15 - 3 :].tolist() == [0, 4, 5]
    assert z[[10**15 - 1, 7, 10**15 - 2]].tolist() == [5, 0, 4]
    assert z[:: 10**14].tolist() == [0] * 10
    assert z.nchunks_initialized == 2
    assert "×1" in str(z.info)
    z.resize((10**15 - 1,))
    assert z[-1] == 4
    assert omnizarr.empty_like(z).metadata.grid == z.metadata.grid
    with pytest.raises(OmnizarrError, match="too many to list"):
        z.chunks  # noqa: B018


def test_very_many_different_edges_are_opened_quickly() -> None:
    lengths = list(range(1, 20_001))
    codecs = [Sharding((1, 1)).to_json()]
    z = omnizarr.open_array(with_grid(rectilinear(lengths, lengths), (sum(lengths),) * 2, codecs))
    assert len(z.metadata._chains) < 10
    z[100, 100] = 5
    assert z[98:103, 100].tolist() == [0, 0, 5, 0, 0]
