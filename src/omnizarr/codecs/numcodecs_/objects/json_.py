"""`json2` and its predecessor `json`: objects as JSON text."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy.typing as npt

from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.config_members import boolean, check, members, or_null, rule
from omnizarr.codecs.contract import BoundSerializer, Buffer, ChunkSpec, Serializer
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.codecs.numcodecs_.objects.items import (
    build_array,
    check_kind,
    nested_items,
    object_byte_spec,
    plain_value,
    type_name,
)
from omnizarr.errors import CodecError

__all__ = ["BoundJson", "Json2", "LegacyJson"]

_ENCODINGS = frozenset(
    ["ascii", "cp1252", "iso8859-1", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le", "utf-8"]
)
"""Encodings that Python decodes in linear time, which does not hold for all."""


def _is_encoding(value: Json) -> bool:
    try:
        return isinstance(value, str) and codecs.lookup(value).name in _ENCODINGS
    except (LookupError, ValueError):
        return False


def _is_indent(value: Json) -> bool:
    return len(value) <= 20 if isinstance(value, str) else is_integer(value) and 0 <= value <= 20


def _are_separators(value: Json) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(one, str) for one in value)


_FLAG = boolean(optional=True)


@dataclass(frozen=True, slots=True)
class Json2(Numcodec, Serializer):
    """`{"id": "json2", "encoding": "utf-8", …}`: a list of the items in nested lists, then their type, then the shape.
    The other members are arguments of Python's JSON encoder and decoder."""

    name: ClassVar[str] = "numcodecs.json2"
    id: ClassVar[str] = "json2"
    private: ClassVar[bool] = True
    encoding: str = field(
        default="utf-8", metadata=rule("the name of an encoding of text", _is_encoding, optional=True)
    )
    skipkeys: bool = field(default=False, metadata=_FLAG)
    ensure_ascii: bool = field(default=True, metadata=_FLAG)
    check_circular: bool = field(default=True, metadata=_FLAG)
    allow_nan: bool = field(default=True, metadata=_FLAG)
    indent: int | str | None = field(
        default=None, metadata=or_null(rule("a number of spaces up to 20", _is_indent, optional=True))
    )
    separators: Sequence[str] | None = field(
        default=None, metadata=or_null(rule("a list of two strings", _are_separators, optional=True))
    )
    sort_keys: bool = field(default=True, metadata=_FLAG)
    strict: bool = field(default=True, metadata=_FLAG)

    def __post_init__(self) -> None:
        check(self)
        separators = self.separators or ((",", ":") if self.indent is None else (", ", ": "))
        object.__setattr__(self, "separators", tuple(separators))

    def configuration(self) -> dict[str, Json]:
        options = {name: getattr(self, name) for name in members(type(self))}
        return {**options, "separators": list(self.separators or ())}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundJson | None:
        return BoundJson(spec, self) if check_kind(self.name, spec, path, problems, "OTbiufU") else None


@dataclass(frozen=True, slots=True)
class LegacyJson(Json2):
    """`{"id": "json", …}`: like `Json2`, but without the shape, as written by numcodecs before 0.6."""

    name: ClassVar[str] = "numcodecs.json"
    id: ClassVar[str] = "json"


class BoundJson(BoundSerializer):
    """A bound `Json2` or `LegacyJson`, which stores a chunk as one JSON text."""

    __slots__ = ("_codec", "_decoder", "_encoder", "_legacy", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, codec: Json2) -> None:
        self._spec = spec
        self._codec = codec
        self._legacy = isinstance(codec, LegacyJson)
        separators = tuple(codec.separators or ())
        self._encoder = json.JSONEncoder(
            skipkeys=codec.skipkeys,
            ensure_ascii=codec.ensure_ascii,
            check_circular=codec.check_circular,
            allow_nan=codec.allow_nan,
            indent=codec.indent,
            separators=(separators[0], separators[1]),
            sort_keys=codec.sort_keys,
            default=plain_value,
        )
        self._decoder = json.JSONDecoder(strict=codec.strict)
        self.encoded = object_byte_spec()

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        items = nested_items(array)
        items.append(type_name(array.dtype))
        if not self._legacy:
            items.append(list(array.shape))
        try:
            return self._encoder.encode(items).encode(self._codec.encoding)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise CodecError(self._codec.id, f"an object cannot be written as JSON: {error}") from None

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        try:
            items = self._decoder.decode(bytes(data).decode(self._codec.encoding))
        except RecursionError:
            raise CodecError(self._codec.id, "the text is nested too deeply") from None
        except ValueError as error:
            raise CodecError(self._codec.id, f"not valid JSON: {error}") from None
        return build_array(self._codec.id, items, self._spec, shape_follows=not self._legacy)
