"""Garbage collection of a content-addressed store: removes objects without a pointer, while writers go on (Z17).

The collector must not remove an object that a writer has just found and is about to refer to. So it first condemns an
object without a pointer, by a mark. From then on, writers do not refer to the object; they store a copy under another
name. A writer that looked for the mark before it was there sets its pointer within `LONGEST_WRITE` seconds. A later
collection, `min_age` seconds after the mark or more, reads all pointers again. If one refers to the object, the
collector lifts the mark. Otherwise none ever will, and the collector removes the object, and then the mark.

Collectors that run at the same time agree by compare-and-set of the marks: one claims a mark before it acts on it.
"""

from __future__ import annotations

import re
import secrets
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError, UncertainWriteError
from omnizarr.store import Buffer
from omnizarr.store.capabilities import Versioned
from omnizarr.store.contract import Version
from omnizarr.transformers.content import objects
from omnizarr.transformers.content.pointer import POINTER_LIMIT
from omnizarr.transformers.content.store import ContentStore

__all__ = ["DAY", "GarbageReport", "collect"]

DAY = 86_400.0
_LEAST_AGE = 3_600.0  # much longer than a writer may take
_BATCH = 1_000  # pointers that are requested together
_MARK = re.compile(rb"condemned ([0-9]{1,12}) [0-9a-f]{16}(?: claimed ([0-9]{1,12}))?")


@dataclass(frozen=True, slots=True)
class GarbageReport:
    """What a collection did, or would do if `dry_run`."""

    chunks: int
    """Stored chunks: pointers that were read."""
    objects: int
    """Objects before the collection."""
    condemned: int
    """Objects without a pointer that were marked. A later collection removes them."""
    waiting: int
    """Condemned objects that are not old enough, or that another collector handles."""
    removed: int
    """Objects that were removed."""
    removed_bytes: int
    """The size of the removed objects."""
    lifted: int
    """Marks that were removed, because a pointer refers to the object after all."""
    dry_run: bool

    def __add__(self, other: GarbageReport) -> GarbageReport:
        names = ("chunks", "objects", "condemned", "waiting", "removed", "removed_bytes", "lifted")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


def collect(store: ContentStore, *, min_age: float = DAY, dry_run: bool = False) -> GarbageReport:
    """Remove objects without a pointer. See `omnizarr.collect_garbage`."""
    if (
        isinstance(min_age, bool)
        or not isinstance(min_age, (int, float))
        or not (min_age == 0 or min_age >= _LEAST_AGE)
    ):
        raise ArgumentError(
            f"`min_age`: expected at least {_LEAST_AGE:.0f} seconds, or 0, found {min_age!r}",
            argument="min_age",
            hint="0 is for an array that no program writes to at the moment",
        )
    if not dry_run:
        store.check_writable()
    return _Collection(store, float(min_age), dry_run).run()


class _Collection:
    """One run of the collector."""

    def __init__(self, store: ContentStore, min_age: float, dry_run: bool) -> None:
        self._store = store
        self._inner = store.inner
        self._addresses = store.addresses
        self._min_age = min_age
        self._dry_run = dry_run
        self._updates = store.inner.updates
        self._run = secrets.token_hex(8)
        self._claimed = 0.0
        self._counts = dict.fromkeys(("objects", "condemned", "waiting", "removed", "removed_bytes", "lifted"), 0)

    def run(self) -> GarbageReport:
        # Before the pointers are read: a mark that is old enough by this time is old enough for what they show.
        self._started = objects.now()
        chunks = self._read_pointers()
        if self._min_age > 0:
            for name in self._names(self._addresses.marks):
                self._judge(name)
        removed_before = 0 if self._dry_run else self._counts["removed"]
        for name in self._names(self._addresses.folder):
            self._counts["objects"] += 1
            if not self._is_referenced(name):
                self._condemn(name)
        self._counts["objects"] += removed_before
        if self._min_age == 0:
            for name in self._names(self._addresses.marks):
                self._lift(name)
        return GarbageReport(chunks, **self._counts, dry_run=self._dry_run)

    # -- what is referenced

    def _read_pointers(self) -> int:
        """Read all pointers; returns how many there are. Eight bytes of each name are kept, so that memory is bounded:
        if two names agree in them by chance, a collection keeps an object too many."""
        numbers = array("Q")
        store = self._store
        current = store.objects.current
        keys = (key for key in store.list_prefix(store.place.prefix) if store.objects.is_chunk(key))
        while batch := list(islice(keys, _BATCH)):
            for index, stored in current.get_each([(key, (0, POINTER_LIMIT + 1)) for key in batch]):
                if stored is not None:
                    numbers.append(_number(self._addresses.parse(stored, batch[index]).name))
        self._references: npt.NDArray[np.uint64] = np.unique(np.frombuffer(numbers, np.uint64))
        return len(numbers)

    def _is_referenced(self, name: str) -> bool:
        number = np.uint64(_number(name))
        position = int(np.searchsorted(self._references, number))
        return position < len(self._references) and bool(self._references[position] == number)

    def _names(self, prefix: str) -> Iterator[str]:
        marks = self._addresses.marks
        for key in self._inner.list_prefix(prefix):
            if prefix == marks or not key.startswith(marks):
                name = self._addresses.object_name(key)
                if name is not None:
                    yield name

    # -- marks

    def _condemn(self, name: str) -> None:
        """Mark an object without a pointer, unless it is marked; remove it at once if there are no writers."""
        key = self._addresses.mark_key(name)
        if self._min_age == 0:
            self._remove(name)
        elif self._dry_run:
            self._counts["condemned"] += not self._inner.exists(key)
        elif self._write(key, self._mark(), None):
            self._counts["condemned"] += 1

    def _mark(self, claimed: bool = False, since: float | None = None) -> bytes:
        now = objects.now()
        text = f"condemned {now if since is None else since:.0f} {self._run}"
        return (f"{text} claimed {now:.0f}" if claimed else text).encode()

    def _judge(self, name: str) -> None:
        """Remove a condemned object that is old enough and has no pointer; lift the mark of one that has a pointer."""
        key = self._addresses.mark_key(name)
        answer = self._read(key)
        stored, version = (b"", None) if answer is None else answer  # None: it is too long for a mark
        if stored is None:
            return  # another collector was faster
        match = _MARK.fullmatch(stored)
        if match is None:  # damaged: its age is unknown, so that it starts again
            if not self._dry_run:
                self._inner.set(key, self._mark())
            self._counts["waiting"] += 1
            return
        since = float(match[1])
        busy = match[2] is not None and objects.now() - float(match[2]) < self._min_age
        referenced = self._is_referenced(name)
        old = since + self._min_age <= self._started
        if busy or not (referenced or old):
            self._counts["waiting"] += 1
            return
        # A mark keeps its time of condemnation, so that this one has been there since then.
        self._claimed = objects.now()
        if not self._dry_run and not self._write(key, self._mark(True, since), version):
            self._counts["waiting"] += 1
            return
        if not referenced:
            self._remove(name)
        self._lift(name)

    def _has_claim(self) -> bool:
        """Whether no other collector can have taken over the current mark. A collector that was suspended leaves it to
        the next collection: writers may have stored the object again."""
        return self._min_age == 0 or 0 <= objects.now() - self._claimed <= objects.LONGEST_WRITE

    def _lift(self, name: str) -> None:
        if self._dry_run or self._has_claim():
            self._counts["lifted"] += self._is_referenced(name)
            if not self._dry_run:
                self._inner.erase(self._addresses.mark_key(name))

    def _remove(self, name: str) -> None:
        key = self._addresses.object_key(name)
        size = self._inner.size(key)
        if size is not None and (self._dry_run or self._has_claim()):
            self._counts["removed"] += 1
            self._counts["removed_bytes"] += size
            if not self._dry_run:
                self._inner.erase(key)

    def _read(self, key: str) -> Versioned | None:
        """A mark and its version; None if it is too long."""
        if self._updates is not None:
            return self._updates.read(key, POINTER_LIMIT)
        stored = self._store.objects.current.get(key, (0, POINTER_LIMIT + 1))
        if stored is not None and len(stored) > POINTER_LIMIT:
            return None
        return stored, None if stored is None else bytes(stored)

    def _write(self, key: str, value: Buffer, version: Version) -> bool:
        """Store a mark if it still has `version`. Without compare-and-set, only the threads of this process agree."""
        if self._updates is None:
            with self._inner.lock([key]):
                answer = self._read(key)
                if answer is None or answer[1] != version:
                    return False
                self._inner.set(key, value)
                return True
        try:
            return self._updates.write(key, value, version)
        except UncertainWriteError:
            return False  # the next collection sees what was stored


def _number(name: str) -> int:
    digest, _, copy = name.partition(".")
    return int(digest[:16], 16) ^ int(copy or "0", 16)
