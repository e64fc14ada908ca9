"""Wrappers forward everything, and the two that change something change only that."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import InvalidKeyError, ReadOnlyError
from omnizarr.store import (
    Buffer,
    ByteRange,
    LocalStore,
    MemoryStore,
    PrefixStore,
    ReadOnlyStore,
    Store,
    WrapperStore,
    as_read_only,
)
from omnizarr.store.contract import Version
from omnizarr.testing import StoreSuite

PUBLIC = [name for name in {**vars(Store), **Store.__annotations__} if not name.startswith("_")]
METHODS = [name for name in PUBLIC if inspect.isfunction(getattr(Store, name))]
PROPERTIES = [name for name in PUBLIC if name not in METHODS]


class TestWrapper(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> WrapperStore:
        return WrapperStore(MemoryStore())


class TestPrefixInMemory(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> PrefixStore:
        inner = MemoryStore()
        inner.set_each([("beside", b""), ("below/beside", b""), ("below/here2/beside", b"")])
        return PrefixStore(inner, "below/here")


class TestPrefixOfFiles(StoreSuite):
    case_sensitive = False

    def make_store(self, tmp_path: Path) -> PrefixStore:
        return PrefixStore(PrefixStore(LocalStore(tmp_path), "/below/"), "here/")


class Spy(MemoryStore):
    """Answers every method with what it was asked."""

    def __getattribute__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *arguments, **options: (name, arguments, options)
        if name in PROPERTIES:
            return f"the {name} of the inner store"
        return super().__getattribute__(name)


def test_the_contract_has_methods_and_properties():
    assert {"get", "get_into", "set_if", "lock", "list_dir", "check_writable"} <= set(METHODS)
    assert {"read_only", "location", "remote", "conditional"} <= set(PROPERTIES)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_forwarded(name: str):
    parameters = list(inspect.signature(getattr(Store, name)).parameters.values())[1:]
    given = [object() for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    options = {parameter.name: object() for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    answer = getattr(WrapperStore(Spy()), name)(*given, **options)
    if name != "check_writable":  # it has nothing to say
        assert answer is None or answer == (name, tuple(given), options)


@pytest.mark.parametrize("name", METHODS)
def test_no_method_is_left_to_the_contracts_fallback(name: str):
    assert name in vars(WrapperStore)
    assert inspect.signature(getattr(WrapperStore, name)) == inspect.signature(getattr(Store, name))


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_is_forwarded(name: str):
    assert getattr(WrapperStore(Spy()), name) == f"the {name} of the inner store"


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("check_writable", "list", "flush", "close")])
def test_a_prefix_store_changes_every_method_that_takes_keys(name: str):
    assert name in vars(PrefixStore)


def test_methods_without_an_answer_reach_the_inner_store_too():
    asked = []

    class Silent(MemoryStore):
        def __getattribute__(self, name: str) -> Any:
            if name in METHODS:
                return lambda *arguments: asked.append(name)
            return super().__getattribute__(name)

    store = WrapperStore(Silent())
    store.check_writable()
    store.set("k", b"")
    store.set_each([])
    store.set_partial_values([])
    store.erase("k")
    store.erase_values([])
    store.erase_prefix("")
    assert asked == ["check_writable", "set", "set_each", "set_partial_values", "erase", "erase_values", "erase_prefix"]


def test_equality_and_names():
    inner = MemoryStore()
    assert WrapperStore(inner) == WrapperStore(inner)
    assert WrapperStore(inner) != ReadOnlyStore(inner)
    assert WrapperStore(inner) != inner
    assert ReadOnlyStore(inner) != ReadOnlyStore(MemoryStore())
    assert PrefixStore(inner, "a") == PrefixStore(inner, "/a/")
    assert PrefixStore(inner, "a") != PrefixStore(inner, "b")
    assert hash(PrefixStore(inner, "a")) == hash(PrefixStore(inner, "a/"))
    assert PrefixStore(inner, "a/b").location == inner.location + "/a/b"
    assert PrefixStore(inner, "").location == inner.location
    assert repr(ReadOnlyStore(inner)) == f"ReadOnlyStore({inner!r})"


def test_as_read_only_wraps_only_what_can_write(tmp_path: Path):
    for store in (MemoryStore(), LocalStore(tmp_path)):
        store.set("k", b"x")
        closed = as_read_only(store)
        assert closed.read_only
        assert not store.read_only
        assert type(closed) is type(store)  # a twin: no way leads from it to the one that writes
        assert closed == store
        assert closed.get("k") == b"x"
        with pytest.raises(ReadOnlyError):
            closed.set("k", b"y")
        store.set("k", b"z")
        assert closed.get("k") == b"z"
        assert as_read_only(closed) is closed
    other = WrapperStore(MemoryStore())
    assert isinstance(as_read_only(other), ReadOnlyStore)


def test_a_prefix_store_stays_below_its_prefix():
    inner = MemoryStore()
    inner.set("secret", b"x")
    store = PrefixStore(inner, "a")
    for key in ("../secret", "/secret", ""):
        with pytest.raises(InvalidKeyError):
            store.get(key)
    store.erase_prefix("")
    assert list(inner.list()) == ["secret"]
    with pytest.raises(InvalidKeyError):
        PrefixStore(inner, "../a")


def test_a_prefix_store_locks_the_keys_that_are_stored():
    asked = []

    class Watched(MemoryStore):
        def lock(self, keys: Any, *, shared: bool = False) -> Any:
            asked.append((list(keys), shared))
            return super().lock(keys, shared=shared)

    with PrefixStore(Watched(), "a").lock(["k"], shared=True):
        pass
    assert asked == [(["a/k"], True)]


def test_what_is_read_only_is_so_above_its_root_too():
    inner = MemoryStore()
    found = ReadOnlyStore(PrefixStore(inner, "a/b")).parent()
    assert found is not None
    above, name = found
    assert (above, name) == (ReadOnlyStore(PrefixStore(inner, "a")), "b")
    assert above.read_only
    assert ReadOnlyStore(inner).parent() is None
    assert WrapperStore(PrefixStore(inner, "a/b")).parent() is None  # made for what it stands in front of


def test_a_store_that_shows_other_values_is_not_conditional_by_itself() -> None:
    """What it would be compared with, and what would be stored, is the other store's."""

    class Backward(WrapperStore):
        def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
            value = self.inner.get(key)
            return None if value is None else bytes(value)[::-1]

    class Compared(Backward):
        def get_versioned(self, key: str) -> tuple[Buffer | None, Version]:
            return Store.get_versioned(self, key)

    inner = MemoryStore()
    assert inner.conditional
    assert (Backward(inner).conditional, Backward(inner).erases_if) == (False, False)
    assert Compared(inner).conditional
    assert WrapperStore(inner).conditional
