"""The tests that every store must pass. Subclass `StoreSuite`, say how a store is made, and pytest does the rest::

    class TestMyStore(StoreSuite):
        def make_store(self, tmp_path):
            return MyStore(tmp_path)

The names of the tests cite the rules of the specifications (R…, and S… for the drafts) and their open questions (A…) as
omnizarr numbers them.
"""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from random import Random

import pytest

from omnizarr.errors import ReadOnlyError, StoreError
from omnizarr.store import Store, as_read_only
from omnizarr.store.process_locks import TaskLock
from omnizarr.testing.store_suite_basics import TREE, StoreBasics, contents, plain

__all__ = ["StoreSuite"]


def count_up(store: Store, key: str, times: int) -> None:
    """Adds to the number that is the value of a key, by conditional writes."""
    while times:
        value, version = store.get_versioned(key)
        times -= store.set_if(key, b"%d" % (int(bytes(value or b"0")) + 1), version)


class StoreSuite(StoreBasics):
    """What a store must do. Tests of a capability that the store says it lacks are skipped."""

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
        assert plain(writable.get("a/b")) == b"again"

    def test_A66_erase_never_removes_what_lies_below(self, writable: Store) -> None:
        writable.set("a/b/c", b"x")
        writable.erase("a")
        writable.erase("a/b")
        assert plain(writable.get("a/b/c")) == b"x"

    def test_R110_erase_prefix_removes_just_that(self, tree: Store) -> None:
        if not tree.writable:
            pytest.skip("this store cannot write")
        tree.erase_prefix("a/")
        assert contents(tree) == {key: value for key, value in TREE.items() if not key.startswith("a/")}
        assert tree.list_dir("") == (["zarr.json"], ["ab/"])
        tree.erase_prefix("absent/")
        tree.set("a/b/zarr.json", b"again")
        assert plain(tree.get("a/b/zarr.json")) == b"again"

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

    def test_S45_the_children_of_a_group_of_the_drafts(self, store: Store) -> None:
        if not store.listable:
            pytest.skip("this store cannot list")
        filled = self.fill(store, {"meta/foo/bar.group.json": b"{}", "meta/foo/baz/qux.array.json": b"{}"})
        assert filled.list_dir("meta/foo/") == (["meta/foo/bar.group.json"], ["meta/foo/baz/"])
        assert sorted(filled.list_prefix("meta/")) == ["meta/foo/bar.group.json", "meta/foo/baz/qux.array.json"]

    def test_R111_all_listings_agree(self, tree: Store) -> None:
        assert sorted(tree.list()) == sorted(TREE)
        assert sorted(tree.list_prefix("")) == sorted(TREE)
        for prefix in ("", "a/", "a/b/", "a/b/c/", "a/b/c/0/", "ab/", "absent/", "zarr.json/"):
            below = [key for key in TREE if key.startswith(prefix)]
            assert sorted(tree.list_prefix(prefix)) == sorted(below)
            keys = sorted(key for key in below if "/" not in key[len(prefix) :])
            prefixes = {prefix + key[len(prefix) :].split("/")[0] + "/" for key in below if "/" in key[len(prefix) :]}
            assert tree.list_dir(prefix) == (keys, sorted(prefixes))

    def test_A16_a_slash_in_front_of_a_prefix_is_taken_off(self, tree: Store) -> None:
        assert sorted(tree.list_prefix("/")) == sorted(TREE)
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
        assert plain(value) == b"first"
        assert not writable.set_if("absent", b"x", version)
        assert writable.set_if("a/k", b"second", version)
        assert not writable.set_if("a/k", b"third!", version)
        assert plain(writable.get("a/k")) == b"second"
        version = writable.get_versioned("a/k")[1]
        writable.erase("a/k")
        assert not writable.set_if("a/k", b"fourth", version)
        assert writable.get("a/k") is None
        assert hash(version) == hash(pickle.loads(pickle.dumps(version)))

    def test_erase_if_sees_every_change(self, writable: Store) -> None:
        assert not writable.erase_if("a/k", "never")
        assert writable.erase_if("a/k", None)
        writable.set("a/k", b"first")
        version = writable.get_versioned("a/k")[1]
        writable.set("a/k", b"other")
        assert not writable.erase_if("a/k", version)
        assert not writable.erase_if("a/k", None)
        assert plain(writable.get("a/k")) == b"other"
        assert writable.erase_if("a/k", writable.get_versioned("a/k")[1])
        assert writable.get("a/k") is None

    def test_a_turn_is_one_thread_at_a_time_and_tells_of_broken_ones(self, writable: Store) -> None:
        writable.set("a/k", b"0")

        def add(times: int) -> None:
            for _ in range(times):
                with writable.task_lock("a/k") as task_lock:
                    assert not task_lock.broken
                    task_lock.begin()
                    writable.set("a/k", b"%d" % (int(bytes(writable.get("a/k") or b"")) + 1))

        self._in_threads(add, [5] * self.threads)
        assert plain(writable.get("a/k")) == b"%d" % (5 * self.threads)
        with pytest.raises(ZeroDivisionError), writable.task_lock("a/k"):
            raise ZeroDivisionError
        with pytest.raises(ZeroDivisionError):
            self._break_off(writable.task_lock("a/k"))
        assert not writable.listable or sorted(writable.list()) == ["a/k"]
        with writable.task_lock("a/k") as task_lock:
            assert task_lock.broken
        with writable.task_lock("a/k") as task_lock:
            assert not task_lock.broken

    def test_a_value_put_together_out_of_another(self, writable: Store) -> None:
        if not writable.splices:
            pytest.skip("this store puts no values together out of others")
        writable.set("a/k", b"0123456789")
        held = writable.hold("a/k")
        assert held is not None
        try:
            assert writable.splice("a/k", [(7, 3), b"--", (0, 4), memoryview(b"!")], held)
            assert writable.get("a/k") == b"789--0123!"
            assert not writable.splice("a/k", [b"late"], held), "it is not the value any more"
        finally:
            held.close()
        assert writable.get("a/k") == b"789--0123!"
        assert list(writable.list()) == ["a/k"]

    def test_set_if_loses_no_update_of_many_threads(self, writable: Store) -> None:
        writable.set("count", b"0000")

        def add(times: int) -> None:
            while times:
                value, version = writable.get_versioned("count")
                times -= writable.set_if("count", b"%04d" % (int(bytes(value or b"")) + 1), version)

        self._in_threads(add, [25] * self.threads)
        assert plain(writable.get("count")) == b"%04d" % (25 * self.threads)

    def test_set_if_loses_no_update_of_many_processes(self, writable: Store) -> None:
        if not writable.conditional or not self.pickled_is_equal or not self.shared_by_processes:
            pytest.skip("its conditional writes, if any, hold within this process only")
        writable.set("count", b"0")
        writable.flush()
        context = multiprocessing.get_context("spawn")
        others = [context.Process(target=count_up, args=(writable, "count", 10)) for _ in range(2)]
        for other in others:
            other.start()
        count_up(writable, "count", 10)
        for other in others:
            other.join()
        assert [other.exitcode for other in others] == [0, 0]
        assert plain(writable.get("count")) == b"30"

    # -- one state of a value

    def test_a_held_value_stays_as_it_is(self, writable: Store) -> None:
        if not writable.holds:
            pytest.skip("this store cannot hold values")
        assert writable.hold("absent") is None
        writable.set("a/k", b"0123456789")
        held = writable.hold("a/k")
        assert held is not None
        writable.set("a/k", b"abc")
        assert held.size == 10
        for part, expected in (((0, 3), b"012"), ((8, 9), b"89"), ((-2, None), b"89"), ((0, None), b"0123456789")):
            try:
                assert plain(held.get(part)) == expected
            except StoreError:
                pass  # a place that does not keep what was replaced may say so, but must give nothing else
        held.close()

    def test_held_values_tell_states_apart(self, writable: Store) -> None:
        if not writable.holds:
            pytest.skip("this store cannot hold values")
        writable.set("k", b"first")
        one, two = writable.hold("k"), writable.hold("k")
        writable.set("k", b"other")
        three = writable.hold("k")
        assert one is not None
        assert two is not None
        assert three is not None
        if one.version is not None and two.version is not None:
            assert one.version == two.version
            assert one.version != three.version
        for held in (one, two, three):
            held.close()

    def test_parts_are_of_the_state_that_is_named(self, writable: Store) -> None:
        if not writable.states:
            pytest.skip("this store does not tell states apart")
        assert writable.get_state("absent") is None
        writable.set("k", b"0123456789")
        first = writable.get_state("k", (0, 4))
        assert first is not None
        assert plain(first.data) == b"0123"
        again = writable.get_state("k", (4, None), first.version)
        assert again is not None
        assert plain(again.data) == b"456789"
        writable.set("k", b"abcdefghij")
        past = writable.get_state("k", (4, None), first.version)
        assert past is not None
        assert past.data is None

    # -- its life

    def test_it_may_be_flushed_and_closed(self, writable: Store) -> None:
        with writable as store:
            store.set("k", b"x")
            store.flush()
            assert plain(store.get("k")) == b"x"
            store.flush()
        store.close()

    def test_a_lock_keeps_other_threads_out(self, writable: Store) -> None:
        writable.set("count", b"0")

        def add(times: int) -> None:
            for _ in range(times):
                with writable.lock(["other", "count"]):
                    writable.set("count", b"%d" % (int(bytes(writable.get("count") or b"")) + 1))

        self._in_threads(add, [25] * self.threads)
        assert plain(writable.get("count")) == b"%d" % (25 * self.threads)

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
                    value = plain(writable.get(key))
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

    @staticmethod
    def _break_off(task_lock: AbstractContextManager[TaskLock]) -> None:
        with task_lock as taken:
            assert not taken.broken, "nothing had begun before"
            taken.begin()
            raise ZeroDivisionError

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
        assert plain(again.get("a/b")) == b"x"
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
            lambda: closed.erase_if("zarr.json", None),
            lambda: closed.erase("zarr.json"),
            lambda: closed.erase_values([]),
            lambda: closed.erase_prefix("a/"),
            closed.check_writable,
        ):
            with pytest.raises(ReadOnlyError):
                act()
        assert contents(closed) == TREE

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
            assert plain(writable.get(key)) == model.get(key)
        assert contents(writable) == model
