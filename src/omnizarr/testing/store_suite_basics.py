"""The first half of `StoreSuite`: valid keys, reading and writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from omnizarr.errors import InvalidKeyError, StoreError
from omnizarr.store import Buffer, ByteRange, Store
from omnizarr.store.contract import cut

__all__ = ["TREE", "StoreBasics", "contents", "plain"]

_INVALID_KEYS = [
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "../a",
    "a/..",
    "a/../b",
    "./a",
    "a/./b",
    "a\0b",
    "\0",
    "a/\ud800",
]
_VALID_KEYS = [
    "zarr.json",
    ".zarray",
    "a b",
    "a%20b",
    "a+b",
    "a#b",
    "ä/日本語",
    "🜚",
    "c/0/1",
    "0.1.2",
    "...x",
    "~",
    "x" * 200,
]
_RANGES: list[ByteRange] = [
    (0, None), (3, None), (10, None), (99, None), (0, 4), (3, 4), (8, 4), (10, 4), (99, 4), (3, 0), (0, 2**62),
    (-1, None), (-4, None), (-10, None), (-99, None),
]  # fmt: skip
TREE = {
    "zarr.json": b"root",
    "a/zarr.json": b"a",
    "a/b/zarr.json": b"ab",
    "a/b/c/0/0": b"chunk",
    "a/b/c/0/1": b"",
    "ab/zarr.json": b"not below a",
}


def plain(value: Buffer | None) -> bytes | None:
    return None if value is None else bytes(value)


def contents(store: Store) -> dict[str, bytes]:
    return {key: bytes(store.get(key) or b"") for key in store.list()}


def _check_rejected(method: Callable[..., object], *arguments: object) -> None:
    try:
        method(*arguments)
    except InvalidKeyError:
        return
    pytest.fail(f"{method} did not reject {arguments}")


class StoreBasics:
    """The first half of `StoreSuite`, and the settings of a subclass."""

    case_sensitive: bool = True
    """Whether `a` and `A` are different keys, as the specification requires. On some file systems they are not."""
    pickled_is_equal: bool = True
    """Whether an unpickled store has the same location. A store in memory unpickles as a copy."""
    shared_by_processes: bool = True
    """Whether a process that receives the pickled store reads and writes the same values."""
    threads: int = 4

    def make_store(self, tmp_path: Path) -> Store:
        """A new, empty store. `tmp_path` is an empty directory for stores that need one."""
        raise NotImplementedError("a subclass of StoreSuite must define make_store")

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        """`store` with these values. For a store that cannot write, override it and return another store with them."""
        if not store.writable:
            pytest.skip("this store cannot write, and the subclass does not define `fill`")
        store.set_each(contents.items())
        return store

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return self.make_store(tmp_path)

    @pytest.fixture
    def writable(self, store: Store) -> Store:
        if not store.writable:
            pytest.skip("this store cannot write")
        return store

    @pytest.fixture
    def tree(self, store: Store) -> Store:
        if not store.listable:
            pytest.skip("this store cannot list")
        return self.fill(store, TREE)

    # -- keys

    def test_R108_invalid_keys_are_rejected(self, store: Store) -> None:
        target = memoryview(bytearray(1))
        for key in _INVALID_KEYS:
            _check_rejected(store.get, key)
            _check_rejected(store.exists, key)
            _check_rejected(store.size, key)
            if store.updates is not None:
                _check_rejected(store.updates.read, key)
            _check_rejected(store.get_partial_values, [(key, None)])
            _check_rejected(store.get_into, key, 0, target)

    def test_R118_writes_to_invalid_keys_are_rejected(self, writable: Store) -> None:
        for key in _INVALID_KEYS:
            _check_rejected(writable.set, key, b"x")
            _check_rejected(writable.set_each, [(key, b"x")])
            _check_rejected(writable.set_partial_values, [(key, 0, b"x")])
            if writable.updates is not None:
                _check_rejected(writable.updates.write, key, b"x", None)
            _check_rejected(writable.erase, key)

    def test_R115_invalid_prefixes_are_rejected(self, store: Store) -> None:
        if not store.listable:
            pytest.skip("this store cannot list")
        for prefix in ("a", "a/b", "//", "a//", "../", "a/../", "./"):
            _check_rejected(lambda prefix: list(store.list_prefix(prefix)), prefix)
            _check_rejected(store.list_dir, prefix)
            if store.writable:
                _check_rejected(store.erase_prefix, prefix)

    def test_R108_any_other_key_is_valid(self, store: Store) -> None:
        filled = self.fill(store, {key: key.encode() for key in _VALID_KEYS})
        assert [plain(filled.get(key)) for key in _VALID_KEYS] == [key.encode() for key in _VALID_KEYS]
        if filled.listable:
            assert sorted(filled.list()) == sorted(_VALID_KEYS)

    def test_R108_keys_are_case_sensitive(self, store: Store) -> None:
        if not self.case_sensitive:
            pytest.skip("this location does not distinguish upper and lower case")
        filled = self.fill(store, {"a": b"small", "A": b"large"})
        assert plain(filled.get("a")) == b"small"
        assert plain(filled.get("A")) == b"large"

    # -- reading

    def test_R109_absent_keys_return_none(self, store: Store) -> None:
        target = bytearray(2)
        for key in ("absent", "absent/below", "absent/far/below"):
            assert store.get(key) is None
            assert store.get(key, (1, 2)) is None
            assert store.get_into(key, 0, memoryview(target)) is None
            assert store.size(key) is None
            assert store.updates is None or store.updates.read(key) == (None, None)
            assert not store.exists(key)

    def test_A66_a_prefix_is_not_a_key(self, store: Store) -> None:
        filled = self.fill(store, {"a/b/c": b"x"})
        for key in ("a", "a/b"):
            assert filled.get(key) is None
            assert filled.get(key, (0, 1)) is None
            assert filled.get_partial_values([(key, None), (key, (0, 1))]) == [None, None]
            assert filled.get_into(key, 0, memoryview(bytearray(1))) is None
            assert filled.get_into(key, 0, memoryview(bytearray())) is None
            assert filled.size(key) is None
            assert not filled.exists(key)

    def test_a_key_below_a_key_is_absent(self, store: Store) -> None:
        filled = self.fill(store, {"a": b"x"})
        assert filled.get("a/b") is None
        assert filled.get("a/b/c") is None
        assert not filled.exists("a/b")
        if filled.listable:
            assert list(filled.list_prefix("a/")) == []

    def test_R112_ranges_are_cut_like_slices(self, store: Store) -> None:
        value = b"0123456789"
        filled = self.fill(store, {"a/k": value, "a/empty": b""})
        expected = [bytes(cut(value, range)) for range in _RANGES]
        assert [plain(filled.get("a/k", range)) for range in _RANGES] == expected
        answers = filled.get_partial_values([("a/k", range) for range in _RANGES])
        assert [plain(answer) for answer in answers] == expected
        assert [plain(filled.get("a/empty", range)) for range in _RANGES] == [b""] * len(_RANGES)

    def test_get_current(self, store: Store) -> None:
        store = self.fill(store, {"a/k": b"0123456789"})
        assert plain(store.get_current("a/k")) == b"0123456789"
        assert store.get_current("a/absent") is None
        if store.writable and not store.read_only:
            store.set("a/k", b"new")
            assert plain(store.get_current("a/k")) == b"new"

    def test_get_into(self, store: Store) -> None:
        filled = self.fill(store, {"k": b"0123456789"})
        target = bytearray(b"-----")
        assert filled.get_into("k", 2, memoryview(target)) == 5
        assert target == b"23456"
        target = bytearray(b"-----")
        assert filled.get_into("k", 8, memoryview(target)) == 2
        assert target == b"89---"
        assert filled.get_into("k", 10, memoryview(target)) == 0
        assert filled.get_into("k", 99, memoryview(target)) == 0
        assert target == b"89---"
        window = memoryview(bytearray(9))
        assert filled.get_into("k", 0, window[2:4]) == 2
        assert bytes(window) == b"\0\x0001\0\0\0\0\0"

    def test_get_into_rejects_negative_offsets(self, store: Store) -> None:
        filled = self.fill(store, {"k": b"0123456789"})
        target = bytearray(b"--")
        with pytest.raises(StoreError):
            filled.get_into("k", -1, memoryview(target))
        assert target == b"--"

    def test_R109_partial_values_keep_the_order_of_requests(self, store: Store) -> None:
        filled = self.fill(store, {"a": b"0123", "b": b"4567"})
        requests = [("b", (1, 2)), ("none", None), ("a", None), ("a", (-1, None)), ("b", None), ("a", (2, None))]
        expected = [b"56", None, b"0123", b"3", b"4567", b"23"]
        assert [plain(answer) for answer in filled.get_partial_values(requests)] == expected
        answers = [(index, plain(value)) for index, value in filled.get_each(requests)]
        assert sorted(answers, key=lambda answer: answer[0]) == list(enumerate(expected))
        assert filled.get_partial_values([]) == []
        assert list(filled.get_each([])) == []

    def test_get_each_may_be_abandoned(self, store: Store) -> None:
        filled = self.fill(store, {"a": b"0123", "b": b"4567"})
        answers = filled.get_each([("a", (0, 1)), ("a", (1, 1)), ("b", None), ("a", None)])
        next(answers)
        del answers
        assert plain(filled.get("a")) == b"0123"

    def test_size_and_exists(self, store: Store) -> None:
        filled = self.fill(store, {"a": b"12345", "b/c": b""})
        assert (filled.size("a"), filled.exists("a")) == (5, True)
        assert (filled.size("b/c"), filled.exists("b/c")) == (0, True)

    # -- writing

    def test_R110_get_returns_the_value_that_was_set(self, writable: Store) -> None:
        for value in (b"", b"x", bytes(range(256)) * 1000, b"again"):
            for buffer in (value, bytearray(value), memoryview(value)):
                writable.set("a/b/c", buffer)
                assert plain(writable.get("a/b/c")) == value

    def test_set_accepts_any_memoryview(self, writable: Store) -> None:
        numbers = memoryview(bytes(range(24))).cast("Q")
        writable.set("all", numbers)
        writable.set("some", memoryview(bytes(range(24)))[::2])
        writable.set("none", numbers[:0])
        assert plain(writable.get("all")) == bytes(range(24))
        assert plain(writable.get("some")) == bytes(range(0, 24, 2))
        assert plain(writable.get("none")) == b""

    def test_set_copies_the_buffer_of_the_caller(self, writable: Store) -> None:
        source = bytearray(b"before")
        writable.set("k", source)
        source[:] = b"after!"
        assert plain(writable.get("k")) == b"before"

    def test_a_value_that_was_read_does_not_change(self, writable: Store) -> None:
        writable.set("k", b"before")
        whole, part = writable.get("k"), writable.get("k", (1, 3))
        writable.set("k", b"after!")
        assert (plain(whole), plain(part)) == (b"before", b"efo")

    def test_set_rejects_objects_other_than_buffers(self, writable: Store) -> None:
        for value in (3, "text", None):
            with pytest.raises(TypeError):
                writable.set("k", value)  # type: ignore[arg-type]
        assert writable.get("k") is None

    def test_set_each(self, writable: Store) -> None:
        items = [(f"c/{number}", bytes([number])) for number in range(20)]
        writable.set_each(iter(items))
        assert [(key, plain(writable.get(key))) for key, _ in items] == items
        writable.set_each([])

    def test_R110_set_partial_values(self, writable: Store) -> None:
        writable.set("k", b"0123456789")
        writable.set_partial_values([("k", 6, b"ef"), ("new", 2, b"x"), ("k", 1, b"ab"), ("k", 9, b"jkl")])
        assert plain(writable.get("k")) == b"0ab345ef8jkl"
        assert plain(writable.get("new")) == b"\0\0x"

    def test_R110_overlapping_parts_are_rejected(self, writable: Store) -> None:
        writable.set("k", b"0123456789")
        with pytest.raises(StoreError):
            writable.set_partial_values([("k", 1, b"ab"), ("k", 2, b"cd")])
        with pytest.raises(StoreError):
            writable.set_partial_values([("k", -1, b"ab")])
        with pytest.raises(StoreError):
            writable.set_partial_values([("other", 0, b"ab"), ("k", 4, b"x"), ("k", 0, b"abcde")])
        assert plain(writable.get("k")) == b"0123456789"
        assert writable.get("other") is None

    def test_S54_adjacent_parts_in_any_order(self, writable: Store) -> None:
        writable.set("k", b"0123456789")
        writable.set_partial_values(
            iter([("k", 4, b"ef"), ("k", 2, b"cd"), ("k", 6, b""), ("k", 2, b""), ("k", 0, b"ab"), ("new", 0, b"")])
        )
        assert plain(writable.get("k")) == b"abcdef6789"
        assert plain(writable.get("new")) == b""
