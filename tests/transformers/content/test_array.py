"""Content-addressed arrays of every generation, damaged chunks, and the suite of stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import conventions
from tests.transformers.content.contents import content
from tests.transformers.places import ShortKeys

import omnizarr
from omnizarr.errors import ChunkError
from omnizarr.store import LocalStore, MemoryStore, Store
from omnizarr.store.mapping import MappingStore
from omnizarr.testing import RecordingStore, SlowStore, StoreSuite
from omnizarr.transformers import ArrayPlace, ContentAddressed
from omnizarr.transformers.content.pointer import Addresses


@pytest.mark.parametrize("stored", [3, "3-draft-2022", "3-draft-2020"])
@pytest.mark.parametrize("kind", ["memory", "files", "remote"])
def test_Z14_an_array_of_each_generation(stored: Any, kind: str, tmp_path: Path) -> None:
    kinds: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore,
        "files": lambda: LocalStore(tmp_path),
        "remote": lambda: SlowStore(MemoryStore(), 0),
    }
    store = kinds[kind]()
    data = np.arange(600, dtype="<i4").reshape(20, 30)
    data[:6] = 7
    z = omnizarr.create_array(
        store,
        name="a/b",
        data=data,
        chunks=(3, 5),
        zarr_format=stored,
        storage_transformers=[ContentAddressed()],
        **conventions(stored),
    )
    assert len([key for key in store.list() if "/content/" in key]) == 7 * 6 - 12 + 1
    again = omnizarr.open_array(store, path="a/b")
    assert again.metadata.storage_transformers == (ContentAddressed(),)
    assert np.array_equal(again[...], data)
    assert np.array_equal(again[3:9, 5], data[3:9, 5])
    assert np.array_equal(again.oindex[[1, 7], [2, 29]], data[np.ix_([1, 7], [2, 29])])
    again[4:6, 1:9] = data[4:6, 1:9] = -1
    assert np.array_equal(z[...], data)
    again.append(data[:5])
    assert np.array_equal(z.refresh()[...], np.concatenate([data, data[:5]]))
    z.resize((4, 4))
    assert z.nchunks_initialized == 2
    assert np.array_equal(z[...], data[:4, :4])


@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("kind", ["memory", "files"])
def test_a_damaged_chunk_of_an_array(compressors: Any, kind: str, tmp_path: Path) -> None:
    store: Store = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    data = np.arange(100, dtype="u1")
    z = omnizarr.create_array(
        store, data=data, chunks=50, storage_transformers=[ContentAddressed()], compressors=compressors
    )
    pointer = bytes(store.get("c/1") or b"")
    key = Addresses("", "sha256", 1, 3).object_key(pointer[7:71].decode())
    value = bytearray(store.get(key) or b"")
    value[-1] ^= 1
    store.set(key, value)
    assert z[:50].tolist() == data[:50].tolist()
    with pytest.raises(ChunkError, match=r"chunk \(1,\) of array `/` \(key `c/1`\).*is damaged"):
        z[...]
    with pytest.raises(ChunkError, match="is damaged"):
        z[60:70] = 1
    filled = omnizarr.open_array(store, on_corrupt="fill")[...]
    assert filled.tolist() == [*range(50), *[0] * 50]
    z[50:] = 5  # a whole chunk needs nothing of the damaged one
    assert z[...].tolist() == [*range(50), *[5] * 50]


@pytest.mark.parametrize("damage", ["a byte", "longer", "shorter", "empty"])
def test_a_write_of_the_same_value_replaces_a_damaged_object(damage: str) -> None:
    """Otherwise every later chunk of this value would refer to the damaged object."""
    store, data = MemoryStore(), np.arange(50, dtype="u1")
    options: dict[str, Any] = {"compressors": None, "storage_transformers": [ContentAddressed()]}
    z = omnizarr.create_array(store, shape=100, dtype="u1", chunks=50, **options)
    z[:50] = data
    (key,) = store.list_prefix("content/")
    value = bytes(store.get(key) or b"")
    damaged = {"a byte": b"\xff" + value[1:], "longer": value + b"0", "shorter": value[:-1], "empty": b""}
    store.set(key, damaged[damage])
    with pytest.raises(ChunkError, match="is damaged"):
        z[:50]
    omnizarr.open_array(store)[50:] = data
    assert omnizarr.open_array(store)[...].tolist() == [*range(50), *range(50)]


def test_shards_read_parts_of_an_object() -> None:
    record = RecordingStore(MemoryStore())
    data = np.arange(1000, dtype="u2")
    z = omnizarr.create_array(record, data=data, chunks=10, shards=500, storage_transformers=[ContentAddressed()])
    record.reset()
    assert z[25] == 25
    assert np.array_equal(z[...], data)
    z[17:40] = data[17:40] = 3
    assert np.array_equal(z[...], data)


class TestAmongChunks(StoreSuite):
    """Some keys of the suite are chunks."""

    def make_store(self, tmp_path: Path) -> Store:
        return content(LocalStore(tmp_path), rank=2, prefix="a/b/")


class TestWithoutCapabilities(StoreSuite):
    """The store below has neither snapshots nor compare-and-set."""

    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return ContentAddressed().wrap(MappingStore({}), ArrayPlace("", (10,), (1,), ShortKeys()))
