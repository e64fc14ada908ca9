"""MappingStore: the store suite, and mappings of several kinds."""

from __future__ import annotations

from collections import ChainMap, UserDict
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ReadOnlyError, StoreError
from omnizarr.store import MappingStore
from omnizarr.testing import StoreSuite


class TestMapping(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> MappingStore:
        return MappingStore(UserDict())


class TestFsspecMapper(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> MappingStore:
        fsspec = pytest.importorskip("fsspec")
        return MappingStore(fsspec.get_mapper(f"memory://{tmp_path.name}"))


@pytest.mark.smoke
def test_mappings_are_accepted_as_locations() -> None:
    for mapping in (UserDict(), ChainMap({}, {})):
        omnizarr.create_array(mapping, name="a", data=[1, 2, 3])
        assert sorted(mapping) == ["a/c/0", "a/zarr.json", "zarr.json"]
        assert omnizarr.open_array(mapping, path="a").same_array(omnizarr.open_group(mapping)["a"])
    protected = MappingProxyType(dict(mapping))
    assert omnizarr.open_array(protected, path="a")[...].tolist() == [1, 2, 3]
    with pytest.raises(ReadOnlyError):
        omnizarr.open_group(protected, mode="r+")


def test_fsspec_mappers_are_accepted_as_locations(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    mapper = fsspec.get_mapper(f"{tmp_path}/x.zarr")
    omnizarr.create_array(mapper, data=np.arange(5))
    assert omnizarr.load(tmp_path / "x.zarr").tolist() == list(range(5))
    assert omnizarr.open_array(mapper, mode="r")[3] == 3


def test_invalid_keys_are_skipped_and_invalid_values_are_errors() -> None:
    mapping: Any = UserDict({"a": b"1", "../b": b"2", 3: b"3", "": b"", "array": np.arange(3, dtype="u1"), "text": "x"})
    store = MappingStore(mapping)
    assert sorted(store.list()) == ["a", "array", "text"]
    assert bytes(store.get("array") or b"") == b"\0\1\2"
    with pytest.raises(StoreError, match="cannot read `text`"):
        store.get("text")


class Broken(UserDict):  # type: ignore[type-arg]
    """A mapping whose methods all raise ConnectionError."""

    def __getitem__(self, key: str) -> Any:
        raise ConnectionError("connection lost")

    def __contains__(self, key: object) -> bool:
        raise ConnectionError("connection lost")

    def __setitem__(self, key: str, value: Any) -> None:
        raise ConnectionError("connection lost")

    def __delitem__(self, key: str) -> None:
        raise ConnectionError("connection lost")

    def __iter__(self) -> Iterator[Any]:
        raise ConnectionError("connection lost")


def test_errors_of_the_mapping_become_store_errors() -> None:
    store = MappingStore(Broken(), name="a database")
    for operation in (
        lambda: store.get("a"),
        lambda: store.exists("a"),
        lambda: store.set("a", b""),
        lambda: store.erase("a"),
        lambda: store.list(),
    ):
        with pytest.raises(StoreError, match=r"in MappingStore\(a database\): ConnectionError: connection lost"):
            operation()


def test_equality_and_location() -> None:
    one: Any = UserDict()
    assert MappingStore(one) == MappingStore(one)
    assert hash(MappingStore(one)) == hash(MappingStore(one))
    assert MappingStore(one) != MappingStore(UserDict())
    assert MappingStore(one).location.startswith("UserDict-")
