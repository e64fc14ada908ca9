"""Content-addressed storage: what is stored, what is verified, and what hostile pointers can do."""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transformers.content.contents import content, objects
from tests.transformers.places import ENCODINGS

from omnizarr._json import Problems
from omnizarr.chunk_keys import ChunkKeys, DefaultKeys
from omnizarr.errors import ArgumentError, CodecError, ReadOnlyError
from omnizarr.store import LocalStore, MemoryStore, Store, as_read_only
from omnizarr.store.mapping import MappingStore
from omnizarr.store.update import set_if_absent
from omnizarr.testing import Call, RecordingStore, SlowStore
from omnizarr.transformers import ContentAddressed, find_transformer, storage_transformers
from omnizarr.transformers.content.pointer import POINTER_LIMIT, Addresses, Pointer


def keys_of(calls: Iterable[Call]) -> list[str]:
    return [key for call in calls for key in ([call.key] if isinstance(call.key, str) else call.key)]


# -- configuration


def test_Z14_its_configuration_and_names() -> None:
    problems = Problems()
    assert ContentAddressed.parse({}, "$", problems) == ContentAddressed("sha256", 1, 3)
    given_ = {"algorithm": "blake2b", "depth": 4, "width": 1}
    assert ContentAddressed.parse(given_, "$", problems) == ContentAddressed("blake2b", 4, 1)
    assert not problems
    assert ContentAddressed("blake2b", 4, 1).configuration() == given_
    assert hash(ContentAddressed()) == hash(pickle.loads(pickle.dumps(ContentAddressed())))
    for name in (ContentAddressed.name, ContentAddressed.uri):
        assert find_transformer(str(name)) is storage_transformers.get(str(name)) is ContentAddressed


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *[("algorithm", value) for value in ("md5", "new", None, ["sha256"], 1)],
        *[("depth", 0), ("width", 5), ("depth", "1"), ("width", True)],
    ],
)
def test_Z14_wrong_configurations_are_reported(member: str, value: Any) -> None:
    problems = Problems()
    assert ContentAddressed.parse({member: value, "more": 1}, "$", problems) is None
    assert {problem.path for problem in problems.found} == {"$.configuration.more", f"$.configuration.{member}"}
    with pytest.raises(ArgumentError, match=member):
        ContentAddressed(**{member: value})


# -- what is stored


@pytest.mark.smoke
@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "blake2b"])
def test_Z14_a_key_points_to_an_object_with_the_name_of_its_digest(algorithm: str) -> None:
    inner = MemoryStore()
    store = content(inner, algorithm, 2, 2)
    store.set("a/c/5", b"value")
    digest = hashlib.new(algorithm, b"value").hexdigest()
    assert inner.get("a/c/5") == f"{algorithm}:{digest} 5".encode()
    assert objects(inner) == [f"a/content/{digest[:2]}/{digest[2:4]}/{digest[4:]}"]
    assert inner.get(objects(inner)[0]) == b"value"
    assert store.get("a/c/5") == b"value"


def test_Z14_other_keys_stay_where_they_are() -> None:
    inner = MemoryStore()
    store = content(inner)
    for key in ("zarr.json", "a/zarr.json", "a/c/01", "b/c/1"):
        store.set(key, key.encode())
        assert inner.get(key) == store.get(key) == key.encode()
    assert sorted(store.list()) == sorted(inner.list())


def test_Z15_equal_values_are_stored_once() -> None:
    record = RecordingStore(MemoryStore())
    store = content(record)
    store.set_each((f"a/c/{number}", bytes([number % 3] * 100)) for number in range(30))
    store.set("a/c/99", bytes(100))
    assert len(objects(record.inner)) == 3
    written = Counter(keys_of(record.of("set", "set_each")))
    assert all(count == 1 for count in written.values())
    assert [bytes(value or b"") for value in store.get_partial_values([(f"a/c/{n}", None) for n in range(30)])] == [
        bytes([n % 3] * 100) for n in range(30)
    ]


def test_an_incomplete_object_is_written_again() -> None:
    """Such as one that a file system lost a part of after a power failure."""
    for damage in (b"val", b"", b"value and more"):
        inner = MemoryStore()
        store = content(inner)
        store.set("a/c/0", b"value")
        inner.set(objects(inner)[0], damage)
        store.set("a/c/1", b"value")
        assert store.get("a/c/0") == store.get("a/c/1") == b"value"


@settings(max_examples=50)
@given(
    commands=st.lists(
        st.tuples(st.sampled_from(["set", "erase", "erase_prefix", "part"]), st.integers(0, 12), st.integers(0, 12)),
        max_size=25,
    ),
    keys=st.sampled_from(ENCODINGS),
    prefix=st.sampled_from(["", "x/", "x/y/"]),
)
def test_Z16_it_behaves_like_a_plain_store(commands: list[Any], keys: ChunkKeys, prefix: str) -> None:
    plain, inner = MemoryStore(), MemoryStore()
    store = content(inner, rank=2, prefix=prefix, keys=keys)
    for command, first, second in commands:
        key = prefix + keys.key((first, second)) if first < 10 else ("zarr.json", "x/zarr.json", "w/c/0/0")[second % 3]
        above = "/".join(key.split("/")[: second % 5])
        folder = above + "/" if above and second % 2 else ""
        for target in (plain, store):
            if command == "set":
                target.set(key, bytes([second] * first))
            elif command == "part":
                target.set_partial_values([(key, second, b"part")])
            elif command == "erase":
                target.erase(key)
            else:
                target.erase_prefix(folder)
        assert sorted(store.list_prefix(folder)) == sorted(plain.list_prefix(folder))
        assert store.list_dir(folder) == plain.list_dir(folder)
        assert (store.exists(key), store.size(key)) == (plain.exists(key), plain.size(key))
        for part in (None, (0, 3), (2, None), (-2, None), (50, 1), (0, 0)):
            assert store.get(key, part) == plain.get(key, part)  # type: ignore[arg-type]
    assert sorted(store.list()) == sorted(plain.list())


# -- integrity


def readers() -> dict[str, Callable[[Store], Any]]:
    def snapshot(store: Store) -> Any:
        assert store.snapshots is not None
        opened = store.snapshots.open("a/c/0")
        assert opened is not None
        try:
            return opened.get((0, None))
        finally:
            opened.close()

    return {
        "get": lambda store: store.get("a/c/0"),
        "get from the start": lambda store: store.get("a/c/0", (0, 1000)),
        "get_into": lambda store: store.get_into("a/c/0", 0, memoryview(bytearray(1000))),
        "get_partial_values": lambda store: store.get_partial_values([("a/c/0", None)]),
        "get_each": lambda store: list(store.get_each([("a/c/0", (0, 100))])),
        "updates": lambda store: store.updates.read("a/c/0"),  # type: ignore[union-attr]
        "snapshot": snapshot,
    }


@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize("kind", [MemoryStore, None, lambda: MappingStore({})], ids=["memory", "files", "mapping"])
def test_Z14_a_damaged_object_is_detected_when_it_is_read_whole(reader: str, kind: Any, tmp_path: Path) -> None:
    inner: Store = LocalStore(tmp_path) if kind is None else kind()
    store = content(inner)
    read = readers()[reader]
    if reader == "updates" and store.updates is None:
        pytest.skip("no updates")
    store.set("a/c/0", b"the value")
    read(store)
    (key,) = objects(inner)
    for damage in (b"the valUe", b"the valu", b"the value!", b""):
        inner.set(key, damage)
        if damage == b"the value!" and reader == "get_into":
            assert read(store) == 9  # the bytes of the value are intact
            continue
        with pytest.raises(CodecError, match="`a/c/0`: its object `a/content/[0-9a-f/]+` is damaged"):
            read(store)
    inner.erase(key)
    with pytest.raises(CodecError, match="is missing"):
        read(store)


def test_Z14_parts_are_read_from_the_object_without_a_check() -> None:
    record = RecordingStore(MemoryStore())
    store = content(record)
    store.set("a/c/0", bytes(range(200)))
    record.reset()
    assert bytes(store.get("a/c/0", (50, 3)) or b"") == bytes([50, 51, 52])
    assert len(record.of("get")) == 2
    (key,) = objects(record.inner)
    record.inner.set(key, bytes(200))
    assert bytes(store.get("a/c/0", (50, 3)) or b"") == bytes(3)
    record.inner.set(key, bytes(51))
    for read in (
        lambda: store.get("a/c/0", (50, 3)),
        lambda: store.get_partial_values([("a/c/0", (50, 3))]),
        lambda: store.get_into("a/c/0", 50, memoryview(bytearray(3))),
    ):
        with pytest.raises(CodecError, match="ends at byte 51 of 200"):
            read()


HOSTILE = [
    b"",
    b"value",
    b"sha256",
    b"sha256:" + b"0" * 64,
    b"sha256:" + b"0" * 63 + b" 5",
    b"sha256:" + b"0" * 65 + b" 5",
    b"sha256:" + b"A" * 64 + b" 5",
    b"sha512:" + b"0" * 128 + b" 5",
    b"md5:" + b"0" * 32 + b" 5",
    b"sha256:../../" + b"0" * 58 + b" 5",
    b"sha256:" + b"/" * 64 + b" 5",
    b"sha256:" + b"0" * 64 + b" -5",
    b"sha256:" + b"0" * 64 + b" 05",
    b"sha256:" + b"0" * 64 + b" 5 ../../secret",
    b"sha256:" + b"0" * 64 + b" 5 " + b"0" * 17,
    b"sha256:" + b"0" * 64 + b" 5\n",
    b"sha256:" + b"0" * 64 + b" " + b"9" * 20,
    b"sha256:" + b"0" * 64 + b" \xc2\xb2",
    b"\0" * 100,
    b"x" * 10_000,
    b"sha256:" + b"0" * 64 + b" 5" + b" " * 10_000,
]


@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize("pointer", HOSTILE, ids=range(len(HOSTILE)))
def test_Z14_hostile_pointers_are_errors(reader: str, pointer: bytes) -> None:
    record = RecordingStore(MemoryStore())
    record.inner.set("a/c/0", pointer)
    with pytest.raises(CodecError, match=r"`a/c/0`: expected a (pointer|digest)"):
        readers()[reader](content(record))
    assert set(keys_of(record.calls)) == {"a/c/0"}
    with pytest.raises(CodecError):
        content(record).size("a/c/0")
    content(record).set("a/c/0", b"replaced")
    assert content(record).get("a/c/0") == b"replaced"


@given(st.binary(max_size=100) | st.from_regex(rb"sha256:[0-9a-f]{64} [0-9]{1,4}( [0-9a-f]{16})?", fullmatch=True))
def test_pointers_have_one_form(stored: bytes) -> None:
    addresses = Addresses("a/", "sha256", 2, 2)
    try:
        pointer = addresses.parse(stored, "k")
    except CodecError:
        return
    assert addresses.dump(pointer) == stored
    key = addresses.object_key(pointer.name)
    assert addresses.object_name(key) == addresses.object_name(addresses.mark_key(pointer.name)) == pointer.name
    assert ".." not in key


def test_a_huge_size_allocates_nothing() -> None:
    inner = MemoryStore()
    store = content(inner)
    store.set("a/c/0", b"value")
    inner.set("a/c/0", bytes(inner.get("a/c/0") or b"").replace(b" 5", b" 999999999999999999"))
    for read in readers().values():
        with pytest.raises(CodecError, match="damaged"):
            read(store)


def test_the_longest_pointer_is_short_enough() -> None:
    addresses = Addresses("", "blake2b", 1, 1)
    longest = addresses.dump(Pointer("f" * 128, 2**63 - 1, "f" * 16))
    assert len(longest) == 173 < POINTER_LIMIT
    assert addresses.parse(longest, "k").size == 2**63 - 1


# -- capabilities


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_Z16_put_if_absent_and_compare_and_set(kind: str, tmp_path: Path) -> None:
    store = content(MemoryStore() if kind == "memory" else LocalStore(tmp_path))
    assert set_if_absent(store, "a/c/0", b"first")
    assert not set_if_absent(store, "a/c/0", b"other")
    assert store.updates is not None
    value, version = store.updates.read("a/c/0") or (None, None)
    assert value == b"first"
    assert store.updates.read("a/c/0", 4) is None
    assert not store.updates.write("a/c/0", b"x", b"never a pointer")
    assert store.updates.write("a/c/0", b"second", version)
    assert not store.updates.write("a/c/0", b"third", version)
    assert not store.updates.erase("a/c/0", version)
    assert store.get("a/c/0") == b"second"


def test_versions_are_pointers() -> None:
    class Versioned(MemoryStore, keeps_capabilities=True):
        versioned_reads = object()  # type: ignore[assignment]

    inner = Versioned()
    store = content(inner)
    store.set("a/c/0", b"0123456789")
    assert store.versioned_reads is not None
    first = store.versioned_reads.get("a/c/0", (0, 4))
    assert first is not None
    assert store.updates is not None
    read = store.updates.read("a/c/0")
    assert read is not None
    assert read[1] == first.version == inner.get("a/c/0")
    assert first.size == 10
    store.set("a/c/0", b"abcdefghij")
    later = store.versioned_reads.get("a/c/0", (4, None), first.version)
    assert later is not None
    assert later.data == b"456789"  # the object is still there
    inner.erase(store.addresses.object_key(hashlib.sha256(b"0123456789").hexdigest()))
    later = store.versioned_reads.get("a/c/0", (4, None), first.version)
    assert later is not None
    assert later.data is None


def test_requests_on_a_remote_store() -> None:
    record = RecordingStore(SlowStore(MemoryStore(), 0))
    store = content(record)
    store.set_each((f"a/c/{number}", b"%d" % number) for number in range(50))
    assert record.methods() == ["get_partial_values", "get_each", "set_each", "set_each"]
    record.reset()
    assert store.get_partial_values([(f"a/c/{number}", None) for number in range(50)]) == [b"%d" % n for n in range(50)]
    assert record.methods() == ["get_partial_values", "get_each"]


def test_a_value_that_is_replaced_while_it_is_read(tmp_path: Path) -> None:
    inner = MemoryStore()
    store = content(inner)
    store.set("a/c/0", b"old")
    (old,) = objects(inner)

    class Replacing(MemoryStore):
        """Another writer replaces the value, and a collector removes the old object, after the pointer is read."""

        def get(self, key: str, range: Any = None) -> Any:
            value = inner.get(key, range)
            if key == "a/c/0" and inner.exists(old):
                inner.erase(old)
                store.set("a/c/0", b"new")
            return value

    for read in (
        lambda target: target.get("a/c/0"),
        lambda target: target.get_partial_values([("a/c/0", None)])[0],
        lambda target: (target.updates or target).get("a/c/0"),
    ):
        assert read(content(Replacing())) == b"new"


def test_it_is_a_value_and_can_be_read_only() -> None:
    store = content(MemoryStore({}))
    assert content(store.inner) == store
    assert hash(content(store.inner)) == hash(store)
    assert content(store.inner, "sha512") != store
    assert content(MemoryStore({})) != store
    frozen = content(as_read_only(store.inner))
    for write in (frozen.set, lambda key, value: frozen.updates.write(key, value, None)):  # type: ignore[union-attr]
        with pytest.raises(ReadOnlyError):
            write("a/c/0", b"x")
    assert list(store.inner.list()) == []


def test_it_is_applied_once() -> None:
    with pytest.raises(ArgumentError, match="only once"):
        content(content(MemoryStore()))
    other = content(content(MemoryStore()), prefix="b/")  # another array
    other.set("b/c/0", b"x")

    class Clash(DefaultKeys):
        def join(self, parts: Any) -> str:
            return "content/" + "/".join(parts)

    with pytest.raises(ArgumentError, match="begin with"):
        content(MemoryStore(), keys=Clash())
