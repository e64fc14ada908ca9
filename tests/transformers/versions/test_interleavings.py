"""All orders in which the requests of two committers and a pruner can reach a store, up to equivalence.

Each actor runs in a thread and waits before every request. The explorer lets one actor continue at a time and tries
every choice. It skips orders that differ only in requests which do not affect each other, by sleep sets (Godefroid,
1996): two requests are independent if both read or both
erase, or if they have different keys. After every change of the head and
every erasure, each version that the head shows must be readable and have the contents of its commits.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar

import pytest

from omnizarr.store import MemoryStore, Store
from omnizarr.testing import RequestStore
from omnizarr.transformers.versions import commit, open_session, prune_history
from omnizarr.transformers.versions.history import History

T = TypeVar("T")

Act: TypeAlias = "Callable[[Stepped], object]"

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"

_ACTOR = threading.local()


class Aborted(BaseException):
    """Ends an actor whose run leads to a known state."""


class Actor:
    """A thread that waits before every request."""

    def __init__(self, name: str, act: Act, store: Store, *, fine: bool) -> None:
        self.name = name
        self.fine = fine
        self.next: tuple[str, str] = ("", "")
        """The method and the key of the request that it waits for."""
        self.result: object = None
        self.done = False
        self.aborted = False
        self._go = threading.Semaphore(0)
        self.stopped = threading.Semaphore(0)
        """Released when the actor waits for its next request, or has ended."""
        self._thread = threading.Thread(target=self._run, args=(act, Stepped(store, self)), daemon=True)
        self._thread.start()
        self.stopped.acquire()

    def _run(self, act: Act, store: Stepped) -> None:
        _ACTOR.name, _ACTOR.count = self.name, 0
        try:
            self.result = act(store)
        except Aborted:
            pass
        except Exception as error:
            self.result = error
        self.done = True
        self.stopped.release()

    def wait(self, method: str, key: str) -> None:
        self.next = method, key
        self.stopped.release()
        self._go.acquire()
        if self.aborted:
            raise Aborted

    def step(self) -> None:
        self._go.release()
        self.stopped.acquire()

    def abort(self) -> None:
        self.aborted = True
        while not self.done:
            self.step()
        self._thread.join()


class Stepped(RequestStore):
    """The store of an actor. Before `start`, requests do not wait."""

    def __init__(self, inner: Store, actor: Actor) -> None:
        super().__init__(inner)
        self._actor = actor
        self._started = False

    def start(self) -> None:
        self._started = True

    def request(self, method: str, key: str, act: Callable[[], T], *, torn: Callable[[], object] | None = None) -> T:
        if self._started and (self._actor.fine or method in COARSE):
            self._actor.wait(method, key)
        answer = act()
        return sorted(answer) if method == "list_prefix" else answer  # type: ignore[return-value,call-overload]


READS = {"get", "updates.read", "exists", "size", "list_prefix", "list_dir"}
CHANGES = {"updates.write", "erase"}
"""Requests that may change what readers see: a new value under a new name does not."""


COARSE = CHANGES | {"get", "updates.read"}
"""Requests at which actors wait in runs with three of them. The others, `set` and listings, follow the request before
them at once; runs with two actors, and `HYPOTHESIS_PROFILE=long`, try all orders of these, too."""


def independent(one: tuple[str, str], two: tuple[str, str]) -> bool:
    if (one[0] in READS and two[0] in READS) or one[0] == two[0] == "erase":
        return True
    for (method, prefix), (_, key) in ((one, two), (two, one)):
        if method in ("list_prefix", "list_dir") and key.startswith(prefix):
            return False
    return one[1] != two[1]


def explore(
    prepare: Callable[[MemoryStore], None],
    acts: Mapping[str, Act],
    check: Callable[[MemoryStore, dict[str, Actor]], None],
    *,
    fine: bool | None = None,
) -> list[dict[str, object]]:
    """The results of the actors in all complete runs."""
    if fine is None:
        fine = len(acts) < 3 or LONG
    results: list[dict[str, object]] = []
    schedules: list[tuple[list[str], set[str]]] = [([], set())]
    while schedules:
        schedule, sleeping = schedules.pop()
        store = MemoryStore()
        _ACTOR.name, _ACTOR.count = "setup", 0
        prepare(store)
        actors = {name: Actor(name, act, store, fine=fine) for name, act in acts.items()}
        for choice in schedule:
            actors[choice].step()
        taken = list(schedule)
        if taken:
            check(store, actors)
        while True:
            ready = [name for name, actor in actors.items() if not actor.done]
            awake = [name for name in ready if name not in sleeping]
            if not awake:
                if not ready:
                    results.append({name: actor.result for name, actor in actors.items()})
                break
            tried = set(sleeping)
            for choice in awake:
                asleep = {name for name in tried if independent(actors[name].next, actors[choice].next)}
                if choice is not awake[0]:
                    schedules.append(([*taken, choice], asleep))
                else:
                    first = asleep
                tried.add(choice)
            method = actors[awake[0]].next[0]
            actors[awake[0]].step()
            taken.append(awake[0])
            sleeping = first
            if method in CHANGES or actors[awake[0]].done:
                check(store, actors)
        for actor in actors.values():
            actor.abort()
    return results


# -- deterministic names, times and locks

TIMES = {"setup": 0, "early": 10, "late": 30, "pruner": 20, "second": 20}
"""The clock of each actor, in minutes. The pruner's fence lies between the sessions of the two committers."""


class Clock(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=TIMES[_ACTOR.name])


class Names:
    @staticmethod
    def token_hex(size: int) -> str:
        _ACTOR.count += 1
        return f"{_ACTOR.name}{_ACTOR.count}".encode().hex().rjust(2 * size, "0")[-2 * size :]


class OwnLocks:
    """A lock for each name. Those of the library are shared by names, so that an actor could wait for another one."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}

    def of(self, name: str) -> threading.Lock:
        return self._locks.setdefault(name, threading.Lock())


@pytest.fixture(autouse=True)
def deterministic(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    base = "omnizarr.transformers.versions"
    for module in ("records", "publish", "prune"):
        monkeypatch.setattr(f"{base}.{module}.datetime", Clock)
    monkeypatch.setattr(f"{base}.records.secrets", Names)
    monkeypatch.setattr(f"{base}.session_state._CHANGING", OwnLocks())
    monkeypatch.setattr(f"{base}.publish.time.sleep", lambda seconds: None)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # actors hand over to each other all the time
    yield
    sys.setswitchinterval(interval)


# -- the tests


def committer(key: str, value: bytes) -> Act:
    def act(store: Stepped) -> object:
        session = open_session(store, "", None)
        session.set(key, value)
        store.start()
        return commit(session, value.decode()).base.number

    return act


def pruner(keep: int, grace: timedelta) -> Act:
    def act(store: Stepped) -> object:
        store.start()
        return prune_history(History(store, ""), keep=keep, grace=grace).versions

    return act


def prepare(store: MemoryStore) -> None:
    for number in (1, 2):
        session = open_session(store, "", None)
        session.set("a", b"%d" % number)
        commit(session, f"{number}")


def contents(store: MemoryStore) -> dict[int, dict[str, bytes]]:
    """The contents of all versions that the head shows; raises if one cannot be read."""
    found = {}
    for version in History(store, "").public():
        session = open_session(store, "", None, version.number)
        found[version.number] = {key: bytes(session.get(key) or b"") for key in session.list()}
        assert (version.message == "created") == (version.number == 0)
    return found


def applied(store: MemoryStore) -> dict[int, dict[str, bytes]]:
    """The contents that the messages of the commits describe: each changes one key."""
    history = History(store, "")
    head, _ = history.head()
    state: dict[str, bytes] = {}
    found = {}
    for number in range(head.number + 1):
        if number >= head.oldest:
            message = history.find(number, head).message
        else:
            message = MESSAGES[number]
        if number:
            state[KEYS[message]] = message.encode()
        found[number] = dict(state)
    return {number: values for number, values in found.items() if number >= head.oldest}


MESSAGES = {0: "created", 1: "1", 2: "2"}
KEYS = {"1": "a", "2": "a", "x": "a", "y": "b", "z": "a"}


def check(store: MemoryStore, actors: dict[str, Actor]) -> None:
    head, _ = History(store, "").head()
    for actor in actors.values():
        if isinstance(actor.result, int):
            assert head.number >= actor.result, "a successful commit is visible"
    state = frozenset(store.list()), bytes(store.get("__versions__/head.json") or b"")
    if state not in READABLE:
        READABLE.add(state)
        assert contents(store) == applied(store)


READABLE: set[object] = set()
"""States that were found to be readable. Values under equal names are equal, because names contain the actor."""


def kinds(results: list[dict[str, object]]) -> set[tuple[str, ...]]:
    return {tuple(type(value).__name__ for value in result.values()) for result in results}


def test_Z18_Z20_two_committers_of_different_keys_and_a_pruner() -> None:
    """The early session is before the fence, so that it commits before the pruner or not at all."""
    acts = {"early": committer("a", b"x"), "late": committer("b", b"y"), "pruner": pruner(2, timedelta(0))}
    results = explore(prepare, acts, check)
    assert len(results) > 50
    assert kinds(results) == {("int", "int", "tuple"), ("StoreError", "int", "tuple")}


def test_Z19_Z20_two_committers_of_one_key_and_a_pruner() -> None:
    acts = {"early": committer("a", b"x"), "late": committer("a", b"z"), "pruner": pruner(2, timedelta(0))}
    results = explore(prepare, acts, check)
    assert len(results) > 50
    assert {"ConflictError"} <= {type(result["early"]).__name__ for result in results}
    assert {"ConflictError"} <= {type(result["late"]).__name__ for result in results}
    for result in results:
        assert any(isinstance(value, int) for value in (result["early"], result["late"])), "one of them commits"


def test_two_pruners() -> None:
    acts = {"pruner": pruner(1, timedelta(0)), "second": pruner(2, timedelta(0))}
    assert kinds(explore(prepare, acts, check)) == {("tuple", "tuple")}


@pytest.mark.skipif(not LONG, reason="takes long; `HYPOTHESIS_PROFILE=long` runs it")
def test_a_committer_and_two_pruners() -> None:
    acts = {"late": committer("b", b"y"), "pruner": pruner(1, timedelta(0)), "second": pruner(2, timedelta(0))}
    results = explore(prepare, acts, check, fine=False)
    assert all(isinstance(result["pruner"], tuple) and isinstance(result["second"], tuple) for result in results)


def test_the_grace_period_protects_committers() -> None:
    """Versions and sessions of the last 15 minutes stay, so that all succeed."""
    acts = {"early": committer("a", b"x"), "pruner": pruner(1, timedelta(minutes=15))}
    assert kinds(explore(prepare, acts, check)) == {("int", "tuple")}
