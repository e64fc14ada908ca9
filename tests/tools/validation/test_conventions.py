"""`validate` with conventions: sound hierarchies have no finding, and each fault has one, by its rule."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.tools.validation import validate

Change = Callable[[omnizarr.Group], object]


def cf() -> omnizarr.Group:
    group = omnizarr.create_group(None, attributes={"Conventions": "CF-1.11"})
    time = {"units": "days since 2000-01-01", "calendar": "noleap", "axis": "T", "bounds": "time_bounds"}
    group.create_array("time", data=np.arange(3), dimension_names=["time"], attributes=time)
    group.create_array("time_bounds", shape=(3, 2), dtype="f8", dimension_names=["time", "vertex"])
    group.create_array("lat", data=np.arange(4.0), dimension_names=["lat"], attributes={"units": "degrees_north"})
    group.create_array("crs", data=0, attributes={"grid_mapping_name": "latitude_longitude"})
    attributes = {"units": "K", "grid_mapping": "crs", "scale_factor": 0.1, "coordinates": "time lat", "valid_min": 0}
    group.create_array("t", shape=(3, 4), dtype="i2", dimension_names=["time", "lat"], attributes=attributes)
    return group


def ome() -> omnizarr.Group:
    axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "yx")]
    levels = [
        {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [1, 2**level, 2**level]}]}
        for level in range(2)
    ]
    channels = [{"color": "FF0000", "window": {"min": 0, "max": 9, "start": 0, "end": 9}}]
    members = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}], "omero": {"channels": channels}}
    group = omnizarr.create_group(None, attributes={"ome": members})
    for level in range(2):
        lengths = (1, 8 >> level, 8 >> level)
        group.create_array(str(level), shape=lengths, dtype="u2", dimension_names=["c", "y", "x"])
    return group


def geozarr() -> omnizarr.Group:
    attributes = {
        "zarr_conventions": [{"name": "proj:"}, {"name": "spatial:"}, {"name": "multiscales"}],
        "proj:code": "EPSG:32633",
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [10.0, 0, 5e5, 0, -10.0, 6e6],
        "multiscales": {
            "layout": [
                {"asset": "r10"},
                {"asset": "r20", "derived_from": "r10", "transform": {"scale": [2, 2]}, "spatial:shape": [5, 5]},
            ]
        },
    }
    group = omnizarr.create_group(None, attributes=attributes)
    for name, length in (("r10", 10), ("r20", 5)):
        group.create_array(f"{name}/b02", shape=(length, length), dtype="u2", dimension_names=["y", "x"])
    return group


def anndata() -> omnizarr.Group:
    def kind(name: str, version: str = "0.2.0", **more: Any) -> dict[str, Any]:
        return {"encoding-type": name, "encoding-version": version, **more}

    group = omnizarr.create_group(None, attributes=kind("anndata", "0.1.0"))
    group.create_array("layers/raw", shape=(5, 3), dtype="f4", attributes=kind("array"))
    for name, length in (("obs", 5), ("var", 3)):
        group.create_group(name, attributes=kind("dataframe", _index="_index", **{"column-order": ["n"]}))
        for column in ("_index", "n"):
            group.create_array(f"{name}/{column}", shape=length, dtype="i4", attributes=kind("array"))
    for name in ("layers", "obsm", "varm", "obsp", "varp", "uns"):
        group.require_group(name).attrs.update(kind("dict", "0.1.0"))
    group.create_group("X", attributes=kind("csr_matrix", "0.1.0", shape=[5, 3]))
    for name, length in (("data", 4), ("indices", 4), ("indptr", 6)):
        group.create_array(f"X/{name}", shape=length, dtype="i4")
    group.create_group("uns/type", attributes=kind("categorical", ordered=False))
    for name in ("codes", "categories"):
        group.create_array(f"uns/type/{name}", shape=5, dtype="i1")
    return group


MAKERS = {"cf": cf, "ome": ome, "geozarr": geozarr, "anndata": anndata}


def attribute(path: str, name: str, value: Any) -> Change:
    return lambda group: (group[path] if path else group).attrs.update({name: value})


def without(path: str) -> Change:
    def change(group: omnizarr.Group) -> None:
        del group[path]

    return change


def other_shape(path: str, shape: Any) -> Change:
    def change(group: omnizarr.Group) -> None:
        attributes, names = dict(group[path].attrs), group[path].dimension_names
        group.create_array(path, shape=shape, dtype="i4", dimension_names=names, attributes=attributes, overwrite=True)

    return change


def nested(name: str, *place: Any, value: Any) -> Change:
    """Sets a member deep in an attribute of the root."""

    def change(group: omnizarr.Group) -> None:
        item = whole = deepcopy(group.attrs[name])
        for step in place[:-1]:
            item = item[step]
        item[place[-1]] = value
        group.attrs[name] = whole

    return change


IMAGE = ("ome", "multiscales", 0)
FAULTS: list[tuple[str, str, str, Change]] = [
    ("cf", "dimension lengths", "/t", other_shape("t", (3, 5))),
    ("cf", "coordinates", "/t", attribute("t", "coordinates", "time lon")),
    ("cf", "coordinates", "/t", attribute("t", "coordinates", 5)),
    ("cf", "grid_mapping", "/t", without("crs")),
    ("cf", "bounds", "/time", attribute("time", "bounds", "lat")),
    ("cf", "bounds", "/time", without("time_bounds")),
    ("cf", "units", "/lat", attribute("lat", "units", 7)),
    ("cf", "time", "/time", attribute("time", "units", "days since yesterday")),
    ("cf", "time", "/time", attribute("time", "units", "days")),
    ("cf", "time", "/time", attribute("time", "calendar", "martian")),
    ("cf", "axis", "/lat", attribute("lat", "axis", "north")),
    ("cf", "positive", "/lat", attribute("lat", "positive", "left")),
    ("cf", "packed data", "/t", attribute("t", "scale_factor", "0.1")),
    ("cf", "missing data", "/t", attribute("t", "valid_min", "low")),
    ("cf", "dimensions", "/extra", lambda group: group.create_array("extra", shape=3, dtype="i4")),
    ("ome", "version", "/", nested("ome", "version", value="0.4")),
    ("ome", "multiscales", "/", nested("ome", "multiscales", value={})),
    ("ome", "axes", "/", nested(*IMAGE, "axes", 0, "name", value="x")),
    ("ome", "axes", "/", nested(*IMAGE, "axes", 1, "type", value="channel")),
    ("ome", "datasets", "/", nested(*IMAGE, "datasets", value=[])),
    ("ome", "datasets", "/", nested(*IMAGE, "datasets", 1, "path", value="9")),
    ("ome", "datasets", "/", without("1")),
    ("ome", "coordinateTransformations", "/", nested(*IMAGE, "datasets", 0, "coordinateTransformations", value=None)),
    (
        "ome",
        "coordinateTransformations",
        "/",
        nested(*IMAGE, "datasets", 0, "coordinateTransformations", 0, "scale", value=[1, 1]),
    ),
    (
        "ome",
        "coordinateTransformations",
        "/",
        nested(*IMAGE, "datasets", 0, "coordinateTransformations", 0, "scale", value=[1, 1, 0]),
    ),
    ("ome", "omero", "/", nested("ome", "omero", "channels", 0, "color", value="red")),
    ("ome", "omero", "/", nested("ome", "omero", "channels", 0, "window", value={})),
    ("geozarr", "zarr_conventions", "/", attribute("", "zarr_conventions", {})),
    ("geozarr", "spatial", "/", attribute("", "spatial:dimensions", ["y"])),
    ("geozarr", "spatial", "/", attribute("", "spatial:transform", [1, 2])),
    ("geozarr", "spatial", "/", attribute("", "spatial:registration", "corner")),
    ("geozarr", "proj", "/", attribute("", "proj:code", 4326)),
    ("geozarr", "multiscales", "/", nested("multiscales", "layout", value=[])),
    ("geozarr", "multiscales", "/", nested("multiscales", "layout", 0, "asset", value="../r10")),
    ("geozarr", "multiscales", "/", nested("multiscales", "layout", 1, "derived_from", value="r5")),
    ("geozarr", "multiscales", "/", nested("multiscales", "layout", 1, "transform", value=None)),
    ("geozarr", "multiscales", "/", without("r20")),
    ("geozarr", "grid_mapping", "/r10/b02", attribute("r10/b02", "grid_mapping", "crs")),
    ("anndata", "root", "/", attribute("", "encoding-type", "other")),
    ("anndata", "elements", "/", without("uns")),
    ("anndata", "shapes", "/layers/raw", other_shape("layers/raw", (5, 4))),
    ("anndata", "dataframe", "/obs", without("obs/n")),
    ("anndata", "dataframe", "/obs/n", other_shape("obs/n", 6)),
    ("anndata", "encoding", "/obs/n", attribute("obs/n", "encoding-version", 2)),
    ("anndata", "sparse", "/X", without("X/data")),
    ("anndata", "sparse", "/X", other_shape("X/indptr", 4)),
    ("anndata", "sparse", "/X", other_shape("X/indices", 3)),
    ("anndata", "categorical", "/uns/type", without("uns/type/codes")),
]


def findings(convention: str, group: omnizarr.Group) -> list[tuple[str, str, str]]:
    report = validate(group.store, conventions=[convention])
    return [(found.level, found.rule, found.path) for found in report.findings]


@pytest.mark.parametrize("convention", MAKERS)
def test_sound_hierarchies_have_no_finding(convention: str) -> None:
    assert findings(convention, MAKERS[convention]()) == []


@pytest.mark.parametrize(("convention", "rule", "path", "change"), FAULTS)
def test_a_fault_is_found_by_its_rule_and_place(convention: str, rule: str, path: str, change: Change) -> None:
    group = MAKERS[convention]()
    change(group)
    shown = findings(convention, group)
    assert {(name, place) for _, name, place in shown} >= {(f"{convention}: {rule}", path)}, shown
    assert {name for _, name, _ in shown} <= {f"{convention}: {rule}", f"{convention}: coordinate variables"} or (
        convention == "geozarr" and rule == "zarr_conventions"
    ), shown


@pytest.mark.parametrize("convention", MAKERS)
def test_plain_data_does_not_follow_a_convention(convention: str) -> None:
    group = omnizarr.create_group(None)
    group.create_array("a", shape=(2, 3), dtype="i4")
    assert findings(convention, group) != []


@pytest.mark.parametrize("convention", MAKERS)
@pytest.mark.parametrize("value", [None, 5, "x", [], [5], {}, {"a": []}, [[]], [{}], True])
def test_attributes_of_any_form_are_findings_and_no_errors(convention: str, value: Any) -> None:
    sound = MAKERS[convention]()
    nodes = ["", *(path for path, _ in sound._walk(None))]
    for path in nodes:
        for name in list((sound[path] if path else sound).attrs):
            group = MAKERS[convention]()
            attribute(path, name, value)(group)
            findings(convention, group)
    if convention == "ome":
        for name in ("multiscales", "omero", "plate", "well", "labels", "version"):
            group = ome()
            nested("ome", name, value=value)(group)
            findings(convention, group)
