"""Faults of versions 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tools.validation.fault_kinds import MISSING, Fault, changed, dump

V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [4, 6],
    "chunks": [2, 3],
    "dtype": "<i4",
    "compressor": {"id": "zlib", "level": 1},
    "fill_value": 0,
    "order": "C",
    "filters": None,
    "dimension_separator": ".",
}

V2_EDITS: list[tuple[str, Any, str, str]] = [
    ("", [], "V1", "error"),
    *((name, MISSING, "V1", "error") for name in ("shape", "chunks", "dtype", "compressor", "order")),
    ("zarr_format", "2", "V1", "error"),
    ("zarr_format", 1, "V1", "error"),
    ("shape", [-4, 6], "V1", "error"),
    ("shape", "4", "V1", "error"),
    ("chunks", [2], "V1", "error"),
    ("chunks", [0, 3], "V1", "error"),
    ("chunks", [2.5, 3], "V1", "error"),
    ("dtype", "int32", "V7", "warning"),
    ("dtype", "integer", "V7", "error"),
    ("order", "c", "V21", "warning"),
    ("dtype", "<i3", "V7", "error"),
    ("dtype", 4, "V7", "error"),
    ("dtype", "<M8", "V8", "error"),
    ("dtype", "<M8[ly]", "V8", "error"),
    ("dtype", [["a"]], "V9", "error"),
    ("dtype", [["a", "<i4"], ["a", "<i4"]], "V9", "error"),
    ("dtype", [["a", "<i4", "x"]], "V9", "error"),
    ("dtype", [], "V9", "error"),
    ("dtype", "|O", "A56", "error"),
    ("compressor", "zlib", "V3", "error"),
    ("compressor", {"level": 1}, "V3", "error"),
    ("compressor.id", "unheard-of", "V3", "error"),
    ("compressor.level", 11, "V3", "error"),
    ("filters", {}, "V4", "warning"),
    ("filters", 5, "V4", "error"),
    ("filters", [{"id": "unheard-of"}], "V4", "error"),
    ("filters", [{"id": "delta", "dtype": ">i4"}], "V15", "error"),
    ("fill_value", "x", "V29", "error"),
    ("fill_value", 2**40, "V29", "error"),
    ("order", "A", "V21", "error"),
    ("order", None, "V21", "error"),
    ("dimension_separator", "-", "V5", "error"),
    ("dimension_separator", 1, "V5", "error"),
    ("dtype", "i4", "V7", "warning"),
    ("filters", MISSING, "V26", "warning"),
    ("fill_value", MISSING, "V26", "warning"),
    ("filters", [], "V26", "warning"),
    ("fill_value", 1.0, "V29", "warning"),
    ("fill_value", "0", "V29", "warning"),
]

V2_TYPES: list[tuple[dict[str, Any], str, str]] = [
    ({"dtype": "<f4", "fill_value": "0x7fc00000"}, "V10", "error"),
    ({"dtype": "<f4", "fill_value": "nan"}, "V10", "warning"),
    ({"dtype": "<f4", "fill_value": "0"}, "V10", "warning"),
    ({"dtype": "<f4", "fill_value": 1e39}, "V10", "warning"),
    ({"dtype": "|b1", "fill_value": 1}, "V29", "warning"),
    ({"dtype": "<c8", "fill_value": 0}, "V29", "warning"),
    ({"dtype": "<M8[s]", "fill_value": "2000-01-01"}, "V29", "warning"),
    ({"dtype": "<M8[s]", "fill_value": 2**63}, "V29", "warning"),
    ({"dtype": "|S3", "fill_value": "***"}, "V11", "warning"),
    ({"dtype": "|S3", "fill_value": 0}, "V11", "warning"),
    ({"dtype": "|V3", "fill_value": "AA=="}, "V11", "warning"),
    ({"dtype": [["a", "<i4"]], "fill_value": "AA=="}, "V11", "error"),
    ({"dtype": "|U3", "fill_value": ""}, "A52", "warning"),
    ({"dtype": "|O", "filters": [{"id": "pickle"}], "fill_value": None}, "A61", "error"),
]


def v2_faults() -> Iterator[Fault]:
    for number, (place, value, rule, level) in enumerate(V2_EDITS):
        yield Fault(f"v2 {number} {place}", rule, {".zarray": dump(changed(V2, place, value))}, level)
    for number, (members, rule, level) in enumerate(V2_TYPES):
        yield Fault(f"v2 type {number} {members['dtype']}", rule, {".zarray": dump({**V2, **members})}, level)
    group = {".zgroup": dump({"zarr_format": 2})}
    yield Fault("v2 group version", "V1", {".zgroup": dump({"zarr_format": 3})})
    yield Fault("v2 group member", "V17", {".zgroup": dump({"zarr_format": 2, "a": 1})}, "warning")
    yield Fault("v2 attributes", "V20", {**group, ".zattrs": b"[]"})
    yield Fault("v2 attributes of array", "V20", {".zarray": dump(V2), ".zattrs": b"1"})
    yield Fault("v2 not JSON", "V1", {**group, "a/.zarray": b"{"})
    yield Fault("v2 NaN", "A60", {**group, ".zattrs": b'{"a": NaN}'}, "warning")
    yield Fault("v2 duplicate", "R154", {**group, ".zattrs": b'{"a": 1, "a": 2}'}, "warning")
    yield Fault("v2 both", "A18", {**group, ".zarray": dump(V2)}, "warning")
    yield Fault("v2 group without document", "V18", {**group, "a/b/.zarray": dump(V2)})
    yield Fault("v2 name", "V22", {**group, "é/.zarray": dump(V2)}, "warning")
    good = {".zgroup": {"zarr_format": 2}, "a/.zarray": V2}
    for name, metadata, rule, level in (
        ("version", {"zarr_consolidated_format": 2, "metadata": good}, "V23", "error"),
        ("no metadata", {"zarr_consolidated_format": 1, "metadata": 1}, "V23", "error"),
        ("no object", [], "V1", "error"),
        ("gone", {"zarr_consolidated_format": 1, "metadata": {**good, "b/.zarray": V2}}, "A58", "warning"),
        ("stale", {"zarr_consolidated_format": 1, "metadata": {**good, "a/.zarray": {}}}, "A58", "warning"),
        ("incomplete", {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}}}, "A58", "warning"),
    ):
        store = {**group, "a/.zarray": dump(V2), ".zmetadata": dump(metadata)}
        yield Fault(f"v2 consolidated {name}", rule, store, level)


V1: dict[str, Any] = {
    "zarr_format": 1,
    "shape": [4, 6],
    "chunks": [2, 3],
    "dtype": "<i4",
    "compression": "zlib",
    "compression_opts": 1,
    "fill_value": 0,
    "order": "C",
}

V1_EDITS: list[tuple[str, Any, str, str]] = [
    *((name, MISSING, "U2", "error") for name in V1 if name != "zarr_format"),
    ("shape", [-1, 6], "U2", "error"),
    ("shape", 4, "U2", "error"),
    ("chunks", [2], "U5", "error"),
    ("chunks", [0, 3], "U5", "error"),
    ("dtype", "int", "U6", "error"),
    ("dtype", "<M8", "U6", "error"),
    ("dtype", [["a"]], "U7", "error"),
    ("dtype", [["a", "<i4"], ["a", "<i4"]], "U7", "error"),
    ("compression", "unheard-of", "U14", "error"),
    ("compression_opts", [], "U14", "error"),
    ("compression_opts", 11, "U14", "error"),
    ("order", "X", "U13", "error"),
    ("fill_value", "x", "U10", "error"),
    ("dtype", "i4", "U6", "warning"),
    ("order", "F", "A55", "warning"),
    ("compression_opts", None, "U14", "warning"),
    ("compression_opts", "1", "U14", "warning"),
]


def v1_faults() -> Iterator[Fault]:
    attributes = {"attrs": b"{}"}
    for number, (place, value, rule, level) in enumerate(V1_EDITS):
        store = {"meta": dump(changed(V1, place, value)), **attributes}
        yield Fault(f"v1 {number} {place}", rule, store, level)
    none = {**V1, "compression": None, "compression_opts": None}
    yield Fault("v1 null compression", "U15", {"meta": dump(none), **attributes}, "warning")
    yield Fault("v1 gzip", "U15", {"meta": dump({**V1, "compression": "gzip"}), **attributes}, "warning")
    yield Fault("v1 no attrs", "U12", {"meta": dump(V1)}, "warning")
    yield Fault("v1 attrs", "U12", {"meta": dump(V1), "attrs": b"[]"})
    yield Fault("v1 attrs not JSON", "U2", {"meta": dump(V1), "attrs": b"{"})
    record = {**V1, "dtype": [["a", "<i4", [2]]], "fill_value": None}
    yield Fault("v1 shape in record", "U7", {"meta": dump(record), **attributes}, "warning")
    yield Fault("v1 no dimensions", "U9", {"meta": dump({**V1, "shape": [], "chunks": []}), **attributes}, "warning")
    nan = {**V1, "dtype": "<f4", "fill_value": float("nan")}
    yield Fault("v1 NaN", "A60", {"meta": dump(nan), **attributes}, "warning")
