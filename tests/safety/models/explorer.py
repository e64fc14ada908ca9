"""An exhaustive explorer: it visits all states that processes reach by interleaving their steps and by crashing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["DEAD", "DONE", "Counterexample", "explore"]

S = TypeVar("S")

DONE = ("done",)
DEAD = ("dead",)

Local = tuple[object, ...]
"""The state of one process: the name of its next step, and what it knows."""


@dataclass(frozen=True)
class Counterexample(Generic[S]):
    """A state that breaks the invariant, and the steps that lead to it."""

    problem: str
    steps: tuple[str, ...]
    state: S


def explore(
    shared: S,
    processes: dict[str, tuple[Local, Callable[[S, Local], Iterable[tuple[str, S, Local]]]]],
    problem: Callable[[S, dict[str, Local]], str | None],
    crash: Callable[[S, str], S],
    crashes: int = 0,
) -> tuple[Counterexample[S] | None, int]:
    """The first counterexample in order of length, or None, and the number of states visited.

    A process is its first local state, and a function that gives the possible next steps: a label, the shared state and
    the local state afterwards. No steps mean that it waits. `problem` says what is wrong with a state in which no
    process can go on. Up to `crashes` processes of any kind crash between any two steps; `crash` gives the shared state
    afterwards. A state in which a process waits forever is a problem, too.
    """
    names = list(processes)
    start = (shared, tuple(processes[name][0] for name in names), crashes)
    parents: dict[object, tuple[object, str] | None] = {start: None}
    frontier = [start]
    while frontier:
        following = []
        for node in frontier:
            state, locals_, left = node
            moved = False
            nexts = []
            for index, name in enumerate(names):
                local = locals_[index]
                if local in (DONE, DEAD):
                    continue
                for label, after, own in processes[name][1](state, local):
                    moved = True
                    nexts.append((f"{name}: {label}", after, own, index, left))
                if left:
                    nexts.append((f"{name}: crash", crash(state, name), DEAD, index, left - 1))
            if not moved:
                waiting = [name for name, local in zip(names, locals_, strict=True) if local not in (DONE, DEAD)]
                wrong = f"{waiting} wait forever" if waiting else problem(state, dict(zip(names, locals_, strict=True)))
                if wrong is not None:
                    return Counterexample(wrong, _steps(parents, node), state), len(parents)
            for label, after, own, index, remaining in nexts:
                child = (after, (*locals_[:index], own, *locals_[index + 1 :]), remaining)
                if child not in parents:
                    parents[child] = (node, label)
                    following.append(child)
        frontier = following
    return None, len(parents)


def _steps(parents: dict[object, tuple[object, str] | None], node: object) -> tuple[str, ...]:
    steps = []
    while (parent := parents[node]) is not None:
        node, label = parent
        steps.append(label)
    return tuple(reversed(steps))
