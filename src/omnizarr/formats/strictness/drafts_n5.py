"""Forms of the drafts of v3 and of N5 that their parsers accept in silence."""

from __future__ import annotations

import re
from typing import Any

from omnizarr._json import Json, Problems
from omnizarr.formats.document_members import unknown_members

__all__ = ["check_draft_array", "check_draft_entry_point", "check_draft_group", "check_draft_name", "check_n5_node"]

_TYPES_2020 = re.compile(r"bool|[iu]1|[<>][iu][248]|[<>]f[248]|r\d+")
_TYPES_2022 = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|r\d+")
_CODEC_URIS: dict[int, str] = {
    2020: "https://purl.org/zarr/spec/codec/",
    2022: "https://purl.org/zarr/spec/codecs/",
}
_CORE_URIS: dict[int, str] = {
    2020: "https://purl.org/zarr/spec/protocol/core/3.",
    2022: "https://purl.org/zarr/spec/core/3.",
}
_LONGEST_NAME = 255


def check_draft_entry_point(document: dict[str, Json], year: int, problems: Problems) -> None:
    version = document.get("zarr_format")
    if isinstance(version, str) and not version.startswith(_CORE_URIS[year]):
        problems.warn("$.zarr_format", "is the URI of the other draft: `metadata_encoding` decides", rule="A5")
    if year == 2020:
        if "extensions" not in document:
            problems.warn("$.extensions", "is missing: there are none", rule="T4")
        if "metadata_key_suffix" not in document:
            problems.advise("$.metadata_key_suffix", "is missing: `.json` is assumed", rule="T3")
        return
    encoding: Any = document.get("metadata_encoding")
    if isinstance(encoding, dict) and "extension" not in encoding and encoding.get("metadata_key_suffix") != ".json":
        problems.warn("$.metadata_encoding.metadata_key_suffix", 'JSON has the suffix ".json"', rule="S8")


def check_draft_name(name: str, year: int, problems: Problems) -> None:
    if year == 2020 and len(name) > _LONGEST_NAME:
        problems.warn("$", f"the name has {len(name)} characters, more than {_LONGEST_NAME}", rule="T17")


def check_draft_group(document: dict[str, Json], year: int, problems: Problems) -> None:
    for member in () if problems.found else unknown_members(document, ("attributes",)):
        rule = "T14" if year == 2020 else "A65"
        problems.warn(f"$.{member}", "is not a member of the document of a group", rule=rule)
    if document.get("attributes", 0) is None:
        problems.warn("$.attributes", "is null: there are none", rule="A65")


def check_draft_array(document: dict[str, Json], known: tuple[str, ...], year: int, problems: Problems) -> None:
    for member in ("compressor", "attributes", "storage_transformers"):
        if member in document and document[member] is None:
            problems.warn(f"$.{member}", "is null: as if absent", rule="A65")
    if year == 2020:
        for member in ("extensions", "fill_value"):
            if member not in document:
                problems.warn(f"$.{member}", "is missing", rule="T6")
        for member in unknown_members(document, known):
            if not any(problem.path == f"$.{member}" for problem in problems.warnings):
                problems.warn(f"$.{member}", "is not a member of the draft", rule="T6")
        if document.get("storage_transformers"):
            problems.advise("$.storage_transformers", "an addition of zarr-python 2 to the draft", rule="T26")
    data_type = document.get("data_type")
    invalid = any(problem.path.startswith("$.data_type") for problem in problems.found)
    if (
        not invalid
        and isinstance(data_type, str)
        and not (_TYPES_2020 if year == 2020 else _TYPES_2022).fullmatch(data_type)
    ):
        rule = "T7" if year == 2020 and data_type[:1] == "|" else "A1"
        problems.warn("$.data_type", f"`{data_type}` is not a name of this draft", rule=rule)
    codecs = document.get("codecs")
    items = [(f"$.codecs[{index}].type", item, "type") for index, item in enumerate(codecs or ())]
    items.append(("$.compressor.codec", document.get("compressor"), "codec"))
    for place, item, member in items:
        uri = item.get(member) if isinstance(item, dict) else None
        if isinstance(uri, str) and not uri.startswith(_CODEC_URIS[year]) and "zarr/spec" in uri:
            problems.advise(place, "this draft has another form of the URI", rule="A4")


def check_n5_node(document: dict[str, Json], path: str, problems: Problems) -> None:
    if not path and "n5" not in document:
        problems.warn("$.n5", "the root has no version", rule="K6")
    if "compressionType" in document:
        problems.advise("$.compressionType", "is replaced by `compression` since version 2", rule="K12")
    compression = document.get("compression")
    if isinstance(compression, dict) and "id" in compression:
        problems.warn("$.compression.id", "is an addition of zarr-python 2", rule="K11")
