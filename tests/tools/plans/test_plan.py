"""Plans: any executor, any order, duplicates, crashes, parts, and small tasks."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from omnizarr.errors import ArgumentError, NodeExistsError, OmnizarrError
from omnizarr.store import LocalStore, MemoryStore, Store
from omnizarr.tools.plans import Plan, PlanCost, PlanJournal, Stage
from omnizarr.tools.plans.plan import run_task


@dataclass(frozen=True)
class Squares(Stage):
    """Task i writes i² under `values/i`, and counts its runs under `runs/`."""

    name: ClassVar[str] = "squares"
    store: Store
    count: int
    seconds: float = 0.0
    fails_at: int = -1

    def run(self, index: int) -> int:
        if index == self.fails_at:
            raise OmnizarrError("no square today")
        self.store.set(f"runs/{index}-{random.getrandbits(60)}", b"")
        time.sleep(self.seconds)
        self.store.set(f"values/{index}", str(index**2).encode())
        return 1

    @property
    def cost(self) -> PlanCost:
        return PlanCost(read=self.count, written=self.count, files=self.count, memory=100)


def squares(store: Store, count: int = 20, **options: Any) -> Plan:
    return Plan("squares", (Squares(store, count, **options),), PlanJournal(store, "test"))


def check_result(store: Store, count: int = 20) -> None:
    values = {key: bytes(store.get(key) or b"") for key in store.list_prefix("values/")}
    assert values == {f"values/{index}": str(index**2).encode() for index in range(count)}
    assert list(store.list_prefix(".omnizarr-plan/")) == []


class Shuffled(Executor):
    """Runs tasks late, in random order, and each of them twice."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Future[Any], Any, Any]] = []

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, function, arguments))
        if len(self._waiting) >= 4:
            random.shuffle(self._waiting)
            while self._waiting:
                future_, function_, arguments_ = self._waiting.pop()
                function_(*arguments_)
                future_.set_result(function_(*arguments_))
        return future


def test_runs_in_threads_and_leaves_no_records() -> None:
    store = MemoryStore()
    seen: list[tuple[int, int]] = []
    result = squares(store).run(progress=lambda done, total: seen.append((done, total)))
    check_result(store)
    assert (result.tasks, result.skipped, result.bytes, result.finished) == (20, 0, 20, True)
    assert seen == [(done, 20) for done in range(1, 21)]


def test_runs_in_processes(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "target")
    with ProcessPoolExecutor(2) as executor:
        squares(store).run(executor)
    check_result(store)


def test_runs_out_of_order_and_twice() -> None:
    store = MemoryStore()
    squares(store).run(Shuffled(), workers=1)
    check_result(store)


class Patient(Executor):
    """Runs nothing until 100 tasks wait, as a large cluster would."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Future[Any], Any, Any]] = []

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, function, arguments))
        if len(self._waiting) == 100:
            while self._waiting:
                future_, function_, arguments_ = self._waiting.pop()
                future_.set_result(function_(*arguments_))
        return future


def test_an_executor_of_unknown_size_gets_many_tasks() -> None:
    store = MemoryStore()
    squares(store, 100).run(Patient())
    check_result(store, 100)


def test_a_part_that_sees_the_target_of_another_part_is_no_error() -> None:
    store = MemoryStore()
    plan = squares(store)

    def check() -> None:  # another process begins just before
        plan.journal.claim("squares")
        plan.journal.set_ready()
        raise NodeExistsError("there is a node")

    assert replace(plan, check=check).run_part(0, 2).tasks == 10


def test_parts_in_shuffled_order_with_duplicates_and_one_missing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "target")
    plan = squares(store)
    parts = [*range(7), 3, 5]
    parts.remove(6)
    random.shuffle(parts)
    for part in parts:
        pickle.loads(pickle.dumps(plan)).run_part(part, 7)
    with pytest.raises(OmnizarrError, match="2 of 20 tasks of stage 1 .* are not done: 6, 13"):
        plan.finish()
    assert plan.run_part(6, 7).tasks == 2
    assert plan.run_part(6, 7).skipped == 2
    plan.finish()
    check_result(store)
    with pytest.raises(OmnizarrError, match="has not begun, or is finished already"):
        plan.finish()


def test_wrong_parts() -> None:
    plan = squares(MemoryStore())
    with pytest.raises(ArgumentError, match="expected 0 to 2, found 3"):
        plan.run_part(3, 3)
    with pytest.raises(ArgumentError, match="expected 1 to 1, found 2"):
        plan.run_part(0, 3, stage=2)


def test_stages_run_one_after_the_other() -> None:
    store = MemoryStore()
    first, second = Squares(store, 5), Squares(store, 10)
    plan = Plan("two", (first, second), PlanJournal(store, "test"))
    with pytest.raises(ArgumentError, match="has 2 stages"):
        plan.run_part(0, 1)
    with pytest.raises(OmnizarrError, match="5 of 5 tasks of stage 1"):
        plan.run_part(0, 1, stage=2)
    plan.run_part(0, 1, stage=1)
    plan.run_part(0, 1, stage=2)
    plan.finish()
    check_result(store, 10)
    assert plan.describe().tasks == 15
    assert plan.describe().cost == PlanCost(15, 15, 0, 15, 100)


def test_an_error_stops_the_plan_and_resume_repeats_only_what_is_missing() -> None:
    store = MemoryStore()
    with pytest.raises(OmnizarrError, match=r"task 7 of stage 1 \(squares\): no square today"):
        squares(store, fails_at=7).run(workers=1)
    done = len(list(store.list_prefix("values/")))
    assert 7 <= done < 20
    with pytest.raises(NodeExistsError, match="an earlier run of this plan did not finish"):
        squares(store).run()
    result = squares(store).run(resume=True)
    assert (result.tasks, result.skipped) == (20 - done, done)
    check_result(store)


def test_resume_without_an_earlier_run_starts_from_the_beginning() -> None:
    store = MemoryStore()
    assert squares(store).run(resume=True).tasks == 20
    check_result(store)


_KILLED = """
import sys
from concurrent.futures import ThreadPoolExecutor
from tests.tools.plans.test_plan import squares
from omnizarr.store import LocalStore
print("ready", flush=True)
squares(LocalStore(sys.argv[1]), 400, seconds=0.01).run(workers=2, resume=True)
"""


def test_kill_at_random_moments_then_resume(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "target")
    kills = 10
    root = Path(__file__).parents[3]
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", _KILLED, store.location], stdout=subprocess.PIPE, cwd=root
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(random.uniform(0, 0.1))
            os.kill(process.pid, signal.SIGKILL)
    squares(store, 400).run(resume=True)
    check_result(store, 400)
    runs = len(list(store.list_prefix("runs/")))
    assert runs <= 400 + 2 * kills  # at most one repeated task for each of the two workers
    assert {path.name for path in (tmp_path / "target").iterdir()} == {"runs", "values"}


_MILLION = """
import resource, time
from tests.tools.plans.test_plan import Squares, PlanJournal, Plan
from omnizarr.store import MemoryStore
start, memory = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
store = MemoryStore()
class Instant:
    def submit(self, function, *arguments):
        from concurrent.futures import Future
        future = Future(); future.set_result(0)
        return future
plan = Plan("million", (Squares(store, 10**6),), PlanJournal(None, "x"))
description = plan.describe()
made = time.monotonic() - start
print(description.tasks, made, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory)
assert sum(1 for _ in plan._run_stage(Instant(), 0, range(10**6), 8)) == 10**6
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory)
"""


def test_a_million_tasks_take_little_time_and_memory() -> None:
    root = Path(__file__).parents[3]
    output = subprocess.run(
        [sys.executable, "-c", _MILLION], cwd=root, capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(output[0]) == 10**6
    assert int(output[3]) < 200_000  # KiB, submission included


def test_a_pickled_task_is_small(tmp_path: Path) -> None:
    from functools import partial

    plan = squares(LocalStore(tmp_path))
    assert len(pickle.dumps(partial(run_task, plan.stages[0], plan.journal, 0, 5, 5))) < 10_000
