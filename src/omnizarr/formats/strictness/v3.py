"""Forms of v3 that the parser accepts in silence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from omnizarr._json import Json, Problems
from omnizarr.formats.strictness.fills import check_fill
from omnizarr.model import ArrayModel

__all__ = ["check_v3_array", "check_v3_group", "check_v3_name"]

_REGISTERED = re.compile(r"[a-z][a-z0-9\-_.]+")
_PREFERRED = re.compile(r"[A-Za-z0-9._-]+")
_NULLABLE = ("attributes", "dimension_names", "storage_transformers", "consolidated_metadata")
_SHORT_TYPES = ("bool", "int8", "uint8")
_CHECKED_INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


def check_v3_name(name: str, problems: Problems) -> None:
    """The name of a node (R46, R49)."""
    if name.startswith("__"):
        problems.warn("$", f"the name `{name}` starts with `__`, which is reserved", rule="R46")
    elif not _PREFERRED.fullmatch(name) and name != unicodedata.normalize("NFKC", name).casefold():
        problems.advise("$", f"the name `{name}` is neither plain ASCII nor normalized (NFKC, case-folded)", rule="R49")


def check_v3_group(document: dict[str, Json], problems: Problems) -> None:
    _check_members(document, ("zarr_format", "node_type", "attributes", "consolidated_metadata"), problems)
    if "attributes" not in document:
        problems.advise("$.attributes", "is missing", rule="R27")


def check_v3_array(document: dict[str, Json], model: ArrayModel | None, problems: Problems) -> None:
    """The document of an array; `model` is None if it has other problems."""
    _check_members(document, _ARRAY_MEMBERS, problems)
    if "consolidated_metadata" in document and document["consolidated_metadata"] is not None:
        problems.warn("$.consolidated_metadata", "an array has no consolidated metadata", rule="R28")
    names = [name for name in document.get("dimension_names") or () if isinstance(name, str)]
    if len(set(names)) < len(names):
        problems.advise("$.dimension_names", "two dimensions have the same name", rule="R23")
    for member in ("data_type", "chunk_grid", "chunk_key_encoding"):
        _check_name(document.get(member), f"$.{member}", problems)
    if _name(document.get("chunk_key_encoding")) == "v2":
        problems.advise("$.chunk_key_encoding", "`v2` is not recommended for new arrays", rule="R75")
    for codec, place in _codecs(document.get("codecs"), "$.codecs"):
        _check_codec(codec, place, document.get("data_type"), problems)
    for index, item in enumerate(_list(document.get("storage_transformers"))):
        _check_name(item, f"$.storage_transformers[{index}]", problems)
    if model is not None:
        check_fill(document.get("fill_value"), model, "R15", problems)


_ARRAY_MEMBERS = (
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
    "consolidated_metadata",
)


def _check_members(document: dict[str, Json], known: tuple[str, ...], problems: Problems) -> None:
    for member, value in document.items():
        if member in _NULLABLE and value is None:
            problems.warn(f"$.{member}", "is null: leave it out", rule="§1.7")
        elif member not in known and isinstance(value, dict) and value.get("must_understand") is False:
            problems.advise(f"$.{member}", "is not a member of the specification, and may be ignored", rule="R31")


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _name(value: Json) -> str | None:
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else None


def _codecs(value: Json, path: str) -> Iterator[tuple[Json, str]]:
    """Every codec, with its JSON path, including those inside shards."""
    for index, item in enumerate(_list(value)):
        place = f"{path}[{index}]"
        yield item, place
        configuration = item.get("configuration") if isinstance(item, dict) else None
        if isinstance(configuration, dict):
            for member in ("codecs", "index_codecs"):
                yield from _codecs(configuration.get(member), f"{place}.configuration.{member}")


def _check_name(value: Json, path: str, problems: Problems) -> None:
    name = _name(value)
    if name is None or _REGISTERED.fullmatch(name):
        return
    if "://" in name:
        problems.advise(path, f"`{name}` is a URI; new extensions have registered names", rule="R40")
    else:
        problems.warn(path, f"`{name}` is not in the form of a registered name", rule="R39")


def _check_codec(codec: Json, place: str, data_type: Json, problems: Problems) -> None:
    _check_name(codec, place, problems)
    if isinstance(codec, str):
        problems.advise(place, "the short form is not read by readers of Zarr 3.0", rule="R19")
        return
    if not isinstance(codec, dict):
        return
    if "must_understand" in codec:
        problems.advise(f"{place}.must_understand", "is not read by readers of Zarr 3.0", rule="R19")
    name, configuration = _name(codec), codec.get("configuration")
    if name == "endian":
        problems.warn(f"{place}.name", "`endian` is called `bytes` since January 2024", rule="§1.7")
    if name is not None and name.startswith("numcodecs."):
        problems.advise(f"{place}.name", f"`{name}` is not registered, and few readers have it", rule="A45")
    if name == "vlen-bytes" and data_type == "string":
        problems.warn(place, "`vlen-bytes` is for `bytes`; text has `vlen-utf8`", rule="R126")
    if name == "vlen-utf8" and data_type in ("bytes", "variable_length_bytes"):
        problems.warn(place, "`vlen-utf8` is for `string`; bytes have `vlen-bytes`", rule="R125")
    if not isinstance(configuration, dict):
        return
    if name == "bytes" and "endian" in configuration and data_type in _SHORT_TYPES:
        problems.advise(f"{place}.configuration.endian", "has no meaning for elements of one byte", rule="A39")
    if name == "sharding_indexed":
        index = configuration.get("index_codecs")
        if isinstance(index, list) and [_plain(item) for item in index] != _CHECKED_INDEX:
            problems.advise(
                f"{place}.configuration.index_codecs", "should be `bytes` (little) and `crc32c`", rule="R98"
            )


def _plain(codec: Json) -> Json:
    """A codec without an empty configuration."""
    if isinstance(codec, dict) and codec.get("configuration") == {}:
        return {name: value for name, value in codec.items() if name != "configuration"}
    return {"name": codec} if isinstance(codec, str) else codec
