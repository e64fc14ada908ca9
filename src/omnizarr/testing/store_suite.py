"""`StoreSuite`: tests that every store must pass. Subclass it and define `make_store`; pytest collects the tests::

    class TestMyStore(StoreSuite):
        def make_store(self, tmp_path):
            return MyStore(tmp_path)

The names of the tests cite the rules of the specifications (R…, and S… for the drafts) and their open questions (A…) by
omnizarr's numbers.
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
from omnizarr.store import Store, Updates, as_read_only
from omnizarr.store.thread_locks import TaskLock
from omnizarr.store.update import set_if_absent, update
from omnizarr.testing.store_suite_basics import TREE, StoreBasics, contents, plain

__all__ = ["StoreSuite"]


def count_up(store: Store, key: str, times: int) -> None:
    """Add `times` to the number that is the value of `key`, one update at a time."""

    def add_one(updates: Updates) -> bool | None:
        stored = updates.read(key)
        assert stored is not None
        value, version = stored
        return updates.write(key, b"%d" % (int(bytes(value or b"0")) + 1), version) or None

    for _ in range(times):
        update(store, [key], add_one)


class StoreSuite(StoreBasics):
    """Tests for a store. Tests of a capability that the store does not offer are skipped."""

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

    def test_A66_erase_keeps_the_keys_below(self, writable: Store) -> None:
        writable.set("a/b/c", b"x")
        writable.erase("a")
        writable.erase("a/b")
        assert plain(writable.get("a/b/c")) == b"x"

    def test_R110_erase_prefix(self, tree: Store) -> None:
        if not tree.writable:
            pytest.skip("this store cannot write")
        tree.erase_prefix("a/")
        assert contents(tree) == {key: value for key, value in TREE.items() if not key.startswith("a/")}
        assert tree.list_dir("") == (["zarr.json"], ["ab/"])
        tree.erase_prefix("absent/")
        tree.set("a/b/zarr.json", b"again")
        assert plain(tree.get("a/b/zarr.json")) == b"again"

    def test_A16_erase_prefix_ignores_a_leading_slash(self, tree: Store) -> None:
        if not tree.writable:
            pytest.skip("this store cannot write")
        tree.erase_prefix("/a/b/")
        assert sorted(tree.list()) == ["a/zarr.json", "ab/zarr.json", "zarr.json"]
        for root in ("/", ""):
            tree.erase_prefix(root)
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

    def test_S45_list_dir_of_a_draft_group(self, store: Store) -> None:
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

    def test_A16_listings_ignore_a_leading_slash(self, tree: Store) -> None:
        assert sorted(tree.list_prefix("/")) == sorted(TREE)
        assert sorted(tree.list_prefix("/a/b/")) == sorted(tree.list_prefix("a/b/"))
        assert tree.list_dir("/") == tree.list_dir("")
        assert tree.list_dir("/a/") == tree.list_dir("a/")

    def test_an_empty_store_lists_nothing(self, store: Store) -> None:
        if not store.listable:
            pytest.skip("this store cannot list")
        assert list(store.list()) == []
        assert store.list_dir("") == ([], [])

    def test_erase_while_listing(self, tree: Store) -> None:
        if not tree.writable:
            pytest.skip("this store cannot write")
        for key in tree.list():
            tree.erase(key)
        assert list(tree.list()) == []

    # -- concurrent writers

    def test_updates_detect_every_change(self, writable: Store) -> None:
        updates = writable.updates
        if updates is None:
            pytest.skip("this store offers no updates")
        assert updates.read("a/k") == (None, None)
        assert updates.write("a/k", b"first", None)
        assert not updates.write("a/k", b"other", None)
        value, version = updates.read("a/k") or (None, None)
        assert plain(value) == b"first"
        assert not updates.write("absent", b"x", version)
        assert updates.write("a/k", b"second", version)
        assert not updates.write("a/k", b"third!", version)
        assert plain(writable.get("a/k")) == b"second"
        _, version = updates.read("a/k") or (None, None)
        writable.erase("a/k")
        assert not updates.write("a/k", b"fourth", version)
        assert writable.get("a/k") is None
        assert hash(version) == hash(pickle.loads(pickle.dumps(version)))

    def test_updates_erase_only_the_version_that_was_read(self, writable: Store) -> None:
        updates = writable.updates
        if updates is None or not updates.erases:
            pytest.skip("this store offers no conditional erasure")
        assert not updates.erase("a/k", "never")
        assert updates.erase("a/k", None)
        writable.set("a/k", b"first")
        _, version = updates.read("a/k") or (None, None)
        writable.set("a/k", b"other")
        assert not updates.erase("a/k", version)
        assert not updates.erase("a/k", None)
        assert plain(writable.get("a/k")) == b"other"
        _, version = updates.read("a/k") or (None, None)
        assert updates.erase("a/k", version)
        assert writable.get("a/k") is None

    def test_updates_read_no_value_above_the_limit(self, writable: Store) -> None:
        updates = writable.updates
        if updates is None:
            pytest.skip("this store offers no updates")
        writable.set("a/k", b"four")
        within, above = updates.read("a/k", 4), updates.read("a/k", 3)
        assert within is not None
        assert plain(within[0]) == b"four"
        assert above is None or plain(above[0]) == b"four", "a store may ignore the limit"

    def test_set_if_absent(self, writable: Store) -> None:
        assert set_if_absent(writable, "a/k", b"first")
        assert not set_if_absent(writable, "a/k", b"other")
        assert plain(writable.get("a/k")) == b"first"

    def test_a_task_lock_has_one_holder_and_reports_a_crash(self, writable: Store) -> None:
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
            self._fail_midway(writable.task_lock("a/k"))
        assert not writable.listable or sorted(writable.list()) == ["a/k"]
        with writable.task_lock("a/k") as task_lock:
            assert task_lock.broken
        with writable.task_lock("a/k") as task_lock:
            assert not task_lock.broken

    def test_splicing_reuses_parts_of_the_old_value(self, writable: Store) -> None:
        splicing, snapshots = writable.splicing, writable.snapshots
        if splicing is None or snapshots is None:
            pytest.skip("this store offers no splicing")
        writable.set("a/k", b"0123456789")
        snapshot = snapshots.open("a/k")
        assert snapshot is not None
        try:
            assert splicing.splice("a/k", [(7, 3), b"--", (0, 4), memoryview(b"!")], snapshot)
            assert writable.get("a/k") == b"789--0123!"
            assert not splicing.splice("a/k", [b"late"], snapshot), "the snapshot is not the current value any more"
        finally:
            snapshot.close()
        assert writable.get("a/k") == b"789--0123!"
        assert list(writable.list()) == ["a/k"]

    def test_no_update_is_lost_between_threads(self, writable: Store) -> None:
        writable.set("count", b"0")
        self._in_threads(lambda times: count_up(writable, "count", times), [25] * self.threads)
        assert plain(writable.get("count")) == b"%d" % (25 * self.threads)

    def test_no_update_is_lost_between_processes(self, writable: Store) -> None:
        if writable.updates is None or not self.pickled_is_equal or not self.shared_by_processes:
            pytest.skip("this store offers no updates that hold between processes")
        writable.set("count", b"0")
        writable.flush()
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=count_up, args=(writable, "count", 10)) for _ in range(2)]
        for process in processes:
            process.start()
        count_up(writable, "count", 10)
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0, 0]
        assert plain(writable.get("count")) == b"30"

    # -- snapshots and versions

    def test_a_snapshot_does_not_change(self, writable: Store) -> None:
        snapshots = writable.snapshots
        if snapshots is None:
            pytest.skip("this store offers no snapshots")
        assert snapshots.open("absent") is None
        writable.set("a/k", b"0123456789")
        snapshot = snapshots.open("a/k")
        assert snapshot is not None
        writable.set("a/k", b"abc")
        assert snapshot.size == 10
        for part, expected in (((0, 3), b"012"), ((8, 9), b"89"), ((-2, None), b"89"), ((0, None), b"0123456789")):
            try:
                assert plain(snapshot.get(part)) == expected
            except StoreError:
                pass  # allowed: the store does not keep replaced values. Returning other bytes is not.
        snapshot.close()

    def test_versions_of_snapshots_differ_if_the_value_changed(self, writable: Store) -> None:
        snapshots = writable.snapshots
        if snapshots is None:
            pytest.skip("this store offers no snapshots")
        writable.set("k", b"first")
        one, two = snapshots.open("k"), snapshots.open("k")
        writable.set("k", b"other")
        three = snapshots.open("k")
        assert one is not None
        assert two is not None
        assert three is not None
        if one.version is not None and two.version is not None:
            assert one.version == two.version
            assert one.version != three.version
        for snapshot in (one, two, three):
            snapshot.close()

    def test_versioned_reads_return_parts_of_one_version(self, writable: Store) -> None:
        reads = writable.versioned_reads
        if reads is None:
            pytest.skip("this store offers no versioned reads")
        assert reads.get("absent") is None
        writable.set("k", b"0123456789")
        first = reads.get("k", (0, 4))
        assert first is not None
        assert plain(first.data) == b"0123"
        second = reads.get("k", (4, None), first.version)
        assert second is not None
        assert plain(second.data) == b"456789"
        writable.set("k", b"abcdefghij")
        outdated = reads.get("k", (4, None), first.version)
        assert outdated is not None
        assert outdated.data is None or plain(outdated.data) == b"456789", "a store may keep replaced values"

    # -- flush and close

    def test_flush_and_close(self, writable: Store) -> None:
        with writable as store:
            store.set("k", b"x")
            store.flush()
            assert plain(store.get("k")) == b"x"
            store.flush()
        store.close()

    def test_a_lock_excludes_other_threads(self, writable: Store) -> None:
        writable.set("count", b"0")

        def add(times: int) -> None:
            for _ in range(times):
                with writable.lock(["other", "count"]):
                    writable.set("count", b"%d" % (int(bytes(writable.get("count") or b"")) + 1))

        self._in_threads(add, [25] * self.threads)
        assert plain(writable.get("count")) == b"%d" % (25 * self.threads)

    def test_an_error_releases_the_lock(self, writable: Store) -> None:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError), writable.lock(["k"]):
                raise ZeroDivisionError
        with writable.lock(["k"], shared=True):
            assert writable.get("k") is None

    def test_threads_never_read_partly_written_values(self, writable: Store) -> None:
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

    def test_threads_write_erase_and_list_concurrently(self, writable: Store) -> None:
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
    def _fail_midway(task_lock: AbstractContextManager[TaskLock]) -> None:
        with task_lock as lock:
            assert not lock.broken, "no task has begun before"
            lock.begin()
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
        unpickled = pickle.loads(pickle.dumps(filled))
        assert type(unpickled) is type(filled)
        assert plain(unpickled.get("a/b")) == b"x"
        assert unpickled.read_only == filled.read_only or not self.pickled_is_equal  # a copy may reject writes
        if self.pickled_is_equal:
            assert unpickled == filled
            assert hash(unpickled) == hash(filled)
            assert unpickled.location == filled.location

    def test_equality_and_hash(self, store: Store) -> None:
        assert store == store
        other: object = "store"
        assert store != other
        assert hash(store) == hash(store)

    def test_repr_contains_the_location(self, store: Store) -> None:
        assert isinstance(store.location, str)
        assert store.location
        assert store.location in repr(store)

    def test_read_only_stores_reject_every_write(self, tree: Store) -> None:
        protected = as_read_only(tree)
        assert protected.read_only
        writes: list[Callable[[], object]] = [
            lambda: protected.set("a/k", b"x"),
            lambda: protected.set_each([]),
            lambda: protected.set_partial_values([]),
            lambda: set_if_absent(protected, "a/k", b"x"),
            lambda: protected.erase("zarr.json"),
            lambda: protected.erase_values([]),
            lambda: protected.erase_prefix("a/"),
            protected.check_writable,
        ]
        updates = protected.updates
        if updates is not None:
            writes.append(lambda: updates.write("a/k", b"x", None))
            if updates.erases:
                writes.append(lambda: updates.erase("zarr.json", None))
        for write in writes:
            with pytest.raises(ReadOnlyError):
                write()
        assert contents(protected) == TREE

    # -- random operations

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
