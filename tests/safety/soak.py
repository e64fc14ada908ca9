"""`make soak`: many processes write to the same arrays for minutes, some are killed, and the result is checked.

Each writer notes in its own diary what it is about to write, and that it has written it. The check derives from the
diaries which values each element may have. The program prints violations and then exits with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import omnizarr
from omnizarr.store.local import temp_names
from tests.safety.processes import forked

WRITERS = 6
LENGTH = 384
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": 48},
    "shards": {"chunks": 24, "shards": 96},
    "v2": {"chunks": 48, "zarr_format": 2},
    "draft": {"chunks": 24, "shards": 96, "zarr_format": "3-draft-2022"},
    "n5": {"chunks": 48, "zarr_format": "n5"},
}


def writer(place: Path, diary: Path, number: int, seed: int) -> None:
    """Writes its own elements in all chunks: writer `n` owns those whose index modulo the number of writers is `n`. A
    value identifies the writer and the step."""
    random = Random(seed)
    names = list(LAYOUTS)
    arrays = {name: omnizarr.open_array(place / name) for name in names}
    rows = omnizarr.open_array(place / "rows")
    with open(diary, "a", encoding="utf-8") as file:

        def note(*what: Any) -> None:
            file.write(json.dumps(what) + "\n")
            file.flush()

        for step in range(1_000_000):
            name = random.choice(names)
            mine = list(range(number, LENGTH, WRITERS))
            some = random.sample(mine, random.choice((1, 3, len(mine))))
            value = seed * 1000 + step % 1000
            note("try", name, some, value)
            if random.random() < 0.5:
                arrays[name].vindex[some] = value
            else:
                for index in some:
                    arrays[name][index] = value
            note("done", name, some, value)
            if step % 7 == 0:
                key = f"{number}"
                arrays[name].attrs[key] = value
                note("attribute", name, key, value)
            if step % 11 == 0:
                count = random.randint(1, 5)
                note("append", count, value)
                rows.append(np.full((count, 2), value))
                note("appended", count, value)
            omnizarr.open_array(place / name, mode="r")[:: random.randint(1, 9)]


def check(place: Path, diaries: list[Path]) -> list[str]:
    """The differences between the stored data and the diaries."""
    may: dict[str, list[set[int]]] = {name: [{0} for _ in range(LENGTH)] for name in LAYOUTS}
    attributes: dict[tuple[str, str], int] = {}
    appended: dict[int, list[int]] = {}
    for diary in diaries:
        for line in diary.read_text(encoding="utf-8").splitlines():
            what, *facts = json.loads(line)
            if what in ("try", "done"):
                name, some, value = facts
                for index in some:
                    allowed = may[name][index]
                    may[name][index] = {value} if what == "done" else allowed | {value}
            elif what == "attribute":
                attributes[facts[0], facts[1]] = facts[2]
            elif what in ("append", "appended"):
                appended.setdefault(facts[1], []).append(facts[0] if what == "append" else -facts[0])
    wrong = []
    for name in LAYOUTS:
        z = omnizarr.open_array(place / name, mode="r")
        found = z[...].tolist()
        wrong += [
            f"{name}[{index}] is {value}, not one of {sorted(may[name][index])}"
            for index, value in enumerate(found)
            if value not in may[name][index]
        ]
        for (where, key), value in attributes.items():
            # The writer may have written one more attribute before it was killed, without noting it.
            if where == name and (z.attrs.get(key, -1) // 1000, z.attrs.get(key, -1)) < (value // 1000, value):
                wrong.append(f"attribute {key} of {name} is {z.attrs.get(key)}, but was {value}")
    rows = omnizarr.open_array(place / "rows", mode="r")[...]
    if not (rows[:, 0] == rows[:, 1]).all():
        wrong.append("a row has values of two writers")
    values, counts = np.unique(rows[:, 0], return_counts=True)
    there = dict(zip(values.tolist(), counts.tolist(), strict=True))
    for value, notes in appended.items():
        done = -notes[1] if len(notes) > 1 else None
        if there.get(value, 0) not in ({done} if done is not None else {0, notes[0]}):
            wrong.append(f"{there.get(value, 0)} rows of {value}; the diary notes {notes}")
    wrong += [f"a row of {value} that no writer wrote" for value in there if value not in appended]
    for store in (omnizarr.LocalStore(place, read_only=True),):
        wrong += [f"`{key}` is listed" for key in store.list() if "omnizarr" in key]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    arguments = parser.parse_args()
    random = Random(arguments.seed)
    place = Path(tempfile.mkdtemp(prefix="omnizarr-soak-"))
    diaries = [place / f"diary-{number}" for number in range(WRITERS)]
    for diary in diaries:
        diary.touch()
    data = place / "data"
    for name, layout in LAYOUTS.items():
        omnizarr.create_array(data / name, shape=LENGTH, dtype="i8", **layout)
    omnizarr.create_array(data / "rows", shape=(0, 2), dtype="i8", chunks=(16, 2))
    print(f"{WRITERS} writers, {arguments.seconds:g} s, --seed {arguments.seed}, in {place}", flush=True)
    end = time.monotonic() + arguments.seconds
    seed = kills = rounds = 0
    wrong: list[str] = []
    while time.monotonic() < end and not wrong:
        children: list[int] = []
        for number in range(WRITERS):
            seed += 1
            children.append(forked(lambda number=number, seed=seed: writer(data, diaries[number], number, seed)))  # type: ignore[misc]
        for child in random.sample(children, len(children)):
            time.sleep(random.uniform(0, 0.5))
            os.kill(child, signal.SIGKILL)
            kills += 1
        for child in children:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status != -signal.SIGKILL:
                wrong.append(f"a writer failed with exit code {status}")
        wrong += check(data, diaries)
        rounds += 1
    for name in (*LAYOUTS, "rows"):
        z = omnizarr.open_array(data / name)
        length = len(z)
        z.resize((length + 50, *z.shape[1:]))
        if z[length:].any():
            wrong.append(f"{name}: leftover data of a killed writer came back")
        list(z.store.list())
    left = [str(path) for path in data.rglob("*") if temp_names.is_temporary(path.name)]
    wrong += [f"leftover file: {path}" for path in left]
    writes = sum(text.count('"done"') for text in (diary.read_text() for diary in diaries))
    rows = len(omnizarr.open_array(data / "rows")) - 50
    print(
        f"{rounds} rounds, {kills} writers killed, {writes} writes and {rows} rows that were done, {len(wrong)} wrong"
    )
    for line in wrong[:50]:
        print(f"  {line}")
    if not wrong:
        shutil.rmtree(place)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
