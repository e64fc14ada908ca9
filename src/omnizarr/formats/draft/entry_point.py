"""The entry point of a hierarchy of a draft: the document `zarr.json` at its root (S6–S12, T1–T5)."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from omnizarr._json import Json, Problems, describe
from omnizarr.errors import ArgumentError
from omnizarr.formats.document_encoding import JSON, Encoding, metadata_encodings
from omnizarr.formats.document_keys import CORE_URI
from omnizarr.formats.document_members import unknown_members
from omnizarr.formats.draft.extensions import parse_extensions

__all__ = ["EntryPoint", "new_entry_point", "read_entry_point", "with_metadata_encoding"]

Year = Literal[2020, 2022]

_CORE = {
    2020: "https://purl.org/zarr/spec/protocol/core/3.0",
    2022: "https://purl.org/zarr/spec/core/3.0",
}
_SUFFIX_RULE = "letters, digits, `.`, `_` and `-`"


class EntryPoint(NamedTuple):
    """What an entry point says about its hierarchy."""

    year: Year
    suffix: Json
    """The suffix of the keys of documents."""
    document_encoding: Encoding
    early_zarrita: bool
    """Whether zarrita wrote it before September 2020 (§2.3.1)."""
    later_version: bool
    """Whether it has a later minor version."""


def new_entry_point(year: Year) -> dict[str, Json]:
    """The entry point of a new hierarchy."""
    encoding: dict[str, Json]
    if year == 2020:
        encoding = {"metadata_encoding": _CORE[2020], "metadata_key_suffix": ".json"}
    else:
        encoding = {"metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"}}
    return {"zarr_format": _CORE[year], **encoding, "extensions": []}


def read_entry_point(document: dict[str, Json], problems: Problems) -> EntryPoint | None:
    """Parses an entry point. If it is invalid, adds all problems and returns None."""
    before = len(problems.found)
    version = CORE_URI.sub("", document["zarr_format"]).rstrip("/")
    match = re.fullmatch(r"3\.(\d+)", version)
    if match is None:
        problems.expected("$.zarr_format", "version 3 of the core, such as 3.0", version, rule="S7")
    later_version = match is not None and match[1].strip("0") != ""
    encoding = document.get("metadata_encoding")
    # The URI is not enough: some hierarchies of 2020 have that of 2022 (A5).
    year: Year = 2022 if isinstance(encoding, dict) else 2020
    if isinstance(encoding, dict):
        suffix, document_encoding = _parse_encoding_2022(encoding, problems)
    else:
        suffix, document_encoding = _parse_encoding_2020(document, problems)
    if "extensions" in document:
        parse_extensions(document["extensions"], "$.extensions", problems)
    elif year == 2022:
        problems.add("$.extensions", "is missing", rule="S6")
    for member in unknown_members(document, ("zarr_format", "metadata_encoding", "metadata_key_suffix", "extensions")):
        if not later_version and year == 2022:
            problems.warn(f"$.{member}", "unknown member", rule="A8")
    if len(problems.found) > before:
        return None
    return EntryPoint(year, suffix, document_encoding, encoding == "application/json", later_version)


def _is_suffix(value: Json) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9._-]*", value) is not None


def _parse_encoding_2020(document: dict[str, Json], problems: Problems) -> tuple[Json, Encoding]:
    """The members `metadata_encoding` and `metadata_key_suffix` of the draft of 2020 (T2, T3)."""
    uri = document.get("metadata_encoding")
    suffix: Json = "" if uri == "application/json" else document.get("metadata_key_suffix", ".json")
    if not _is_suffix(suffix):
        problems.expected("$.metadata_key_suffix", _SUFFIX_RULE, suffix, rule="S8")
    if uri in (*_CORE.values(), "application/json", document["zarr_format"]):
        return suffix, JSON
    encoding = metadata_encodings.get(uri) if isinstance(uri, str) else None
    if encoding is None:
        expected = f'"{_CORE[2020]}", or the URI of a registered encoding'
        problems.expected("$.metadata_encoding", expected, uri, rule="S8")
        return suffix, JSON
    return suffix, encoding


def _parse_encoding_2022(member: dict[str, Json], problems: Problems) -> tuple[Json, Encoding]:
    """The member `metadata_encoding` of the draft of 2022 (S8, S9)."""
    suffix = member.get("metadata_key_suffix", ".json" if member.get("type") == "json" else None)
    if not _is_suffix(suffix):
        problems.expected("$.metadata_encoding.metadata_key_suffix", _SUFFIX_RULE, suffix, rule="S8")
    if "extension" not in member:
        if member.get("type") != "json":
            problems.expected("$.metadata_encoding.type", '"json"', member.get("type"), rule="S9")
        return suffix, JSON
    if not isinstance(member.get("type"), str):
        problems.expected("$.metadata_encoding.type", "text", member.get("type"), rule="S9")
    uri = member["extension"]
    encoding = metadata_encodings.get(uri) if isinstance(uri, str) else None
    if encoding is None:
        problems.unknown(
            "$.metadata_encoding.extension", "metadata encoding", str(uri), metadata_encodings.names(), rule="S9"
        )
        return suffix, JSON
    return suffix, encoding


def with_metadata_encoding(entry_point: dict[str, Json], argument: Any, year: Year) -> dict[str, Json]:
    """An entry point with the encoding that a user gives: an encoding, its URI, or in the draft of 2022 the member
    itself."""
    if isinstance(argument, dict):
        if year == 2022:
            return entry_point | {"metadata_encoding": argument}
        raise ArgumentError(
            f"`metadata_encoding`: expected an encoding or its URI, found {describe(argument)}",
            argument="metadata_encoding",
        )
    encoding = argument if isinstance(argument, Encoding) else metadata_encodings.get(str(argument))
    if encoding is None:
        raise ArgumentError(
            f"`metadata_encoding`: {argument!r} is not registered",
            argument="metadata_encoding",
            hint="register it with `omnizarr.register_metadata_encoding`",
        )
    if year == 2020:
        return entry_point | {"metadata_encoding": encoding.uri, "metadata_key_suffix": encoding.suffix}
    member = {"extension": encoding.uri, "type": encoding.type, "metadata_key_suffix": encoding.suffix}
    return entry_point | {"metadata_encoding": member}
