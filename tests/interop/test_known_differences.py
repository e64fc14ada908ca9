"""Known differences explain the errors that they are meant to explain, and no others."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.interop.cases import BY_BLOSC, BY_CHAIN, BY_EXTENSION, BY_FILL, BY_LAYOUT, BY_NUMCODECS, CORE_KINDS
from tests.interop.grid_cases import BY_GRID
from tests.interop.known_differences import DIFFERS, KNOWN_DIFFERENCES, Action, known_difference
from tests.interop.matrix_cases import BY_CODEC
from tests.interop.more_cases import BY_MORE
from tests.interop.registered_cases import BY_REGISTERED
from tests.peers import LIBRARIES

TABLES = (BY_CHAIN, BY_BLOSC, BY_FILL, BY_LAYOUT)
ALL = [case for table in (*TABLES, BY_EXTENSION) for cases in table.values() for case in cases]
CORE = [case for case in ALL if case.kind in CORE_KINDS]
OTHERS = (BY_NUMCODECS, BY_MORE, BY_GRID, BY_REGISTERED, BY_CODEC)
CASES = [*ALL, *(case for table in OTHERS for cases in table.values() for case in cases)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("action", get_args(Action))
@pytest.mark.parametrize("complaint", ["", "ModuleNotFoundError: zarr", "the process of zarr3 ended with code -9"])
def test_no_known_difference_explains_a_broken_peer(library: str, action: Action, complaint: str) -> None:
    assert not any(known_difference(library, action, case, complaint) for case in CASES)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("action", get_args(Action))
def test_every_peer_supports_most_of_the_core(library: str, action: Action) -> None:
    known = [one for one in KNOWN_DIFFERENCES if library in one.libraries and action in one.actions]
    without = [case for case in CORE if not any(one.concerns(case) for one in known)]
    assert len(without) > 0.75 * len(CORE)
    assert not any(known_difference(library, action, case, DIFFERS) for case in without)


def test_every_known_difference_concerns_an_array() -> None:
    for one in KNOWN_DIFFERENCES:
        assert any(one.concerns(case) for case in CASES), one.reason
