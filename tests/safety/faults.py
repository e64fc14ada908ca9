"""`make soak`: random faults for minutes. Each number chooses an operation and one fault in it: a failing call, a full
disk, a kill, a fork, Ctrl-C, or a signal handler that uses the same data. The checks are those of the tests,
which try a few moments of each operation.

`--seed N` begins with the number N, and `--count 1` ends after one.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import omnizarr
from omnizarr.nodes import resize_mark
from tests.integrations.xarray import test_killed_appends as appending
from tests.safety import test_descriptors as descriptors
from tests.safety import test_versions as versions
from tests.safety.crashes import test_failing_calls as failing
from tests.safety.crashes import test_kills as killing
from tests.safety.crashes import test_leftovers as leaving
from tests.safety.crashes import test_unfinished_resizes as shrinking
from tests.safety.signals import test_half_imports as importing
from tests.safety.signals import test_reentrance as entering
from tests.tools.migration import test_kills as migrating

_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES)
_NEVER = 10**9
_ends: dict[str, int] = {}


def at_any_stop(name: str, random: Random, once: Callable[[int], int | None]) -> None:
    """Runs an operation with a fault at one of its stops. The first time, lets it run to its end to count them."""
    if name not in _ends:
        stops = once(_NEVER)
        assert stops, f"{name} makes no system call"
        _ends[name] = stops
    once(random.randrange(_ends[name]))


def fail_call(random: Random, place: Path) -> None:
    """One system call fails; only our errors come out, and the operation can be repeated."""
    kind, operation = random.choice(list(failing.STORES)), random.choice(list(failing.OPERATIONS))
    with omnizarr.config(native=0):
        failing.fail_once(place / "x", kind, operation, random.randint(1, 120), random.choice(_CODES))


def fill_disk(random: Random, place: Path) -> None:
    """The disk is full; no file is left, and every value is old or new."""
    (layout, act, native), durable = random.choice(leaving.ALL_CASES), random.random() < 0.5
    leaving.made(place / "before", leaving.LAYOUTS[layout])
    at_any_stop(
        f"full disk {layout} {act} {native} {durable}",
        random,
        lambda call: leaving.fill_disk_once(place, act, native, durable, call),
    )


def kill(random: Random, place: Path) -> None:
    """A writer is killed; every value is old or new."""
    zarr_format, act = random.choice(killing.GENERATIONS), random.choice(list(killing.ACTS))
    killing.made_before(place, zarr_format, act)
    at_any_stop(f"{zarr_format} {act}", random, lambda stop: killing.kill_once(place, zarr_format, act, stop))


def kill_writers(random: Random, place: Path) -> None:
    """Writers are killed at any moment, not only at system calls."""
    killing.kill_writers(place / "x.zarr", random.choice(killing.LAYOUTS), random, 10)


def kill_and_count(random: Random, place: Path) -> None:
    """A killed writer leaves at most one file, and the next writer none."""
    layout, act, native = random.choice(leaving.ALL_CASES)
    leaving.made(place / "before", leaving.LAYOUTS[layout])
    at_any_stop(
        f"leftovers {layout} {act} {native}",
        random,
        lambda stop: leaving.kill_once(place, layout, act, native, stop),
    )


def kill_durable(random: Random, place: Path) -> None:
    layout, new = random.choice(list(leaving.LAYOUTS)), random.random() < 0.5
    leaving.made_before_durable(place, layout, new)
    at_any_stop(f"durable {layout} {new}", random, lambda stop: leaving.kill_durable_once(place, new, stop))


def kill_shrink(random: Random, place: Path) -> None:
    """A shrink in a database is killed; what was cut off does not come back."""
    after = random.choice([shrinking.grow, shrinking.add])
    shrinking.made_before(place)
    lease, resize_mark._LEASE = resize_mark._LEASE, 0.05
    try:
        at_any_stop("shrink", random, lambda stop: shrinking.kill_once(place, after, [], stop))
    finally:
        resize_mark._LEASE = lease


def kill_version(random: Random, place: Path) -> None:
    """A commit or a prune is killed; all versions are whole."""
    act = random.choice(["commit", "prune"])
    versions.made_before(place)
    at_any_stop(act, random, lambda stop: versions.kill_once(place, act, set(), stop))


def kill_dataset(random: Random, place: Path) -> None:
    """An append to all variables of a dataset is killed; all have grown, or none."""
    zarr_format, consolidated = random.choice(appending.CASES)
    appending.made_before(place, zarr_format, consolidated)
    at_any_stop(
        f"dataset {zarr_format} {consolidated}",
        random,
        lambda stop: appending.kill_once(place, consolidated, set(), stop),
    )


def kill_migration(random: Random, place: Path) -> None:
    """A migration is killed; the hierarchy is the old or the new one, and another run completes it."""
    old, new = random.choice(migrating.PAIRS)
    expected = migrating.made_before(place, old, new)
    at_any_stop(f"migrate {old} {new}", random, lambda stop: migrating.kill_once(place, new, expected, stop))


def interrupt(random: Random, place: Path) -> None:
    """A signal handler uses the array that it interrupts."""
    kind, act, other = random.choice(entering.ALL_CASES)
    entering.made_before(place, entering.NAMES[kind])
    at_any_stop(
        f"handler {kind} {act} {other}",
        random,
        lambda stop: entering.interrupt_once(place, kind, act, other, stop),
    )


def interrupt_archive(random: Random, place: Path) -> None:
    act, other = random.choice(entering.ZIP_CASES)
    entering.made_before(place, "x.zip")
    at_any_stop(
        f"handler zip {act} {other}", random, lambda stop: entering.interrupt_archive_once(place, act, other, stop)
    )


def interrupt_imports(random: Random, place: Path) -> None:
    """A signal handler uses omnizarr while its modules are imported."""
    name, operation = random.choice(importing.CASES + importing.MORE_CASES)
    importing.interrupt_imports(place, name, operation, 5, str(random.random()))


def interrupt_often(random: Random, place: Path) -> None:
    """Ctrl-C leaves no file open."""
    name, operation = random.choice(["x.zarr", "x.sqlite"]), random.choice(descriptors.OPERATIONS)
    native = random.randint(0, 1) if name == "x.zarr" else 0
    descriptors.interrupt(place, name, operation, native, random.randrange(10**6))


def fork(random: Random, place: Path) -> None:
    """A signal handler forks; parent and child finish."""
    name = random.choice(entering.FORKING)
    entering.made(place / name)
    at_any_stop(f"fork {name}", random, lambda stop: entering.fork_once(place / name, stop))


FAULTS: tuple[Callable[[Random, Path], None], ...] = (
    fail_call, fill_disk, kill, kill_writers, kill_and_count, kill_durable, kill_shrink, kill_version, kill_dataset,
    kill_migration, interrupt, interrupt_archive, interrupt_imports, interrupt_often, fork,
)  # fmt: skip
# Those of a process of their own, or of many steps, take seconds; the others a tenth of a second.
_WEIGHTS = [1 if fault in (kill_writers, kill_migration, interrupt_imports, interrupt_often) else 6 for fault in FAULTS]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety.faults", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--count", type=int, default=_NEVER)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # set by shells for background jobs
        signal.signal(signal.SIGINT, signal.default_int_handler)
    resize_mark._PAUSE = 0.01
    print(f"random faults, {arguments.seconds:g} s, --seed {arguments.seed}", flush=True)
    end, wrong = time.monotonic() + arguments.seconds, 0
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        for name in {*entering.FORKING, "x.zip"}:  # a handler that runs later finds all modules imported
            entering.import_modules(Path(folder, "warm", name))
            shutil.rmtree(Path(folder, "warm"))
        seeds: Any = range(arguments.seed, arguments.seed + arguments.count)
        for seed in takewhile(lambda _: time.monotonic() < end, seeds):
            random = Random(seed)
            fault = random.choices(FAULTS, _WEIGHTS)[0]
            place = Path(folder, str(seed))
            os.mkdir(place)
            try:
                fault(random, place)
            except Exception:
                wrong += 1
                print(f"--seed {seed}: {fault.__name__}", flush=True)
                traceback.print_exc()
            counts[fault.__name__] += 1
            shutil.rmtree(place)
    kinds = dict(sorted(counts.items()))
    print(f"{counts.total()} faults, {wrong} wrong: {kinds}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
