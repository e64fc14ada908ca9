"""The suite for storage transformers finds faults: each test breaks a transformer in one way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from tests.registries import restoring_all

import omnizarr
from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.store import Buffer, ByteRange, Store, WrapperStore, cut
from omnizarr.testing import TransformerSuite
from omnizarr.transformers import ArrayPlace, StorageTransformer


class Padded(WrapperStore):
    """Stores every chunk with a byte in front."""

    def __init__(self, inner: Store, place: ArrayPlace) -> None:
        super().__init__(inner)
        self.place = place

    def is_chunk(self, key: str) -> bool:
        prefix, place = self.place.prefix, self.place
        return key.startswith(prefix) and place.chunk_keys.coordinates(key[len(prefix) :], place.rank) is not None

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        if not self.is_chunk(key):
            return self.inner.get(key, range)
        value = self.inner.get(key)
        return None if value is None else cut(bytes(value)[1:], range)

    def set(self, key: str, value: Buffer) -> None:
        self.inner.set(key, b"-" + bytes(memoryview(value)) if self.is_chunk(key) else value)


class WithoutRanges(Padded):
    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return super().get(key)


class PadsEverything(Padded):
    def is_chunk(self, key: str) -> bool:
        return True


class ListsOwnKeys(Padded):
    def list_prefix(self, prefix: str) -> Iterator[str]:
        yield from self.inner.list_prefix(prefix)
        if self.place.prefix.startswith(prefix) or prefix.startswith(self.place.prefix):
            yield f"{self.place.prefix}table"


class KeepsErased(Padded):
    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()


class InMemory(Padded):
    """Values never reach the inner store."""

    def __init__(self, inner: Store, place: ArrayPlace) -> None:
        super().__init__(inner, place)
        self.values = omnizarr.MemoryStore()

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.values.get(key, range) if self.is_chunk(key) else self.inner.get(key, range)

    def set(self, key: str, value: Buffer) -> None:
        (self.values if self.is_chunk(key) else self.inner).set(key, value)


class NeverConflicts(Padded):
    """Its compare-and-set writes whatever the version is."""

    @property
    def updates(self) -> Any:  # type: ignore[override]
        return Careless(self)


class Careless:
    erases = False

    def __init__(self, store: Store) -> None:
        self.store = store

    def read(self, key: str, limit: int | None = None) -> tuple[Buffer | None, Any]:
        value = self.store.get(key)
        return value, None if value is None else bytes(value)

    def last_known(self, key: str) -> None:
        return None

    def write(self, key: str, value: Buffer, version: Any) -> bool:
        self.store.set(key, value)
        return True


@dataclass(frozen=True)
class Example(StorageTransformer):
    name: ClassVar[str] = "https://example.org/example"
    store: ClassVar[Callable[[Store, ArrayPlace], Store]] = Padded

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Example | None:
        check_members(configuration, (), f"{path}.configuration", problems)
        return None if problems.found else cls()

    def configuration(self) -> dict[str, Json]:
        return {}

    def wrap(self, store: Store, place: ArrayPlace) -> Store:
        return type(self).store(store, place)


class AcceptsAnything(Example):
    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Example | None:
        return cls()


class SaysWrong(Example):
    def configuration(self) -> dict[str, Json]:
        return {"size": 3}


def failures(kind: type[StorageTransformer]) -> set[str]:
    """The tests of the suite that a transformer fails, of those that need no fixture."""

    class Suite(TransformerSuite):
        def make_transformers(self) -> Sequence[StorageTransformer]:
            return [kind()]

    suite, failed = Suite(), set()
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("test_it_behaves_like_a_plain_store", ("alone",)),
        ("test_other_keys_have_the_same_values_as_in_the_store", ()),
        ("test_everything_persistent_is_in_the_store", ("alone",)),
        ("test_updates_of_chunks_detect_other_writers", ("alone",)),
        ("test_configuration_roundtrip", ()),
        ("test_unknown_members_are_rejected", ()),
        ("test_wrong_documents_are_rejected", (3,)),
        ("test_it_is_registered_under_its_names", ()),
    ]
    for name, arguments in cases:
        try:
            getattr(suite, name)(kind(), *arguments)
        except pytest.skip.Exception:
            pass
        except (Exception, pytest.fail.Exception):
            failed.add(name)
    return failed


@pytest.mark.parametrize(
    ("store", "failed"),
    [
        (Padded, set()),
        (WithoutRanges, {"test_it_behaves_like_a_plain_store"}),
        (PadsEverything, {"test_other_keys_have_the_same_values_as_in_the_store"}),
        (ListsOwnKeys, {"test_it_behaves_like_a_plain_store"}),
        (KeepsErased, {"test_it_behaves_like_a_plain_store"}),
        (InMemory, {"test_everything_persistent_is_in_the_store"}),
        (NeverConflicts, {"test_updates_of_chunks_detect_other_writers"}),
    ],
)
def test_a_broken_store_is_found(store: Any, failed: set[str]) -> None:
    with restoring_all():
        kind = omnizarr.register_storage_transformer(type("Broken", (Example,), {"store": store}))
        found = failures(kind)
    assert found >= failed
    assert bool(found) == bool(failed)


@pytest.mark.parametrize(
    ("kind", "failed"),
    [(AcceptsAnything, "test_unknown_members_are_rejected"), (SaysWrong, "test_configuration_roundtrip")],
)
def test_a_wrong_configuration_is_found(kind: type[StorageTransformer], failed: str) -> None:
    with restoring_all():
        assert failed in failures(omnizarr.register_storage_transformer(kind))


def test_an_unregistered_transformer_is_found() -> None:
    assert "test_it_is_registered_under_its_names" in failures(Example)
