"""Faults of the drafts of version 3, and of N5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tools.validation.fault_kinds import MISSING, Fault, changed, dump

ENTRY_2022: dict[str, Any] = {
    "zarr_format": "https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
    "extensions": [],
}
DRAFT_2022: dict[str, Any] = {
    "shape": [4, 6],
    "data_type": "int32",
    "chunk_grid": {"type": "regular", "chunk_shape": [2, 3], "separator": "/"},
    "chunk_memory_layout": "C",
    "fill_value": 0,
    "extensions": [],
    "attributes": {},
    "codecs": [{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 1}}],
}
ENTRY_2020: dict[str, Any] = {
    "zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_encoding": "https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_key_suffix": ".json",
    "extensions": [],
}
DRAFT_2020: dict[str, Any] = {
    **{name: value for name, value in DRAFT_2022.items() if name != "codecs"},
    "data_type": "<i4",
    "compressor": {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 1}},
}
UNKNOWN = {"extension": "https://example.org/unknown", "must_understand": True}
SHARDS = "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0"

EDITS_2022: list[tuple[str, Any, str, str]] = [
    ("", [], "S13", "error"),
    *(
        (name, MISSING, "S13", "error")
        for name in ("shape", "data_type", "chunk_grid", "fill_value", "extensions", "attributes")
    ),
    ("shape", [-1, 6], "S14", "error"),
    ("shape", "x", "S14", "error"),
    ("data_type", "int33", "S15", "error"),
    ("data_type", 4, "S18", "error"),
    ("data_type", {"extension": "https://example.org/unknown", "type": "x"}, "S18", "error"),
    ("data_type", {"type": "x"}, "S18", "error"),
    ("data_type", "r12", "S15", "error"),
    ("chunk_grid", [], "S19", "error"),
    ("chunk_grid.type", "hexagonal", "S19", "error"),
    ("chunk_grid.separator", "-", "S19", "error"),
    ("chunk_grid.chunk_shape", [0, 3], "S20", "error"),
    ("chunk_memory_layout", "X", "S23", "error"),
    ("fill_value", None, "S24", "error"),
    ("fill_value", "x", "S24", "error"),
    ("fill_value", 0.5, "S24", "error"),
    ("extensions", {}, "S10", "error"),
    ("extensions", [UNKNOWN], "S11", "error"),
    ("extensions", [{"extension": "https://example.org/unknown"}], "S10", "error"),
    ("attributes", [], "S27", "error"),
    ("codecs", {}, "S28", "error"),
    ("codecs.0", {}, "S28", "error"),
    ("codecs.0.type", "https://example.org/unknown", "S28", "error"),
    ("codecs.0.configuration.level", 10, "S28", "error"),
    ("codecs.0", {"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {}}, "S85", "error"),
    ("storage_transformers", {}, "S29", "error"),
    ("storage_transformers", [{"extension": "https://example.org/x", "type": "x"}], "S29", "error"),
    ("storage_transformers", [{"extension": SHARDS, "type": "indexed", "configuration": {}}], "S64", "error"),
    (
        "storage_transformers",
        [{"extension": SHARDS, "type": "indexed", "configuration": {"chunks_per_shard": [0, 1]}}],
        "S65",
        "error",
    ),
    ("extra", 1, "S13", "error"),
    ("chunk_grid.separator", MISSING, "A17", "warning"),
    ("chunk_memory_layout", MISSING, "§1.7", "warning"),
    ("dimension_names", ["y", "x"], "A8", "warning"),
    ("data_type", "<i4", "A1", "warning"),
]

EDITS_2020: list[tuple[str, Any, str, str]] = [
    ("", [], "T6", "error"),
    *(
        (name, MISSING, "T6", "error")
        for name in ("shape", "data_type", "chunk_grid", "chunk_memory_layout", "attributes")
    ),
    ("shape", [-1, 6], "T6", "error"),
    ("data_type", "int33", "T7", "error"),
    ("data_type", {"extension": "https://example.org/unknown", "type": "x"}, "T8", "error"),
    ("chunk_grid.type", "hexagonal", "T9", "error"),
    ("chunk_grid.separator", "-", "T9", "error"),
    ("chunk_grid.chunk_shape", [2], "T9", "error"),
    ("chunk_memory_layout", "X", "T11", "error"),
    ("fill_value", "x", "T12", "error"),
    ("fill_value", 2**40, "T12", "error"),
    ("compressor", "gzip", "T13", "error"),
    ("compressor.codec", "https://example.org/unknown", "T13", "error"),
    ("compressor.configuration.level", 10, "T13", "error"),
    ("extensions", [UNKNOWN], "T4", "error"),
    ("attributes", 1, "T6", "error"),
    ("extensions", MISSING, "T6", "warning"),
    ("fill_value", MISSING, "T6", "warning"),
    ("extra", 1, "T6", "warning"),
    ("compressor", None, "A65", "warning"),
    ("data_type", "int32", "A1", "warning"),
    ("data_type", "|i4", "T7", "warning"),
]


def draft_faults() -> Iterator[Fault]:
    entry = {"zarr.json": dump(ENTRY_2022)}
    for number, (place, value, rule, level) in enumerate(EDITS_2022):
        document = dump(changed(DRAFT_2022, place, value))
        yield Fault(f"2022 {number} {place}", rule, {**entry, "meta/a.array.json": document}, level)
    yield Fault("2022 group", "S30", {**entry, "meta/a.group.json": b"{}"})
    yield Fault("2022 group member", "S30", {**entry, "meta/a.group.json": b'{"attributes": {}, "a": 1}'})
    yield Fault("2022 name", "S3", {**entry, "meta/a b.array.json": dump(DRAFT_2022)})
    both = {"meta/a.array.json": dump(DRAFT_2022), "meta/a.group.json": b'{"attributes": {}}'}
    yield Fault("2022 both", "A18", {**entry, **both}, "warning")
    for number, (place, value, rule, level) in enumerate(
        [
            ("zarr_format", "https://purl.org/zarr/spec/core/4.0", "S7", "error"),
            ("metadata_encoding.type", "cbor", "S9", "error"),
            ("metadata_encoding.metadata_key_suffix", 1, "S8", "error"),
            ("extensions", MISSING, "S6", "error"),
            ("extensions", [UNKNOWN], "S11", "error"),
            ("extensions", {}, "S10", "error"),
            ("extra", 1, "A8", "warning"),
        ]
    ):
        store = {"zarr.json": dump(changed(ENTRY_2022, place, value)), "meta/a.array.json": dump(DRAFT_2022)}
        yield Fault(f"2022 entry point {number} {place}", rule, store, level)
    entry = {"zarr.json": dump(ENTRY_2020)}
    for number, (place, value, rule, level) in enumerate(EDITS_2020):
        document = dump(changed(DRAFT_2020, place, value))
        yield Fault(f"2020 {number} {place}", rule, {**entry, "meta/root/a.array.json": document}, level)
    yield Fault("2020 group", "T14", {**entry, "meta/root/a.group.json": b"{}"})
    yield Fault(
        "2020 group member", "T14", {**entry, "meta/root/a.group.json": b'{"attributes": {}, "a": 1}'}, "warning"
    )
    yield Fault("2020 name", "T17", {**entry, "meta/root/a b.array.json": dump(DRAFT_2020)}, "warning")
    yield Fault("2020 long name", "T17", {**entry, f"meta/root/{'a' * 300}.array.json": dump(DRAFT_2020)}, "warning")
    missing = {
        "zarr.json": dump(changed(ENTRY_2020, "extensions", MISSING)),
        "meta/root/a.array.json": dump(DRAFT_2020),
    }
    yield Fault("2020 entry point without extensions", "T4", missing, "warning")
    other = changed(ENTRY_2020, "zarr_format", ENTRY_2022["zarr_format"])
    hybrid = {"zarr.json": dump(other), "meta/root/a.array.json": dump(DRAFT_2020)}
    yield Fault("2020 with the URI of 2022", "A5", hybrid, "warning")


N5: dict[str, Any] = {
    "dimensions": [6, 4],
    "blockSize": [3, 2],
    "dataType": "int32",
    "compression": {"type": "gzip", "level": 1},
}

N5_EDITS: list[tuple[str, Any, str, str]] = [
    ("blockSize", MISSING, "K3", "error"),
    ("compression", MISSING, "K3", "error"),
    ("dimensions", [-1, 4], "K3", "error"),
    ("dimensions", "x", "K3", "error"),
    ("blockSize", [3], "K3", "error"),
    ("blockSize", [0, 2], "K3", "error"),
    ("dataType", "int33", "K5", "error"),
    ("dataType", "string", "K5", "error"),
    ("compression", "gzip", "K8", "error"),
    ("compression.type", "zap", "K8", "error"),
    ("compression.level", 10, "K8", "error"),
    ("n5", "9.0.0", "K6", "error"),
    ("n5", "new", "K6", "warning"),
]


def n5_faults() -> Iterator[Fault]:
    root = {"attributes.json": b'{"n5": "4.0.0"}'}
    for number, (place, value, rule, level) in enumerate(N5_EDITS):
        store = {**root, "a/attributes.json": dump(changed(N5, place, value))}
        yield Fault(f"n5 {number} {place}", rule, store, level)
    yield Fault("n5 not JSON", "K1", {**root, "a/attributes.json": b"{"})
    yield Fault("n5 list", "K1", {**root, "a/attributes.json": b"[]"})
    store = {"attributes.json": b"{}", "a/attributes.json": dump(N5)}
    yield Fault("n5 no version", "K6", store, "warning", zarr_format="n5")
