"""Data types in the drafts of v3: core types by name or NumPy typestr, others as extensions with an optional core type
as fallback (S15–S18, S78–S82, T7, T8)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from omnizarr._json import Json, Problems, describe
from omnizarr.codecs import Bytes
from omnizarr.dtypes import (
    DataType,
    Datetime,
    FixedBytes,
    FixedUnicode,
    data_type_of_stored,
    data_types,
    dump_typestr,
    parse_typestr,
)
from omnizarr.errors import ArgumentError, MissingDependencyError
from omnizarr.formats.draft.extensions import is_uri
from omnizarr.formats.numpy_dtype import stored_dtype
from omnizarr.formats.read_options import DEFAULT_READ_OPTIONS, ReadOptions

__all__ = ["DraftType", "dump_draft_type", "fallback_from_user", "is_core", "parse_draft_type"]

_TYPESTRS = {
    "bool": "|b1",
    **{f"int{8 * size}": f"<i{size}" for size in (2, 4, 8)},
    **{f"uint{8 * size}": f"<u{size}" for size in (2, 4, 8)},
    **{f"float{8 * size}": f"<f{size}" for size in (2, 4, 8)},
    "int8": "|i1",
    "uint8": "|u1",
    "complex64": "<c8",
    "complex128": "<c16",
    "i1": "|i1",
    "u1": "|u1",
}

# URIs of the specifications, URIs that zarr-python 2 wrote, and its placeholders for missing ones (§2.3.2).
_EXTENSION_URI = re.compile(
    r"https://purl\.org/zarr/spec/(?:protocol/)?extensions/(?:data-types/)?"
    r"(?P<family>complex|datetime|string|struct)(?:-dtypes)?/1\.\d+/?"
    r"|https://zarr-specs\.readthedocs\.io/[^ ]*/(complex-dtypes|datetime)/v1\.0\.html"
    r"|TODO: (object|bytestring|unicode|structured) array protocol URL"
)

_FAMILY_TYPES = {
    "complex": r"[<>]c(8|16)|complex(64|128)",
    "datetime": r"[<>][Mm]8\[.*\]",  # the byte order is required (S79)
    "string": r"\|?S\d+|[<>]U\d+",
}
"""The types of each extension; those of `struct` are lists."""

_URIS = {
    2020: "https://purl.org/zarr/spec/protocol/extensions/{}-dtypes/1.0",
    2022: "https://purl.org/zarr/spec/extensions/data-types/{}/1.0",
}
_OBJECT_URI = "TODO: object array protocol URL"


class DraftType(NamedTuple):
    """A parsed member `data_type`."""

    stored: np.dtype[Any] | None
    """The NumPy dtype in the store; None for the type of a registered extension."""
    data_type: DataType | None = None
    """None for objects, whose codec determines it."""
    extension: bool = False
    fallback: Json = None
    is_fallback: bool = False
    """Whether this is the fallback of an unknown type."""


def parse_draft_type(member: Json, read_options: ReadOptions, path: str, problems: Problems) -> DraftType | None:
    """Parses the member `data_type` of either draft, in the forms of both (A1)."""
    if isinstance(member, str):
        return _parse_core(member, path, problems)
    if not isinstance(member, dict):
        problems.expected(path, "the name of a data type, or an object", member)
        return None
    uri, kind = member.get("extension"), member.get("type")
    if not isinstance(uri, str) or not uri:
        problems.expected(f"{path}.extension", "the URI of an extension", uri)
        return None
    if "type" not in member:
        problems.add(f"{path}.type", "is missing")
        return None
    fallback = member.get("fallback")
    extension_problems = Problems()
    extended = _parse_extended(uri, kind, path, extension_problems)
    if extended is not None and not extension_problems:
        problems.warnings.extend(extension_problems.warnings)
        return extended._replace(fallback=fallback)
    chosen = _choose_fallback(fallback, path)
    if chosen is None:
        problems.found.extend(extension_problems.found)
        if not extension_problems:
            problems.unknown(f"{path}.extension", "data type extension", uri, data_types.names())
        return None
    unknown = f"the data type `{kind}` of the extension `{uri}` is unknown"
    if not read_options.use_fallback:
        problems.add(
            path, f"{unknown}, and `use_fallback=False` excludes its fallback", hint="remove `use_fallback=False`"
        )
        return None
    name, core = chosen
    problems.warn(path, f"{unknown}: elements are read as its fallback `{name}`")
    return core._replace(extension=True, fallback=fallback, is_fallback=True)


def _parse_core(name: str, path: str, problems: Problems) -> DraftType | None:
    raw = re.fullmatch(r"r([1-9][0-9]{0,9})", name)
    if raw is not None and int(raw[1]) % 8 == 0:
        return _parse_typestr(f"|V{int(raw[1]) // 8}", path, problems)
    if raw is not None:
        problems.expected(path, "`r` and a multiple of 8", name)
        return None
    return _parse_typestr(_TYPESTRS.get(name, name), path, problems)


def _parse_typestr(typestr: Json, path: str, problems: Problems, *, extension: bool = False) -> DraftType | None:
    try:
        stored = parse_typestr(typestr, path, problems)
    except MissingDependencyError:  # a type of an optional package; report the name in the document instead
        stored = None
        problems.add(path, f"elements of type `{typestr}` are not supported")
    if stored is None:
        return None
    data_type = None if stored.hasobject else data_type_of_stored(stored)
    if not stored.hasobject and (data_type is None or data_type.only_v3):
        problems.add(path, f"elements of type `{stored}` are not supported")
        return None
    return DraftType(stored, data_type, extension)


def _parse_extended(uri: str, kind: Json, path: str, problems: Problems) -> DraftType | None:
    match = _EXTENSION_URI.fullmatch(uri)
    if match is not None and not _belongs(kind, match["family"]):
        problems.unknown(f"{path}.type", f"data type of the extension {match['family']}", describe(kind), ())
        return None
    if match is not None:
        return _parse_typestr(_as_typestr(kind), f"{path}.type", problems, extension=True)
    parse = data_types.get(uri)
    data_type = None if parse is None else parse(uri, {"type": kind}, path, problems)
    return None if data_type is None else DraftType(None, data_type, extension=True)


def _belongs(kind: Json, family: str | None) -> bool:
    if family is None:  # a URI of zarr-python 2, which reads only the type
        return True
    if family == "struct":
        return isinstance(kind, list)
    return isinstance(kind, str) and re.fullmatch(_FAMILY_TYPES[family], kind) is not None


def _as_typestr(kind: Json) -> Json:
    """The type of an extension as a NumPy typestr: replaces names of core types, and adds `|` to `S`."""
    if isinstance(kind, str):
        return f"|{kind}" if re.fullmatch(r"S[0-9]+", kind) else _TYPESTRS.get(kind, kind)
    if isinstance(kind, list) and len(kind) == 1 and isinstance(kind[0], list) and kind[0][:1] == [""]:
        return _as_typestr(kind[0][1]) if len(kind[0]) == 2 else kind  # raw bytes as zarr-python 2 writes them
    if isinstance(kind, list):
        return [
            [field[0], _as_typestr(field[1]), *field[2:]] if isinstance(field, list) and len(field) > 1 else field
            for field in kind
        ]
    return kind


def _choose_fallback(fallback: Json, path: str) -> tuple[str, DraftType] | None:
    """The first known core type of the fallbacks, with its name."""
    for name in fallback if isinstance(fallback, list) else [fallback]:
        if (
            isinstance(name, str)
            and (core := _parse_core(name, path, Problems())) is not None
            and core.data_type is not None
        ):
            return name, core
    return None


def fallback_from_user(given: Json, member: Json, year: int) -> Json:
    """The member `fallback` that a user gives for a new array whose `data_type` is `member`: one core type, or in the
    draft of 2022 also a list of them (S18, T8)."""
    names = given if isinstance(given, list) else [given]
    stored = parse_typestr(_as_typestr(member["type"]), "$", Problems()) if isinstance(member, dict) else None
    if stored is None or stored.hasobject:
        raise ArgumentError("`fallback`: core types and objects have no fallback", argument="fallback")
    dumped = [_dump_fallback(name, stored, year) for name in names]
    if None in dumped or not dumped or (year == 2020 and len(dumped) > 1):
        raise ArgumentError(
            f"`fallback`: expected a core data type of {stored.itemsize} bytes"
            f"{'' if year == 2020 else ', or a list of them'}, found {describe(given)}",
            argument="fallback",
        )
    return dumped if isinstance(given, list) and year == 2022 else dumped[0]


def _dump_fallback(name: Json, stored: np.dtype[Any], year: int) -> Json:
    """A core type in the form of a draft and the byte order of `stored`; None if their sizes differ."""
    chosen = _choose_fallback(name, "") if isinstance(name, str) else None
    data_type = None if chosen is None else chosen[1].data_type
    if data_type is None or data_type.dtype.itemsize != stored.itemsize:
        return None
    serializer = Bytes("big" if stored.byteorder == ">" else "little").resolved(data_type.dtype)
    return _dump_type(data_type, stored_dtype(data_type.dtype, serializer), year)


def is_core(dtype: np.dtype[Any], year: int) -> bool:
    """Whether the core of a draft has the type, in any byte order."""
    if dtype.names is not None or dtype.subdtype is not None or dtype.char in "gG":
        return False
    return dtype.kind in ("biufV" if year == 2020 else "biufcV")


def dump_draft_type(data_type: DataType, stored: np.dtype[Any], fallback: Json, year: int) -> Json:
    """The member `data_type` for elements that are stored as `stored`. Raises ArgumentError, which names what the draft
    lacks, if it cannot express the type, or if readers would take it for another type."""
    member = _dump_type(data_type, stored, year)
    reparsed = parse_draft_type(member, DEFAULT_READ_OPTIONS, "$", Problems())
    if reparsed is None or reparsed.data_type not in (None, data_type):
        raise _no_type(data_type)
    return member | {"fallback": fallback} if isinstance(member, dict) and fallback is not None else member


def _no_type(data_type: DataType) -> ArgumentError:
    return ArgumentError(f"no data type `{data_type.name}`", argument="dtype")


def _dump_type(data_type: DataType, stored: np.dtype[Any], year: int) -> Json:
    if is_uri(data_type.name):
        document = data_type.to_json()
        configuration = document.get("configuration", {}) if isinstance(document, dict) else {}
        return {"extension": data_type.name, "type": configuration.get("type")}
    if data_type.dtype.hasobject:
        if year == 2022:
            raise _no_type(data_type)
        return {"extension": _OBJECT_URI, "type": "|O", "fallback": None}
    if data_type.only_v3:
        raise _no_type(data_type)
    if is_core(stored, year):
        if stored.kind == "V":
            return f"r{8 * stored.itemsize}"
        if year == 2022:
            return data_type.dtype.name
        return "bool" if stored.kind == "b" else stored.str.removeprefix("|")
    if (
        isinstance(data_type, Datetime) and np.datetime_data(data_type.dtype)[1] != 1
    ):  # S79; zarr-python 2 has none either
        raise ArgumentError(f"no multiples of a unit of time, such as in `{data_type.dtype.str[1:]}`", argument="dtype")
    if year == 2022 and stored.names is None:
        stored = stored.newbyteorder("<")  # a codec expresses big-endian (A19)
    typestr = dump_typestr(stored)
    if isinstance(data_type, FixedBytes) and year == 2022:
        typestr = typestr.removeprefix("|")
    if isinstance(data_type, Datetime):
        family = "datetime"
    elif isinstance(data_type, (FixedBytes, FixedUnicode)):
        family = "string"
    else:
        family = "complex" if stored.kind == "c" else "struct"
    return {"extension": _URIS[year].format(family), "type": typestr}
