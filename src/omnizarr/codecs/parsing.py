"""Codecs from JSON: `parse_codecs` for the list in a document, `codec_of` for an argument of a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr._extension import call_extension, parse_extension, writer_hint
from omnizarr._json import Json, Problems, as_document, describe
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.contract import ArrayCodec, Codec, Serializer, check_codec_count, codecs
from omnizarr.errors import ArgumentError, MetadataError

__all__ = ["Skipped", "codec_of", "parse_codec", "parse_codecs"]


@dataclass(frozen=True)
class Skipped(Codec):
    """An unknown codec with `must_understand: false` (R38). Reads ignore it, writes fail, and the document keeps it
    unchanged."""

    name: ClassVar[str] = "skipped"
    original: Any

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("only parse_codec creates Skipped")

    def configuration(self) -> dict[str, Json]:
        return {}

    def to_json(self) -> dict[str, Json]:
        return dict(self.original)

    def __hash__(self) -> int:
        return hash(describe(self.original))


def parse_codecs(value: Json, path: str, problems: Problems) -> tuple[Codec, ...]:
    """The valid codecs of a list in a document. Each invalid one adds to `problems`."""
    if not isinstance(value, list) or not value:
        problems.expected(path, "a list of at least one codec", value, rule="R18")
        return ()
    if not check_codec_count(len(value), path, problems):
        return ()
    parsed = [parse_codec(item, f"{path}[{index}]", problems) for index, item in enumerate(value)]
    valid = tuple(codec for codec in parsed if codec is not None)
    return _with_serializer(valid, path, problems) if len(valid) == len(parsed) else valid


def _with_serializer(codecs: tuple[Codec, ...], path: str, problems: Problems) -> tuple[Codec, ...]:
    """Insert `bytes` if the list has no array → bytes codec: documents could leave it out until July 2023 (§1.7).

    A `Skipped` codec may have been the serializer, so a list that contains one stays unchanged (A29).
    """
    if any(isinstance(codec, (Serializer, Skipped)) for codec in codecs):
        return codecs
    problems.warn(path, "no array → bytes codec: read as if it had `bytes`, little-endian", rule="§1.7")
    arrays = next((index for index, codec in enumerate(codecs) if not isinstance(codec, ArrayCodec)), len(codecs))
    return (*codecs[:arrays], Bytes("little"), *codecs[arrays:])


def parse_codec(value: Json, path: str, problems: Problems) -> Codec | None:
    """Parse one codec of a document. If it is invalid, add to `problems` and return None."""
    extension = parse_extension(value, path, problems, kind="codec")
    if extension is None:
        return None
    known = codecs.get(extension.name)
    if known is not None:
        return call_extension("codec", extension.name, path, problems, known.parse, extension.configuration)
    if extension.must_understand and extension.name.startswith(("imagecodecs_", "numcodecs.imagecodecs_")):
        from omnizarr.codecs.numcodecs_.image_codecs import parse_image_codec  # lazy import: it loads numcodecs

        return parse_image_codec(extension, path, problems)
    if not extension.must_understand:
        problems.warn(
            path, f"unknown codec `{extension.name}` is ignored because of `must_understand: false`", rule="R38"
        )
        return Skipped(value)
    problems.unknown(
        extension.name_path, "codec", extension.name, codecs.names(), hint=writer_hint(extension.name), rule="R37"
    )
    return None


def codec_of(value: Any, argument: str) -> Codec:
    """The codec for an argument: a codec, its name, the JSON object of a document, or a codec object of numcodecs."""
    if isinstance(value, Codec):
        return value
    if not isinstance(value, (str, dict)):
        value = _numcodecs_config(value, argument)
    value = as_document(value)
    if isinstance(value, str) and (known := codecs.get(value)) is not None:
        try:
            return known()  # a bare name means the default options; in a document, required options have no default
        except TypeError:
            pass  # an option without default is missing; the parser reports which one
    problems = Problems()
    codec = _numcodec(value, problems) if _is_numcodec(value) else parse_codec(value, "$", problems)
    if isinstance(codec, Skipped):  # A29
        problems.add(
            "$.must_understand", "an unknown codec can be ignored for reading, but not for writing", rule="A29"
        )
    elif codec is not None and codec.only_decodes is not None:
        problems.add("$", f"codec `{codec.name}`: {codec.only_decodes}")
    if codec is None or problems:
        raise MetadataError(f"`{argument}`: {describe(value)} is not a usable codec", problems.found, argument=argument)
    return codec


def _numcodecs_config(value: Any, argument: str) -> Any:
    """The v2 configuration of an object with the interface of a numcodecs codec. Raises ArgumentError for others."""
    if not isinstance(value, type) and hasattr(value, "codec_id") and hasattr(value, "get_config"):
        # Lazy import: it loads numcodecs.
        from omnizarr.codecs.numcodecs_.foreign import is_in_numcodecs

        config = dict(value.get_config())
        id = config.get("id")
        if isinstance(id, str) and not is_in_numcodecs(id):
            raise ArgumentError(
                f"`{argument}`: codec `{id}` is not registered with numcodecs, so the array could not be read again",
                argument=argument,
                hint=f"call `numcodecs.register_codec({type(value).__name__})`",
            )
        return config
    raise ArgumentError(
        f"`{argument}`: expected codecs, their names or JSON objects, found {type(value).__name__}", argument=argument
    )


def _is_numcodec(value: str | dict[str, Json]) -> bool:
    """Whether `value` names a codec as v2 documents do: an object with `id`, or such an id."""
    if isinstance(value, dict):
        return "id" in value and "name" not in value
    from omnizarr.codecs.numcodecs_.v2_ids import known_ids  # lazy import: a codec that it imports imports this module

    return codecs.get(value) is None and value in known_ids()


def _numcodec(value: str | dict[str, Json], problems: Problems) -> Codec | None:
    from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config

    return codec_from_config({"id": value} if isinstance(value, str) else value, "$", problems)
