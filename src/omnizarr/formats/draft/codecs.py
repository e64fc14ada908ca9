"""Codecs as the drafts of v3 name them: by URI (S28, S83–S85, T13)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr.codecs import Blosc, Bytes, BytesCodec, Codec, Gzip, StoredBytes, Transpose, codecs
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config, config_of
from omnizarr.formats.draft.extensions import is_uri
from omnizarr.formats.numpy_array_losses import holds_record

__all__ = [
    "codec_losses",
    "dump_codecs",
    "filters_and_compressor",
    "is_filters",
    "parse_codec",
]

_URI = re.compile(r"(?:https?://purl\.org/zarr/spec/codecs?/)?([A-Za-z0-9_-]+)(?:/\d+\.\d+)?/?")  # A4

_COMPRESSORS = ("gzip", "zlib", "blosc", "bz2", "lz4", "lzma", "zstd")
"""What zarr-python 2 has URIs for; the draft of 2020 itself knows the first alone."""


def parse_codec(found: Json, member: str, path: str, problems: Problems) -> Codec | None:
    """Reads an object that names a codec in `member`."""
    if not isinstance(found, dict):
        problems.expected(path, f"an object with the URI of a codec in `{member}`", found)
        return None
    uri, configuration = found.get(member), found.get("configuration")
    if not isinstance(uri, str):
        problems.expected(f"{path}.{member}", "the URI of a codec", uri)
        return None
    if configuration is None:
        configuration = {}
    if not isinstance(configuration, dict):
        problems.expected(f"{path}.configuration", "an object", configuration)
        return None
    match = _URI.fullmatch(uri)
    if match is None:
        known = codecs.get(uri)  # a third party's
        if known is None:
            problems.unknown(f"{path}.{member}", "codec", uri, _COMPRESSORS)
            return None
        return call_extension("codec", uri, path, problems, known.parse, configuration)
    if match[1] == "endian":
        if "endian" not in configuration:  # S85
            problems.add(f"{path}.configuration.endian", "is missing")
            return None
        return Bytes.parse(configuration, path, problems)
    if match[1] == "transpose":  # of January 2023 (§1.7); version 3 has the same
        return Transpose.parse(configuration, path, problems)
    inside = Problems()
    codec = codec_from_config({**configuration, "id": match[1]}, f"{path}.configuration", inside)
    problems.found.extend(replace(item, path=_place(item.path, path, member)) for item in inside.found)
    problems.warnings.extend(inside.warnings)
    return codec


def _place(found: str, path: str, member: str) -> str:
    return f"{path}.{member}" if found == f"{path}.configuration.id" else found


def _uri(name: str, year: int) -> str:
    """The address of a codec's specification."""
    return f"https://purl.org/zarr/spec/{'codec' if year == 2020 else 'codecs'}/{name}/1.0"


def _dump(codec: Codec, member: str, year: int) -> Json:
    """The object that names a codec; None if a document of that draft cannot hold it."""
    if year == 2022 and isinstance(codec, Bytes):
        return {member: _uri("endian", year), "configuration": {"endian": codec.endian}}
    if not isinstance(codec, BytesCodec):
        return None
    if is_uri(codec.name):
        return {member: codec.name, "configuration": codec.configuration()}
    config = dict(config_of(codec) or {})
    name = config.pop("id", None)
    known = isinstance(codec, (Blosc, Gzip)) if year == 2022 else name in _COMPRESSORS
    return {member: _uri(name, year), "configuration": config} if known else None


def is_filters(found: Json) -> TypeGuard[list[Json]]:
    """Whether an attribute called `filters` is what zarr-python 2 keeps there: codecs with an id (§2.3.2)."""
    return isinstance(found, list) and bool(found) and all(isinstance(item, dict) and "id" in item for item in found)


# -- lists of them


def dump_codecs(codecs: Sequence[Codec], stored: np.dtype[Any]) -> list[Json]:
    """The list of the draft of 2022. Little-endian is what it means without a word (S85), and the fields of a struct
    say their byte orders themselves."""
    found = []
    for codec in codecs:
        if isinstance(codec, StoredBytes) or (
            isinstance(codec, Bytes) and (codec.endian != "big" or stored.names is not None)
        ):
            continue
        found.append(_dump(codec, "type", 2022))
    return found


def filters_and_compressor(codecs: Sequence[Codec]) -> tuple[list[Json], Json]:
    """What the draft of 2020 has: one compressor. The codecs before it go where zarr-python 2 puts them."""
    rest = [codec for codec in codecs if not isinstance(codec, (Bytes, StoredBytes))]
    compressor = _dump(rest[-1], "codec", 2020) if rest else None
    if compressor is not None:
        rest.pop()
    return [config_of(codec) for codec in rest], compressor


def codec_losses(codecs: Sequence[Codec], year: int, draft: str) -> list[str]:
    """What of codecs a document of a draft cannot say."""
    found = []
    for codec in codecs:
        if isinstance(codec, (Bytes, StoredBytes)):
            continue
        if holds_record(codec):
            found.append("records that hold objects are only read and changed")
        elif year == 2022 and _dump(codec, "type", 2022) is None:
            found.append(f"{draft} has no codec `{codec.name}`; it has gzip, blosc and endian")
        elif year == 2020 and config_of(codec) is None and _dump(codec, "codec", 2020) is None:
            found.append(f"{draft} has no codec `{codec.name}`; it has {', '.join(_COMPRESSORS)}")
    return found
