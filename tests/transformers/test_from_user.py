"""Storage transformers of new arrays, given as objects, names, URIs and JSON objects."""

from __future__ import annotations

from typing import Any

import pytest
from tests.formats.draft.documents import conventions

import omnizarr
from omnizarr.errors import ArgumentError, MetadataError, OmnizarrError
from omnizarr.store import MemoryStore
from omnizarr.transformers import HashedDirectories, ShardingTransformer, Versions

FORMATS: list[Any] = [3, "3-draft-2022", "3-draft-2020"]
URI = "urn:omnizarr:storage-transformers:hashed-directories:1"
DEFAULT, WIDE = HashedDirectories(), HashedDirectories(2, 2)
SPELLINGS: list[tuple[Any, Any]] = [
    ([DEFAULT], [DEFAULT]),
    (DEFAULT, [DEFAULT]),
    ("omnizarr.hashed_directories", [DEFAULT]),
    (["omnizarr.hashed_directories"], [DEFAULT]),
    ([URI], [DEFAULT]),
    ({"name": "omnizarr.hashed_directories"}, [DEFAULT]),
    ([{"name": "omnizarr.hashed_directories", "configuration": {"depth": 2, "width": 2}}], [WIDE]),
    ([{"extension": URI, "type": None, "configuration": {"depth": 2, "width": 2}}], [WIDE]),
    ([{"name": URI, "must_understand": True}, WIDE], [DEFAULT, WIDE]),
    (("omnizarr.hashed_directories", {"extension": URI}), [DEFAULT, DEFAULT]),
    ([], []),
    (None, []),
]
WRONG: list[tuple[Any, type[OmnizarrError], str]] = [
    ("omnizarr.hashed_directory", MetadataError, "omnizarr.hashed_directories"),
    ([{"name": "omnizarr.hashed_directories", "configuration": {"dept": 1}}], MetadataError, "configuration.dept"),
    ([DEFAULT, {"extension": URI, "configuration": {"depth": 0}}], MetadataError, r"\[1\].configuration.depth"),
    ([{"configuration": {}}], MetadataError, "name"),
    ([{"name": URI, "must_understand": False}], MetadataError, "must_understand"),
    ([{"name": URI, "other": 1}], MetadataError, "other"),
    ([{"extension": 3}], MetadataError, "name"),
    ([{"extension": ShardingTransformer.name, "type": "other"}], MetadataError, "unknown storage transformer"),
    ([ShardingTransformer((2, 2))], MetadataError, "has 2 numbers"),
    ([3], ArgumentError, "names"),
    ([None], ArgumentError, "names"),
    (HashedDirectories, ArgumentError, "expected a list"),
    (3, ArgumentError, "expected a list"),
]


def create(zarr_format: Any, given: Any) -> omnizarr.Array:
    options = conventions(zarr_format)
    return omnizarr.create_array(
        MemoryStore(), data=range(10), chunks=3, zarr_format=zarr_format, storage_transformers=given, **options
    )


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize(("given", "expected"), SPELLINGS)
def test_all_spellings_are_accepted(zarr_format: Any, given: Any, expected: Any) -> None:
    z = create(zarr_format, given)
    again = omnizarr.open_array(z.store)
    assert list(again.metadata.storage_transformers) == expected
    assert again[...].tolist() == list(range(10))


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize(("given", "error", "match"), WRONG)
def test_wrong_transformers_are_rejected(zarr_format: Any, given: Any, error: Any, match: str) -> None:
    store = MemoryStore()
    with pytest.raises(error, match=match) as raised:
        omnizarr.create_array(
            store, shape=10, dtype="u1", zarr_format=zarr_format, storage_transformers=given, **conventions(zarr_format)
        )
    assert "storage_transformers" in str(raised.value)
    assert list(store.list()) == []


@pytest.mark.parametrize("zarr_format", [1, 2, "n5"])
def test_other_generations_have_none(zarr_format: Any) -> None:
    with pytest.raises(OmnizarrError, match="storage transformer"):
        create(zarr_format, "omnizarr.hashed_directories")


@pytest.mark.parametrize("spelling", ["sharding", {"extension": ShardingTransformer.name, "type": "indexed"}])
def test_shards_of_the_drafts_by_name(spelling: Any) -> None:
    configuration = {"chunks_per_shard": [2]}
    item = {"name": ShardingTransformer.name} if spelling == "sharding" else spelling
    z = create("3-draft-2022", [{**item, "configuration": configuration}])
    assert omnizarr.open_array(z.store).shards == (6,)


def test_the_other_functions_that_create_arrays() -> None:
    store = MemoryStore()
    group = omnizarr.create_group(store)
    group.create_array("a", shape=3, dtype="u1", storage_transformers="omnizarr.versions")
    z = omnizarr.open(
        store, path="b", mode="a", shape=3, dtype="u1", storage_transformers=["omnizarr.content_addressed"]
    )
    copied = omnizarr.from_array(store, data=z, name="c", storage_transformers="omnizarr.hashed_directories")
    assert group["a"].metadata.storage_transformers == (Versions(),)
    assert z.metadata.storage_transformers[0].name == "omnizarr.content_addressed"
    assert copied.metadata.storage_transformers == (DEFAULT,)
