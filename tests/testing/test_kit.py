"""The stores of `omnizarr.testing` work as documented, and importing omnizarr does not import them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnizarr.errors import ArgumentError, StoreError
from omnizarr.store import Buffer, ByteRange, MemoryStore
from omnizarr.testing import Call, Fault, FaultyStore, RecordingStore, SlowStore, StoreSuite


class TestRecording(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> RecordingStore:
        return RecordingStore(MemoryStore())


class TestSlow(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> SlowStore:
        return SlowStore(MemoryStore(), latency=0)


class TestFaultless(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> FaultyStore:
        return FaultyStore(MemoryStore(), [Fault("delay", seconds=0), Fault("fail", probability=0)])


@pytest.fixture
def inner() -> MemoryStore:
    store = MemoryStore()
    store.set_each([("a/x", b"0123"), ("a/y", b"4567"), ("b/x", b"89")])
    return store


# -- imports


def test_importing_omnizarr_imports_neither_testing_nor_pytest():
    program = (
        "import sys, omnizarr.store\n"
        "assert 'omnizarr.testing' not in sys.modules\n"
        "import omnizarr.testing\n"
        "assert 'pytest' not in sys.modules\n"
        "omnizarr.testing.StoreSuite\n"
        "assert 'pytest' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error():
    import omnizarr.testing

    with pytest.raises(AttributeError, match="Nothing"):
        omnizarr.testing.Nothing  # noqa: B018


# -- RecordingStore


def test_recording_keeps_every_call_in_order(inner: MemoryStore):
    store = RecordingStore(inner)
    store.get("a/x")
    store.get("a/x", (1, 2))
    store.get_into("a/x", 1, memoryview(bytearray(2)))
    store.get_partial_values([("a/x", None), ("b/x", (0, 1))])
    list(store.get_each([("a/y", None)]))
    store.set("c", b"1")
    store.set_each([("d", b"2"), ("e", b"3")])
    store.set_partial_values([("d", 1, b"22")])
    store.erase_values(["d", "e"])
    store.list_dir("a/")
    with store.lock(["k"]):
        pass
    assert store.calls == [
        Call("get", "a/x"),
        Call("get", "a/x", (1, 2)),
        Call("get_into", "a/x", (1, 2)),
        Call("get_partial_values", ("a/x", "b/x"), (None, (0, 1))),
        Call("get_each", ("a/y",), (None,)),
        Call("set", "c"),
        Call("set_each", ("d", "e")),
        Call("set_partial_values", ("d",), ((1, 2),)),
        Call("erase_values", ("d", "e")),
        Call("list_dir", "a/"),
        Call("lock", ("k",)),
    ]
    assert store.requests == 3 + 2 + 1 + 1 + 2 + 1 + 2 + 1 + 1
    assert store.methods()[:3] == ["get", "get", "get_into"]
    assert [call.key for call in store.of("get", "get_into")] == ["a/x"] * 3
    store.reset()
    assert store.requests == 0


def test_recording_loses_no_call_of_many_threads(inner: MemoryStore):
    store = RecordingStore(inner)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(store.get, ["a/x"] * 1000))
    assert store.requests == 1000
    assert pickle.loads(pickle.dumps(store)).calls == []


# -- SlowStore


class BarrierStore(MemoryStore):
    """Each request waits until `together` requests have arrived."""

    def __init__(self, together: int) -> None:
        super().__init__()
        self.barrier = threading.Barrier(together, timeout=30)

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        self.barrier.wait()
        return super().get(key, range)


def test_slow_requests_of_a_batch_overlap():
    store = SlowStore(BarrierStore(4), latency=0, limit=4)
    assert store.remote
    assert store.get_partial_values([(f"k{number}", None) for number in range(12)]) == [None] * 12
    assert sorted(index for index, _ in store.get_each([("k", None)] * 8)) == list(range(8))


def test_slow_requests_never_exceed_the_limit(inner: MemoryStore):
    active, peak = 0, 0
    guard = threading.Lock()

    def sleep(seconds: float) -> None:
        nonlocal active, peak
        with guard:
            active += 1
            peak = max(peak, active)
        with guard:
            active -= 1

    store = SlowStore(inner, latency=1, limit=3, sleep=sleep)
    store.set_each((f"k{number}", b"") for number in range(30))
    store.erase_values(f"k{number}" for number in range(30))
    assert 1 <= peak <= 3
    assert len(list(inner.list())) == 3


def test_every_slow_request_waits_once(inner: MemoryStore):
    waits: list[float] = []
    store = SlowStore(inner, latency=0.5, sleep=waits.append)
    store.get("a/x")
    store.list_dir("")
    store.get_partial_values([("a/x", None), ("a/y", (0, 1))])
    assert waits == [0.5] * 4


def test_a_slow_batch_raises_the_error_of_a_request(inner: MemoryStore):
    store = SlowStore(FaultyStore(inner, [Fault("fail", keys="b/*")]), latency=0)
    with pytest.raises(StoreError):
        store.get_partial_values([("a/x", None), ("b/x", None)])


# -- FaultyStore


def test_faults_by_request_number(inner: MemoryStore):
    store = FaultyStore(inner, [Fault("fail", calls=[2, 4])])
    outcomes = []
    for _ in range(5):
        try:
            outcomes.append(store.get("a/x"))
        except StoreError as error:
            outcomes.append(error.key)
    assert outcomes == [b"0123", "a/x", b"0123", "a/x", b"0123"]
    assert store.count == 5
    assert [number for number, *_ in store.met] == [2, 4]


def test_faults_by_key_and_method(inner: MemoryStore):
    store = FaultyStore(inner, [Fault("fail", keys="a/*", methods=["get"])])
    assert store.get("b/x") == b"89"
    assert store.exists("a/x")
    with pytest.raises(StoreError):
        store.get("a/x")
    with pytest.raises(StoreError):
        store.get_partial_values([("b/x", None), ("a/y", None)])


def test_random_faults_depend_only_on_the_seed(inner: MemoryStore):
    def failures(seed: int) -> list[int]:
        store = FaultyStore(inner, [Fault("fail", probability=0.3)], seed=seed)
        for _ in range(100):
            try:
                store.get("a/x")
            except StoreError:
                pass
        return [number for number, *_ in store.met]

    assert failures(1) == failures(1) != failures(2)
    assert 10 < len(failures(1)) < 60


def test_a_torn_write_stores_half_and_raises(inner: MemoryStore):
    store = FaultyStore(inner, [Fault("tear")])
    with pytest.raises(StoreError):
        store.set("a/x", bytearray(b"abcdefgh"))
    assert inner.get("a/x") == b"abcd"
    assert store.updates is not None
    with pytest.raises(StoreError):
        store.updates.write("a/x", b"12345678", b"abcd")
    assert inner.get("a/x") == b"1234"
    with pytest.raises(StoreError):
        store.erase_prefix("a/")
    assert sorted(inner.list()) == ["a/y", "b/x"]
    with pytest.raises(StoreError):
        store.get("a/y")


def test_a_torn_batch_keeps_earlier_values(inner: MemoryStore):
    store = FaultyStore(inner, [Fault("tear", calls=[2])])
    with pytest.raises(StoreError):
        store.set_each([("n/1", b"11"), ("n/2", b"22"), ("n/3", b"33")])
    assert [inner.get(f"n/{number}") for number in (1, 2, 3)] == [b"11", b"2", None]


def test_a_duplicate_runs_twice_and_returns_the_second_answer(inner: MemoryStore):
    recording = RecordingStore(inner)
    store = FaultyStore(recording, [Fault("duplicate")])
    store.set("k", b"x")
    assert recording.methods() == ["set", "set"]
    assert not store.updates.write("new", b"x", None), "the second of the two calls reports a conflict"
    assert inner.get("new") == b"x"


def test_only_the_first_matching_fault_applies(inner: MemoryStore):
    store = FaultyStore(inner, [Fault("delay", keys="a/*", seconds=0), Fault("fail")])
    assert store.get("a/x") == b"0123"
    with pytest.raises(StoreError):
        store.get("b/x")


def test_a_faulty_store_pickles_with_its_schedule(inner: MemoryStore):
    store = pickle.loads(pickle.dumps(FaultyStore(inner, [Fault("fail", calls=range(2, 3))])))
    assert store.get("a/x") == b"0123"
    with pytest.raises(StoreError):
        store.get("a/x")


def test_invalid_faults_are_rejected():
    with pytest.raises(ArgumentError):
        Fault("explode")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        Fault("fail", probability=2)
