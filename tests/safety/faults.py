"""`make soak`: random faults for as long as you like. A system call fails as on a full disk; a writer is killed, and
its leftovers are counted; a signal handler uses the array that it interrupts.

`python -m tests.safety.faults --seconds 600` prints how many it tried, and exits with 1 if something was wrong.
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
from pathlib import Path
from random import Random

import omnizarr
from omnizarr.store import LocalStore
from omnizarr.store.local import file_writer
from tests.safety.crashes import test_failing_calls as failing
from tests.safety.crashes import test_leftovers as leaving
from tests.safety.ptrace import kill_at, signal_at
from tests.safety.signals import test_reentrance as entering

_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES)


def fail_call(random: Random, place: Path) -> str:
    """One system call fails; only our errors come out, and the operation can be repeated."""
    kind, operation = random.choice(list(failing.STORES)), random.choice(list(failing.OPERATIONS))
    with omnizarr.config(native=0):
        failing.fail_once(place / "x", kind, operation, random.randint(1, 120), random.choice(_CODES))
    return "failing calls"


def kill(random: Random, place: Path) -> str:
    """A writer is killed; it leaves at most one file, and the next writer none."""
    layout, act = random.choice(list(leaving.LAYOUTS)), random.choice(list(leaving.ACTS.values()))
    with omnizarr.config(threads=1, native=random.randint(0, 1)):
        leaving.made(place / "x", leaving.LAYOUTS[layout])
        z = omnizarr.open_array(LocalStore(place / "x", durable=random.random() < 0.5))
        killed = kill_at(lambda: act(z), random.randint(0, 1200))
        left = len(leaving.leftovers(place / "x"))
        assert left <= killed, f"{left} files are left"
        file_writer._swept.clear()  # as in a new process
        act(omnizarr.open_array(place / "x"))
        assert not leaving.leftovers(place / "x"), "the next writer left a file"
    return "kills that left a file" if left else "kills that left nothing" if killed else "kills too late"


def interrupt(random: Random, place: Path) -> str:
    """A signal handler uses the array that it interrupts."""
    kind = random.choice([*entering.NAMES, "zip"])
    act, other = random.choices(list(entering.ACTS.values()), k=2)
    target = place / entering.NAMES.get(kind, "x.zip")
    entering.made(target)
    prepare = entering.archived if kind == "zip" else entering.prepared
    with omnizarr.config(threads=1):
        signal_at(lambda: prepare(target, act, other), random.randint(0, 400), signal.SIGUSR1)
    return f"handlers in {kind}"


FAULTS: dict[str, Callable[[Random, Path], str]] = {"fail": fail_call, "kill": kill, "interrupt": interrupt}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety.faults", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    end, seed, wrong = time.monotonic() + arguments.seconds, arguments.seed, 0
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        for name in (*entering.NAMES.values(), "x.zip"):  # a handler that runs later finds all modules imported
            entering.import_modules(Path(folder, "warm", name))
            shutil.rmtree(Path(folder, "warm"))
        while time.monotonic() < end:
            random = Random(seed)
            name = random.choice(list(FAULTS))
            place = Path(folder, str(seed))
            os.mkdir(place)
            try:
                counts[FAULTS[name](random, place)] += 1
            except Exception:
                wrong += 1
                print(f"--seed {seed}: {name}")
                traceback.print_exc()
            shutil.rmtree(place)
            seed += 1
    kinds = dict(sorted(counts.items()))
    print(f"{seed - arguments.seed} faults, from --seed {arguments.seed} on, {wrong} wrong: {kinds}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
