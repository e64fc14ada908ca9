"""Known gaps explain what they are meant to explain and nothing else."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.interop.cases import BY_BLOSC, BY_CHAIN, BY_EXTENSION, BY_FILL, BY_LAYOUT, BY_NUMCODECS, CORE_KINDS
from tests.interop.grid_cases import BY_GRID
from tests.interop.known_differences import DIFFERS, GAPS, Action, gap
from tests.interop.matrix_cases import BY_CODEC
from tests.interop.more_cases import BY_MORE
from tests.interop.registered_cases import BY_REGISTERED
from tests.peers import LIBRARIES

TABLES = (BY_CHAIN, BY_BLOSC, BY_FILL, BY_LAYOUT)
ALL = [cell for table in (*TABLES, BY_EXTENSION) for cells in table.values() for cell in cells]
CORE = [cell for cell in ALL if cell.kind in CORE_KINDS]
OTHERS = (BY_NUMCODECS, BY_MORE, BY_GRID, BY_REGISTERED, BY_CODEC)
CELLS = [*ALL, *(cell for table in OTHERS for cells in table.values() for cell in cells)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("action", get_args(Action))
@pytest.mark.parametrize("complaint", ["", "ModuleNotFoundError: zarr", "the process of zarr3 ended with code -9"])
def test_no_gap_explains_a_broken_peer(library: str, action: Action, complaint: str) -> None:
    assert not any(gap(library, action, cell, complaint) for cell in CELLS)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("action", get_args(Action))
def test_every_peer_does_most_of_the_core(library: str, action: Action) -> None:
    known = [one for one in GAPS if library in one.libraries and action in one.actions]
    without = [cell for cell in CORE if not any(one.concerns(cell) for one in known)]
    assert len(without) > 0.75 * len(CORE)
    assert not any(gap(library, action, cell, DIFFERS) for cell in without)


def test_every_gap_concerns_an_array() -> None:
    for one in GAPS:
        assert any(one.concerns(cell) for cell in CELLS), one.reason
