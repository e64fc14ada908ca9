"""An append that is killed at any moment leaves the dataset as it was, or appends everything."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

from tests.safety.ptrace import kill_at, reason_not_to  # noqa: E402

import omnizarr  # noqa: E402
import omnizarr.integrations.xarray  # noqa: E402
from omnizarr.nodes.joint_append.journal import JOURNAL  # noqa: E402
from omnizarr.store.local import temp_names  # noqa: E402

REASON = reason_not_to()
CASES: list[tuple[Any, bool]] = [(2, True), (2, False), (3, True), (3, False), ("3-draft-2022", False)]


def days(begin: int, end: int) -> Any:
    number = np.arange(begin, end)
    return xr.Dataset(
        {"t": (("time", "x"), number[:, None] * 10 + np.arange(4)), "rain": ("time", number * 2), "h": ("x", [5] * 4)},
        coords={"time": number, "x": np.arange(4)},
        attrs={"title": "weather"},
    )


def read(place: Any, **options: Any) -> Any:
    with xr.open_dataset(place, engine="omnizarr", **options) as dataset:
        return dataset.load()


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize(("zarr_format", "consolidated"), CASES)
def test_an_append_that_is_killed_at_any_system_call(tmp_path: Path, zarr_format: Any, consolidated: bool) -> None:
    made_before(tmp_path, zarr_format, consolidated)
    random = Random(f"{zarr_format} {consolidated}")
    stop, killed = 0, 0
    lengths: set[int] = set()
    while kill_once(tmp_path, consolidated, lengths, stop) is None:
        killed += 1
        stop += random.randint(1, 160)
    assert killed > 1
    assert lengths == {5, 8}


def made_before(folder: Path, zarr_format: Any, consolidated: bool) -> None:
    encoding = {"t": {"chunks": (3, 2)}, "rain": {"chunks": (4,)}, "time": {"chunks": (5,)}}
    place = folder / "before"
    days(0, 5).omnizarr.to_zarr(place, zarr_format=zarr_format, encoding=encoding, consolidated=consolidated)


def kill_once(folder: Path, consolidated: bool, lengths: set[int], stop: int) -> int | None:
    """Kills an append at a stop, and adds the lengths that readers see. The number of its stops if it finished
    before."""
    place = folder / "x"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "before", place)
    more = days(5, 8)
    with omnizarr.config(threads=1):
        stops = kill_at(lambda: more.omnizarr.to_zarr(place, append_dim="time", consolidated=consolidated), stop)
    seen = {read(place, consolidated=use).sizes["time"] for use in (None, False)}
    for use in (None, False):
        found = read(place, consolidated=use)
        xr.testing.assert_identical(found, days(0, found.sizes["time"]))
    assert seen <= {5, 8}
    assert len(seen) == 1 or consolidated  # the copies change first
    lengths |= seen
    # The next append completes or takes back this one, and nothing is left of it.
    length = max(seen)
    days(length, 10).omnizarr.to_zarr(place, append_dim="time", consolidated=consolidated)
    for use in (None, False):
        xr.testing.assert_identical(read(place, consolidated=use), days(0, 10))
    assert JOURNAL not in omnizarr.open_group(place, mode="r", use_consolidated=False)._model.attributes
    list(omnizarr.open_group(place, mode="r+").store.list())  # listing removes leftovers
    assert [path.name for path in place.rglob("*") if temp_names.is_temporary(path.name)] == []
    return stops
