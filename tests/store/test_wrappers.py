"""Wrappers forward every method. Transparent wrappers also forward every capability. Prefixes, read-only stores."""

from __future__ import annotations

import inspect
from abc import ABC
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import InvalidKeyError, ReadOnlyError
from omnizarr.store import (
    LocalStore,
    MappedStore,
    MemoryStore,
    PrefixStore,
    ReadOnlyStore,
    Store,
    TransparentStore,
    WrapperStore,
    as_read_only,
    capabilities,
)
from omnizarr.store.capabilities import CAPABILITIES, VersionedReads
from omnizarr.store.contract import ByteRange, State, Version
from omnizarr.store.verbs import forwards, verb, verbs
from omnizarr.store.wrappers import ForwardedReads, forwarded
from omnizarr.testing import StoreSuite

TYPES = {
    "snapshots": capabilities.Snapshots,
    "versioned_reads": capabilities.VersionedReads,
    "updates": capabilities.Updates,
    "splicing": capabilities.Splicing,
    "local_files": capabilities.LocalFiles,
}


PUBLIC = [name for name in {**vars(Store), **Store.__annotations__} if not name.startswith("_")]
STORE_METHODS = [name for name in PUBLIC if inspect.isfunction(getattr(Store, name))]
ATTRIBUTES = [name for name in PUBLIC if name not in STORE_METHODS and name not in CAPABILITIES]
CAPABILITY_METHODS = [
    (name, method)
    for name, kind in TYPES.items()
    for method, member in vars(kind).items()
    if inspect.isfunction(member) and not method.startswith("_")
]


class TestWrapper(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> WrapperStore:
        return WrapperStore(MemoryStore())


class TestTransparent(StoreSuite):
    case_sensitive = False

    def make_store(self, tmp_path: Path) -> TransparentStore:
        return TransparentStore(LocalStore(tmp_path))


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


@Store.register
class Spy:
    """A store whose methods return their name and arguments, with iterators as lists."""

    erases = True

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in CAPABILITIES:
            return Spy(f"{name}.")
        if name in ATTRIBUTES:
            return f"the {name} of the inner store"
        return lambda *given, **options: (
            self._name + name,
            *(list(argument) if hasattr(argument, "__next__") else argument for argument in given),
            options,
        )


ARGUMENTS: dict[str, Any] = {
    "key": "k",
    "keys": ["k"],
    "range": (1, 2),
    "start": 0,
    "target": memoryview(b""),
    "requests": [("k", (1, 2))],
    "items": [("k", b"")],
    "prefix": "k/",
    "value": b"v",
    "shared": True,
    "version": 3,
    "limit": 4,
    "parts": [b""],
    "snapshot": object(),
    "rows": [("k", ["1", "2"])],
    "write": len,
}


def arguments(method: Any, name: str) -> tuple[list[Any], dict[str, Any]]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    given = {**ARGUMENTS, "items": [("k", 1, b"")]} if name == "set_partial_values" else ARGUMENTS
    positional = [given[item.name] for item in parameters if item.kind is not item.KEYWORD_ONLY]
    return positional, {item.name: given[item.name] for item in parameters if item.kind is item.KEYWORD_ONLY}


def test_the_contract_has_methods_attributes_and_capabilities() -> None:
    assert {"get", "get_into", "lock", "task_lock", "list_dir", "check_writable", "file"} <= set(STORE_METHODS)
    assert {"read_only", "location", "remote", "locking", "window"} <= set(ATTRIBUTES)
    assert set(CAPABILITIES) == set(TYPES)
    assert len(CAPABILITY_METHODS) == 13


def test_every_capability_is_abstract() -> None:
    assert all(issubclass(kind, ABC) and kind.__abstractmethods__ for kind in TYPES.values())
    assert {kind.__name__ for kind in TYPES.values()} <= set(capabilities.__all__)


VERBS = [name for name in STORE_METHODS if name not in ("parent", "check_writable", "file", "flush", "close")]
WRITES = ("set", "set_each", "set_partial_values", "erase", "erase_values", "erase_prefix")


def test_every_method_with_a_key_is_marked_as_a_verb() -> None:
    marked = verbs(Store)
    assert [name for name in VERBS if name not in marked] == []
    assert {name for name, mark in marked.items() if mark.writes} == set(WRITES)
    for name, method in CAPABILITY_METHODS:
        has_key = {"key", "keys", "rows"} & set(inspect.signature(getattr(TYPES[name], method)).parameters)
        assert (method in verbs(TYPES[name])) == bool(has_key)


@pytest.mark.parametrize("name", [*VERBS, "flush", "close"])
def test_a_wrapper_forwards_every_method(name: str) -> None:
    given, options = arguments(getattr(Store, name), name)
    answer = getattr(WrapperStore(Spy()), name)(*given, **options)  # type: ignore[arg-type]
    assert name in ("flush", "close") or answer == (name, *given, options)
    assert name in vars(WrapperStore)
    assert inspect.signature(getattr(WrapperStore, name)) == inspect.signature(getattr(Store, name))


def under(prefix: str, parameter: str, value: Any) -> Any:
    """An argument as the inner store gets it."""
    match parameter:
        case "key" | "prefix":
            return prefix + value
        case "keys":
            return [prefix + key for key in value]
        case "requests" | "items" | "rows":
            return [(prefix + key, *rest) for key, *rest in value]
    return value


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("name", [name for name in VERBS if not name.startswith("list") and name != "erase_prefix"])
def test_a_prefix_store_forwards_every_verb_under_its_prefix(name: str, by_name: bool) -> None:
    given, options = arguments(getattr(Store, name), name)
    names = list(inspect.signature(getattr(Store, name)).parameters)[1:]
    expected = [under("a/b/", parameter, value) for parameter, value in zip(names, given, strict=False)]
    method = getattr(PrefixStore(Spy(), "a/b"), name)  # type: ignore[arg-type]
    if not by_name:
        assert method(*given, **options) == (name, *expected, options)
    else:
        called, *positional, rest = method(**dict(zip(names, given, strict=False)), **options)
        assert (called, positional[0]) == (name, expected[0])
        assert rest == {**dict(zip(names[1:], expected[1:], strict=False)), **options}


def test_a_prefix_store_maps_the_keys_of_listings_both_ways() -> None:
    inner = MemoryStore()
    inner.set_each([("a/b/x", b""), ("a/b/c/y", b""), ("a/z", b""), ("x", b"")])
    store = PrefixStore(inner, "a/b")
    assert sorted(store.list()) == ["c/y", "x"]
    assert sorted(store.list_prefix("/c/")) == ["c/y"]
    assert sorted(store.list_prefix(prefix="")) == ["c/y", "x"]
    assert store.list_dir("") == (["x"], ["c/"])
    assert store.list_dir(prefix="c/") == (["c/y"], [])
    for rejected in (store.list_prefix, store.list_dir, store.erase_prefix):
        with pytest.raises(InvalidKeyError):
            rejected("../")
    store.erase_prefix("/c/")
    assert sorted(inner.list()) == ["a/b/x", "a/z", "x"]


class Reversed(MappedStore):
    """Shows each key as its reverse, and hides one key."""

    def inner_key(self, key: str) -> str:
        return key[::-1]

    def own_key(self, inner_key: str) -> str | None:
        return None if inner_key == "hidden" else inner_key[::-1]

    def inner_prefixes(self, prefix: str) -> list[str]:
        return [""]


class TestMapped(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Reversed:
        inner = MemoryStore()
        inner.set("hidden", b"")
        return Reversed(inner)


def test_a_mapped_store_gives_the_kernel_the_path_of_each_key(tmp_path: Path) -> None:
    files = Reversed(LocalStore(tmp_path)).local_files
    assert files is not None
    assert files.paths([("a", ["1", "2"])])[0] == [str(tmp_path / "1a"), str(tmp_path / "2a")]


def test_a_new_verb_is_forwarded_without_a_line_in_the_wrapper() -> None:
    class Contract:
        @verb(writes=True)
        def swap(self, key: str, other: int) -> str:
            raise NotImplementedError

    class Inner(Contract):
        def swap(self, key: str, other: int) -> str:
            return f"{key}{other}"

    @forwards
    class Wrapper(Contract):
        inner = Inner()
        checked = False

        def check_writable(self) -> None:
            self.checked = True

        def _inner_key(self, key: str) -> str:
            return f"a/{key}"

    wrapper = Wrapper()
    assert wrapper.swap("k", other=3) == "a/k3"
    assert wrapper.checked


def test_a_verb_says_how_it_passes_keys() -> None:
    with pytest.raises(TypeError, match="`move`"):

        @verb()
        def move(self: object, source: str) -> None:
            pass


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_wrapper_forwards_every_attribute(name: str) -> None:
    assert getattr(WrapperStore(Spy()), name) == f"the {name} of the inner store"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_wrapper_forwards_no_capability(name: str) -> None:
    assert getattr(WrapperStore(Spy()), name) is None  # type: ignore[arg-type]
    assert getattr(WrapperStore(MemoryStore()), name) is None
    assert WrapperStore(Spy()).file("k") is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "method"), CAPABILITY_METHODS)
@pytest.mark.parametrize("prefix", ["", "a/b/"])
def test_a_transparent_store_forwards_every_capability(name: str, method: str, prefix: str) -> None:
    store = PrefixStore(Spy(), prefix) if prefix else TransparentStore(Spy())  # type: ignore[arg-type]
    capability = getattr(store, name)
    assert isinstance(capability, TYPES[name])
    given, options = arguments(getattr(TYPES[name], method), method)
    names = list(inspect.signature(getattr(TYPES[name], method)).parameters)[1:]
    expected = [under(prefix, parameter, value) for parameter, value in zip(names, given, strict=False)]
    assert getattr(capability, method)(*given, **options) == (f"{name}.{method}", *expected, options)
    assert inspect.signature(getattr(type(capability), method)) == inspect.signature(getattr(TYPES[name], method))


def test_a_transparent_store_has_the_capabilities_of_the_inner_store(tmp_path: Path) -> None:
    for inner in (MemoryStore(), LocalStore(tmp_path), WrapperStore(MemoryStore())):
        for store in (TransparentStore(inner), PrefixStore(inner, "a"), ReadOnlyStore(inner)):
            for name in CAPABILITIES:
                assert (getattr(store, name) is None) == (getattr(inner, name) is None)
    assert PrefixStore(LocalStore(tmp_path), "a").file("k") == str(tmp_path / "a" / "k")


def test_writes_call_check_writable_and_then_the_inner_store() -> None:
    calls = []

    class Recorder(MemoryStore):
        def __getattribute__(self, name: str) -> Any:
            if name in STORE_METHODS:
                return lambda *arguments: calls.append(name)
            return super().__getattribute__(name)

    store = WrapperStore(Recorder())
    store.set("k", b"")
    store.set_each([])
    store.set_partial_values([])
    store.erase("k")
    store.erase_values([])
    store.erase_prefix("")
    assert calls[1::2] == ["set", "set_each", "set_partial_values", "erase", "erase_values", "erase_prefix"]
    assert set(calls[::2]) == {"check_writable"}


def test_equality_location_and_repr() -> None:
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


def test_as_read_only_copies_or_wraps_writable_stores(tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path)):
        store.set("k", b"x")
        protected = as_read_only(store)
        assert protected.read_only
        assert not store.read_only
        assert type(protected) is type(store)  # a copy without a reference to the writable store
        assert protected == store
        assert protected.get("k") == b"x"
        with pytest.raises(ReadOnlyError):
            protected.set("k", b"y")
        store.set("k", b"z")
        assert protected.get("k") == b"z"
        assert as_read_only(protected) is protected
    other = WrapperStore(MemoryStore())
    assert isinstance(as_read_only(other), ReadOnlyStore)


def test_capabilities_of_a_read_only_store_reject_writes(tmp_path: Path) -> None:
    inner = LocalStore(tmp_path)
    inner.set("k", b"x")
    store = ReadOnlyStore(inner)
    assert store.snapshots is not None
    snapshot = store.snapshots.open("k")
    assert snapshot is not None
    writes: list[Any] = []
    if store.updates is not None:
        updates = store.updates
        writes += [lambda: updates.write("k", b"y", None), lambda: updates.erase("k", None)]
    if store.splicing is not None:
        splicing = store.splicing
        writes.append(lambda: splicing.splice("k", [b"y"], snapshot))
    if store.local_files is not None:
        local_files = store.local_files
        writes.append(lambda: local_files.publish(["k"], lambda paths: bytes(len(paths))))
    for write in writes:
        with pytest.raises(ReadOnlyError):
            write()
    snapshot.close()
    assert inner.get("k") == b"x"


def test_a_prefix_store_accesses_only_keys_below_its_prefix() -> None:
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


def test_a_prefix_store_locks_the_keys_of_the_inner_store() -> None:
    locked = []

    class Recorder(MemoryStore):
        def lock(self, keys: Any, *, shared: bool = False) -> Any:
            locked.append((list(keys), shared))
            return super().lock(keys, shared=shared)

    with PrefixStore(Recorder(), "a").lock(["k"], shared=True):
        pass
    assert locked == [(["a/k"], True)]


def test_the_parent_of_a_read_only_store_is_read_only() -> None:
    inner = MemoryStore()
    parent = ReadOnlyStore(PrefixStore(inner, "a/b")).parent()
    assert parent is not None
    store, name = parent
    assert (store, name) == (ReadOnlyStore(PrefixStore(inner, "a")), "b")
    assert store.read_only
    assert ReadOnlyStore(inner).parent() is None
    assert WrapperStore(PrefixStore(inner, "a/b")).parent() is None  # a wrapper is valid only for its own inner store


class _BeginningReads(VersionedReads):
    begins = True

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return None


def test_a_wrapper_with_its_own_reads_begins_none() -> None:
    class Changed(ForwardedReads):
        def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
            return self.inner.get(key, range, version)

    class Store(Spy):
        versioned_reads = _BeginningReads()  # type: ignore[assignment]

    class Other(WrapperStore, keeps_capabilities=True):
        versioned_reads = forwarded("versioned_reads", Changed)

    same, other = PrefixStore(Store(), "a").versioned_reads, Other(Store()).versioned_reads
    assert same is not None
    assert other is not None
    assert (same.begins, other.begins) == (True, False)
