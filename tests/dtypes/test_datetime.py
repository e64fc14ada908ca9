"""Points in time and durations."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from omnizarr._json import Problems
from omnizarr.dtypes import DataType, Datetime, data_type_of, parse_data_type
from omnizarr.dtypes.datetime_ import UNITS
from omnizarr.errors import ArgumentError


def read(name: str, configuration: Any) -> tuple[DataType | None, Problems]:
    problems = Problems()
    return parse_data_type({"name": name, "configuration": configuration}, "$.data_type", problems), problems


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("name", "code"), [("numpy.datetime64", "M8"), ("numpy.timedelta64", "m8")])
def test_R148_every_unit(name: str, code: str, unit: str) -> None:
    found, problems = read(name, {"unit": unit, "scale_factor": 10})
    assert found is not None, problems.found
    assert found.dtype == np.dtype(f"{code}[10{unit}]")
    assert found.to_json() == {"name": name, "configuration": {"unit": unit, "scale_factor": 10}}
    assert not found.core


@pytest.mark.parametrize("unit", ["\u03bcs", "\u00b5s", "us"])
def test_A41_three_notations_for_microseconds(unit: str) -> None:
    found, _ = read("numpy.datetime64", {"unit": unit, "scale_factor": 1})
    assert found == Datetime("datetime64", unit) == data_type_of("M8[us]")
    assert found.to_json()["configuration"]["unit"] == "us"


@pytest.mark.parametrize(
    ("configuration", "member"),
    [
        ({"unit": "B", "scale_factor": 1}, "unit"),
        ({"unit": "Ns", "scale_factor": 1}, "unit"),
        ({"unit": None, "scale_factor": 1}, "unit"),
        ({"scale_factor": 1}, "unit"),
        ({"unit": "s"}, "scale_factor"),
        ({"unit": "s", "scale_factor": 0}, "scale_factor"),
        ({"unit": "s", "scale_factor": 2**31}, "scale_factor"),
        ({"unit": "s", "scale_factor": True}, "scale_factor"),
        ({"unit": "s", "scale_factor": 1.0}, "scale_factor"),
        ({"unit": "s", "scale_factor": 1, "endian": "little"}, "endian"),
    ],
)
def test_R148_exactly_these_members(configuration: Any, member: str) -> None:
    found, problems = read("numpy.datetime64", configuration)
    assert found is None
    assert problems.found[0].path == f"$.data_type.configuration.{member}"


@pytest.mark.parametrize("arguments", [("datetime64", "B"), ("datetime", "s"), ("datetime64", "s", 0)])
def test_invalid_arguments_are_rejected(arguments: Any) -> None:
    with pytest.raises(ArgumentError):
        Datetime(*arguments)


@pytest.mark.parametrize("value", ["NaT", -(2**63)])
def test_R148_two_notations_for_not_a_time(value: Any) -> None:
    kind, problems = data_type_of("M8[s]"), Problems()
    fill = kind.parse_fill(value, "$", problems)
    assert fill is not None
    assert np.isnat(fill)
    assert kind.dump_fill(fill) == "NaT"
    assert not problems.warnings


def test_not_a_time_without_its_sign_is_read() -> None:
    """zarr-python 2.2 wrote it."""
    problems = Problems()
    fill = data_type_of("m8[s]").parse_fill(2**63, "$", problems)
    assert fill is not None
    assert np.isnat(fill)
    assert problems.warnings


@pytest.mark.parametrize("value", [2**63 + 1, -(2**63) - 1, 1.0, True, "nat", "2020-01-01", None, [], "0"])
def test_R148_other_fills_are_rejected(value: Any) -> None:
    problems = Problems()
    assert data_type_of("M8[s]").parse_fill(value, "$", problems) is None
    assert problems


@pytest.mark.parametrize(
    ("dtype", "value", "number"),
    [
        ("M8[s]", np.datetime64("1970-01-02"), 86400),
        ("M8[D]", np.datetime64("1970-01-02T00:00:00"), 1),
        ("M8[10us]", np.datetime64("1970-01-01T00:00:01"), 100_000),
        ("M8[ms]", datetime.datetime(1970, 1, 1, 0, 0, 1, 5000), 1005),
        ("M8[D]", datetime.date(1970, 1, 3), 2),
        ("M8[D]", "1970-01-03", 2),
        ("M8[s]", 7, 7),
        ("M8[s]", np.int32(7), 7),
        ("m8[s]", np.timedelta64(2, "m"), 120),
        ("m8[ms]", datetime.timedelta(seconds=2), 2000),
        ("M8[s]", np.array(5, "M8[s]"), 5),
    ],
)
def test_cast_fill(dtype: str, value: Any, number: int) -> None:
    kind = data_type_of(dtype)
    fill = kind.cast_fill(value)
    assert fill.dtype == kind.dtype
    assert kind.dump_fill(fill) == number


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("M8[D]", np.datetime64("1970-01-02T00:00:01")),  # a second would be lost
        ("M8[ns]", np.datetime64("5000-01-01")),  # does not fit
        ("m8[M]", np.timedelta64(31, "D")),  # months have no fixed length
        ("M8[s]", np.timedelta64(31, "D")),
        ("m8[s]", np.datetime64("2020-01-01")),
        ("M8[D]", "yesterday"),
        ("m8[D]", "1970-01-03"),
        ("M8[s]", datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)),
        ("M8[s]", np.array(["1970-01-01"], "M8[s]")),
        ("M8[s]", 1.5),
    ],
)
def test_inexact_conversions_are_rejected(dtype: str, value: Any) -> None:
    with pytest.raises(ArgumentError):
        data_type_of(dtype).cast_fill(value)


def test_not_a_time_of_any_unit_is_not_a_time() -> None:
    assert np.isnat(data_type_of("M8[ns]").cast_fill(np.array("NaT", "M8[D]")))
    assert np.isnat(data_type_of("m8[ns]").cast_fill("NaT"))
