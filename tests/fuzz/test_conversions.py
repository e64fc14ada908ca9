"""Random arrays of every generation: created, changed and converted; other implementations read a sample of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fuzz.array_options import CONVENTIONS, GENERATIONS, Case, random_case
from tests.fuzz.conversions import check_random_case, create, same_elements
from tests.peers import Peer, PeerError, Unsupported

PARTS = 8
CASES = 2000  # arrays; `make fuzz` creates any number


@pytest.mark.parametrize("part", range(PARTS))
def test_documents_describe_the_stored_elements(part: int) -> None:
    """Options are rejected, or everything that is stored can be read again, also after a change and a conversion."""
    created = Counter(check_random_case(f"{part}/{number}") for number in range(CASES // PARTS))
    assert set(created) == set(GENERATIONS)
    assert created.total() == CASES // PARTS


@pytest.mark.parametrize("generation", [2, "3-draft-2020"])
def test_zarr_python_2_reads_random_arrays(zarr2_peer: Peer, tmp_path: Path, generation: Any) -> None:
    _compare(zarr2_peer, "zarr2", tmp_path, generation)


def test_zarr_python_3_reads_random_arrays(zarr3_peer: Peer, tmp_path: Path) -> None:
    _compare(zarr3_peer, "zarr", tmp_path, 3)


def _compare(peer: Peer, library: str, folder: Path, generation: Any) -> None:
    """Compares what a peer reads with the elements that were written, for 40 arrays that it supports."""
    compared = 0
    for number in range(400):
        case = random_case(Random(f"peers {number}"))
        case.options["zarr_format"] = generation
        case.options.pop("conventions", None)
        if generation == "3-draft-2020":
            case.options.update(CONVENTIONS)  # zarr-python 2 finds 0-d arrays by its own conventions only
        if not _is_common(case):
            continue
        array = create(folder / str(number), case, name="a")
        if array is None:
            continue
        try:
            found = peer.read(library, folder / str(number), "a")
        except Unsupported:
            continue
        except PeerError as error:
            raise AssertionError(f"case {number}: {case.options}: {error}") from error
        assert same_elements(found, case.data), f"case {number}: {case.options}: {found.tolist()}"
        compared += 1
        if compared == 40:
            return
    raise AssertionError(f"only {compared} arrays were compared")


def _is_common(case: Case) -> bool:
    """Whether the array has elements of a type that all implementations have."""
    return isinstance(case.options["dtype"], str) and case.data.dtype.kind in "biufcMmSU" and case.data.size > 0
