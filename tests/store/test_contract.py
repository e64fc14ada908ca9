"""The default methods of the store contract: a store needs only four methods of its own (R116)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import InvalidKeyError, ReadOnlyError
from omnizarr.store import Buffer, ByteRange, Store
from omnizarr.store.contract import check_key, check_prefix, cut, extent_of, flat
from omnizarr.testing import StoreSuite


class SmallestStore(Store):
    """A store that implements only the four required methods."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    @property
    def location(self) -> str:
        return f"smallest://{id(self):x}"

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        value = self.data.get(key)
        return None if value is None else cut(value, range)

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        self.data[key] = bytes(memoryview(value))

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        self.data.pop(key, None)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = check_prefix(prefix)
        return iter([key for key in list(self.data) if key.startswith(prefix)])


class TestSmallestStore(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> SmallestStore:
        return SmallestStore()


class UnwritableStore(SmallestStore):
    """A store that cannot write. Tests put values into `data`."""

    writable = False


class TestUnwritableStore(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> UnwritableStore:
        return UnwritableStore()

    def fill(self, store: Store, contents: dict[str, bytes]) -> Store:
        assert isinstance(store, UnwritableStore)
        store.data.update(contents)
        return store


def test_R116_partial_reads_and_writes_use_whole_values():
    store = SmallestStore()
    store.set_partial_values([("a", 0, b"0123456789"), ("b/c", 0, b"x"), ("b/d", 0, b"y")])
    store.set_partial_values([("a", 2, b"--"), ("a", 8, b"++>")])
    assert store.data["a"] == b"01--4567++>"
    parts = store.get_partial_values([("a", (1, 3)), ("absent", None), ("a", (9, None)), ("b/c", None)])
    assert [None if part is None else bytes(part) for part in parts] == [b"1--", None, b"+>", b"x"]
    store.erase_values(["a", "absent"])
    store.erase_prefix("b/")
    assert store.data == {}


def test_a_store_that_cannot_write_is_read_only():
    assert UnwritableStore().read_only
    with pytest.raises(ReadOnlyError):
        UnwritableStore().set("k", b"")


@given(st.binary(max_size=12), st.integers(0, 15), st.one_of(st.none(), st.integers(0, 15)))
def test_R112_a_range_is_a_slice(value: bytes, start: int, length: int | None):
    expected = value[start:] if length is None else value[start : start + length]
    assert bytes(cut(value, (start, length))) == expected
    offset, count = extent_of((start, length), len(value))
    assert value[offset : offset + count] == expected
    assert offset + count <= len(value)
    assert bytes(cut(value, (-start, None))) == (value[-start:] if start else value)


def test_cut_does_not_copy():
    value = b"0123456789"
    assert cut(value, None) is value
    part = cut(value, (2, 3))
    assert isinstance(part, memoryview)
    assert part.obj is value


def test_flat_counts_bytes():
    numbers = memoryview(bytes(range(16))).cast("I")
    assert len(flat(numbers)) == 16
    assert len(flat(numbers[::2])) == 8
    assert len(flat(numbers[:0])) == 0
    assert len(flat(bytearray(3))) == 3
    square = memoryview(bytes(range(16))).cast("B", (4, 4))
    assert bytes(flat(square)) == bytes(range(16))


@given(st.text(alphabet="a./\0\ud800é\n", max_size=6))
def test_R108_check_key_checks_every_segment(key: str):
    allowed = "\0" not in key and "\ud800" not in key and not {"", ".", ".."} & set(key.split("/"))
    if allowed:
        check_key(key)
    else:
        with pytest.raises(InvalidKeyError) as caught:
            check_key(key)
        assert caught.value.key == key


def test_A16_check_prefix_removes_the_leading_slash():
    assert [check_prefix(prefix) for prefix in ("", "/", "a/", "/a/b/")] == ["", "", "a/", "a/b/"]


def test_locks_of_many_keys_do_not_deadlock():
    store = SmallestStore()
    keys = [f"k{number}" for number in range(50)]

    def work(order: int) -> None:
        for _ in range(50):
            with store.lock(keys[::order]):
                pass

    threads = [threading.Thread(target=work, args=(order,), daemon=True) for order in (1, -1, 3, -3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
