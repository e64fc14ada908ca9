"""Arrays in a store that cannot list, as v1 requires no listing: they grow and shrink, or nothing changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.nodes import stored_chunks
from omnizarr.store import Store
from omnizarr.store.wrappers import WrapperStore

GENERATIONS: list[Any] = [1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"]
DATA = np.arange(1, 41, dtype="int32").reshape(8, 5)


class Unlisted(WrapperStore):
    """A store that cannot list."""

    def __init__(self, inner: Store, *, honest: bool = True) -> None:
        super().__init__(inner)
        self.listable = not honest

    def list(self) -> Iterator[str]:
        raise StoreError("this store cannot list", store=repr(self))

    def list_prefix(self, prefix: str) -> Iterator[str]:
        raise StoreError("this store cannot list", store=repr(self))

    def list_dir(self, prefix: str) -> Any:
        raise StoreError("this store cannot list", store=repr(self))


class Failing(WrapperStore):
    """A store in which the n-th change fails, and all after it."""

    def __init__(self, inner: Store, changes: int) -> None:
        super().__init__(inner)
        self.changes = changes

    def _count(self) -> None:
        self.changes -= 1
        if self.changes < 0:
            raise StoreError("this store has failed", store=repr(self))

    def set(self, key: str, value: Any) -> None:
        self._count()
        super().set(key, value)

    def erase(self, key: str) -> None:
        self._count()
        super().erase(key)


@pytest.fixture(params=["memory", "local"])
def inner(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return omnizarr.MemoryStore() if request.param == "memory" else omnizarr.LocalStore(tmp_path)


def new_array(store: Store, zarr_format: Any, **options: Any) -> omnizarr.Array:
    omnizarr.create_array(store, **{"data": DATA, "chunks": (3, 2), "zarr_format": zarr_format, **options})
    return omnizarr.open_array(store)


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_U1_an_array_grows_and_shrinks_without_listing(inner: Store, zarr_format: Any) -> None:
    array = new_array(Unlisted(inner), zarr_format)
    array.append(DATA[:2])
    array.append(np.ones((10, 1), "int32"), axis=1)
    expected = np.hstack([np.vstack([DATA, DATA[:2]]), np.ones((10, 1), "int32")])
    assert omnizarr.open_array(inner)[...].tolist() == expected.tolist()
    array.resize((12, 7))
    array.resize((4, 3))
    assert array[...].tolist() == DATA[:4, :3].tolist()
    stored = [key for key in inner.list() if key[-1].isdigit()]
    assert len(stored) == 4
    array.resize((8, 5))
    expected = np.zeros_like(DATA)
    expected[:4, :3] = DATA[:4, :3]
    assert omnizarr.open_array(inner)[...].tolist() == expected.tolist()


@pytest.mark.parametrize("options", [{"shards": (6, 4)}, {"chunks": ((3, 4, 1), (2, 3))}])
def test_shards_and_chunks_of_many_lengths_without_listing(inner: Store, options: dict[str, Any]) -> None:
    array = new_array(Unlisted(inner), 3, **options)
    array.resize((4, 3))
    array.resize((8, 5))
    assert (array[:4, :3].tolist(), array[4:].sum(), array[:, 3:].sum()) == (DATA[:4, :3].tolist(), 0, 0)


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_a_change_that_needs_a_listing_fails_before_it_changes_anything(inner: Store, zarr_format: Any) -> None:
    new_array(inner, zarr_format)
    before = {key: bytes(inner.get(key) or b"") for key in inner.list()}
    with pytest.raises(StoreError, match="cannot list"):
        omnizarr.open_array(Unlisted(inner, honest=False)).resize((4, 3))
    with pytest.raises(StoreError, match="cannot list"):
        omnizarr.create_array(Unlisted(inner), shape=3, dtype="int8", overwrite=True, zarr_format=zarr_format)
    assert {key: bytes(inner.get(key) or b"") for key in inner.list()} == before
    assert omnizarr.open_array(inner)[...].tolist() == DATA.tolist()


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_a_failure_leaves_no_elements_that_reappear(zarr_format: Any) -> None:
    failures = 0
    for changes in itertools.count():
        inner = omnizarr.MemoryStore()
        new_array(inner, zarr_format)
        failing = Failing(inner, changes)
        try:
            omnizarr.open_array(Unlisted(failing)).resize((4, 3))
        except StoreError:
            failures += 1
        array = omnizarr.open_array(Unlisted(inner))
        array.resize((4, 3))
        array.resize((8, 5))
        assert (array[:4, :3].tolist(), array[4:].sum(), array[:, 3:].sum()) == (DATA[:4, :3].tolist(), 0, 0)
        if failing.changes >= 0:
            break
    assert failures > 8


def test_shrinking_by_too_many_chunks_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_chunks, "_MOST_WITHOUT_LISTING", 5)
    array = new_array(Unlisted(omnizarr.MemoryStore()), 3)
    with pytest.raises(StoreError, match=r"cannot list its keys, and there may be 8 chunks to erase, more than the 5"):
        array.resize((3, 2))
    assert omnizarr.open_array(array.store)[...].tolist() == DATA.tolist()
    array.resize((6, 5))
    assert array.shape == (6, 5)


@pytest.mark.parametrize("separator", [".", "/"])
def test_V28_the_first_chunk_decides_about_the_keys(separator: str) -> None:
    inner = omnizarr.MemoryStore()
    new_array(inner, 2, chunk_key_encoding=separator)
    document = bytes(inner.get(".zarray") or b"").replace(b'"dimension_separator"', b'"ignored"')
    inner.set(".zarray", document)
    array = omnizarr.open_array(Unlisted(inner))
    array.append(DATA[:1])
    assert omnizarr.open_array(inner)[...].tolist() == np.vstack([DATA, DATA[:1]]).tolist()
    empty = omnizarr.MemoryStore()
    empty.set(".zarray", document)
    array = omnizarr.open_array(Unlisted(empty))
    assert array[...].sum() == 0
    array.resize((9, 5))
    array[8] = 1
    assert array[8].sum() == 5
