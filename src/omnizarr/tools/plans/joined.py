"""`JoinedStages`: stages that do not depend on each other, as one stage, so that their tasks run side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import ClassVar

from omnizarr._cached_property import cached_property
from omnizarr.tools.plans.stage import PlanCost, Stage

__all__ = ["join_passes", "join_stages"]


@dataclass(frozen=True)
class JoinedStages(Stage):
    """The tasks of several stages, one stage after the other. A task is pickled with its own stage only."""

    name: ClassVar[str] = "joined"
    stages: tuple[Stage, ...]

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(stage.count for stage in self.stages))

    @property
    def members(self) -> Sequence[Stage]:
        return self.stages

    @property
    def count(self) -> int:  # type: ignore[override]
        return self._ends[-1]

    def member_task(self, index: int) -> tuple[Stage, int]:
        number = bisect_right(self._ends, index)
        stage = self.stages[number]
        return stage, index - self._ends[number] + stage.count

    def run(self, index: int) -> int:
        stage, number = self.member_task(index)
        return stage.run(number)

    @property
    def cost(self) -> PlanCost:
        return sum((stage.cost for stage in self.stages), PlanCost())


def join_stages(stages: Iterable[Stage]) -> list[Stage]:
    """Independent stages as one; none if there are none."""
    all_stages = tuple(stages)
    return [JoinedStages(all_stages)] if len(all_stages) > 1 else list(all_stages)


def join_passes(passes: Iterable[Sequence[Stage]]) -> list[Stage]:
    """Sequences of stages that do not depend on each other: all first stages, then all second ones, and so on."""
    joined: list[Stage] = []
    for stages in zip_longest(*passes):
        joined += join_stages(stage for stage in stages if stage is not None)
    return joined
