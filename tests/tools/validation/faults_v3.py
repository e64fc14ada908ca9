"""Faults of version 3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tools.validation.fault_kinds import MISSING, Fault, changed, dump

V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 1, "checksum": False}},
    ],
    "attributes": {},
    "storage_transformers": [],
}
SHARDING = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [1, 3],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": "end",
    },
}
V3_SHARDS = {**V3, "codecs": [SHARDING]}
V2_BESIDE = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": None, "order": "C"}
V3_GROUP: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def typed(data_type: Any, fill: Any, *codecs: Any, **members: Any) -> dict[str, Any]:
    chain = list(codecs) or [{"name": "bytes", "configuration": {"endian": "little"}}]
    return {**V3, "data_type": data_type, "fill_value": fill, "codecs": chain, **members}


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LITTLE = codec("bytes", endian="little")

V3_EDITS: list[tuple[str, Any, str]] = [
    ("", [], "R8"),
    ("", "text", "R8"),
    ("zarr_format", "3", "R9"),
    ("zarr_format", 4, "R9"),
    ("zarr_format", 3.0, "R9"),
    ("node_type", "arrays", "R10"),
    ("node_type", MISSING, "R10"),
    ("shape", MISSING, "R25"),
    ("shape", [-1, 6], "R11"),
    ("shape", [4.0, 6], "R11"),
    ("shape", "46", "R11"),
    ("shape", [2**63, 6], "R11"),
    ("shape", [4], "R25"),
    ("data_type", MISSING, "R25"),
    ("data_type", "int33", "R37"),
    ("data_type", 32, "R33"),
    ("data_type", {"configuration": {}}, "R33"),
    ("data_type", {"name": "int32", "configuration": []}, "R33"),
    ("data_type", {"name": "int32", "must_understand": False}, "R36"),
    ("data_type", {"name": "int32", "configuration": {"a": 1}}, "R12"),
    ("chunk_grid", MISSING, "R25"),
    ("chunk_grid.name", "hexagonal", "R37"),
    ("chunk_grid.configuration", {}, "R62"),
    ("chunk_grid.configuration.chunk_shape", [2], "R25"),
    ("chunk_grid.configuration.chunk_shape", [0, 3], "R62"),
    ("chunk_grid.configuration.chunk_shape", [2, -3], "R62"),
    ("chunk_grid.configuration.chunk_shape", ["2", 3], "R62"),
    ("chunk_grid.configuration.shape", [2, 3], "R62"),
    ("chunk_grid.must_understand", False, "R36"),
    ("chunk_grid", {"name": "rectilinear", "configuration": {"kind": "outline", "chunk_shapes": [2, 3]}}, "R67"),
    ("chunk_grid", {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [2]}}, "R25"),
    ("chunk_grid", {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [0, 3]}}, "R68"),
    ("chunk_grid", {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[1, 2], 3]}}, "R69"),
    ("chunk_key_encoding", MISSING, "R25"),
    ("chunk_key_encoding.name", "v9", "R37"),
    ("chunk_key_encoding.configuration.separator", "-", "R76"),
    ("chunk_key_encoding.configuration.other", "-", "R76"),
    ("chunk_key_encoding.must_understand", False, "R36"),
    ("fill_value", MISSING, "R25"),
    ("fill_value", "0", "R54"),
    ("fill_value", True, "R54"),
    ("fill_value", 2**31, "R54"),
    ("fill_value", 0.5, "R54"),
    ("codecs", "bytes", "R18"),
    ("codecs.0", MISSING, "§1.7"),
    ("codecs.0.name", "byte", "R37"),
    ("codecs.0", 1, "R33"),
    ("codecs.0.configuration", None, "R33"),
    ("codecs.0.must_understand", "no", "R35"),
    ("codecs.2", LITTLE, "R18"),
    ("codecs", [codec("zstd", level=1), LITTLE], "R78"),
    ("codecs", [LITTLE, codec("transpose", order=[1, 0])], "R78"),
    ("codecs.0.configuration.endian", "middle", "R85"),
    ("codecs.0.configuration", {}, "R85"),
    ("codecs.1.configuration.level", 30, "R124"),
    ("codecs.1.configuration.level", "high", "R124"),
    ("codecs.1.configuration.speed", 1, "R124"),
    ("codecs.1", codec("gzip", level=10), "R89"),
    ("codecs.1", codec("blosc", cname="zap", clevel=1, shuffle="shuffle", typesize=4, blocksize=0), "R90"),
    ("codecs.1", codec("blosc", cname="lz4", clevel=10, shuffle="shuffle", typesize=4, blocksize=0), "R90"),
    ("codecs.1", codec("blosc", cname="lz4", clevel=1, shuffle="mix", typesize=4, blocksize=0), "R90"),
    ("codecs.1", codec("crc32c", location="end"), "R94"),
    ("codecs", [codec("transpose", order=[0, 0]), LITTLE], "R88"),
    ("codecs", [codec("transpose", order=[0]), LITTLE], "R88"),
    ("codecs", [codec("bitround", keepbits=0), LITTLE], "R127"),
    ("codecs", [codec("cast_value", data_type="int8", rounding="up"), LITTLE], "R128"),
    ("codecs", [codec("scale_offset", scale=0), LITTLE], "R133"),
    ("codecs", [codec("reshape", shape=[5]), LITTLE], "R135"),
    ("codecs", [codec("packbits", padding_encoding="middle")], "R136"),
    ("codecs", [LITTLE, codec("conditional", codecs=[LITTLE])], "R137"),
    ("codecs", [codec("zfp", mode="fast")], "R139"),
    ("codecs", [codec("vlen-utf8")], "R125"),
    ("attributes", [], "R20"),
    ("storage_transformers", {}, "R21"),
    ("storage_transformers", [{"name": "mirror"}], "R123"),
    ("dimension_names", ["y"], "R22"),
    ("dimension_names", "yx", "R22"),
    ("dimension_names", [1, 2], "R22"),
    ("extra", 1, "R30"),
    ("extra", {"must_understand": True}, "R30"),
]

V3_TYPES: list[tuple[dict[str, Any], str]] = [
    (typed("bool", 2, codec("bytes")), "R53"),
    (typed("bool", "true", codec("bytes")), "R53"),
    (typed("float32", "nan"), "R55"),
    (typed("float64", "inf"), "R55"),
    (typed("float32", 1e39), "R55"),
    (typed("float32", "0x7fc0"), "R55"),
    (typed("complex64", 1.0), "R58"),
    (typed("complex64", [1.0]), "R58"),
    (typed("r12", [0, 0]), "R59"),
    (typed("r16", [0, 256]), "R59"),
    (typed("r16", [0]), "R59"),
    (typed("string", 0, codec("vlen-utf8")), "R145"),
    (typed("bytes", "*", codec("vlen-bytes")), "R146"),
    (typed({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}, ""), "R147"),
    (typed({"name": "fixed_length_utf32", "configuration": {"length_bytes": 4}}, "long"), "R147"),
    (typed({"name": "numpy.datetime64", "configuration": {"unit": "ly", "scale_factor": 1}}, 0), "R148"),
    (typed({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}}, 0), "R148"),
    (typed({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}, "now"), "R148"),
    (typed({"name": "struct", "configuration": {"fields": []}}, {}), "R149"),
    (
        typed(
            {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int8"}] * 2}},
            {"a": 0},
            codec("bytes"),
        ),
        "R149",
    ),
    (
        typed(
            {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "string"}]}},
            {"a": ""},
        ),
        "R149",
    ),
]

V3_SHARD_EDITS: list[tuple[str, Any, str]] = [
    ("chunk_shape", [1, 2], "R95"),
    ("chunk_shape", [1], "R95"),
    ("chunk_shape", [0, 3], "R95"),
    ("chunk_shape", MISSING, "R96"),
    ("codecs", MISSING, "R96"),
    ("codecs", [], "R18"),
    ("index_codecs", [LITTLE, codec("gzip", level=1)], "R97"),
    ("index_location", "middle", "R99"),
    ("order", "C", "R95"),
]

V3_WARNINGS: list[tuple[str, Any, str]] = [
    ("fill_value", 1.0, "A40"),
    ("fill_value", None, "A6"),
    ("codecs.0", {"type": "bytes", "configuration": {"endian": "little"}}, "§1.7"),
    ("codecs.0.name", "endian", "§1.7"),
    ("codecs", [], "§1.7"),
    ("codecs", [codec("transpose", order="F"), LITTLE], "§1.7"),
    ("codecs.1", {"name": "zstandard", "must_understand": False}, "R38"),
    ("codecs.1", codec("blosc", cname="lz4", clevel=1, shuffle=1, typesize=4, blocksize=0), "§1.7"),
    ("codecs.1.configuration", {"checksum": False}, "R124"),
    ("data_type", {"name": "int32"}, "R12"),
    ("dimension_names", None, "§1.7"),
    ("attributes", None, "§1.7"),
    ("storage_transformers", None, "§1.7"),
    ("storage_transformers", [{"name": "mirror", "must_understand": False}], "R38"),
    ("extensions", [], "§1.7"),
    ("consolidated_metadata", {"kind": "inline", "must_understand": False, "metadata": {}}, "R28"),
]

V3_GROUPS: list[tuple[str, Any, str, str]] = [
    ("attributes", 1, "R20", "error"),
    ("zarr_format", 2, "R9", "error"),
    ("node_type", "folder", "R10", "error"),
    ("extra", [], "R30", "error"),
    ("consolidated_metadata", [], "R28", "error"),
    ("consolidated_metadata", {"kind": "remote", "metadata": {}}, "R28", "error"),
    ("consolidated_metadata", {"kind": "inline", "must_understand": False, "metadata": []}, "R28", "error"),
    ("consolidated_metadata", {"kind": "inline", "metadata": {}}, "R28", "warning"),
    ("consolidated_metadata", {"kind": "inline", "must_understand": False, "metadata": {"gone": V3}}, "R29", "warning"),
]


def v3_faults() -> Iterator[Fault]:
    for number, (place, value, rule) in enumerate(V3_EDITS):
        yield Fault(f"v3 {number} {place}", rule, {"zarr.json": dump(changed(V3, place, value))}, _level(rule))
    for number, (document, rule) in enumerate(V3_TYPES):
        yield Fault(f"v3 type {number} {str(document['data_type'])[:40]}", rule, {"zarr.json": dump(document)})
    for number, (place, value, rule) in enumerate(V3_SHARD_EDITS):
        document = changed(V3_SHARDS, f"codecs.0.configuration.{place}", value)
        yield Fault(f"v3 shard {number} {place}", rule, {"zarr.json": dump(document)})
    for number, (place, value, rule) in enumerate(V3_WARNINGS):
        document = changed(V3, place, value)
        yield Fault(f"v3 tolerated {number} {place}", rule, {"zarr.json": dump(document)}, "warning")
    for number, (place, value, rule, level) in enumerate(V3_GROUPS):
        yield Fault(f"v3 group {number} {place}", rule, {"zarr.json": dump(changed(V3_GROUP, place, value))}, level)
    group = {"zarr.json": dump(V3_GROUP)}
    yield Fault("v3 not JSON", "R8", {**group, "a/zarr.json": b"{"})
    yield Fault("v3 not UTF-8", "R8", {**group, "a/zarr.json": b'{"\xff": 1}'})
    yield Fault("v3 group without document", "R26", {**group, "a/b/zarr.json": dump(V3)})
    yield Fault("v3 reserved name", "R46", {**group, "__a/zarr.json": dump(V3)}, "warning")
    yield Fault("v3 name of a document", "A36", {**group, "zarr.json/zarr.json": dump(V3)}, "warning")
    yield Fault("v3 duplicate", "R154", {"zarr.json": dump(V3)[:-1] + b', "shape": [4, 6]}'}, "warning")
    yield Fault("v3 NaN", "A60", {"zarr.json": dump(changed(V3, "attributes", {"a": float("nan")}))}, "warning")
    yield Fault("v3 mark", "R153", {"zarr.json": b"\xef\xbb\xbf" + dump(V3)}, "warning")
    yield Fault("v3 beside v2", "Z1", {"zarr.json": dump(V3), ".zarray": dump(V2_BESIDE)}, "warning")
    stale = {"kind": "inline", "must_understand": False, "metadata": {"a": changed(V3, "shape", [8, 6])}}
    consolidated = {"zarr.json": dump({**V3_GROUP, "consolidated_metadata": stale}), "a/zarr.json": dump(V3)}
    yield Fault("v3 stale consolidated metadata", "R29", consolidated, "warning")
    empty = {"kind": "inline", "must_understand": False, "metadata": {}}
    incomplete = {"zarr.json": dump({**V3_GROUP, "consolidated_metadata": empty}), "a/zarr.json": dump(V3)}
    yield Fault("v3 incomplete consolidated metadata", "R29", incomplete, "warning")


def _level(rule: str) -> str:
    return "warning" if rule == "§1.7" else "error"
