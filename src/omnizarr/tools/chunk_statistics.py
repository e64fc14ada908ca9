"""`build_statistics`, `remove_statistics` and `check_statistics`: the stored statistics of the chunks of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from omnizarr.errors import ArgumentError, OmnizarrError
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.model import join_path
from omnizarr.nodes import Array, Group
from omnizarr.nodes.statistics.table import StatisticsState, obstacle
from omnizarr.nodes.unreadable import UnreadableNode
from omnizarr.tools.results import Progress

__all__ = ["ArrayStatistics", "build_statistics", "check_statistics", "remove_statistics"]


@dataclass(frozen=True, slots=True)
class ArrayStatistics:
    """What is stored of the statistics of the chunks of one array."""

    path: str
    state: StatisticsState | None
    """How many chunks have statistics that are up to date; None if the array has no statistics."""
    reason: str | None = None
    """Why it has none, or not all."""
    failed: bool = False
    """Whether the array could not be read or written."""


def build_statistics(node: Array | Group, *, progress: Progress | None = None) -> tuple[ArrayStatistics, ...]:
    """Stores statistics of the chunks of an array, or of all arrays below a group. Only chunks without statistics that
    are up to date are read. Arrays of a group whose elements have no order are left out."""
    arrays = list(_arrays(node))
    total = sum(array.nbytes for _, array in arrays if isinstance(array, Array))
    done = 0

    def build(array: Array) -> StatisticsState:
        nonlocal done

        def report(chunks: int, of: int) -> None:
            if progress is not None:
                progress(done + array.nbytes * chunks // max(1, of), total)

        state = array.statistics.build(progress=report)
        done += array.nbytes
        if progress is not None:
            progress(done, total)
        return state

    return tuple(_each(node, arrays, build))


def check_statistics(node: Array | Group) -> tuple[ArrayStatistics, ...]:
    """How many chunks have statistics that are up to date, of an array or of all arrays below a group. Looks at each
    stored chunk, and reads none."""

    def state(array: Array) -> StatisticsState | None:
        return array.statistics.state() if array.statistics.enabled else None

    return tuple(_each(node, list(_arrays(node)), state))


def remove_statistics(node: Array | Group) -> tuple[ArrayStatistics, ...]:
    """Erases the statistics of the chunks of an array, or of all arrays below a group."""

    def remove(array: Array) -> None:
        array.statistics.remove()

    marked = [
        (path, array)
        for path, array in _arrays(node)
        if isinstance(array, UnreadableNode) or STATISTICS_ATTRIBUTE in array.attrs
    ]
    return tuple(_each(node, marked, remove))


def _arrays(node: Array | Group) -> Iterator[tuple[str, Array | UnreadableNode]]:
    """The array, or the arrays below a group, and the nodes that cannot be read: they may be arrays."""
    if isinstance(node, Array):
        yield node.path, node
        return
    for below, member in node._walk(None):
        if isinstance(member, (Array, UnreadableNode)):
            yield join_path(node.path, below), member


def _each(
    node: Array | Group,
    arrays: list[tuple[str, Array | UnreadableNode]],
    act: Callable[[Array], StatisticsState | None],
) -> Iterator[ArrayStatistics]:
    for path, array in arrays:
        if isinstance(array, UnreadableNode):
            yield ArrayStatistics(path, None, array.reason, failed=True)
            continue
        reason = obstacle(array)
        if reason is not None:
            if isinstance(node, Array):
                raise ArgumentError(f"array `{array.name}` cannot have statistics: {reason}", argument="node")
            yield ArrayStatistics(path, None, reason)
            continue
        try:
            yield ArrayStatistics(path, act(array))
        except OmnizarrError as error:
            if isinstance(node, Array):
                raise
            yield ArrayStatistics(path, None, str(error), failed=True)  # the other arrays are still of interest
