"""Decoding gives the same dataset as xarray's own way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")
from xarray.conventions import decode_cf_variables  # noqa: E402

import omnizarr  # noqa: E402
import omnizarr.integrations.xarray  # noqa: E402
from omnizarr.integrations.xarray import decode  # noqa: E402
from omnizarr.integrations.xarray.variables import GroupVariables  # noqa: E402

ATTRIBUTES: list[dict[str, Any]] = [
    {},
    {"units": "K", "long_name": "x", "calendar": "noleap"},
    {"_FillValue": "AAAAAAAA+H8="},
    {"_FillValue": "AAAAAACAVsA="},
    {"_FillValue": 3},
    {"missing_value": 2},
    {"_FillValue": "AAAAAAAA+H8=", "missing_value": 2.0},
    {"scale_factor": 0.5},
    {"add_offset": 10},
    {"units": "days since 2000-01-01"},
    {"units": "hours"},
    {"units": "days", "dtype": "timedelta64[ns]"},
    {"dtype": "bool"},
    {"_Unsigned": "true"},
    {"coordinates": "plain nothing"},
    {"grid_mapping": "plain"},
    {"units": "hours since 2000-01-01", "bounds": "plain"},
]


def group_with(attributes: dict[str, Any], dtype: str) -> omnizarr.Group:
    group = omnizarr.create_group({}, attributes={"title": "x", "coordinates": "other"})
    data = np.array([1, 2, 3, 4]).astype(dtype)
    group.create_array("a", data=data, dimension_names=("x",), attributes=attributes)
    group.create_array("plain", data=np.arange(8).reshape(4, 2), dimension_names=("x", "b"))
    group.create_array("other", data=data, dimension_names=("x",))
    group.create_array("x", data=np.arange(4), dimension_names=("x",))
    group.create_array("b", data=np.arange(8).reshape(4, 2), dimension_names=("x", "b"))
    group.create_array("text", data=np.array(["a", "b", "c", "d"]), dimension_names=("x",))
    group.create_array("letters", data=np.array([[b"a", b"b"]] * 4), dimension_names=("x", "letter"))
    return group


def in_their_way(group: omnizarr.Group, decoders: dict[str, Any]) -> Any:
    stored = GroupVariables(group.attrs.asdict(), group.members())
    variables, attributes, names = decode_cf_variables(stored.variables, stored.attributes, **decoders)
    coordinates = {name: value for name, value in variables.items() if name in names or value.dims == (name,)}
    data = {name: value for name, value in variables.items() if name not in coordinates}
    return xr.Dataset(data, coords=xr.Coordinates(coordinates, indexes={}), attrs=attributes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["i2", "u1", "f4", "f8", "c8", "?"])
@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=str)
def test_decoding_agrees_with_xarray(attributes: dict[str, Any], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    group = group_with(attributes, dtype)
    for decoders in ({}, {"mask_and_scale": False}, {"decode_times": False}, {"decode_coords": "all"}):
        stored = GroupVariables(group.attrs.asdict(), group.members())
        try:
            expected = in_their_way(group, decoders)
        except Exception as error:
            with pytest.raises(type(error)):
                decode.decoded_dataset(stored.variables, stored.attributes, decoders).load()
            continue
        found = decode.decoded_dataset(stored.variables, stored.attributes, decoders)
        assert list(found.variables) == list(expected.variables)
        assert found.sizes == expected.sizes
        assert list(found.coords) == list(expected.coords)
        for name, variable in expected.variables.items():
            assert repr(found[name].encoding) == repr(variable.encoding), name
            assert found[name].dtype == variable.dtype
        try:
            expected = expected.load()
        except Exception as error:
            with pytest.raises(type(error)):
                found.load()
            continue
        xr.testing.assert_identical(found.load(), expected)


def test_conflicting_lengths_are_an_error_of_xarray() -> None:
    group = omnizarr.create_group({})
    group.create_array("a", shape=3, dtype="i1", dimension_names=("x",))
    group.create_array("b", shape=4, dtype="i1", dimension_names=("x",))
    with pytest.raises(ValueError, match="conflicting sizes for dimension 'x'"):
        xr.open_dataset(group, engine="omnizarr")
