"""Reading codecs: a list from a document, or one that a user names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr._extension import call_extension, parse_extension
from omnizarr._json import Json, Problems, describe
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.contract import ArrayCodec, Codec, Serializer, codecs
from omnizarr.errors import ArgumentError, MetadataError

__all__ = ["MOST_CODECS", "Skipped", "codec_of", "parse_codec", "parse_codecs"]


@dataclass(frozen=True)
class Skipped(Codec):
    """A codec that nobody here knows and whose metadata says that it may be ignored (R38): reading goes on without it,
    writing is refused, and the document keeps it as it was."""

    name: ClassVar[str] = "skipped"
    original: Any

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("it is made by parse_codecs alone")

    def configuration(self) -> dict[str, Json]:
        return {}

    def to_json(self) -> dict[str, Json]:
        return dict(self.original)

    def __hash__(self) -> int:
        return hash(describe(self.original))


MOST_CODECS = 100
"""A document may not have everybody work on thousands."""


def parse_codecs(value: Json, path: str, problems: Problems) -> tuple[Codec, ...]:
    """The codecs of a list in a document, those that are right; what is wrong goes to `problems`."""
    if not isinstance(value, list) or not value:
        problems.expected(path, "a list of at least one codec", value)
        return ()
    if len(value) > MOST_CODECS:
        problems.add(path, f"has {len(value)} codecs, more than the {MOST_CODECS} that anybody needs")
        return ()
    found = [parse_codec(item, f"{path}[{index}]", problems) for index, item in enumerate(value)]
    right = tuple(codec for codec in found if codec is not None)
    return _with_serializer(right, path, problems) if len(right) == len(found) else right


def _with_serializer(found: tuple[Codec, ...], path: str, problems: Problems) -> tuple[Codec, ...]:
    """The same with `bytes` where it belongs, if there is no array → bytes codec at all: documents could leave it out
    until July 2023 (§1.7). A codec that was skipped might have been one, so nothing is guessed beside it (A29)."""
    if any(isinstance(codec, (Serializer, Skipped)) for codec in found):
        return found
    problems.warn(path, "there is no array → bytes codec: `bytes` is assumed, little-endian")
    arrays = next((index for index, codec in enumerate(found) if not isinstance(codec, ArrayCodec)), len(found))
    return (*found[:arrays], Bytes("little"), *found[arrays:])


def parse_codec(value: Json, path: str, problems: Problems) -> Codec | None:
    """One codec of a document; adds to `problems` and gives None if it is wrong."""
    extension = parse_extension(value, path, problems, kind="codec")
    if extension is None:
        return None
    known = codecs.get(extension.name)
    if known is not None:
        return call_extension("codec", extension.name, path, problems, known.parse, extension.configuration)
    if not extension.must_understand:
        problems.warn(path, f"unknown codec `{extension.name}` is ignored, as its metadata allows")
        return Skipped(value)
    problems.unknown(extension.place, "codec", extension.name, codecs.names())
    return None


def codec_of(value: Any, argument: str) -> Codec:
    """The codec that a user names: a codec, its name, the object that a document would hold, or one of numcodecs' own
    objects."""
    if isinstance(value, Codec):
        return value
    if not isinstance(value, (str, dict)):
        value = _numcodecs_config(value, argument)
    if isinstance(value, str) and (known := codecs.get(value)) is not None:
        try:
            return known()  # a user who gives only a name wants the defaults, which documents do not have
        except TypeError:
            pass  # it has none; the parser says what is missing
    problems = Problems()
    codec = _numcodec(value, problems) if _is_numcodec(value) else parse_codec(value, "$", problems)
    if isinstance(codec, Skipped):  # A29
        problems.add("$.must_understand", "an unknown codec can be ignored in reading, not in writing")
    elif codec is not None and codec.only_decodes is not None:
        problems.add("$", f"codec `{codec.name}`: {codec.only_decodes}")
    if codec is None or problems:
        raise MetadataError(f"`{argument}`: {describe(value)} is not a usable codec", problems.found, argument=argument)
    return codec


def _numcodecs_config(value: Any, argument: str) -> Any:
    """The configuration of a codec of numcodecs that is given as an object of that package, or of one made for it."""
    if not isinstance(value, type) and hasattr(value, "codec_id") and hasattr(value, "get_config"):
        from omnizarr.codecs.numcodecs_.foreign import is_offered  # imports numcodecs, which has made the object

        found = dict(value.get_config())
        id = found.get("id")
        if isinstance(id, str) and not is_offered(id):
            raise ArgumentError(
                f"`{argument}`: codec `{id}` is not registered with numcodecs, and nobody could read the array again",
                argument=argument,
                hint=f"`numcodecs.register_codec({type(value).__name__})` does it",
            )
        return found
    raise ArgumentError(
        f"`{argument}`: expected codecs, their names or JSON objects, found {type(value).__name__}", argument=argument
    )


def _is_numcodec(value: str | dict[str, Json]) -> bool:
    """Whether something names a codec as documents of version 2 do."""
    if isinstance(value, dict):
        return "id" in value and "name" not in value
    from omnizarr.codecs.numcodecs_.v2_ids import known_ids  # it imports the codecs, and one of them this

    return codecs.get(value) is None and value in known_ids()


def _numcodec(value: str | dict[str, Json], problems: Problems) -> Codec | None:
    from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config

    return codec_from_config({"id": value} if isinstance(value, str) else value, "$", problems)
