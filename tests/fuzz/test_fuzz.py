"""A short run of every target with fixed seeds; `make fuzz` runs longer."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, survives


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_bytes_raise_only_our_errors(name: str) -> None:
    target = TARGETS[name]
    for seed in target.seeds:
        target.read(seed)  # the seed itself is valid
    random = Random(name)
    for _ in range(60):
        survives(target, mutated(target.seeds, random))


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=200))
def test_random_bytes_raise_only_our_errors(name: str, data: bytes) -> None:
    survives(TARGETS[name], data)
