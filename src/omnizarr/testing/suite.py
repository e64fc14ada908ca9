"""The tests that every store must pass. Subclass `StoreSuite`, say how a store is made, and pytest does the rest::

    class TestMyStore(StoreSuite):
        def make_store(self, tmp_path):
            return MyStore(tmp_path)

The names of the tests cite the rules of the specification (R…) and its open questions (A…) as omnizarr numbers them.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreError
from omnizarr.store import Buffer, ByteRange, Store, as_read_only
from omnizarr.store.contract import cut

__all__ = ["StoreSuite"]

_BAD_KEYS = ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "./a", "a/./b", "a\0b", "\0", "a/\ud800"]
_GOOD_KEYS = [
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
_TREE = {
    "zarr.json": b"root",
    "a/zarr.json": b"a",
    "a/b/zarr.json": b"ab",
    "a/b/c/0/0": b"chunk",
    "a/b/c/0/1": b"",
    "ab/zarr.json": b"not below a",
}


def _plain(value: Buffer | None) -> bytes | None:
    return None if value is None else bytes(value)


def _contents(store: Store) -> dict[str, bytes]:
    return {key: bytes(store.get(key) or b"") for key in store.list()}


def _refused(method: Callable[..., object], *arguments: object) -> None:
    try:
        method(*arguments)
    except InvalidKeyError:
        return
    pytest.fail(f"{method} did not refuse {arguments}")


class StoreSuite:
    """What a store must do. Tests of a capability that the store says it lacks are skipped."""

    case_sensitive: bool = True
    """Whether the place tells `a` from `A`, as the specification wants; some file systems do not."""
    pickled_is_equal: bool = True
    """Whether what comes out of a pickle shows the same place; a store in memory shows a copy."""
    threads: int = 4

    def make_store(self, tmp_path: Path) -> Store:
        """A new, empty store. The directory is for stores that need one."""
        raise NotImplementedError("a subclass of StoreSuite says how its store is made")

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        """`store` with these values; where a store cannot write, another one that has them."""
        if not store.writable:
            pytest.skip("this store cannot write, and `fill` does not say how it gets its values")
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
        return self.fill(store, _TREE)

    # -- keys

    def test_R108_bad_keys_are_refused(self, store: Store) -> None:
        target = memoryview(bytearray(1))
        for key in _BAD_KEYS:
            _refused(store.get, key)
            _refused(store.exists, key)
            _refused(store.size, key)
            _refused(store.get_versioned, key)
            _refused(store.get_partial_values, [(key, None)])
            _refused(store.get_into, key, 0, target)

    def test_R118_bad_keys_are_not_written(self, writable: Store) -> None:
        for key in _BAD_KEYS:
            _refused(writable.set, key, b"x")
            _refused(writable.set_each, [(key, b"x")])
            _refused(writable.set_partial_values, [(key, 0, b"x")])
            _refused(writable.set_if, key, b"x", None)
            _refused(writable.erase, key)

    def test_R115_bad_prefixes_are_refused(self, store: Store) -> None:
        if not store.listable:
            pytest.skip("this store cannot list")
        for prefix in ("a", "a/b", "//", "a//", "../", "a/../", "./"):
            _refused(lambda prefix: list(store.list_prefix(prefix)), prefix)
            _refused(store.list_dir, prefix)
            if store.writable:
                _refused(store.erase_prefix, prefix)

    def test_R108_any_other_key_is_kept(self, store: Store) -> None:
        filled = self.fill(store, {key: key.encode() for key in _GOOD_KEYS})
        assert [_plain(filled.get(key)) for key in _GOOD_KEYS] == [key.encode() for key in _GOOD_KEYS]
        if filled.listable:
            assert sorted(filled.list()) == sorted(_GOOD_KEYS)

    def test_R108_keys_are_case_sensitive(self, store: Store) -> None:
        if not self.case_sensitive:
            pytest.skip("this place does not tell small letters from capitals")
        filled = self.fill(store, {"a": b"small", "A": b"large"})
        assert _plain(filled.get("a")) == b"small"
        assert _plain(filled.get("A")) == b"large"

    # -- reading

    def test_R109_an_absent_key_is_none(self, store: Store) -> None:
        target = bytearray(2)
        for key in ("absent", "absent/below", "absent/far/below"):
            assert store.get(key) is None
            assert store.get(key, (1, 2)) is None
            assert store.get_into(key, 0, memoryview(target)) is None
            assert store.size(key) is None
            assert store.get_versioned(key) == (None, None)
            assert not store.exists(key)

    def test_A66_what_lies_above_a_key_is_no_key(self, store: Store) -> None:
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
        assert [_plain(filled.get("a/k", range)) for range in _RANGES] == expected
        answers = filled.get_partial_values([("a/k", range) for range in _RANGES])
        assert [_plain(answer) for answer in answers] == expected
        assert [_plain(filled.get("a/empty", range)) for range in _RANGES] == [b""] * len(_RANGES)

    def test_get_into_fills_what_it_can(self, store: Store) -> None:
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

    def test_R109_partial_values_come_in_order(self, store: Store) -> None:
        filled = self.fill(store, {"a": b"0123", "b": b"4567"})
        requests = [("b", (1, 2)), ("none", None), ("a", None), ("a", (-1, None)), ("b", None), ("a", (2, None))]
        expected = [b"56", None, b"0123", b"3", b"4567", b"23"]
        assert [_plain(answer) for answer in filled.get_partial_values(requests)] == expected
        answers = [(index, _plain(value)) for index, value in filled.get_each(requests)]
        assert sorted(answers, key=lambda answer: answer[0]) == list(enumerate(expected))
        assert filled.get_partial_values([]) == []
        assert list(filled.get_each([])) == []

    def test_an_answer_that_nobody_waits_for_is_dropped(self, store: Store) -> None:
        filled = self.fill(store, {"a": b"0123", "b": b"4567"})
        answers = filled.get_each([("a", (0, 1)), ("a", (1, 1)), ("b", None), ("a", None)])
        next(answers)
        del answers
        assert _plain(filled.get("a")) == b"0123"

    def test_size_and_exists(self, store: Store) -> None:
        filled = self.fill(store, {"a": b"12345", "b/c": b""})
        assert (filled.size("a"), filled.exists("a")) == (5, True)
        assert (filled.size("b/c"), filled.exists("b/c")) == (0, True)

    # -- writing

    def test_R110_what_was_set_is_there(self, writable: Store) -> None:
        for value in (b"", b"x", bytes(range(256)) * 1000, b"again"):
            for given in (value, bytearray(value), memoryview(value)):
                writable.set("a/b/c", given)
                assert _plain(writable.get("a/b/c")) == value

    def test_a_view_of_numbers_is_set_as_its_bytes(self, writable: Store) -> None:
        numbers = memoryview(bytes(range(24))).cast("Q")
        writable.set("all", numbers)
        writable.set("some", memoryview(bytes(range(24)))[::2])
        writable.set("none", numbers[:0])
        assert _plain(writable.get("all")) == bytes(range(24))
        assert _plain(writable.get("some")) == bytes(range(0, 24, 2))
        assert _plain(writable.get("none")) == b""

    def test_what_was_set_does_not_change_with_its_source(self, writable: Store) -> None:
        source = bytearray(b"before")
        writable.set("k", source)
        source[:] = b"after!"
        assert _plain(writable.get("k")) == b"before"

    def test_what_was_read_does_not_change(self, writable: Store) -> None:
        writable.set("k", b"before")
        whole, part = writable.get("k"), writable.get("k", (1, 3))
        writable.set("k", b"after!")
        assert (_plain(whole), _plain(part)) == (b"before", b"efo")

    def test_what_is_no_bytes_is_refused(self, writable: Store) -> None:
        for value in (3, "text", None):
            with pytest.raises(TypeError):
                writable.set("k", value)  # type: ignore[arg-type]
        assert writable.get("k") is None

    def test_set_each_sets_all(self, writable: Store) -> None:
        items = [(f"c/{number}", bytes([number])) for number in range(20)]
        writable.set_each(iter(items))
        assert [(key, _plain(writable.get(key))) for key, _ in items] == items
        writable.set_each([])

    def test_R110_partial_values_are_overwritten(self, writable: Store) -> None:
        writable.set("k", b"0123456789")
        writable.set_partial_values([("k", 6, b"ef"), ("new", 2, b"x"), ("k", 1, b"ab"), ("k", 9, b"jkl")])
        assert _plain(writable.get("k")) == b"0ab345ef8jkl"
        assert _plain(writable.get("new")) == b"\0\0x"

    def test_R110_overlapping_parts_are_refused(self, writable: Store) -> None:
        writable.set("k", b"0123456789")
        with pytest.raises(StoreError):
            writable.set_partial_values([("k", 1, b"ab"), ("k", 2, b"cd")])
        with pytest.raises(StoreError):
            writable.set_partial_values([("k", -1, b"ab")])
        assert _plain(writable.get("k")) == b"0123456789"

    # -- erasing

    def test_R110_erased_keys_are_absent(self, writable: Store) -> None:
        writable.set_each([("a/b", b"1"), ("a/c", b"2"), ("d", b"3")])
        writable.erase("a/b")
        assert writable.get("a/b") is None
        writable.erase("a/b")
        writable.erase("never/was/there")
        writable.erase_values(["a/c", "absent", "d"])
        assert [writable.get(key) for key in ("a/c", "d")] == [None, None]
        writable.set("a/b", b"again")
        assert _plain(writable.get("a/b")) == b"again"

    def test_A66_erase_never_removes_what_lies_below(self, writable: Store) -> None:
        writable.set("a/b/c", b"x")
        writable.erase("a")
        writable.erase("a/b")
        assert _plain(writable.get("a/b/c")) == b"x"

    def test_R110_erase_prefix_removes_just_that(self, tree: Store) -> None:
        if not tree.writable:
            pytest.skip("this store cannot write")
        tree.erase_prefix("a/")
        assert _contents(tree) == {key: value for key, value in _TREE.items() if not key.startswith("a/")}
        assert tree.list_dir("") == (["zarr.json"], ["ab/"])
        tree.erase_prefix("absent/")
        tree.set("a/b/zarr.json", b"again")
        assert _plain(tree.get("a/b/zarr.json")) == b"again"

    def test_A16_erase_prefix_with_a_slash_in_front(self, tree: Store) -> None:
        if not tree.writable:
            pytest.skip("this store cannot write")
        tree.erase_prefix("/a/b/")
        assert sorted(tree.list()) == ["a/zarr.json", "ab/zarr.json", "zarr.json"]
        for everything in ("/", ""):
            tree.erase_prefix(everything)
            assert list(tree.list()) == []
            assert tree.list_dir("") == ([], [])
            tree.set("a/k", b"x")

    # -- listing

    def test_R113_list_prefix(self, store: Store) -> None:
        if not store.listable:
            pytest.skip("this store cannot list")
        filled = self.fill(store, {"a/b": b"", "a/c/d": b"", "e/f/g": b""})
        assert sorted(filled.list_prefix("a/")) == ["a/b", "a/c/d"]

    def test_R114_list_dir(self, store: Store) -> None:
        if not store.listable:
            pytest.skip("this store cannot list")
        filled = self.fill(store, {"a/b": b"", "a/c": b"", "a/d/e": b"", "a/f/g": b""})
        assert filled.list_dir("a/") == (["a/b", "a/c"], ["a/d/", "a/f/"])
        assert filled.list_dir("b/") == ([], [])

    def test_R111_all_listings_agree(self, tree: Store) -> None:
        assert sorted(tree.list()) == sorted(_TREE)
        assert sorted(tree.list_prefix("")) == sorted(_TREE)
        for prefix in ("", "a/", "a/b/", "a/b/c/", "a/b/c/0/", "ab/", "absent/", "zarr.json/"):
            below = [key for key in _TREE if key.startswith(prefix)]
            assert sorted(tree.list_prefix(prefix)) == sorted(below)
            keys = sorted(key for key in below if "/" not in key[len(prefix) :])
            prefixes = {prefix + key[len(prefix) :].split("/")[0] + "/" for key in below if "/" in key[len(prefix) :]}
            assert tree.list_dir(prefix) == (keys, sorted(prefixes))

    def test_A16_a_slash_in_front_of_a_prefix_is_taken_off(self, tree: Store) -> None:
        assert sorted(tree.list_prefix("/")) == sorted(_TREE)
        assert sorted(tree.list_prefix("/a/b/")) == sorted(tree.list_prefix("a/b/"))
        assert tree.list_dir("/") == tree.list_dir("")
        assert tree.list_dir("/a/") == tree.list_dir("a/")

    def test_an_empty_store_lists_nothing(self, store: Store) -> None:
        if not store.listable:
            pytest.skip("this store cannot list")
        assert list(store.list()) == []
        assert store.list_dir("") == ([], [])

    def test_keys_may_be_erased_while_they_are_listed(self, tree: Store) -> None:
        if not tree.writable:
            pytest.skip("this store cannot write")
        for key in tree.list():
            tree.erase(key)
        assert list(tree.list()) == []

    # -- agreement between writers

    def test_set_if_sees_every_change(self, writable: Store) -> None:
        assert writable.set_if("a/k", b"first", None)
        assert not writable.set_if("a/k", b"other", None)
        value, version = writable.get_versioned("a/k")
        assert _plain(value) == b"first"
        assert not writable.set_if("absent", b"x", version)
        assert writable.set_if("a/k", b"second", version)
        assert not writable.set_if("a/k", b"third!", version)
        assert _plain(writable.get("a/k")) == b"second"
        version = writable.get_versioned("a/k")[1]
        writable.erase("a/k")
        assert not writable.set_if("a/k", b"fourth", version)
        assert writable.get("a/k") is None
        assert hash(version) == hash(pickle.loads(pickle.dumps(version)))

    def test_set_if_loses_no_update_of_many_threads(self, writable: Store) -> None:
        writable.set("count", b"0000")

        def add(times: int) -> None:
            while times:
                value, version = writable.get_versioned("count")
                times -= writable.set_if("count", b"%04d" % (int(bytes(value or b"")) + 1), version)

        self._in_threads(add, [25] * self.threads)
        assert _plain(writable.get("count")) == b"%04d" % (25 * self.threads)

    def test_a_lock_keeps_other_threads_out(self, writable: Store) -> None:
        writable.set("count", b"0")

        def add(times: int) -> None:
            for _ in range(times):
                with writable.lock(["other", "count"]):
                    writable.set("count", b"%d" % (int(bytes(writable.get("count") or b"")) + 1))

        self._in_threads(add, [25] * self.threads)
        assert _plain(writable.get("count")) == b"%d" % (25 * self.threads)

    def test_a_lock_is_free_again_after_an_error(self, writable: Store) -> None:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError), writable.lock(["k"]):
                raise ZeroDivisionError
        with writable.lock(["k"], shared=True):
            assert writable.get("k") is None

    def test_threads_never_see_half_a_value(self, writable: Store) -> None:
        values = {bytes([letter]) * size for letter in b"abc" for size in (1, 5_000, 50_000)}

        def work(number: int) -> None:
            random = Random(number)
            for _ in range(60):
                key = random.choice(["k", "deep/down/k", "deep/k"])
                action = random.random()
                if action < 0.4:
                    writable.set(key, random.choice(sorted(values)))
                elif action < 0.6:
                    writable.erase(key)
                else:
                    value = _plain(writable.get(key))
                    assert value is None or value in values

        self._in_threads(work, range(self.threads))

    def test_threads_may_write_erase_and_list_at_once(self, writable: Store) -> None:
        def work(number: int) -> None:
            random = Random(number)
            for step in range(40):
                writable.set(f"shared/{number}/k{step % 3}", b"x")
                writable.erase(f"shared/{number}/k{random.randrange(3)}")
                if writable.listable and step % 10 == 0:
                    list(writable.list())
                    writable.list_dir("shared/")
                    writable.erase_prefix(random.choice(["shared/", f"shared/{number}/"]))
            writable.set(f"kept/{number}", b"x")

        self._in_threads(work, range(self.threads))
        assert all(writable.exists(f"kept/{number}") for number in range(self.threads))

    def _in_threads(self, work: Callable[[int], None], inputs: range | list[int]) -> None:
        started = threading.Barrier(len(inputs))

        def run(argument: int) -> None:
            started.wait()
            work(argument)

        with ThreadPoolExecutor(len(inputs)) as pool:
            list(pool.map(run, inputs))

    # -- the store as an object

    def test_it_pickles(self, store: Store) -> None:
        filled = self.fill(store, {"a/b": b"x"})
        again = pickle.loads(pickle.dumps(filled))
        assert type(again) is type(filled)
        assert _plain(again.get("a/b")) == b"x"
        assert again.read_only == filled.read_only
        if self.pickled_is_equal:
            assert again == filled
            assert hash(again) == hash(filled)
            assert again.location == filled.location

    def test_it_equals_itself_and_no_other_thing(self, store: Store) -> None:
        assert store == store
        other: object = "store"
        assert store != other
        assert hash(store) == hash(store)

    def test_it_says_where_it_is(self, store: Store) -> None:
        assert isinstance(store.location, str)
        assert store.location
        assert store.location in repr(store)

    def test_read_only_refuses_every_write(self, tree: Store) -> None:
        closed = as_read_only(tree)
        assert closed.read_only
        for act in (
            lambda: closed.set("a/k", b"x"),
            lambda: closed.set_each([]),
            lambda: closed.set_partial_values([]),
            lambda: closed.set_if("a/k", b"x", None),
            lambda: closed.erase("zarr.json"),
            lambda: closed.erase_values([]),
            lambda: closed.erase_prefix("a/"),
            closed.check_writable,
        ):
            with pytest.raises(ReadOnlyError):
                act()
        assert _contents(closed) == _TREE

    # -- everything together

    def test_it_behaves_like_a_dict(self, writable: Store) -> None:
        if not writable.listable:
            pytest.skip("this store cannot list")
        random = Random(0)
        model: dict[str, bytes] = {}
        keys = [f"{top}/{name}" for top in ("a", "a/b", "c/d/e") for name in ("x", "y", "zarr.json")] + ["root"]
        for _ in range(300):
            key, action = random.choice(keys), random.random()
            if action < 0.5:
                model[key] = random.randbytes(random.randrange(20))
                writable.set(key, model[key])
            elif action < 0.8:
                model.pop(key, None)
                writable.erase(key)
            elif action < 0.85:
                prefix = random.choice(["a/", "a/b/", "c/", "c/d/e/"])
                model = {key: value for key, value in model.items() if not key.startswith(prefix)}
                writable.erase_prefix(prefix)
            assert _plain(writable.get(key)) == model.get(key)
        assert _contents(writable) == model
