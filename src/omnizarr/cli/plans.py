"""Options of the commands that run a plan, and how they show and run it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from omnizarr.cli.exit_codes import YES, message
from omnizarr.cli.output import Column, Output
from omnizarr.cli.progress import progress

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from omnizarr.tools import Plan
    from omnizarr.tools.plans import PlanResult

__all__ = ["FORMATS", "PlanOptions", "array_options", "lengths", "parse_format", "plan_options", "run_plan", "size"]

F = TypeVar("F", bound=Callable[..., Any])


class PlanOptions(NamedTuple):
    """How a plan runs, from the command line."""

    dry_run: bool
    force: bool
    resume: bool
    verify: bool
    workers: int | None
    processes: bool
    dask: str | None
    task: tuple[int, int] | None
    stage: int | None
    finish: bool

    @property
    def resuming(self) -> bool:
        """Whether the plan may have begun before."""
        return self.resume or self.task is not None or self.finish


def plan_options(function: F) -> F:
    """Adds `--dry-run`, `--force`, `--resume`, `--verify` and the options that say who runs the tasks; the function
    gets `run_options`."""
    from functools import update_wrapper

    def call(*arguments: Any, **keywords: Any) -> Any:
        plan_options = {name: keywords.pop(name) for name in PlanOptions._fields}
        plan_options["task"] = _part(plan_options["task"])
        return function(*arguments, run_options=PlanOptions(**plan_options), **keywords)

    update_wrapper(call, function)
    decorators = (
        click.option("--dry-run", is_flag=True, help="Show the plan, and write nothing."),
        click.option("--force", is_flag=True, help="Replace what is at the target."),
        click.option("--resume", is_flag=True, help="Continue an earlier run with the same arguments."),
        click.option("--verify", is_flag=True, help="Read back what is written, and compare."),
        click.option("-j", "--workers", type=click.IntRange(1), metavar="N", help="Tasks at the same time."),
        click.option("--processes", is_flag=True, help="Run tasks in processes instead of threads."),
        click.option("--dask", metavar="ADDRESS", help="Run tasks on a dask cluster: tcp://…, or local."),
        click.option("--task", metavar="I/N", help="Do part I (from 0) of N parts, as a job of a batch system."),
        click.option("--stage", type=click.IntRange(1), metavar="K", help="The stage of --task, from 1."),
        click.option("--finish", is_flag=True, help="Finish a plan whose parts are all done."),
    )
    for decorate in reversed(decorators):
        call = decorate(call)
    return call  # type: ignore[return-value]


def _part(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None or not int(match[1]) < int(match[2]):
        raise click.BadParameter(f"expected I/N with I from 0 to N-1, found {text!r}", param_hint="--task")
    return int(match[1]), int(match[2])


def run_plan(plan: Plan, run_options: PlanOptions, output: Output) -> int:
    """Shows the plan, does one part of it, finishes it, or runs it, and prints what was done."""
    if run_options.dry_run:
        _show(plan, output)
        return YES
    if run_options.finish:
        plan.finish()
        output.json({"finished": True}) if output.form == "json" else output.line("finished")
        return YES
    try:
        result = _run(plan, run_options)
    except KeyboardInterrupt:
        if plan.journal.store is not None:
            message("interrupted", f"the same command {'again' if run_options.task else 'with --resume'} continues")
        raise
    if output.form == "json":
        output.json(result)
    else:
        from omnizarr.display.texts import human_bytes

        before = (
            f", {result.skipped:,} {'was' if result.skipped == 1 else 'were'} done before" if result.skipped else ""
        )
        tasks = "1 task" if result.tasks == 1 else f"{result.tasks:,} tasks"
        output.line(f"{tasks}, {human_bytes(result.bytes)} in {result.seconds:.1f} s{before}")
        if run_options.task is not None and not result.finished:
            last = (run_options.stage or 1) >= len(plan.stages)
            then = "--finish" if last else f"--task of --stage {(run_options.stage or 1) + 1}"
            output.line(f"when all parts are done, the same command goes on with {then}")
    return YES


def _run(plan: Plan, run_options: PlanOptions) -> PlanResult:
    with progress("tasks") as report:
        if run_options.task is not None:
            return plan.run_part(*run_options.task, stage=run_options.stage, progress=report)
        with _executor(run_options) as executor:
            return plan.run(executor, workers=run_options.workers, progress=report, resume=run_options.resume)


def _show(plan: Plan, output: Output) -> None:
    from omnizarr.display.texts import human_bytes

    description = plan.describe()
    if output.form == "json":
        output.json(description)
        return
    output.line(description.title)
    named = any(stage.array for stage in description.stages)
    titles = ("tasks", "read", "written", "temporary", "files", "memory per task")
    columns = [Column(title) for title in ("stage", *["array"] * named, *titles)]
    rows = [
        [
            f"{stage.number} {stage.name}",
            *[stage.array] * named,
            f"{stage.tasks:,}",
            *(human_bytes(amount) for amount in (stage.cost.read, stage.cost.written, stage.cost.temporary)),
            f"{stage.cost.files:,}",
            human_bytes(stage.cost.memory),
        ]
        for stage in description.stages
    ]
    output.table(columns, rows)
    for note in description.notes:
        output.line(f"note: {note}")


@contextmanager
def _executor(run_options: PlanOptions) -> Iterator[Executor | None]:
    """The executor that the options name; None for threads."""
    if run_options.dask is not None:
        from omnizarr._imports import load_optional

        distributed = load_optional("`--dask`", "distributed")
        address = None if run_options.dask == "local" else run_options.dask
        options: dict[str, Any] = {}
        if address is None:  # on a free port: that of another cluster on this machine causes a warning
            count = run_options.workers or os.cpu_count()
            options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
        with distributed.Client(address, **options) as client, client.get_executor() as executor:
            yield executor
    elif run_options.processes:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(run_options.workers, mp_context=get_context("spawn")) as executor:
            yield executor
    else:
        yield None


def lengths(text: str | None, option: str) -> Any:
    """Chunk lengths: `100,100`, `auto`, or by dimension, such as `time=-1,lat=10`, as a dict."""
    if text is None or text == "auto":
        return text
    if text == "none":
        return ()
    try:
        if "=" in text:
            pairs = [part.partition("=") for part in text.split(",")]
            return {name.strip(): int(value) for name, _, value in pairs}
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(
            f"expected lengths such as 100,100 or time=-1,lat=10, found {text!r}", param_hint=option
        ) from None


_UNITS = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


def size(text: str, option: str) -> int:
    """A number of bytes, such as `4GB`, `512MiB` or `1000000`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-zA-Z]*)", text)
    unit = None if match is None else match[2].lower().removesuffix("b") if match[2].lower() != "b" else "b"
    if match is None or unit not in _UNITS:
        raise click.BadParameter(f"expected a size such as 4GB or 512MiB, found {text!r}", param_hint=option)
    return int(float(match[1]) * _UNITS[unit])


FORMATS = ("1", "2", "3", "3-draft-2020", "3-draft-2022", "n5")
"""The generations, as options name them."""


def parse_format(text: str | None) -> Any:
    """The generation that an option names."""
    return int(text) if text is not None and text.isdigit() else text


def array_options(chunks: str | None, shards: str | None, codecs: str | None, dtype: str | None) -> dict[str, Any]:
    """The options of the new arrays that were given."""
    options: dict[str, Any] = {}
    if chunks is not None:
        options["chunks"] = lengths(chunks, "--chunks")
    if shards is not None:
        options["shards"] = None if shards == "none" else lengths(shards, "--shards")
    if codecs is not None:
        options["compressors"] = parse_codecs(codecs)
    if dtype is not None:
        options["dtype"] = dtype
    return options


def parse_codecs(text: str) -> Any:
    """Compressors from the command line: a name, a JSON object or list, `none`, or `auto`."""
    import json

    if text == "none":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
