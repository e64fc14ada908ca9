"""Arrays that omnizarr writes for its peers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop.cases import Case, same, write_ours


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Path]:
    """Returns the path of one of our arrays, which is written once for all peers."""
    root = tmp_path_factory.mktemp("ours")
    places: dict[str, Path] = {}

    def write(case: Case) -> Path:
        if case.name not in places:
            place = root / str(len(places))
            assert same(write_ours(place, case)[...], case.data), case.name
            places[case.name] = place
        return places[case.name]

    return write
