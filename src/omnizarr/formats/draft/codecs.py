"""Codecs in the drafts of v3, where a URI names them (S28, S83–S85, T13)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr.codecs import (
    ArrayCodec,
    Blosc,
    Bytes,
    BytesCodec,
    Codec,
    Gzip,
    Serializer,
    StoredBytes,
    Transpose,
    codecs,
)
from omnizarr.codecs.bytes_to_bytes.array_codec_on_bytes import ArrayCodecOnBytes
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config, config_of
from omnizarr.formats.draft.extensions import is_uri
from omnizarr.formats.v1_v2_dump import stores_object_records

__all__ = [
    "codec_losses",
    "codec_on_bytes",
    "dump_codecs",
    "filters_and_compressor",
    "is_filters",
    "parse_codec",
]

_URI = re.compile(r"(?:https?://purl\.org/zarr/spec/codecs?/)?([A-Za-z0-9_-]+)(?:/\d+\.\d+)?/?")  # A4

_COMPRESSORS = ("gzip", "zlib", "blosc", "bz2", "lz4", "lzma", "zstd")
"""The codecs for which zarr-python 2 has URIs. The text of the draft of 2020 has only the first."""


def parse_codec(value: Json, member: str, path: str, problems: Problems) -> Codec | None:
    """Parses an object whose `member` is the URI of a codec."""
    if not isinstance(value, dict):
        problems.expected(path, f"an object with the URI of a codec in `{member}`", value, rule="S28")
        return None
    uri, configuration = value.get(member), value.get("configuration")
    if not isinstance(uri, str):
        problems.expected(f"{path}.{member}", "the URI of a codec", uri, rule="S28")
        return None
    if configuration is None:
        configuration = {}
    if not isinstance(configuration, dict):
        problems.expected(f"{path}.configuration", "an object", configuration, rule="S28")
        return None
    match = _URI.fullmatch(uri)
    if match is None:
        known = codecs.get(uri)  # a registered codec
        if known is None:
            problems.unknown(f"{path}.{member}", "codec", uri, _COMPRESSORS, rule="S28")
            return None
        return call_extension("codec", uri, path, problems, known.parse, configuration)
    if match[1] == "endian":
        if "endian" not in configuration:  # S85
            problems.add(f"{path}.configuration.endian", "is missing", rule="S85")
            return None
        return Bytes.parse(configuration, path, problems)
    if match[1] == "transpose":  # from January 2023 (§1.7), the same as in v3
        return Transpose.parse(configuration, path, problems)
    config_problems = Problems()
    codec = codec_from_config({**configuration, "id": match[1]}, f"{path}.configuration", config_problems)
    id_path = f"{path}.configuration.id"
    problems.found.extend(
        problem._replace(path=f"{path}.{member}") if problem.path == id_path else problem
        for problem in config_problems.found
    )
    problems.warnings.extend(config_problems.warnings)
    return codec


def _uri(name: str, year: int) -> str:
    """The URI of a codec's specification."""
    return f"https://purl.org/zarr/spec/{'codec' if year == 2020 else 'codecs'}/{name}/1.0"


def _dump(codec: Codec, member: str, year: int) -> Json:
    """The object that names a codec; None if the draft does not have the codec."""
    if isinstance(codec, ArrayCodecOnBytes):
        codec = codec.codec
    if year == 2022 and isinstance(codec, Bytes):
        return {member: _uri("endian", year), "configuration": {"endian": codec.endian}}
    if is_uri(codec.name) and (year == 2022 or isinstance(codec, BytesCodec)):
        return {member: codec.name, "configuration": codec.configuration()}
    if not isinstance(codec, BytesCodec):
        return None
    config = dict(config_of(codec) or {})
    name = config.pop("id", None)
    known = isinstance(codec, (Blosc, Gzip)) if year == 2022 else name in _COMPRESSORS
    return {member: _uri(name, year), "configuration": config} if known else None


def is_filters(value: Json) -> TypeGuard[list[Json]]:
    """Whether the attribute `filters` holds codecs with an id, which zarr-python 2 stores there (§2.3.2)."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "id" in item for item in value)


def codec_on_bytes(codec: Codec) -> ArrayCodecOnBytes | None:
    """A third-party array codec that follows codecs on bytes, in the draft of 2022 (S34); None for other codecs."""
    return ArrayCodecOnBytes(codec) if isinstance(codec, (ArrayCodec, Serializer)) and is_uri(codec.name) else None


def dump_codecs(codecs: Sequence[Codec], stored: np.dtype[Any]) -> list[Json]:
    """The member `codecs` of the draft of 2022. It omits little-endian, which is the default (S85), and the byte order
    of structs, whose fields have their own. Before an array codec that receives bytes, it names the byte order: the
    codec would receive the elements otherwise (S34)."""
    items = []
    for codec, following in zip(codecs, [*codecs[1:], None], strict=True):
        if isinstance(codec, Bytes) and isinstance(following, ArrayCodecOnBytes):
            codec = Bytes(codec.endian or "little")
        elif isinstance(codec, StoredBytes) or (
            isinstance(codec, Bytes) and (codec.endian != "big" or stored.names is not None)
        ):
            continue
        items.append(_dump(codec, "type", 2022))
    return items


def filters_and_compressor(codecs: Sequence[Codec]) -> tuple[list[Json], Json]:
    """The attribute `filters` and the member `compressor` of the draft of 2020. The draft has only one compressor; the
    other codecs are in the attribute, as in zarr-python 2."""
    rest = [codec for codec in codecs if not isinstance(codec, (Bytes, StoredBytes))]
    compressor = _dump(rest[-1], "codec", 2020) if rest else None
    if compressor is not None:
        rest.pop()
    return [config_of(codec) for codec in rest], compressor


def codec_losses(codecs: Sequence[Codec], year: int, draft: str, *, records: bool = False) -> list[str]:
    """What a document of a draft cannot express of the codecs. `records` says that the elements have fields."""
    losses = []
    for codec, following in zip(codecs, [*codecs[1:], None], strict=True):
        if isinstance(codec, (Bytes, StoredBytes)):
            if isinstance(following, ArrayCodecOnBytes) and (records or isinstance(codec, StoredBytes)):
                losses.append(f"`{following.codec.name}` cannot receive the bytes of these elements in {draft}")
            continue
        if stores_object_records(codec):
            losses.append("omnizarr reads and changes records that hold objects, but creates none")
        elif year == 2022 and _dump(codec, "type", 2022) is None:
            name = codec.codec.name if isinstance(codec, ArrayCodecOnBytes) else codec.name
            losses.append(f"{draft} has no codec `{name}`; it has gzip, blosc, endian and codecs with a URI")
        elif year == 2020 and config_of(codec) is None and _dump(codec, "codec", 2020) is None:
            losses.append(f"{draft} has no codec `{codec.name}`; it has {', '.join(_COMPRESSORS)}")
    return losses
