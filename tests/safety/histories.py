"""Random histories: several writers change the same arrays through all stores and wrappers, and an oracle checks them.

Every value that a writer stores names the writer and the sequence number of the write. At the end, each element must
hold the last value of a writer that may write it; each attribute the last value of its writer; and each row that an
append returned exists exactly once. A write that raised, or whose process was killed, may be stored or not; one that
returned is stored. In a versioned array, a write is stored if its commit returned, and is not if that had a conflict.

`python -m tests.safety.histories --seconds 600` runs them with random stores, layouts and wrappers, also in a bucket if
`make servers` has installed one, and exits with 1 after the first that is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import omnizarr
from omnizarr.codecs import Sharding
from omnizarr.errors import ConflictError, OmnizarrError, StoreError
from omnizarr.store import MappingStore, PrefixStore, Store, WrapperStore
from omnizarr.store.wrappers import as_read_only
from omnizarr.testing import Fault, FaultyStore
from omnizarr.transformers import ContentAddressed, HashedDirectories, ShardingTransformer, Versions
from tests.safety.processes import forked, run_all, wait_for

__all__ = ["LAYOUTS", "STORES", "WRAPPERS", "History", "run"]

WRITERS = 3
LENGTH = 96
OWNED = 64  # elements before this index have one writer each; the others are written by all
SCALE = 10**6
PREFIX = "in/side"
ACTIONS = ("one", "some", "some", "range", "range", "fill", "attribute", "append", "read")
FAULTY_ACTIONS = (*ACTIONS, *["append"] * 6)  # a lost answer matters most where rows are reserved

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": 16},
    "shards": {"chunks": 8, "shards": 32},
    "v2": {"chunks": 16, "zarr_format": 2},
    "N5": {"chunks": 16, "zarr_format": "n5"},
    "draft shards": {"chunks": 8, "shards": 32, "zarr_format": "3-draft-2022"},
    "stacked draft shards": {
        "chunks": 4,
        "zarr_format": "3-draft-2022",
        "storage_transformers": [ShardingTransformer((2,)), ShardingTransformer((4,))],
    },
    "hashed directories": {"chunks": 16, "storage_transformers": [HashedDirectories()]},
    "content-addressed": {"chunks": 16, "storage_transformers": [ContentAddressed()]},
    "versions": {"chunks": 16, "storage_transformers": [Versions()]},
    "content-addressed shards": {"chunks": 8, "shards": 32, "storage_transformers": [ContentAddressed()]},
    "shards in shards": {"chunks": 32, "serializer": Sharding((16,), codecs=[Sharding((4,))])},
    "chunks of different lengths": {"chunks": [[10, 20, 30, 36]]},
    "2020 draft": {"chunks": 16, "zarr_format": "3-draft-2020"},
    "draft shards of zarr-python 2": {
        "chunks": 8,
        "shards": 32,
        "zarr_format": "3-draft-2020",
        "conventions": "zarr-python-2",
    },
}

STORES: dict[str, Callable[[Any], Store]] = {
    "folder": lambda place: omnizarr.LocalStore(place),
    "memory": lambda place: omnizarr.MemoryStore(_MEMORY.setdefault(place, {})),
    "SQLite": lambda place: omnizarr.SQLiteStore(f"{place}.sqlite"),
    "ZIP": lambda place: omnizarr.ZipStore(f"{place}.zip"),
    "ZIP in SQLite": lambda place: omnizarr.ZipStore.inside(omnizarr.SQLiteStore(f"{place}.sqlite"), "x.zip"),
    "ZIP in a folder": lambda place: omnizarr.ZipStore.inside(omnizarr.LocalStore(place), "x.zip"),
    "S3": lambda place: omnizarr.ObjectStore.from_url(place[0], **place[1]),
    "folder without locks": lambda place: omnizarr.LocalStore(place, locking=False),
    "mapping": lambda place: MappingStore(_MEMORY.setdefault(place, {}), name=place),
    "fsspec": lambda place: omnizarr.FsspecStore(import_module("fsspec").filesystem("memory"), place),
}
ONE_PROCESS = ("memory", "folder without locks", "mapping", "fsspec")
"""Stores that only the threads of a process can share."""
WITHOUT_UPDATES = ("folder without locks", "mapping", "fsspec", "ZIP", "ZIP in SQLite", "ZIP in a folder")
"""Stores without compare-and-set, which versions need."""
_MEMORY: dict[Any, dict[str, bytes]] = {}


def _direct(kind: str, place: Any) -> Any:
    """The place without faults. A bucket is its URL and options; a third item holds those that avoid a faulty proxy."""
    return (place[0], place[2]) if kind == "S3" and len(place) == 3 else place


def _cache(store: Store) -> Store:
    """A cache that checks its values where the store can tell versions."""
    tells = store.snapshots is not None or store.versioned_reads is not None
    return omnizarr.CacheStore(store, max_age=0 if tells else 3600)


def _lossy(store: Store, seed: int) -> Store:
    """Loses one in ten answers to conditional writes, which omnizarr must settle."""
    return FaultyStore(store, [Fault("lose", methods={"updates.write", "updates.erase"}, probability=0.1)], seed=seed)


WRAPPERS: dict[str, Callable[[Store, int], Store]] = {
    "plain": lambda store, seed: store,
    "cache": lambda store, seed: _cache(store),
    "old cache": lambda store, seed: omnizarr.CacheStore(store, max_age=3600),
    "prefix": lambda store, seed: PrefixStore(store, PREFIX),
    "below": lambda store, seed: PrefixStore(store, PREFIX),  # `_open` makes a store of its own where it can
    "no capabilities": lambda store, seed: WrapperStore(store) if store.locking or store.updates is None else store,
    "lossy": _lossy,
    "cache, lossy": lambda store, seed: _cache(_lossy(store, seed)),
}


def _open(kind: str, place: Any, wrapper: str, seed: int) -> tuple[Store, str]:
    """The store of a writer, and the path of its group in it."""
    if wrapper == "below" and kind in ("folder", "folder without locks", "fsspec", "S3"):
        inner = (f"{place[0]}/{PREFIX}", *place[1:]) if kind == "S3" else f"{place}/{PREFIX}"
        return STORES[kind](inner), ""
    store = WRAPPERS[wrapper](STORES[kind](place), seed)
    return store, "" if isinstance(store, PrefixStore) else PREFIX


@dataclass
class History:
    """What one writer did."""

    number: int
    values: dict[int, list[int]] = field(default_factory=dict)
    """By index: the last value that was stored, and those of later writes that raised."""
    attribute: list[int] = field(default_factory=lambda: [-1])
    rows: dict[int, list[int]] = field(default_factory=dict)
    """By value: how many rows it may have."""
    unfilled: int = 0
    """How many rows may have been reserved and not written."""
    wrong: list[str] = field(default_factory=list)
    steps: int = 0
    place: str | None = None

    def write(self, indexes: list[int], value: int, act: Callable[[], object]) -> None:
        before = {index: list(self.values.get(index, [0])) for index in indexes}
        for index in indexes:
            self.values.setdefault(index, [0]).append(value)
        self.save()
        try:
            act()
        except ConflictError:
            self.values.update(before)
            return
        for index in indexes:
            self.values[index] = [value]

    def append(self, count: int, value: int, act: Callable[[], object]) -> None:
        self.rows[value] = list(range(count + 1))
        self.unfilled += count
        self.save()
        act()
        self.rows[value] = [count]
        self.unfilled -= count

    def save(self) -> None:
        """Keep the history on the disk, for the check after a kill."""
        if self.place is not None:
            Path(f"{self.place}-new").write_text(json.dumps(self.__dict__), encoding="utf-8")
            os.replace(f"{self.place}-new", self.place)


class _Writer:
    def __init__(self, kind: str, place: Any, wrapper: str, number: int, seed: int, diary: str | None) -> None:
        self._kind, self._place, self._wrapper, self._seed = kind, place, wrapper, seed
        self._random = Random(f"{seed}-{number}")
        self.history = History(number, place=diary)
        faulty = _direct(kind, place) != place
        self._lossy = "lossy" in wrapper or faulty
        self._actions = FAULTY_ACTIONS if faulty else ACTIONS

    @contextmanager
    def _group(self) -> Iterator[omnizarr.Group]:
        store, path = _open(self._kind, self._place, self._wrapper, self._seed * 31 + self.history.number)
        with store:
            yield omnizarr.open_group(store, path=path, mode="r+")

    def run(self, steps: int) -> None:
        if "ZIP" not in self._kind:
            with self._group() as group:
                for step in range(1, steps + 1):
                    try:
                        self._act(group, step)
                    except OmnizarrError:  # the write is stored or not; the history notes both
                        if not self._lossy:
                            raise
            return
        step = tries = 0
        while step < steps:  # one process at a time writes an archive: the others try again
            step += 1
            saved = json.dumps(self.history.__dict__)
            state = self._random.getstate()
            try:
                with self._group() as group:
                    group["x"][:1]  # the archive as it is now; another process may publish before the next line
                    self._act(group, step)
            except StoreError as error:
                tries += 1
                if tries > 2000 or not ("another process" in str(error) or "replaced" in str(error)):
                    raise
                self.history = _restored(json.loads(saved))
                self._random.setstate(state)
                step -= 1
                threading.Event().wait(self._random.uniform(0, 0.01) + 0.0001 * self.history.number)

    def _act(self, group: omnizarr.Group, step: int) -> None:
        random, history = self._random, self.history
        number, value = history.number, history.number * SCALE + step
        z = group["x"]
        commit = getattr(z, "commit", None)

        def stored(act: Callable[[], object]) -> Callable[[], object]:
            return act if commit is None else lambda: _committed(z, act)

        mine = list(range(number, OWNED, WRITERS))
        history.steps += 1
        match random.choice(self._actions):
            case "one":
                index = random.choice(mine)
                history.write([index], value, stored(lambda: z.__setitem__(index, value)))
                self._check(z, [index])
            case "some":
                some = sorted(random.sample(mine, random.choice((2, 5, len(mine)))))
                history.write(some, value, stored(lambda: z.vindex.__setitem__(some, value)))
                self._check(z, some)
            case "range" | "fill" as kind:
                value = 0 if kind == "fill" else value
                start = random.choice((OWNED, OWNED + 3, OWNED + 16))
                stop = random.choice((OWNED + 16, OWNED + 21, LENGTH))
                if start < stop:
                    act = stored(lambda: z.__setitem__(slice(start, stop), value))
                    history.write(list(range(start, stop)), value, act)
            case "attribute":
                before = list(history.attribute)
                history.attribute.append(step)
                history.save()
                try:
                    stored(lambda: z.attrs.__setitem__(f"{number}", step))()
                    history.attribute = [step]
                except ConflictError:
                    history.attribute = before
            case "append":
                count = random.randint(1, 3)
                history.append(count, value, lambda: group["rows"].append(np.full(count, value)))
            case _:
                reader = omnizarr.open_array(as_read_only(group.store), path=z.path, mode="r")
                self._check(reader, mine) if "cache" not in self._wrapper else None
                self._check_others(reader[:OWNED].tolist())

    def _check(self, z: omnizarr.Array, indexes: list[int]) -> None:
        """Only this writer writes these elements, and so it knows their values."""
        found = z.vindex[indexes].tolist()
        for index, value in zip(indexes, found, strict=True):
            if value not in self.history.values.get(index, [0]):
                known = self.history.values.get(index, [0])
                self.history.wrong.append(
                    f"writer {self.history.number} reads x[{index}] = {value}, not one of {known}"
                )

    def _check_others(self, found: list[int]) -> None:
        for index, value in enumerate(found):
            if value and value // SCALE != index % WRITERS:
                self.history.wrong.append(f"x[{index}] = {value}, the value of a writer that never writes it")


def _committed(z: Any, act: Callable[[], object]) -> None:
    """Act and commit; roll back if that fails."""
    try:
        act()
        z.commit()
    except ConflictError:
        z.rollback()
        raise


def _restored(saved: dict[str, Any]) -> History:
    history = History(**saved)
    history.values = {int(index): values for index, values in history.values.items()}
    history.rows = {int(value): counts for value, counts in history.rows.items()}
    return history


def _work(
    folder: str, kind: str, place: Any, wrapper: str, number: int, seed: int, steps: int, kills: bool = False
) -> None:
    diary = str(Path(folder, f"history-{number}"))
    writer = _Writer(kind, place, wrapper, number, seed, diary if kills else None)
    writer.history.save()
    writer.run(steps)
    writer.history.place = diary
    writer.history.save()


def _kill_some(arguments: list[tuple[Any, ...]], random: Random) -> None:
    """Let the writers work in processes, and kill all but one."""
    children = [forked(lambda given=given: _work(*given, kills=True)) for given in arguments]  # type: ignore[misc]
    for child in children[1:]:
        time.sleep(random.uniform(0, 0.4))
        os.kill(child, signal.SIGKILL)
    assert {wait_for(child) for child in children} <= {0, -signal.SIGKILL}


def run(
    folder: Path, kind: str, place: Any, layout: str, wrappers: list[str], seed: int, steps: int, *, kills: bool = False
) -> list[str]:
    """Let the writers work, one with each wrapper, and return what is wrong."""
    if "draft" in layout or layout == "N5":  # these are only recognised from the root of the hierarchy
        wrappers = ["plain" if wrapper in ("prefix", "below") else wrapper for wrapper in wrappers]
    if layout == "versions":  # they need compare-and-set
        wrappers = ["plain" if wrapper == "no capabilities" else wrapper for wrapper in wrappers]
    store = STORES[kind](_direct(kind, place))
    with store:
        group = omnizarr.create_group(store, path=PREFIX, zarr_format=LAYOUTS[layout].get("zarr_format", 3))
        group.create_array("x", shape=LENGTH, dtype="i8", **_without_format(LAYOUTS[layout]))
        group.create_array("rows", shape=0, dtype="i8", chunks=8)
    arguments = [
        (str(folder), kind, place, wrapper, number, seed, steps) for number, wrapper in enumerate(wrappers, start=0)
    ]
    if kind in ONE_PROCESS:
        failed: list[BaseException] = []
        threads = [threading.Thread(target=_caught, args=(failed, given)) for given in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
    elif kills:
        _kill_some(arguments, Random(seed))
    else:
        run_all(_work, arguments)
    diaries = [Path(folder, f"history-{number}") for number in range(len(wrappers))]
    # A process may be killed before it has done anything.
    histories = [_restored(json.loads(diary.read_text(encoding="utf-8"))) for diary in diaries if diary.exists()]
    with STORES[kind](_direct(kind, place)) as store:
        return _check_all(omnizarr.open_group(store, path=PREFIX, mode="r"), histories)


def _caught(failed: list[BaseException], given: tuple[Any, ...]) -> None:
    try:
        _work(*given)
    except BaseException as error:
        failed.append(error)


def _without_format(layout: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in layout.items() if name != "zarr_format"}


def _check_all(group: omnizarr.Group, histories: list[History]) -> list[str]:
    wrong = [line for history in histories for line in history.wrong]
    for index, value in enumerate(group["x"][...].tolist()):
        allowed = [value for history in histories for value in history.values.get(index, [])] or [0]
        if value not in allowed:
            wrong.append(f"x[{index}] is {value}, not one of {allowed}")
    for history in histories:
        found = group["x"].attrs.get(f"{history.number}", -1)
        if found not in history.attribute:
            wrong.append(f"attribute {history.number} is {found}, not one of {history.attribute}")
    values, counts = np.unique(group["rows"][...], return_counts=True)
    rows = dict(zip(values.tolist(), counts.tolist(), strict=True))
    appended = {value: counts for history in histories for value, counts in history.rows.items()}
    unfilled = sum(history.unfilled for history in histories)
    if rows.pop(0, 0) > unfilled:
        wrong.append(f"more than {unfilled} rows without values")
    for value in rows.keys() | appended.keys():
        if rows.get(value, 0) not in appended.get(value, [0]):
            wrong.append(f"{rows.get(value, 0)} rows of {value}, expected {appended.get(value, [0])}")
    return wrong


def main() -> int:
    from tests.servers.install import PYTHON_SERVERS, reason
    from tests.servers.proxy import Faults, proxy
    from tests.servers.running import moto

    parser = argparse.ArgumentParser(prog="python -m tests.safety.histories", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--stores", nargs="+", choices=list(STORES), default=list(STORES))
    arguments = parser.parse_args()
    end, seed, place = time.monotonic() + arguments.seconds, arguments.seed, Path(tempfile.mkdtemp(prefix="histories-"))
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        server = stack.enter_context(moto(place)) if reason(PYTHON_SERVERS) is None else None
        while time.monotonic() < end:
            random, folder = Random(seed), place / str(seed)
            kind = random.choice([kind for kind in arguments.stores if kind != "S3" or server is not None])
            layout = random.choice([name for name in LAYOUTS if name != "versions" or kind not in WITHOUT_UPDATES])
            lossy = not ("ZIP" in kind or kind == "S3")
            wrappers = random.choices([name for name in WRAPPERS if lossy or "lossy" not in name], k=WRITERS)
            target: Any = str(folder / "data")
            if kind == "S3" and server is not None:
                target = (server.new(), server.options)
            folder.mkdir()
            kills = kind in ("folder", "SQLite", "S3") and random.random() < 0.4
            with ExitStack() as faults:
                if kind == "S3" and server is not None and random.random() < 0.7:
                    between = faults.enter_context(proxy(server.endpoint, seed=seed))
                    between.faults = Faults(lose=0.25, lost_as=random.choice((0, 500, 502, 503)), reset=0.05, fail=0.03)
                    target = (target[0], server.through(between.endpoint), target[1])
                steps = arguments.steps if lossy else 12
                wrong = run(folder, kind, target, layout, wrappers, seed, steps, kills=kills)
            if wrong:
                what = f"{kind}, {layout}, {wrappers}{', killed' if kills else ''}"
                print(f"--seed {seed}: {what}, in {folder}", *wrong[:20], sep="\n  ")
                return 1
            name = "S3, lost answers" if kind == "S3" and len(target) == 3 else kind
            counts[f"{name}, killed" if kills else name] += 1
            shutil.rmtree(folder)
            seed += 1
    print(f"{seed - arguments.seed} histories, from --seed {arguments.seed} on, 0 wrong: {dict(counts)}")
    shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
