"""`Plan`: stages of tasks, run by any executor of `concurrent.futures`, resumed after a crash, and finished once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from omnizarr.errors import ArgumentError, NodeExistsError, OmnizarrError
from omnizarr.tools.plans.heap import HeapLimit
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.regions import keep_memory
from omnizarr.tools.plans.stage import PlanCost, Stage
from omnizarr.tools.results import Progress

__all__ = ["Plan", "PlanDescription", "PlanResult", "StageDescription"]

_AHEAD = 4  # tasks per worker that wait in the executor; more would only take memory
_UNKNOWN_WORKERS = 64  # of an executor that does not tell, such as a cluster
_LISTED = 20  # missing tasks that an error names
_READY_SECONDS = 60.0  # that a task waits for another process to write the metadata of the target


@dataclass(frozen=True, slots=True)
class StageDescription:
    """One stage of a plan, or one of the members that it joins."""

    name: str
    tasks: int
    cost: PlanCost
    array: str = ""
    """The path of the array that it is for; empty if that is the root, or if there are several."""
    number: int = 1
    """The number of the stage, from 1. Members of one stage run side by side."""


@dataclass(frozen=True, slots=True)
class PlanDescription:
    """What a plan does, before it runs."""

    title: str
    stages: tuple[StageDescription, ...]
    tasks: int
    cost: PlanCost
    notes: tuple[str, ...] = ()
    """What a person should know before the plan runs, such as what is lost."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What a run of a plan did."""

    tasks: int
    """The tasks that this run did."""
    skipped: int
    """The tasks that were done before."""
    bytes: int
    """The bytes that the tasks of this run wrote."""
    seconds: float
    finished: bool
    """Whether all tasks are done, and the journal is erased."""


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Plan:
    """Stages of independent tasks, in order. Nothing is written before `run` or `run_part`.

    Example:
        >>> plan = omnizarr.tools.copy("old.zarr", "new.zarr")
        >>> plan.describe().tasks
        3
        >>> plan.run().finished
        True
    """

    title: str
    stages: tuple[Stage, ...]
    journal: PlanJournal
    begin: Callable[[], None] = _nothing
    """Writes the metadata of the target; the coordinator calls it once, before the first task. It can be repeated."""
    end: Callable[[], None] = _nothing
    """Publishes the result; the coordinator calls it once, after the last task. It can be repeated."""
    check: Callable[[], None] = _nothing
    """Raises if the target exists already; called before `begin`, unless the plan is resumed."""
    notes: tuple[str, ...] = ()
    needs_threads: bool = False
    """Whether all tasks must run in this process, because its stores cannot be shared between processes."""
    erases: bool = False
    """Whether `begin` erases an old target, so that two processes must not begin at the same time."""
    restarts: bool = False
    """Whether a run without `resume` begins again, and erases what an earlier run has left."""
    max_memory: int | None = None
    """Bytes that all tasks that run in this process at the same time may hold."""
    done: bool = False
    """Whether an earlier run has finished the plan, so that nothing is left to do."""

    # -- looking

    @property
    def tasks(self) -> int:
        """The number of tasks of all stages."""
        return sum(stage.count for stage in self.stages)

    def describe(self) -> PlanDescription:
        """The stages with their costs."""
        stages = tuple(
            StageDescription(member.name, member.count, member.cost, member.array, number)
            for number, stage in enumerate(self.stages, 1)
            for member in stage.members
        )
        total = sum((stage.cost for stage in stages), PlanCost())
        return PlanDescription(self.title, stages, self.tasks, total, self.notes)

    # -- running

    def run(
        self,
        executor: Executor | None = None,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        resume: bool = False,
    ) -> PlanResult:
        """Does all tasks and finishes the plan. The result is the same whatever the executor and the order of tasks.

        Args:
            executor: any `concurrent.futures.Executor`, such as a process pool or `client.get_executor()` of
                dask.distributed; None runs `workers` threads.
            workers: threads without an executor, or workers of the executor, each of which has four tasks waiting. None
                counts processors, or takes the number of the executor; if it does not tell, 64.
            progress: called with the number of tasks done and of all tasks.
            resume: continue an earlier run, which must have had the same source, target and options. If there is no
                such run, start from the beginning.
        """
        started = time.monotonic()
        if executor is not None and self.needs_threads and not isinstance(executor, ThreadPoolExecutor):
            raise ArgumentError(
                "the target can be written by one process only; run this plan with threads", argument="executor"
            )
        if resume and (self.done or self.journal.finished()):
            if not self.done:
                self.journal.erase()
            return PlanResult(0, self.tasks, 0, time.monotonic() - started, True)
        self._start(resume)
        count = self._workers(executor, workers)
        done = skipped = written = 0
        own = ThreadPoolExecutor(count, "omnizarr-plan", keep_memory) if executor is None else None
        heap = HeapLimit(self.max_memory // 2) if own is not None and self.max_memory is not None else None
        try:
            for number, stage in enumerate(self.stages):
                finished = self.journal.done(number) if resume else set()
                skipped += len(finished)
                tasks = (task for task in range(stage.count) if task not in finished)
                for amount in self._run_stage(own or executor, number, tasks, count * _AHEAD):  # type: ignore[arg-type]
                    done += 1
                    written += amount
                    if heap is not None:
                        heap.keep()
                    if progress is not None:
                        progress(done + skipped, self.tasks)
        finally:
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)
        self.finish(check=False)
        return PlanResult(done, skipped, written, time.monotonic() - started, True)

    def run_part(
        self, part: int, parts: int, *, stage: int | None = None, progress: Progress | None = None
    ) -> PlanResult:
        """Does the tasks `part`, `part + parts`, … of one stage, for batch systems: each job runs one part.

        Parts may run in any order, at the same time, and repeatedly; tasks that are done are skipped. When all are
        done, call `finish`. A stage starts only if the stage before it is complete.

        Args:
            stage: the number of the stage, from 1; may be left out if there is one.
        """
        started = time.monotonic()
        if not 0 <= part < parts:
            raise ArgumentError(f"`part`: expected 0 to {parts - 1}, found {part}", argument="part")
        if self.needs_threads or self.journal.store is None:
            raise ArgumentError("the target can be written by one process only; run the whole plan", argument="part")
        if self.erases and not self.journal.ready():
            raise ArgumentError(
                "`force` would let each part erase what the others wrote",
                argument="force",
                hint="erase the target first",
            )
        if stage is None and len(self.stages) > 1:
            raise ArgumentError(
                f"the plan has {len(self.stages)} stages; name one",
                argument="stage",
                hint="run all parts of stage 1 first",
            )
        number = (stage or 1) - 1
        if not 0 <= number < max(1, len(self.stages)):
            raise ArgumentError(f"`stage`: expected 1 to {len(self.stages)}, found {stage}", argument="stage")
        if self.done or self.journal.finished():
            return PlanResult(0, 0, 0, time.monotonic() - started, self.done)
        self._start_or_wait()
        for earlier in range(number):
            self._check_complete(earlier)
        own_tasks = range(part, self.stages[number].count, parts) if self.stages else range(0)
        tasks = self.journal.missing(number, own_tasks)
        written = 0
        for count, task in enumerate(tasks):
            stage_, index = self.stages[number].member_task(task)
            written += run_task(stage_, self.journal, number, task, index)
            if progress is not None:
                progress(count + 1, len(tasks))
        return PlanResult(len(tasks), len(own_tasks) - len(tasks), written, time.monotonic() - started, False)

    def finish(self, *, check: bool = True) -> None:
        """Publishes the result and erases the journal. Raises OmnizarrError, with the missing tasks, if `check` finds
        that some are not done."""
        if self.done:
            return
        if check and self.journal.finished():
            self.journal.erase()
            return
        if check and self.journal.store is not None:
            if not self.journal.begun():
                raise OmnizarrError(f"cannot finish: {self.title} has not begun, or is finished already")
            for number in range(len(self.stages)):
                self._check_complete(number)
        self.end()
        self.journal.erase()

    # -- the coordinator

    def _start(self, resume: bool) -> None:
        """Begins the plan, or continues an earlier run."""
        if self.restarts and not resume and self.journal.begun():
            self.journal.erase()
        if self.journal.begun():
            if not resume:
                raise NodeExistsError(
                    f"an earlier run of this plan did not finish: {self.title}", hint="`resume` (--resume) continues it"
                )
        else:
            self.check()
            self.journal.claim(self.title)
        if not self.journal.ready():
            self.begin()
            self.journal.set_ready()

    def _start_or_wait(self) -> None:
        """Begins the plan in the first process that gets here; the others wait until it has written the metadata."""
        if self.journal.ready():
            return
        if not self.journal.begun():
            try:
                self.check()
            except NodeExistsError:
                if not self.journal.begun():  # otherwise another process has created it since
                    raise
            if self.journal.claim(self.title):
                self.begin()
                self.journal.set_ready()
                return
        deadline = time.monotonic() + _READY_SECONDS
        while not self.journal.ready():
            if time.monotonic() > deadline:
                raise OmnizarrError(
                    f"the process that began this plan has not written the metadata of the target: {self.title}",
                    hint="`resume` (--resume) without a part does what is missing",
                )
            time.sleep(0.1)

    def _check_complete(self, number: int) -> None:
        stage = self.stages[number]
        missing = self.journal.missing(number, range(stage.count))
        if missing:
            listed = ", ".join(map(str, missing[:_LISTED])) + (", …" if len(missing) > _LISTED else "")
            raise OmnizarrError(
                f"{len(missing)} of {stage.count} tasks of stage {number + 1}{_shown(stage)} are not done: {listed}",
                hint="run their parts again, or run the plan with `resume` (--resume)",
            )

    def _workers(self, executor: Executor | None, workers: int | None) -> int:
        count = workers or getattr(executor, "_max_workers", None)
        if not count:
            count = _UNKNOWN_WORKERS if executor is not None else os.cpu_count() or 1
        largest = max((stage.cost.memory for stage in self.stages), default=0)
        if self.max_memory is not None and largest and executor is None:
            count = min(count, max(1, self.max_memory // largest))
        return max(1, int(count))

    def _run_stage(self, executor: Executor, number: int, tasks: Iterable[int], ahead: int) -> Iterator[int]:
        """Submits tasks, at most `ahead` at a time, and yields what they return. After an error no task starts, and the
        error is raised when those that run have ended."""
        stage = self.stages[number]
        pending: set[Future[int]] = set()
        rest = iter(tasks)
        try:
            while True:
                while len(pending) < ahead and (task := next(rest, None)) is not None:
                    member, index = stage.member_task(task)
                    pending.add(executor.submit(run_task, member, self.journal, number, task, index))
                if not pending:
                    return
                finished, pending = wait_any(pending)
                for future in finished:
                    yield future.result()
        finally:
            for future in pending:
                future.cancel()
            wait_all(pending)


def _shown(stage: Stage) -> str:
    """What a stage does, in errors."""
    if len(stage.members) > 1:
        return f" (stages of {len(stage.members)} arrays)"
    return f" ({stage.name} `{stage.array}`)" if stage.array else f" ({stage.name})"


def run_task(stage: Stage, journal: PlanJournal, number: int, task: int, index: int) -> int:
    """Does task `index` of a member of stage `number`, and records that `task` of that stage is done. This function is
    what an executor calls."""
    try:
        written = stage.run(index)
    except OmnizarrError as error:
        raise error.add_context(f"task {task} of stage {number + 1}{_shown(stage)}") from error.__cause__
    journal.record(number, task)
    return written


def wait_any(pending: set[Future[Any]]) -> tuple[set[Future[Any]], set[Future[Any]]]:
    """The futures that are done, at least one, and the others."""
    done = {future for future in pending if future.done()}
    if not done:
        done = set(wait(pending, return_when=FIRST_COMPLETED).done)
    return done, pending - done


def wait_all(pending: Sequence[Future[Any]] | set[Future[Any]]) -> None:
    """Waits until no future runs any more."""
    wait([future for future in pending if not future.cancelled()])
