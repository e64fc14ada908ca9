"""A store that fails on a schedule, for tests of error handling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from random import Random
from typing import Any, Literal, TypeVar

from omnizarr.errors import ArgumentError, StoreError, UncertainWriteError
from omnizarr.store import Store
from omnizarr.testing.request_store import RequestStore

__all__ = ["Fault", "FaultyStore"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, and its conditions: a request that meets all of them has the fault."""

    kind: Literal["fail", "tear", "lose", "delay", "duplicate"]
    """`fail` raises without a request; `tear` does half of a write and raises (other requests fail); `lose` sends the
    request and raises instead of returning the answer, `UncertainWriteError` for a conditional write; `delay` waits
    first; `duplicate` sends the request twice and returns the second answer, like a network that repeats a request."""
    calls: Collection[int] | None = None
    """The numbers of the requests; the first request to the store is 1. None: all requests."""
    keys: str = "*"
    """A shell pattern for the key, such as `c/*`; `*` matches `/`, too."""
    methods: Collection[str] | None = None
    """The names of methods, such as `get` or `updates.write`. None: all methods."""
    probability: float = 1.0
    """The probability of the fault, if the other conditions are met."""
    seconds: float = 0.01
    """The length of a delay."""

    def __post_init__(self) -> None:
        if self.kind not in ("fail", "tear", "lose", "delay", "duplicate"):
            raise ArgumentError(f"unknown kind of fault `{self.kind}`", argument="kind")
        if not 0 <= self.probability <= 1:
            raise ArgumentError(
                f"probability must lie between 0 and 1, found {self.probability}", argument="probability"
            )


class FaultyStore(RequestStore, keeps_capabilities=True):
    """Forwards to `inner`, except for the faults. If a request meets several faults, the first one counts. The same
    seed and the same order of requests give the same faults."""

    def __init__(self, inner: Store, faults: Iterable[Fault] = (), *, seed: int = 0) -> None:
        super().__init__(inner)
        self.faults = tuple(faults)
        self.count = 0
        """The number of requests so far."""
        self.met: list[tuple[int, str, str, Fault]] = []
        """The faults that happened: number of the request, method, key, fault."""
        self._random = Random(seed)
        self._counting = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_counting"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._counting = threading.Lock()

    def request(self, method: str, key: str, act: Callable[[], T], *, torn: Callable[[], object] | None = None) -> T:
        fault = self._next(method, key)
        if fault is None:
            return act()
        if fault.kind == "delay":
            time.sleep(fault.seconds)
            return act()
        if fault.kind == "duplicate":
            act()
            return act()
        if fault.kind == "tear" and torn is not None:
            torn()
        if fault.kind == "lose":
            act()
            error = UncertainWriteError if method in ("updates.write", "updates.erase") else StoreError
            raise error(f"the answer to {method} of `{key}` was lost as scheduled", store=repr(self), key=key)
        raise StoreError(f"{method} of `{key}` failed as scheduled", store=repr(self), key=key, fault=fault)

    def _next(self, method: str, key: str) -> Fault | None:
        with self._counting:
            self.count += 1
            for fault in self.faults:
                if (
                    (fault.calls is None or self.count in fault.calls)
                    and (fault.methods is None or method in fault.methods)
                    and fnmatchcase(key, fault.keys)
                    and (fault.probability == 1 or self._random.random() < fault.probability)
                ):
                    self.met.append((self.count, method, key, fault))
                    return fault
        return None
