"""Append and overwrite in a folder: the task lock is a locked file, which its holder removes (`nodes/resize.py`,
`nodes/create/node.py`, `store/local/task_lock.py`).

Each row is a chunk of its own. Appending writes the row behind the array, and then the shape that makes it visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from tests.safety.models.explorer import DONE, Counterexample, Local, explore

__all__ = ["Rules", "check"]


@dataclass(frozen=True)
class Rules:
    """The rules of the protocol; each may be left out."""

    sweep_holds_lock: bool = True
    """A listing removes a lock file only while it holds the lock of the file."""
    remove_own_file: bool = True
    """A holder removes the lock file only if it is still the one that it locked."""
    overwrite_holds_lock: bool = True
    """An overwrite takes the task lock of the array that it replaces."""
    crash_is_marked: bool = True
    """A holder marks the lock file before it writes outside the array; the next one then trims the array."""


@dataclass(frozen=True)
class State:
    path: int = 0
    """The lock file that the path leads to; 0 if there is none."""
    files: int = 0
    """How many lock files were created."""
    locks: frozenset[tuple[int, str]] = frozenset()
    """The locked files and their holders."""
    marks: frozenset[int] = frozenset()
    """The files with the mark of an unfinished task."""
    shape: int | None = 0
    """The shape in the document; None if there is no document."""
    rows: tuple[str, ...] = ("", "", "", "")
    """The stored rows, by their writers; empty for the fill value."""
    kept: frozenset[str] = frozenset()
    """The appends that returned and that no overwrite erased."""
    grown: int | None = None
    """The row that a growth without data made visible: it holds the fill value."""
    replaced: bool = False
    """Whether the overwrite has returned."""

    def holder(self, file: int) -> str | None:
        return next((name for locked, name in self.locks if locked == file), None)

    def unlock(self, name: str) -> State:
        return replace(self, locks=frozenset(lock for lock in self.locks if lock[1] != name))


Steps = Iterator[tuple[str, State, Local]]


def _take_lock(state: State, name: str, local: Local, then: str) -> Steps:
    """Opens the lock file, locks it, and starts again if the path leads to another one."""
    step, *known = local
    if step == "start":
        if state.path:
            yield "open the lock file", state, ("lock", state.path)
        else:
            number = state.files + 1
            yield "create the lock file", replace(state, path=number, files=number), ("lock", number)
    elif step == "lock":
        (file,) = known
        assert isinstance(file, int)
        if state.holder(file) is None:
            yield "lock it", replace(state, locks=state.locks | {(file, name)}), ("verify", file)
    elif step == "verify":
        (file,) = known
        if state.path == file:
            yield "verify the path", state, (then, file)
        else:
            yield "verify the path, without success", state.unlock(name), ("start",)


def _release(state: State, name: str, rules: Rules, file: object, then: Local) -> Steps:
    if not rules.remove_own_file or state.path == file:
        state = replace(state, path=0)
    yield "remove the lock file", state, then


def _append(name: str, rules: Rules, state: State, local: Local) -> Steps:
    step, *known = local
    if step in ("start", "lock", "verify"):
        yield from _take_lock(state, name, local, "read")
        return
    file = known[0]
    assert isinstance(file, int)
    if step == "read":
        if state.shape is None:
            yield "find no document", state, ("fail", file)
        elif file in state.marks and rules.crash_is_marked:
            yield "trim", replace(state, rows=_cut(state.rows, state.shape)), ("write", file, state.shape)
        else:
            yield "read the shape", state, ("write", file, state.shape)
    elif step == "write":
        row = known[1]
        assert isinstance(row, int)
        if name == "grow":  # `resize` writes no data
            yield "write nothing", state, ("publish", file, row)
            return
        rows = (*state.rows[:row], name, *state.rows[row + 1 :])
        yield "mark and write", replace(state, rows=rows, marks=state.marks | {file}), ("publish", file, row)
    elif step == "publish":
        row = known[1]
        assert isinstance(row, int)
        if state.shape is None:
            yield "find no document", state, ("fail", file)
        elif state.shape != row:
            yield "find another shape", state, ("read", file)
        else:
            grown = row if name == "grow" else state.grown
            kept = state.kept if name == "grow" else state.kept | {name}
            yield "store the shape", replace(state, shape=row + 1, kept=kept, grown=grown), ("remove", file)
    elif step in ("remove", "fail"):
        yield from _release(state, name, rules, file, ("unlock", file))
    elif step == "unlock":
        yield "unlock", state.unlock(name), DONE


def _cut(rows: tuple[str, ...], shape: int) -> tuple[str, ...]:
    return (*rows[:shape], *[""] * (len(rows) - shape))


def _overwrite(name: str, rules: Rules, state: State, local: Local) -> Steps:
    step, *known = local
    if step in ("start", "lock", "verify") and rules.overwrite_holds_lock:
        yield from _take_lock(state, name, local, "erase")
    elif step in ("start", "erase"):
        yield "erase the document", replace(state, shape=None, kept=frozenset()), ("rows", *known)
    elif step == "rows":
        yield "erase the rows", replace(state, rows=_cut(state.rows, 0)), ("create", *known)
    elif step == "create":
        after = replace(state, shape=0, replaced=not known)
        yield "store the new document", after, ("remove", *known) if known else DONE
    elif step == "remove":
        yield from _release(state, name, rules, known[0], ("unlock",))
    elif step == "unlock":
        yield "unlock", replace(state.unlock(name), replaced=True), DONE


def _sweep(name: str, rules: Rules, state: State, local: Local) -> Steps:
    """A listing in another process that removes the lock file of an array without a document."""
    step, *known = local
    if step == "start":
        yield "stop listing", state, DONE
        if state.path and state.shape is None:
            yield "see a lock file without a document", state, ("open", state.path)
    elif step == "open":
        if not rules.sweep_holds_lock:
            yield "remove the lock file", replace(state, path=0), DONE
            return
        (file,) = known
        assert isinstance(file, int)
        yield "find the lock held", state, DONE
        if state.holder(file) is None:
            yield "lock it", replace(state, locks=state.locks | {(file, name)}), ("check", file)
    elif step == "check":
        (file,) = known
        if state.path == file and state.shape is None:
            state = replace(state, path=0)
        yield "remove the lock file if it is the same", state.unlock(name), DONE


def _problem(state: State, locals_: dict[str, Local], *, weak: bool) -> str | None:
    visible = state.rows[: state.shape or 0]
    # Without the lock of the overwrite, only the appends that begin afterwards are kept.
    for name in sorted(state.kept):
        if (not weak or name.startswith("late")) and visible.count(name) != 1:
            return f"the row of {name} is stored {visible.count(name)} times: {visible}"
    for row, writer in enumerate(visible if not weak else ()):
        if (row == state.grown) != (writer == ""):
            return f"row {row} is not that of a finished append: {visible}"
    return None


def check(
    rules: Rules, *, overwrite: bool = True, crashes: int = 0, weak: bool = False
) -> tuple[Counterexample[State] | None, int]:
    """Explores an append that races an overwrite and a listing, and two appends that begin when the overwrite has
    ended; without `overwrite`, two appends and a growth without data. `weak` demands only that the two appends after
    the overwrite are kept."""

    def late(name: str, state: State, local: Local) -> Steps:
        if local != ("wait",):
            yield from _append(name, rules, state, local)
            return
        yield "do not begin", state, DONE  # the overwrite may have crashed
        if state.replaced:
            yield "begin", state, ("start",)

    processes = {"append": (("start",), partial(_append, "append", rules))}
    if overwrite:
        processes["over"] = (("start",), partial(_overwrite, "over", rules))
        processes["sweep"] = (("start",), partial(_sweep, "sweep", rules))
        processes["late 1"] = (("wait",), partial(late, "late 1"))
        processes["late 2"] = (("wait",), partial(late, "late 2"))
    else:
        for name in ("append 2", "grow"):
            processes[name] = (("start",), partial(_append, name, rules))
    return explore(State(), processes, partial(_problem, weak=weak), State.unlock, crashes)
