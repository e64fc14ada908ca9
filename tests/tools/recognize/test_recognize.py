"""Conventions in their own terms, and attributes that only look like one."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.tools.describe import describe
from omnizarr.tools.recognize import Recognized, recognize
from omnizarr.tools.recognize.cf_time import date_text, parse_units


def recognized(node: Any) -> dict[str, Recognized]:
    return {found.name: found for found in recognize(node, describe(node))}


def image(version: str) -> dict[str, Any]:
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "yx")]
    levels = [
        {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5 * 2**level, 0.5]}]}
        for level in range(2)
    ]
    members = {
        "multiscales": [{"name": "cells", "axes": axes, "datasets": levels, "version": version}],
        "omero": {"channels": [{"label": "DAPI"}, {"label": "GFP"}]},
    }
    return members if version == "0.4" else {"ome": {"version": version, **members}}


@pytest.mark.parametrize(("version", "zarr_format"), [("0.4", 2), ("0.5", 3)])
def test_ome(version: str, zarr_format: Any) -> None:
    group = omnizarr.create_group(None, attributes=image(version), zarr_format=zarr_format)
    for level in range(2):
        group.create_array(str(level), shape=(2, 8 >> level, 8 >> level), dtype="u2")
    found = recognized(group)["OME-Zarr"]
    assert found.version == version
    assert found.facts == {
        "Image": "cells",
        "Axes": "c (channel), y (µm), x (µm)",
        "Channels": "DAPI, GFP",
        "Level 0": "0: 2 × 8 × 8, scale 1 × 0.5 × 0.5",
        "Level 1": "1: 2 × 4 × 4, scale 1 × 1 × 0.5",
    }


def test_plates() -> None:
    plate = {"rows": [{"name": "A"}], "columns": [{"name": "1"}, {"name": "2"}], "wells": [{"path": "A/1"}]}
    found = recognized(omnizarr.create_group(None, attributes={"plate": plate | {"version": "0.4"}}))["OME-Zarr"]
    assert (found.version, found.facts) == ("0.4", {"Plate": "1 rows, 2 columns, 1 wells"})


def test_cf() -> None:
    group = omnizarr.create_group(None, attributes={"Conventions": "CF-1.8, ACDD-1.3"})
    units = {"units": "days since 2000-01-01", "calendar": "noleap"}
    group.create_array("time", data=np.arange(60.0), dimension_names=["time"], attributes=units)
    attributes = {"units": "K", "standard_name": "air_temperature", "scale_factor": 0.1}
    group.create_array("t", shape=60, dtype="i2", dimension_names=["time"], attributes=attributes)
    found = recognized(group)["CF"]
    assert found.version == "1.8"
    assert found.facts == {"Coordinates": "time", "Time range of time": "2000-01-01 to 2000-03-01 (noleap)"}
    variable = recognized(group["t"])["CF"].facts
    assert variable == {"Standard name": "air_temperature", "Units": "K", "Packing": "scale_factor 0.1"}


def test_geozarr() -> None:
    attributes = {
        "zarr_conventions": [{"name": "proj:"}, {"name": "multiscales"}],
        "proj:code": "EPSG:32633",
        "spatial:transform": [10.0, 0, 5e5, 0, -10.0, 6e6],
        "multiscales": {"layout": [{"asset": "r10"}, {"asset": "r20", "derived_from": "r10"}]},
    }
    group = omnizarr.create_group(None, attributes=attributes)
    group.create_array("r10/b02", shape=(100, 100), dtype="u2")
    found = recognized(group)["GeoZarr"].facts
    assert found["Reference system"] == "EPSG:32633"
    assert found["Transform"] == "10, 0, 500000, 0, -10, 6e+06"
    assert found["Levels"] == "r10: 100 × 100; r20"


def test_anndata() -> None:
    group = omnizarr.create_group(None, attributes={"encoding-type": "anndata", "encoding-version": "0.1.0"})
    group.create_array("X", shape=(5, 3), dtype="f4")
    group.create_array("obs/_index", shape=5, dtype="i4")
    group.create_array("obs/cell_type", shape=5, dtype="i4")
    group.create_array("layers/raw", shape=(5, 3), dtype="f4")
    found = recognized(group)["anndata"]
    assert found.version == "0.1.0"
    assert found.facts["Matrix"] == "5 observations × 3 variables"
    assert (found.facts["obs"], found.facts["layers"]) == ("cell_type", "raw")


def test_plain_data_follows_no_convention() -> None:
    group = omnizarr.create_group(None, attributes={"title": "x"})
    group.create_array("a", data=[1])
    assert recognize(group, describe(group)) == ()
    assert recognize(group["a"], describe(group["a"])) == ()


NAMES = "ome multiscales plate well omero labels zarr_conventions proj:code spatial:transform encoding-type units"
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["axes", "datasets", "channels", "path", "scale", "layout", "asset", "name", "version"])
            | st.text(max_size=4),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*NAMES.split(), "calendar", "encoding-version", "Conventions"]), JSON))
def test_any_attributes_can_be_examined(attributes: dict[str, Any]) -> None:
    from dataclasses import replace

    group = omnizarr.create_group(None)
    group.create_array("time", data=[1, 2], dimension_names=["time"])
    recognize(group, replace(describe(group), attributes=attributes))
    array = group["time"]
    recognize(array, replace(describe(array), attributes=attributes))


@given(st.integers(-500_000, 3_000_000), st.sampled_from(["proleptic_gregorian", "standard"]))
def test_dates_are_those_of_python(days: int, calendar: str) -> None:
    units = parse_units("days since 1970-01-01 00:00:00")
    assert units is not None
    try:
        expected = datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
    except OverflowError:
        return
    if calendar == "standard" and expected < datetime.date(1582, 10, 15):
        return  # Python has no Julian calendar
    assert date_text(days, units, calendar) == f"{expected.year:04d}-{expected.month:02d}-{expected.day:02d}"


@pytest.mark.parametrize(
    ("days", "calendar", "expected"),
    [
        (59, "noleap", "2000-03-01"),
        (59, "all_leap", "2000-02-29"),
        (59, "360_day", "2000-02-30"),
        (59.5, "standard", "2000-02-29T12:00:00"),
        (-152384, "standard", "1582-10-15"),
        (-152385, "standard", "1582-10-04"),
        (0, "martian", None),
        (1e30, "standard", None),
    ],
)
def test_calendars(days: float, calendar: str, expected: str | None) -> None:
    units = parse_units("days since 2000-01-01")
    assert units is not None
    assert date_text(days, units, calendar) == expected
