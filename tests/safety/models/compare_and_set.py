"""Append and shrink on a store with compare-and-set and without locks (`nodes/resize.py`, `nodes/resize_mark.py`,
`store/object/updates.py`).

Each row is a value of its own. An append reserves its row by a conditional write of the document, and then writes it. A
shrink stores the smaller shape with a mark, erases the rows outside, and removes the mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tests.safety.models.explorer import DEAD, DONE, Counterexample, Local, explore

__all__ = ["Rules", "check_lost_answers", "check_shrink"]


@dataclass(frozen=True)
class Rules:
    """The rules of the protocol; each may be left out."""

    shrink_is_marked: bool = True
    """The document with the smaller shape has a mark until the rows outside are erased."""
    take_over: Literal["by compare-and-set", "without", "from the living"] = "by compare-and-set"
    """How a writer that finds the mark finishes the shrink: it makes the mark its own; it erases the rows without that;
    or it takes the mark of a process that still works."""
    uncertain: Literal["writes", "last write", "bytes", "conflict"] = "writes"
    """What a rejected write that may be one's own is compared with: the names of the last writes beside the value, only
    the last of them, the value alone, or nothing."""


@dataclass(frozen=True)
class Document:
    shape: int
    mark: str = ""
    """The holder of the mark of an unfinished shrink."""
    version: int = 0
    writes: tuple[str, ...] = ()
    """The names of the writes that led to it, newest first."""


@dataclass(frozen=True)
class State:
    document: Document
    rows: tuple[str, ...]
    finished: frozenset[str] = frozenset()
    """The appends that returned."""
    dead: frozenset[str] = frozenset()
    faults: int = 0
    """How many answers may still be lost."""
    grown: frozenset[int] = frozenset()
    """The rows that a growth without data made visible."""
    shrunk: bool = False
    """Whether the smaller shape is stored."""


Steps = Iterator[tuple[str, State, Local]]


def _stored(state: State, name: str, shape: int, mark: str) -> State:
    old = state.document
    new = Document(shape, mark, old.version + 1, (name, *old.writes))
    return replace(state, document=new)


def _append(name: str, rules: Rules, state: State, local: Local) -> Steps:
    """An append; one whose name starts with `grow` writes no data."""
    step, *known = local
    document = state.document
    if step == "wait":
        if state.shrunk or "shrink" in state.dead:
            yield "begin", state, ("read",)
    elif step == "read":
        holder = document.mark
        if not holder:
            yield "read", state, ("reserve", document, 0)
        elif rules.take_over == "without":
            yield "find the mark", state, ("erase", len(state.rows) - 1)
        elif holder in state.dead or rules.take_over == "from the living":
            yield "find the mark", state, ("take over", document)
    elif step == "take over":
        (seen,) = known
        if document == seen:
            yield "take over", _stored(state, name, document.shape, name), ("erase", len(state.rows) - 1)
        else:
            yield "fail to take over", state, ("read",)
    elif step == "erase":
        (row,) = known
        assert isinstance(row, int)
        if rules.take_over != "without" and document.mark != name:
            yield "notice that the mark is gone", state, ("read",)
        elif row < document.shape:
            after = _stored(state, name, document.shape, "") if document.mark else state
            yield "remove the mark", after, ("read",)
        else:
            yield f"erase row {row}", _set(state, row, ""), ("erase", row - 1)
    elif step == "reserve":
        seen, sent = known
        assert isinstance(seen, Document)
        assert isinstance(sent, int)
        if document.version == seen.version:
            after = _stored(state, name, seen.shape + 1, "")
            yield "reserve", after, ("write", seen.shape)
            if state.faults:
                yield "reserve, and lose the answer", replace(after, faults=state.faults - 1), ("reserve", seen, 1)
        elif sent and rules.uncertain == "writes":
            yield "look at the writes", state, ("write", seen.shape) if name in document.writes else ("read",)
        elif sent and rules.uncertain == "last write":
            yield "look at the last write", state, ("write", seen.shape) if name == document.writes[0] else ("read",)
        elif sent and rules.uncertain == "bytes":
            yield "compare", state, ("write", seen.shape) if document.shape == seen.shape + 1 else ("read",)
        else:
            yield "find another version", state, ("read",)
            if sent == 0 and state.faults and rules.uncertain == "bytes":  # a retry inside the client hides this answer
                yield "lose the rejection", replace(state, faults=state.faults - 1), ("reserve", seen, 1)
    elif step == "write":
        (row,) = known
        assert isinstance(row, int)
        if name.startswith("grow"):
            yield "return", replace(state, grown=state.grown | {row}), DONE
        else:
            yield "write", replace(_set(state, row, name), finished=state.finished | {name}), DONE


def _shrink(name: str, rules: Rules, state: State, local: Local) -> Steps:
    """Shrinks the array to one row."""
    step, *known = local
    document = state.document
    if step == "read":
        yield "read", state, ("store", document)
    elif step == "store":
        if document != known[0]:
            yield "find another version", state, ("read",)
        else:
            after = _stored(state, name, 1, name if rules.shrink_is_marked else "")
            yield "store the smaller shape", replace(after, shrunk=True), ("erase", len(state.rows) - 1)
    elif step == "erase":
        (row,) = known
        assert isinstance(row, int)
        if row:
            yield f"erase row {row}", _set(state, row, ""), ("erase", row - 1)
        elif document.mark == name:
            yield "remove the mark", _stored(state, name, document.shape, ""), DONE
        else:
            yield "notice that the mark is gone", state, DONE


def _set(state: State, row: int, writer: str) -> State:
    return replace(state, rows=(*state.rows[:row], writer, *state.rows[row + 1 :]))


def _problem(state: State, locals_: dict[str, Local]) -> str | None:
    visible = state.rows[: state.document.shape]
    for name in sorted(state.finished):
        if visible.count(name) != 1:
            return f"the row of {name} is stored {visible.count(name)} times: {visible}"
    crashed = sum(local == DEAD for name, local in locals_.items() if name != "shrink")
    empty = visible.count("") - len(state.grown)
    if empty > crashed:
        return f"{empty} rows without data: {visible}"
    if state.shrunk and "old" in visible[1:]:
        return f"rows that were cut off are visible again: {visible}"
    return None


def _crash(state: State, name: str) -> State:
    return replace(state, dead=state.dead | {name})


def check_shrink(rules: Rules, *, crashes: int) -> tuple[Counterexample[State] | None, int]:
    """Explores a shrink, and an append and a growth that begin when its smaller shape is stored, or when it crashed."""
    start = State(Document(2), ("old", "old", "", ""))
    return explore(
        start,
        {
            "shrink": (("read",), partial(_shrink, "shrink", rules)),
            "append": (("wait",), partial(_append, "append", rules)),
            "grow": (("wait",), partial(_append, "grow", rules)),
        },
        _problem,
        _crash,
        crashes,
    )


def check_lost_answers(rules: Rules, *, faults: int, crashes: int = 0) -> tuple[Counterexample[State] | None, int]:
    """Explores three appends, and answers to conditional writes that are lost."""
    names = ("append 1", "append 2", "append 3")
    start = State(Document(0), ("",) * 7, faults=faults)
    processes = {name: (("read",), partial(_append, name, rules)) for name in names}
    return explore(start, processes, _problem, _crash, crashes)
