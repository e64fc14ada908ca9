"""Data types in the drafts of v3: core types by name or NumPy typestr, others as extensions with an optional core type
as fallback (S15–S18, S78–S82, T7, T8)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from omnizarr._json import Json, Problems, describe
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
from omnizarr.dtypes.lookup import DEEPEST
from omnizarr.dtypes.struct_ import Struct
from omnizarr.errors import ArgumentError, MissingDependencyError
from omnizarr.formats.draft.extensions import is_uri
from omnizarr.formats.read_options import DEFAULT_READ_OPTIONS, ReadOptions

__all__ = [
    "DraftType",
    "default_fallback",
    "dump_draft_type",
    "dump_type",
    "identifiers",
    "is_core",
    "is_known_extension",
    "parse_draft_type",
    "parse_identifier",
]

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
        problems.expected(path, "the name of a data type, or an object", member, rule="S18")
        return None
    uri, kind = member.get("extension"), member.get("type")
    if not isinstance(uri, str) or not uri:
        problems.expected(f"{path}.extension", "the URI of an extension", uri, rule="S18")
        return None
    if "type" not in member:
        problems.add(f"{path}.type", "is missing", rule="S18")
        return None
    fallback = member.get("fallback")
    extension_problems = Problems()
    extended = _parse_extended(uri, kind, read_options, path, extension_problems)
    if extended is not None and not extension_problems:
        problems.warnings.extend(extension_problems.warnings)
        return extended._replace(fallback=fallback)
    chosen = _choose_fallback(fallback, read_options, path)
    if chosen is None:
        problems.found.extend(extension_problems.found)
        if not extension_problems:
            problems.unknown(f"{path}.extension", "data type extension", uri, data_types.names(), rule="S18")
        return None
    unknown = f"the data type `{kind}` of the extension `{uri}` is unknown"
    if not read_options.use_fallback:
        problems.add(
            path,
            f"{unknown}, and `use_fallback=False` excludes its fallback",
            hint="remove `use_fallback=False`",
            rule="S18",
        )
        return None
    identifier, known = chosen
    shown = f"`{identifier}`" if isinstance(identifier, str) else describe(identifier)
    problems.warn(path, f"{unknown}: elements are read as its fallback {shown}", rule="S18")
    return known._replace(extension=True, fallback=fallback, is_fallback=True)


def _parse_core(name: str, path: str, problems: Problems) -> DraftType | None:
    if re.fullmatch(r"r[1-9][0-9]{0,9}", name) and int(name[1:]) % 8:
        problems.expected(path, "`r` and a multiple of 8", name, rule="S15")
        return None
    return _parse_typestr(_as_typestr(name), path, problems)


def _parse_typestr(typestr: Json, path: str, problems: Problems, *, extension: bool = False) -> DraftType | None:
    try:
        stored = parse_typestr(typestr, path, problems)
    except MissingDependencyError:  # a type of an optional package; report the name in the document instead
        stored = None
        problems.add(path, f"elements of type `{typestr}` are not supported", rule="S15")
    if stored is None:
        return None
    data_type = None if stored.hasobject else data_type_of_stored(stored)
    if not stored.hasobject and (data_type is None or data_type.only_v3):
        problems.add(path, f"elements of type `{stored}` are not supported", rule="S15")
        return None
    return DraftType(stored, data_type, extension)


def _parse_extended(uri: str, kind: Json, read_options: ReadOptions, path: str, problems: Problems) -> DraftType | None:
    match = _EXTENSION_URI.fullmatch(uri)
    if match is not None and not _belongs(kind, match["family"]):
        problems.unknown(
            f"{path}.type", f"data type of the extension {match['family']}", describe(kind), (), rule="S18"
        )
        return None
    if match is not None and isinstance(kind, list):
        return _parse_struct(kind, read_options, f"{path}.type", problems)
    if match is not None:
        return _parse_typestr(_as_typestr(kind), f"{path}.type", problems, extension=True)
    parse = data_types.get(uri)
    data_type = None if parse is None else parse(uri, {"type": kind}, path, problems)
    return None if data_type is None else DraftType(None, data_type, extension=True)


def _parse_struct(
    kind: list[Json], read_options: ReadOptions, path: str, problems: Problems, depth: int = 1
) -> DraftType | None:
    """A struct, whose fields have types of the core or of any extension (S81). Fields of third-party types have no
    NumPy typestr, so that NumPy's notation cannot describe the whole struct."""
    typestr = _as_typestr(kind)
    if not _has_third_party_field(typestr) or depth > DEEPEST:
        return _parse_typestr(typestr, path, problems, extension=True)
    before = len(problems.found)
    fields: list[tuple[str, DataType]] = []
    formats: list[np.dtype[Any]] = []
    for index, item in enumerate(kind):
        place = f"{path}[{index}]"
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str) or not item[0]:
            problems.expected(place, "a field: its name and its type", item, rule="S81")
            continue
        name, member = item
        if isinstance(member, list):
            field = _parse_struct(member, read_options, f"{place}[1]", problems, depth + 1)
        elif isinstance(member, str):
            field = _parse_core(member, f"{place}[1]", problems)
        else:
            field = parse_draft_type(member, read_options, f"{place}[1]", problems)
        if field is not None and field.data_type is None:
            problems.add(f"{place}[1]", "a field must have a fixed size", rule="S81")
        elif field is not None and field.data_type is not None:
            fields.append((name, field.data_type))
            formats.append(field.data_type.dtype.newbyteorder("<") if field.stored is None else field.stored)
    if len(problems.found) > before:
        return None
    try:
        struct = Struct(tuple(fields))
    except ArgumentError as error:
        problems.add(path, error.message, rule="S81")
        return None
    stored = np.dtype({"names": [name for name, _ in fields], "formats": formats})
    return DraftType(stored, struct, extension=True)


def _has_third_party_field(kind: Json) -> bool:
    """Whether the type, after `_as_typestr`, still has an object for the type of a field."""
    if not isinstance(kind, list):
        return isinstance(kind, dict)
    return any(isinstance(field, list) and len(field) > 1 and _has_third_party_field(field[1]) for field in kind)


def is_known_extension(uri: str) -> bool:
    """Whether a URI names an extension of the specifications, whose types have identifiers of their own."""
    return _EXTENSION_URI.fullmatch(uri) is not None


def _belongs(kind: Json, family: str | None) -> bool:
    if family is None:  # a URI of zarr-python 2, which reads only the type
        return True
    if family == "struct":
        return isinstance(kind, list)
    return isinstance(kind, str) and re.fullmatch(_FAMILY_TYPES[family], kind) is not None


def _as_typestr(kind: Json) -> Json:
    """The type of an extension as a NumPy typestr: replaces names of core types and objects that name types of known
    extensions, and adds `|` to `S`."""
    if isinstance(kind, str):
        raw = re.fullmatch(r"r([1-9][0-9]{0,9})", kind)
        if raw is not None and int(raw[1]) % 8 == 0:
            return f"|V{int(raw[1]) // 8}"
        return f"|{kind}" if re.fullmatch(r"S[0-9]+", kind) else _TYPESTRS.get(kind, kind)
    if isinstance(kind, dict) and isinstance(kind.get("extension"), str):
        match = _EXTENSION_URI.fullmatch(kind["extension"])
        known = match is not None and "type" in kind and _belongs(kind["type"], match["family"])
        return _as_typestr(kind["type"]) if known else kind
    if isinstance(kind, list) and len(kind) == 1 and isinstance(kind[0], list) and kind[0][:1] == [""]:
        return _as_typestr(kind[0][1]) if len(kind[0]) == 2 else kind  # raw bytes as zarr-python 2 writes them
    if isinstance(kind, list):
        return [
            [field[0], _as_typestr(field[1]), *field[2:]] if isinstance(field, list) and len(field) > 1 else field
            for field in kind
        ]
    return kind


def _choose_fallback(fallback: Json, read_options: ReadOptions, path: str) -> tuple[Json, DraftType] | None:
    """The first known type of the fallbacks, with its identifier."""
    for identifier in identifiers(fallback):
        known = parse_identifier(identifier, read_options, path)
        if known is not None:
            return identifier, known
    return None


def identifiers(fallback: Json) -> list[Json]:
    """The identifiers of data types in a member `fallback`, which is one or a list of them. A list of pairs that begin
    with text is the identifier of one struct."""
    if fallback is None:
        return []
    if not isinstance(fallback, list):
        return [fallback]
    fields = [isinstance(item, list) and item[:1] != [] and isinstance(item[0], str) for item in fallback]
    return [fallback] if fields and all(fields) else fallback


def parse_identifier(identifier: Json, read_options: ReadOptions, path: str) -> DraftType | None:
    """The type with an identifier of the core or of a known extension; None if it is unknown, or a type of objects. The
    object that names a type of an extension is an identifier, too."""
    problems = Problems()
    if isinstance(identifier, dict):
        identifier = {name: value for name, value in identifier.items() if name != "fallback"}
        known = parse_draft_type(identifier, read_options, path, problems)
    elif isinstance(identifier, list):
        known = _parse_struct(identifier, read_options, path, problems)
    else:
        known = _parse_core(identifier, path, problems) if isinstance(identifier, str) else None
    return None if known is None or problems or known.data_type is None else known


def is_core(dtype: np.dtype[Any], year: int) -> bool:
    """Whether the core of a draft has the type, in any byte order."""
    if dtype.names is not None or dtype.subdtype is not None or dtype.char in "gG":
        return False
    return dtype.kind in ("biufV" if year == 2020 else "biufcV")


def dump_draft_type(data_type: DataType, stored: np.dtype[Any], fallback: Json, year: int) -> Json:
    """The member `data_type` for elements that are stored as `stored`. Raises ArgumentError, which names what the draft
    lacks, if it cannot express the type, or if readers would take it for another type."""
    member = dump_type(data_type, stored, year)
    reparsed = parse_draft_type(member, DEFAULT_READ_OPTIONS, "$", Problems())
    if reparsed is None or reparsed.data_type not in (None, data_type):
        raise _no_type(data_type)
    if fallback is None:
        fallback = default_fallback(data_type, year)
    return member | {"fallback": fallback} if isinstance(member, dict) and fallback is not None else member


def default_fallback(data_type: DataType, year: int) -> Json:
    """The fallback of a type of an extension if the user gives none. The draft of 2022 recommends one for every type of
    a fixed size (S18). The text of 2020 does not, and GDAL prefers a fallback to the type itself (§2.3.3)."""
    if year == 2020 or not data_type.fixed_size:
        return None
    if data_type.fallback is not None:
        return data_type.fallback
    return "int64" if isinstance(data_type, Datetime) else f"r{8 * data_type.dtype.itemsize}"


def _no_type(data_type: DataType) -> ArgumentError:
    return ArgumentError(f"no data type `{data_type.name}`", argument="dtype")


def dump_type(data_type: DataType, stored: np.dtype[Any], year: int) -> Json:
    """The member `data_type` without a fallback."""
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
    typestr = _dump_struct(data_type, stored, year) if isinstance(data_type, Struct) else dump_typestr(stored)
    if isinstance(data_type, FixedBytes) and year == 2022:
        typestr = typestr.removeprefix("|")
    if isinstance(data_type, Datetime):
        family = "datetime"
    elif isinstance(data_type, (FixedBytes, FixedUnicode)):
        family = "string"
    else:
        family = "complex" if stored.kind == "c" else "struct"
    return {"extension": _URIS[year].format(family), "type": typestr}


def _dump_struct(struct: Struct, stored: np.dtype[Any], year: int) -> Json:
    """The fields of a struct in NumPy's notation, with objects for types that it does not have (S81)."""
    if not any(isinstance(kind, Struct) or is_uri(kind.name) for _, kind in struct.fields):
        return dump_typestr(stored)
    fields: list[Json] = []
    for name, kind in struct.fields:
        if isinstance(kind, Struct):
            fields.append([name, _dump_struct(kind, stored[name], year)])
        else:
            fields.append(
                [name, dump_type(kind, stored[name], year) if is_uri(kind.name) else dump_typestr(stored[name])]
            )
    return fields
