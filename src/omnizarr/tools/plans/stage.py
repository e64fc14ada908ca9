"""The contract of a stage: tasks that do not depend on each other, computed from an index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["PlanCost", "Stage"]


@dataclass(frozen=True, slots=True)
class PlanCost:
    """What a stage or a plan costs. Sizes are bytes of elements in memory, or of stored objects that are copied as they
    are."""

    read: int = 0
    written: int = 0
    temporary: int = 0
    """Bytes of intermediate arrays, which the plan erases in the end."""
    files: int = 0
    """Objects that the target has afterwards, at most."""
    memory: int = 0
    """Bytes that one task holds at most."""

    def __add__(self, other: PlanCost) -> PlanCost:
        return PlanCost(
            self.read + other.read,
            self.written + other.written,
            self.temporary + other.temporary,
            self.files + other.files,
            max(self.memory, other.memory),
        )


class Stage(ABC):
    """Tasks 0 … count-1. A member of a stage is pickled with each task, so it holds locations and numbers, not data.

    A task owns whole objects of the target: no two tasks write the same object. Running a task twice, or twice at the
    same time, has the same result as running it once.
    """

    name: ClassVar[str]
    count: int

    @property
    def array(self) -> str:
        """The path of the array that the stage is for; empty if that is the root, or if there are several."""
        return ""

    @property
    def members(self) -> Sequence[Stage]:
        """The stages that this one joins; otherwise itself."""
        return (self,)

    def member_task(self, index: int) -> tuple[Stage, int]:
        """The member that has a task, and the number of the task there."""
        return self, index

    @abstractmethod
    def run(self, index: int) -> int:
        """Does one task, and returns how many bytes it has written."""

    @property
    @abstractmethod
    def cost(self) -> PlanCost:
        """What all tasks cost together."""
