"""Writers and collectors in many orders: no chunk loses its object, whatever the order of their requests.

Each worker runs in a thread of its own and stops before each request to the store. A schedule says which worker
continues. The test runs all schedules in which one worker interrupts another once, and a sample of those with several
interruptions. Time passes between the two collections of a collector, but not while a writer is about to set a pointer,
because a writer does that within minutes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from tests.transformers.content.contents import content, objects

from omnizarr.store import MemoryStore, WrapperStore
from omnizarr.store.wrappers import ForwardedUpdates, forwarded
from omnizarr.transformers.content import ContentStore, collect
from omnizarr.transformers.content import objects as content_objects

HOUR = 3600.0
SAMPLE = 5000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 60
VALUE, OTHER = b"the value", b"another value"


class Worker:
    """A thread that stops before each request."""

    def __init__(self, world: World, work: Callable[[Worker, ContentStore], None]) -> None:
        self.pending = "start"
        self.finished = False
        self.error: BaseException | None = None
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(world, work), daemon=True)
        self._thread.start()

    def _run(self, world: World, work: Callable[[Worker, ContentStore], None]) -> None:
        self._go.acquire()
        world.local.worker = self
        try:
            work(self, content(world.store))
        except BaseException as error:
            self.error = error
        self.finished = True
        self._stopped.release()

    def stop(self, pending: str) -> None:
        """Called by the worker before a request."""
        self.pending = pending
        self._stopped.release()
        self._go.acquire()

    def step(self) -> None:
        """Called by the schedule: let it send the request, and go on to the next."""
        self._go.release()
        self._stopped.acquire()


class SteppedUpdates(ForwardedUpdates):
    def read(self, key: str, limit: int | None = None) -> Any:
        self.store.stop(f"read {key}")  # type: ignore[attr-defined]
        return self.inner.read(key, limit)

    def write(self, key: str, value: Any, version: Any) -> bool:
        self.store.stop(f"set {key}")  # type: ignore[attr-defined]
        return self.inner.write(key, value, version)


class SteppedStore(WrapperStore):
    """Stops the current worker before each request."""

    updates = forwarded("updates", SteppedUpdates)

    def __init__(self, world: World) -> None:
        super().__init__(MemoryStore())
        self._world = world

    def stop(self, name: str) -> None:
        worker = getattr(self._world.local, "worker", None)
        if worker is not None:
            worker.stop(name)

    def get(self, key: str, range: Any = None) -> Any:
        self.stop(f"get {key}")
        return self.inner.get(key, range)

    def set(self, key: str, value: Any) -> None:
        self.stop(f"set {key}")
        self.inner.set(key, value)

    def erase(self, key: str) -> None:
        self.stop(f"erase {key}")
        self.inner.erase(key)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        self.stop(f"list {prefix}")
        return iter(list(self.inner.list_prefix(prefix)))


class World:
    """A store, its workers, and the time that they see."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.local = threading.local()
        self.store = SteppedStore(self)
        self.time = 1_800_000_000.0
        self.workers: list[Worker] = []
        monkeypatch.setattr(content_objects, "now", lambda: self.time)

    def may_go(self, worker: Worker) -> bool:
        """Time does not pass while another worker is about to set a pointer or a mark, or to remove anything,
        because it has just looked at the clock."""
        if worker.pending != "wait":
            return not worker.finished
        return not any(
            other.pending.startswith(("set a/c/", "set a/content/condemned/", "erase a/content/"))
            for other in self.workers
            if other is not worker and not other.finished
        )

    def wait(self, worker: Worker, seconds: float) -> None:
        worker.stop("wait")
        self.time += seconds

    def run(self, works: list[Callable[[Worker, ContentStore], None]], choose: Callable[[int, list[int]], int]) -> int:
        """Run all workers; `choose` gives the worker of each step, and the result is the number of steps."""
        self.workers[:] = [Worker(self, work) for work in works]
        steps = 0
        while any(not worker.finished for worker in self.workers):
            ready = [number for number, worker in enumerate(self.workers) if self.may_go(worker)]
            self.workers[choose(steps, ready)].step()
            steps += 1
        for worker in self.workers:
            if worker.error is not None:
                raise worker.error
        return steps


def writer(world: World, keys: range, value: bytes) -> Callable[[Worker, ContentStore], None]:
    """Sets chunks to a value, one of them by compare-and-set."""

    def work(worker: Worker, store: ContentStore) -> None:
        for key in keys:
            store.set(f"a/c/{key}", value)

        updates = store.updates
        assert updates is not None
        while True:
            before, version = updates.read("a/c/99") or (None, None)
            if updates.write("a/c/99", bytes(before or b"") + b"+", version):
                break

    return work


def mover(world: World) -> Callable[[Worker, ContentStore], None]:
    """Moves a chunk to a key that the collector may have read before, and erases the old one."""

    def work(worker: Worker, store: ContentStore) -> None:
        value = store.get("a/c/50")
        assert value is not None
        store.set("a/c/0", bytes(value))
        store.erase("a/c/50")

    return work


def collector(world: World) -> Callable[[Worker, ContentStore], None]:
    def work(worker: Worker, store: ContentStore) -> None:
        collect(store, min_age=HOUR)
        world.wait(worker, HOUR)
        collect(store, min_age=HOUR)

    return work


def single_collector(world: World) -> Callable[[Worker, ContentStore], None]:
    return lambda worker, store: collect(store, min_age=HOUR) and None


def releaser(world: World) -> Callable[[Worker, ContentStore], None]:
    """Erases the last reference to an object, and stores the same value again."""

    def work(worker: Worker, store: ContentStore) -> None:
        store.erase("a/c/50")
        store.set("a/c/2", OTHER)

    return work


def prepare(world: World, condemned: bool) -> None:
    store = content(world.store)
    store.set("a/c/1", VALUE)
    store.erase("a/c/1")
    store.set("a/c/50", OTHER)
    if condemned:
        pointer = world.store.get("a/c/50")
        store.erase("a/c/50")
        collect(store, min_age=HOUR)
        world.store.set("a/c/50", pointer)  # a writer that looked for the mark before
        world.time += HOUR


def check(world: World, expected: dict[str, bytes]) -> None:
    store = content(world.store)
    for _ in range(3):
        found = {key: bytes(store.get(key) or b"") for key in store.list_prefix("a/c/")}
        assert found == expected
        world.time += HOUR
        collect(store, min_age=HOUR)
    assert len(objects(world.store)) == len({bytes(world.store.get(key) or b"") for key in expected})
    assert list(world.store.list_prefix("a/content/condemned/")) == []


def switching(order: list[int], switches: dict[int, int]) -> Callable[[int, list[int]], int]:
    """Each worker goes on until it ends, in this order, but at some steps another one takes over."""
    current: list[int] = [order[0]]

    def choose(step: int, ready: list[int]) -> int:
        if step in switches:
            current[0] = ready[switches[step] % len(ready)]
        if current[0] not in ready:
            current[0] = next(number for number in order if number in ready)
        return current[0]

    return choose


SCENES: dict[str, tuple[Callable[[World], list[Any]], dict[str, bytes]]] = {
    "a writer": (
        lambda world: [writer(world, range(2, 4), VALUE), collector(world)],
        {"a/c/2": VALUE, "a/c/3": VALUE, "a/c/50": OTHER, "a/c/99": b"+"},
    ),
    "two writers": (
        lambda world: [writer(world, range(2, 3), VALUE), writer(world, range(3, 4), VALUE), collector(world)],
        {"a/c/2": VALUE, "a/c/3": VALUE, "a/c/50": OTHER, "a/c/99": b"++"},
    ),
    "two collectors": (
        lambda world: [writer(world, range(2, 3), VALUE), collector(world), collector(world)],
        {"a/c/2": VALUE, "a/c/50": OTHER, "a/c/99": b"+"},
    ),
    "a released object": (
        lambda world: [releaser(world), single_collector(world), single_collector(world)],
        {"a/c/2": OTHER},
    ),
    "a moved chunk": (lambda world: [mover(world), collector(world), collector(world)], {"a/c/0": OTHER}),
}


@pytest.mark.parametrize("condemned", [False, True], ids=["new", "condemned"])
@pytest.mark.parametrize("scene", SCENES)
def test_Z17_no_order_of_requests_loses_an_object(scene: str, condemned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    make, expected = SCENES[scene]

    def run(choose: Callable[[int, list[int]], int]) -> int:
        world = World(monkeypatch)
        prepare(world, condemned)
        steps = world.run(make(world), choose)
        check(world, expected)
        return steps

    workers = len(make(World(monkeypatch)))
    orders = [list(range(workers)), list(range(workers))[::-1]]
    for order in orders:
        steps = run(switching(order, {}))
        for step in range(1, steps):
            for to in range(workers):
                run(switching(order, {step: to}))
    random = Random(scene)
    for _ in range(SAMPLE):
        switches = {random.randrange(60): random.randrange(workers) for _ in range(random.randint(2, 8))}
        run(switching(random.choice(orders), switches))
    for _ in range(SAMPLE):
        run(lambda step, ready: random.choice(ready))


def scripted(world: World, *script: tuple[int, str]) -> Callable[[int, list[int]], int]:
    """Each worker in turn goes on until its next request begins with a text; an empty text means until it ends."""
    left = list(script)

    def choose(step: int, ready: list[int]) -> int:
        while True:
            worker, until = left[0]
            if worker in ready and not (until and world.workers[worker].pending.startswith(until)):
                return worker
            del left[0]

    return choose


def test_Z17_collectors_agree_by_compare_and_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """One collector saw a pointer to the object and is about to lift the mark; the other did not, and removes it."""
    world = World(monkeypatch)
    prepare(world, condemned=True)
    mark = min(world.store.list_prefix("a/content/condemned/"))
    choose = scripted(
        world,
        *[(1, f"set {mark}"), (0, "get a/content/condemned"), (2, "erase a/content/")],
        *[(1, ""), (0, "set a/c/2"), (2, ""), (0, "")],
    )
    world.run([releaser(world), single_collector(world), single_collector(world)], choose)
    check(world, {"a/c/2": OTHER})


def test_Z17_a_collector_that_was_suspended_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has claimed a mark; an hour later another collector removes the object, and a writer stores it again."""
    world = World(monkeypatch)
    prepare(world, condemned=False)
    choose = scripted(world, (1, "wait"), (1, "get a/c/"), (1, "get a/content/"), (2, ""), (0, ""), (1, ""))
    world.run([writer(world, range(2, 3), VALUE), collector(world), collector(world)], choose)
    check(world, {"a/c/2": VALUE, "a/c/50": OTHER, "a/c/99": b"+"})
