"""`validate(readers=True)`: the verdicts agree with what the programs that run here do, and name reasons."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.tools.validation import validate
from omnizarr.tools.validation.readers import _table
from tests.fuzz.array_options import random_case
from tests.fuzz.conversions import create, same_elements
from tests.peers import Peer, PeerError, Unsupported

pytestmark = pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")


def verdicts(store: Any) -> dict[str, tuple[bool, tuple[str, ...]]]:
    report = validate(store, readers=True)
    return {f"{reader.program} {reader.versions}": (reader.reads, reader.reasons) for reader in report.readers}


def readers_of(**options: Any) -> set[str]:
    """The programs that read a new array with these options."""
    array = omnizarr.create_array(None, **({"data": np.arange(4.0)} | options))
    return {name.split(" ")[0] for name, (reads, _) in verdicts(array.store).items() if reads}


def test_every_program_of_the_table_has_versions_and_sources() -> None:
    programs = {row["program"].split(" ")[0] for row in _table()}
    assert programs == {"zarr-python", "TensorStore", "zarrs", "zarrita.js", "GDAL", "netCDF-C", "n5"}
    for row in _table():
        assert row["versions"]
        assert row["sources"]
        assert set(row["generations"]) <= {"1", "2", "3", "n5", "3-draft-2020", "3-draft-2022"}


def test_plain_arrays_are_read_by_nearly_all() -> None:
    every = {"zarr-python", "TensorStore", "zarrs", "zarrita.js", "GDAL", "n5"}
    assert readers_of(zarr_format=3, compressors="gzip") == every
    assert readers_of(zarr_format=2, compressors="gzip") == every | {"netCDF-C"}
    assert readers_of(zarr_format="n5", compressors="gzip") == {"zarr-python", "TensorStore", "n5"}
    assert readers_of(zarr_format="3-draft-2020") == {"zarr-python"}
    assert readers_of(zarr_format="3-draft-2022") == set()


def test_a_reason_names_what_is_missing_and_where() -> None:
    group = omnizarr.create_group(None)
    group.create_array("names", data=np.array(["a", "b"], dtype=object), dtype="string")
    group.create_array("edges", shape=(60,), dtype="i4", chunks=((10, 20, 30),))
    shown = verdicts(group.store)
    reads, reasons = next(value for name, value in shown.items() if name.startswith("TensorStore"))
    assert not reads
    assert any("`string`" in reason and "(`/names`)" in reason for reason in reasons)
    assert any("rectilinear" in reason and "(`/edges`)" in reason for reason in reasons)
    netcdf = next(value for name, value in shown.items() if name.startswith("netCDF-C"))
    assert netcdf == (False, ("reads v2, not v3",)) or netcdf[1][0] == "reads v2, not v3"


PROGRAMS = {"zarr": "zarr-python 3", "zarr2": "zarr-python 2", "tensorstore": "TensorStore", "zarrista": "zarrs"}
LIVE: list[tuple[str, Any]] = [
    *(("zarr", 3), ("zarr", 2), ("tensorstore", 3), ("tensorstore", 2), ("tensorstore", "n5")),
    *(("zarrista", 3), ("zarrista", 2), ("zarr2", 2), ("zarr2", "3-draft-2020"), ("zarr2", "n5")),
]
NOT_IN_THE_TABLE = {
    "zarr": ("object_codec_id",),  # a codec of objects that stores numbers, or none for objects
    "zarr2": ("codec not available",),  # not installed in its environment
    # Built without the codec; raw bytes in the interface for Python only; fill values of V2.
    "zarrista": ("is not supported", "not understood", "cannot be created", "invalid fill value", "other values"),
    "tensorstore": (),
}
"""Messages of failures that the table does not foresee, because they are of the build that runs here, or very rare."""


@pytest.mark.parametrize(("library", "zarr_format"), LIVE)
def test_verdicts_agree_with_programs_that_run_here(
    request: pytest.FixtureRequest, tmp_path: Path, library: str, zarr_format: Any
) -> None:
    """Random arrays: what the table says, and what the program does."""
    peer: Peer = request.getfixturevalue("zarr2_peer" if library == "zarr2" else "zarr3_peer")
    wrong, compared = [], 0
    for number in range(300):
        case = random_case(Random(f"readers {number}"), zarr_format)
        if not case.data.size or not case.data.ndim:  # programs differ about these, which the table does not say
            continue
        place = tmp_path / str(number)
        if create(place, case) is None:
            continue
        reads, reasons = next(found for name, found in verdicts(place).items() if name.startswith(PROGRAMS[library]))
        failure = _failure(peer, library, place, case.data)
        foreseen = failure is not None and any(words in failure for words in NOT_IN_THE_TABLE[library])
        if reads != (failure is None) and not foreseen:
            wrong.append((number, case.options, failure or reasons))
        compared += 1
        if compared == 25:
            break
    assert compared >= 10
    assert not wrong


def _failure(peer: Peer, library: str, place: Path, data: Any) -> str | None:
    """Why a program does not read the elements of an array; None if it does."""
    try:
        found = peer.read(library, place)
    except (Unsupported, PeerError) as error:
        return str(error)
    if found.dtype.names != data.dtype.names:  # padding that has become a field
        return None
    return None if same_elements(found, data) else "other values"
