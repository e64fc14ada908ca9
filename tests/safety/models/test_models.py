"""The models find the known losses if a rule is left out, and none with all rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.safety.models import compare_and_set, task_lock


@pytest.mark.parametrize("crashes", [0, 1, 2])
def test_appends_overwrites_and_listings_of_a_folder_lose_nothing(crashes: int) -> None:
    found, states = task_lock.check(task_lock.Rules(), crashes=crashes)
    assert found is None
    assert states > 5000


@pytest.mark.parametrize("crashes", [0, 1, 2])
def test_appends_and_growths_of_a_folder_lose_nothing(crashes: int) -> None:
    found, states = task_lock.check(task_lock.Rules(), overwrite=False, crashes=crashes)
    assert found is None
    assert states > 500


def test_a_listing_that_removes_the_lock_file_of_a_holder_loses_later_appends() -> None:
    for rules in (
        task_lock.Rules(sweep_holds_lock=False, remove_own_file=False, overwrite_holds_lock=False),
        task_lock.Rules(sweep_holds_lock=False, overwrite_holds_lock=False),  # removing only one's own file: no remedy
        task_lock.Rules(sweep_holds_lock=False),
    ):
        found, _ = task_lock.check(rules, weak=True)
        assert found is not None
        assert "sweep: remove the lock file" in found.steps


def test_an_overwrite_without_the_task_lock_tears_an_append_under_way() -> None:
    rules = task_lock.Rules(overwrite_holds_lock=False)
    assert task_lock.check(rules, weak=True)[0] is None, "but keeps those that begin afterwards"
    found, _ = task_lock.check(rules)
    assert found is not None
    assert found.problem.startswith("the row of append is stored 0 times")


def test_a_crash_without_a_mark_shows_its_rows_when_the_array_grows() -> None:
    found, _ = task_lock.check(task_lock.Rules(crash_is_marked=False), overwrite=False, crashes=1)
    assert found is not None
    assert any(step.startswith("append") and step.endswith("crash") for step in found.steps)


@pytest.mark.parametrize("crashes", [0, 1, 2])
def test_shrinks_with_compare_and_set_lose_nothing_and_nothing_comes_back(crashes: int) -> None:
    found, states = compare_and_set.check_shrink(compare_and_set.Rules(), crashes=crashes)
    assert found is None
    assert states > 50


@pytest.mark.parametrize(
    ("rules", "crashes"),
    [
        (compare_and_set.Rules(shrink_is_marked=False), 1),
        (compare_and_set.Rules(take_over="without"), 1),
        (compare_and_set.Rules(take_over="from the living"), 0),
    ],
)
def test_a_shrink_without_one_of_its_rules_loses_rows(rules: compare_and_set.Rules, crashes: int) -> None:
    assert compare_and_set.check_shrink(rules, crashes=crashes)[0] is not None


@pytest.mark.parametrize("crashes", [0, 2])
def test_appends_whose_answers_are_lost_get_one_row_each(crashes: int) -> None:
    found, states = compare_and_set.check_lost_answers(compare_and_set.Rules(), faults=2, crashes=crashes)
    assert found is None
    assert states > 500


@pytest.mark.parametrize("uncertain", ["conflict", "bytes", "last write"])
def test_a_weaker_comparison_after_a_lost_answer_loses_rows(uncertain: Any) -> None:
    rules = compare_and_set.Rules(uncertain=uncertain)
    assert compare_and_set.check_lost_answers(rules, faults=2)[0] is not None
