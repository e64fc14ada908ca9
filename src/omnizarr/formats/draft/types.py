"""Data types as the drafts of v3 name them: core types by name or by NumPy's spelling, others as extensions with,
perhaps, a core type to fall back on (S15–S18, S78–S82, T7, T8)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from omnizarr._json import Json, Problems, describe
from omnizarr.codecs import Bytes, Codec
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

__all__ = ["DraftType", "dump_draft_type", "given_fallback", "is_core", "parse_draft_type"]

_NAMES = {
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

# The addresses of the specifications, those that zarr-python 2 wrote, and what it wrote where there was none (§2.3.2).
_KNOWN = re.compile(
    r"https://purl\.org/zarr/spec/(?:protocol/)?extensions/(?:data-types/)?"
    r"(?P<family>complex|datetime|string|struct)(?:-dtypes)?/1\.\d+/?"
    r"|https://zarr-specs\.readthedocs\.io/[^ ]*/(complex-dtypes|datetime)/v1\.0\.html"
    r"|TODO: (object|bytestring|unicode|structured) array protocol URL"
)

_FAMILIES = {
    "complex": r"[<>]c(8|16)|complex(64|128)",
    "datetime": r"[<>][Mm]8\[.*\]",  # the byte order must be said (S79)
    "string": r"\|?S\d+|[<>]U\d+",
}
"""How each extension's types are spelled; those of a struct are lists."""

_URIS = {
    2020: "https://purl.org/zarr/spec/protocol/extensions/{}-dtypes/1.0",
    2022: "https://purl.org/zarr/spec/extensions/data-types/{}/1.0",
}
_OBJECTS = "TODO: object array protocol URL"


class DraftType(NamedTuple):
    """What a document says about the elements."""

    stored: np.dtype[Any] | None
    """As NumPy stores them; None if only an extension of somebody else knows."""
    data_type: DataType | None = None
    """None for objects, whose codec says what they are."""
    extension: bool = False
    fallback: Json = None
    replaced: bool = False
    """Whether these are a fallback's, in place of elements that nobody knows."""


def parse_draft_type(found: Json, read_options: ReadOptions, path: str, problems: Problems) -> DraftType | None:
    """Reads a `data_type` member of either draft, in the spelling of either (A1)."""
    if isinstance(found, str):
        return _core(found, path, problems)
    if not isinstance(found, dict):
        problems.expected(path, "the name of a data type, or an object", found)
        return None
    uri, kind = found.get("extension"), found.get("type")
    if not isinstance(uri, str) or not uri:
        problems.expected(f"{path}.extension", "the URI of an extension", uri)
        return None
    if "type" not in found:
        problems.add(f"{path}.type", "is missing")
        return None
    fallback = found.get("fallback")
    inside = Problems()
    result = _extended(uri, kind, path, inside)
    if result is not None and not inside:
        problems.warnings.extend(inside.warnings)
        return result._replace(fallback=fallback)
    chosen = _fallback(fallback, path)
    if chosen is None:
        problems.found.extend(inside.found)
        if not inside:
            problems.unknown(f"{path}.extension", "data type extension", uri, data_types.names())
        return None
    what = f"the data type `{kind}` of the extension `{uri}` is unknown"
    if not read_options.use_fallback:
        problems.add(path, f"{what}, and its fallback was not to be used", hint="leave out `use_fallback=False`")
        return None
    name, core = chosen
    problems.warn(path, f"{what}: elements are read as `{name}`, which it names as a fallback")
    return core._replace(extension=True, fallback=fallback, replaced=True)


def _core(name: str, path: str, problems: Problems) -> DraftType | None:
    raw = re.fullmatch(r"r([1-9][0-9]{0,9})", name)
    if raw is not None and int(raw[1]) % 8 == 0:
        return _described(f"|V{int(raw[1]) // 8}", path, problems)
    if raw is not None:
        problems.expected(path, "`r` and a multiple of 8", name)
        return None
    return _described(_NAMES.get(name, name), path, problems)


def _described(spelled: Json, path: str, problems: Problems, *, extension: bool = False) -> DraftType | None:
    try:
        stored = parse_typestr(spelled, path, problems)
    except MissingDependencyError:  # for a type that only others have, which need not be told by this name
        stored = None
        problems.add(path, f"elements of type `{spelled}` cannot be read here")
    if stored is None:
        return None
    data_type = None if stored.hasobject else data_type_of_stored(stored)
    if not stored.hasobject and (data_type is None or data_type.only_v3):
        problems.add(path, f"elements of type `{stored}` cannot be read here")
        return None
    return DraftType(stored, data_type, extension)


def _extended(uri: str, kind: Json, path: str, problems: Problems) -> DraftType | None:
    match = _KNOWN.fullmatch(uri)
    if match is not None and not _belongs(kind, match["family"]):
        problems.unknown(f"{path}.type", f"data type of the extension {match['family']}", describe(kind), ())
        return None
    if match is not None:
        return _described(_as_typestr(kind), f"{path}.type", problems, extension=True)
    reader = data_types.get(uri)
    found = None if reader is None else reader(uri, {"type": kind}, path, problems)
    return None if found is None else DraftType(None, found, extension=True)


def _belongs(kind: Json, family: str | None) -> bool:
    if family is None:  # an address that zarr-python 2 wrote; it looked at the type alone
        return True
    if family == "struct":
        return isinstance(kind, list)
    return isinstance(kind, str) and re.fullmatch(_FAMILIES[family], kind) is not None


def _as_typestr(kind: Json) -> Json:
    """An extension's type with what stands for core types, and text without a byte order, as NumPy spells it."""
    if isinstance(kind, str):
        return f"|{kind}" if re.fullmatch(r"S[0-9]+", kind) else _NAMES.get(kind, kind)
    if isinstance(kind, list) and len(kind) == 1 and isinstance(kind[0], list) and kind[0][:1] == [""]:
        return _as_typestr(kind[0][1]) if len(kind[0]) == 2 else kind  # zarr-python's spelling of raw bytes
    if isinstance(kind, list):
        return [
            [field[0], _as_typestr(field[1]), *field[2:]] if isinstance(field, list) and len(field) > 1 else field
            for field in kind
        ]
    return kind


def _fallback(found: Json, path: str) -> tuple[str, DraftType] | None:
    """The first of the fallbacks that is known."""
    for name in found if isinstance(found, list) else [found]:
        if isinstance(name, str) and (core := _core(name, path, Problems())) is not None and core.data_type is not None:
            return name, core
    return None


def given_fallback(given: Json, spelled: Json, year: int) -> Json:
    """The `fallback` that a user gives for a new array whose type is `spelled` so, as a document of that draft has it:
    one core type, or in the draft of 2022 a list of them (S18, T8)."""
    names = given if isinstance(given, list) else [given]
    stored = parse_typestr(_as_typestr(spelled["type"]), "$", Problems()) if isinstance(spelled, dict) else None
    if stored is None or stored.hasobject:
        raise ArgumentError("`fallback`: a core type, and one of objects, has none", argument="fallback")
    written = [_written_fallback(name, stored, year) for name in names]
    if None in written or not written or (year == 2020 and len(written) > 1):
        raise ArgumentError(
            f"`fallback`: expected a core data type of {stored.itemsize} bytes"
            f"{'' if year == 2020 else ', or a list of them'}, found {describe(given)}",
            argument="fallback",
        )
    return written if isinstance(given, list) and year == 2022 else written[0]


def _written_fallback(name: Json, stored: np.dtype[Any], year: int) -> Json:
    """A core type of the same size, in the spelling of a draft and the byte order of `stored`."""
    found = _fallback(name, "") if isinstance(name, str) else None
    data_type = None if found is None else found[1].data_type
    if data_type is None or data_type.dtype.itemsize != stored.itemsize:
        return None
    serializer = Bytes("big" if stored.byteorder == ">" else "little").resolved(data_type.dtype)
    return _spelled(data_type, serializer, year)


def is_core(dtype: np.dtype[Any], year: int) -> bool:
    """Whether a draft's core has such a type, in whatever byte order."""
    if dtype.names is not None or dtype.subdtype is not None or dtype.char in "gG":
        return False
    return dtype.kind in ("biufV" if year == 2020 else "biufcV")


def dump_draft_type(data_type: DataType, serializer: Codec | None, fallback: Json, year: int) -> Json:
    """The member `data_type`. ArgumentError, which says what the draft does not have, if it has no spelling for it, or
    only that of another type."""
    spelled = _spelled(data_type, serializer, year)
    reparsed = parse_draft_type(spelled, DEFAULT_READ_OPTIONS, "$", Problems())
    if reparsed is None or reparsed.data_type not in (None, data_type):
        raise _no_type(data_type)
    return spelled | {"fallback": fallback} if isinstance(spelled, dict) and fallback is not None else spelled


def _no_type(data_type: DataType) -> ArgumentError:
    return ArgumentError(f"no data type `{data_type.name}`", argument="dtype")


def _spelled(data_type: DataType, serializer: Codec | None, year: int) -> Json:
    if is_uri(data_type.name):
        document = data_type.to_json()
        configuration = document.get("configuration", {}) if isinstance(document, dict) else {}
        return {"extension": data_type.name, "type": configuration.get("type")}
    if data_type.dtype.hasobject:
        if year == 2022:
            raise _no_type(data_type)
        return {"extension": _OBJECTS, "type": "|O", "fallback": None}
    if data_type.only_v3:
        raise _no_type(data_type)
    stored = stored_dtype(data_type.dtype, serializer)
    if is_core(stored, year):
        if stored.kind == "V":
            return f"r{8 * stored.itemsize}"
        if year == 2022:
            return data_type.dtype.name
        return "bool" if stored.kind == "b" else stored.str.removeprefix("|")
    if isinstance(data_type, Datetime) and np.datetime_data(data_type.dtype)[1] != 1:  # S79; nor has zarr-python 2
        raise ArgumentError(f"no multiples of a unit of time, such as in `{data_type.dtype.str[1:]}`", argument="dtype")
    if year == 2022 and stored.names is None:
        stored = stored.newbyteorder("<")  # another order is the business of a codec (A19)
    spelled = dump_typestr(stored)
    if isinstance(data_type, FixedBytes):
        spelled = spelled.removeprefix("|") if year == 2022 else spelled
    family = (
        "datetime"
        if isinstance(data_type, Datetime)
        else "string"
        if isinstance(data_type, (FixedBytes, FixedUnicode))
        else "complex"
        if stored.kind == "c"
        else "struct"
    )
    return {"extension": _URIS[year].format(family), "type": spelled}
