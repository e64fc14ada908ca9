"""Attributes of datasets and variables: what JSON cannot hold, and values of NumPy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

import omnizarr.integrations.xarray  # noqa: E402, F401
from omnizarr.errors import OmnizarrWarning  # noqa: E402
from omnizarr.store import MemoryStore  # noqa: E402


def read(store: Any) -> Any:
    return xr.open_dataset(store, engine="omnizarr").load()


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("missing", [np.float64("nan"), float("nan")])
def test_nan_as_the_missing_value(zarr_format: Any, missing: Any) -> None:
    """Many NetCDF files have this attribute; JSON has no NaN."""
    dataset = xr.Dataset({"a": ("x", [1.0, np.nan])})
    dataset.a.encoding = {"missing_value": missing, "_FillValue": np.nan}
    store = MemoryStore()
    dataset.omnizarr.to_zarr(store, zarr_format=zarr_format)
    xr.testing.assert_identical(read(store), dataset)


def test_nan_as_the_missing_value_of_integers() -> None:
    dataset = xr.Dataset({"a": ("x", [1, 2], {"missing_value": np.nan})})
    store = MemoryStore()
    dataset.omnizarr.to_zarr(store)
    xr.testing.assert_identical(read(store), dataset.assign(a=("x", [1, 2])))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nan_and_infinities_become_text_that_every_reader_accepts(zarr_format: Any) -> None:
    variable = ("x", [1.0], {"valid_range": np.array([-np.inf, np.inf], "f4"), "n": {"deep": [1, np.nan]}, "ok": 1.5})
    dataset = xr.Dataset({"a": variable}, attrs={"scale": np.nan})
    store = MemoryStore()
    with pytest.warns(OmnizarrWarning, match="is stored as text, because JSON has no NaN") as warnings:
        dataset.omnizarr.to_zarr(store, zarr_format=zarr_format)
    assert sorted(str(warning.message).partition(" is ")[0] for warning in warnings) == [
        "attribute `n` of variable `a`",
        "attribute `scale` of the dataset",
        "attribute `valid_range` of variable `a`",
    ]
    found = read(store)
    assert found.attrs == {"scale": "NaN"}
    assert found.a.attrs == {"valid_range": ["-Infinity", "Infinity"], "n": {"deep": [1, "NaN"]}, "ok": 1.5}

    def reject(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    for key in store.list():
        if key.endswith((".json", ".zattrs", ".zarray", ".zmetadata")):
            json.loads(bytes(store.get(key) or b""), parse_constant=reject)


def test_values_of_numpy() -> None:
    attributes = {
        "number": np.float32(1.5),
        "truth": np.bool_(True),
        "text": np.str_("q"),
        "list": [np.int8(1), np.arange(2)],
        "empty": np.array([]),
        "tuple": (1, 2),
    }
    store = MemoryStore()
    xr.Dataset({"a": ("x", [1], attributes)}, attrs=attributes).omnizarr.to_zarr(store)
    plain = {"number": 1.5, "truth": True, "text": "q", "list": [1, [0, 1]], "empty": [], "tuple": [1, 2]}
    assert read(store).attrs == read(store).a.attrs == plain


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({1: "a"}, "the name of an attribute of variable `a` is a string, not 1"),
        ({"b": b"x"}, "variable `a`: .*JSON cannot represent a bytes"),
        ({"d": np.datetime64("2000-01-01")}, "variable `a`: .*JSON cannot represent a date"),
    ],
)
def test_values_that_json_cannot_hold(attributes: Any, message: str) -> None:
    store = MemoryStore()
    with pytest.raises(TypeError, match=message):
        xr.Dataset({"a": ("x", [1], attributes)}).omnizarr.to_zarr(store)
    assert list(store.list()) == []
