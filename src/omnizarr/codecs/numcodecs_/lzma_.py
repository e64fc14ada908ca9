"""`lzma`: the formats of Python's `lzma` module: .xz, .lzma, and raw data whose filters are in the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.bytes_to_bytes.streams import decode_streams
from omnizarr.codecs.config_members import check, integer, or_null, read_config, rule
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, compressed
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundLzma", "Lzma"]

_XZ, _RAW = 1, 3
_EXTREME = 2**31  # flag in a preset
_MEMBERS = ["id", "preset", "dict_size", "lc", "lp", "pb", "mode", "nice_len", "mf", "depth", "dist", "start_offset"]
_MIN_DICTIONARY = 4096
_MEMORY = 2**27
"""Memory limit for a stream, in addition to a multiple of its decoded size. The highest preset needs half of it."""


@cache
def _library() -> Any:
    try:
        return import_library("lzma")
    except ImportError:  # some builds of Python lack it
        raise CodecError("lzma", "this build of Python lacks the module `lzma`") from None


def _is_preset(value: Json) -> bool:
    return is_integer(value) and 0 <= value < 2 * _EXTREME and value % _EXTREME <= 9


def _is_chain(value: Json) -> bool:
    return isinstance(value, (list, tuple)) and 0 < len(value) <= 4 and all(map(_is_filter, value))


def _is_filter(value: Json) -> bool:
    if isinstance(value, tuple):
        value = dict(value)
    return (
        isinstance(value, dict)
        and "id" in value
        and all(name in _MEMBERS and is_integer(number) and 0 <= number < 2**64 for name, number in value.items())
    )


@dataclass(frozen=True, slots=True)
class Lzma(Numcodec, BytesCodec):
    """`{"id": "lzma", "format": 1, "check": -1, "preset": null, "filters": null}`, with the constants of Python's
    `lzma`. `filters` is given as a list of dictionaries, and kept as tuples of pairs."""

    name: ClassVar[str] = "numcodecs.lzma"
    id: ClassVar[str] = "lzma"
    format: int = field(default=_XZ, metadata=integer(1, 3, optional=True))
    check: int = field(
        default=-1,
        metadata=rule(
            "−1, 0, 1, 4 or 10", lambda value: is_integer(value) and value in (-1, 0, 1, 4, 10), optional=True
        ),
    )
    preset: int | None = field(default=None, metadata=or_null(rule("a preset from 0 to 9", _is_preset, optional=True)))
    filters: Sequence[Mapping[str, int] | tuple[tuple[str, int], ...]] | None = field(
        default=None, metadata=or_null(rule("a list of one to four filters of LZMA", _is_chain, optional=True))
    )

    def __post_init__(self) -> None:
        check(self)
        if self.filters is not None:
            pairs = tuple(tuple(dict(one).items()) for one in self.filters)
            object.__setattr__(self, "filters", pairs)
        if self.filters is not None and self.preset is not None:
            raise ArgumentError(f"codec `{self.name}`: expected `filters` or `preset`, found both", argument="preset")
        if self.filters is None and self.format == _RAW:
            raise ArgumentError(f"codec `{self.name}`: raw data (`format` 3) require `filters`", argument="filters")
        if self.format != _XZ and self.check > 0:
            raise ArgumentError(f"codec `{self.name}`: only .xz (`format` 1) has a `check`", argument="check")

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        # GDAL writes a member `delta`. .xz data contain this information themselves.
        known = {name: value for name, value in config.items() if name != "delta"}
        return cls._create(read_config(cls, known, path, problems), path, problems)

    def configuration(self) -> dict[str, Json]:
        chain = None if self.filters is None else [dict(one) for one in self.filters]
        return {"format": self.format, "check": self.check, "preset": self.preset, "filters": chain}

    def resolved(self, itemsize: int) -> Lzma:
        if self.filters is not None and self.format != _RAW:
            raise ArgumentError(
                f"codec `{self.name}`: `filters` requires raw data (`format` 3), because numcodecs cannot read other "
                "formats with `filters`",
                argument="filters",
            )
        return self

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundLzma | None:
        bound = BoundLzma(spec, self)
        if self.format == _RAW:
            try:
                bound.decompressor()
            except CodecError as error:
                problems.add(f"{path}.configuration.filters", error.message)
                return None
        return bound


class BoundLzma(BoundBytesCodec):
    """A bound `Lzma`. It reads several .xz streams.

    A dictionary longer than the data is useless, and a malicious document could request any size. So the size in
    `filters` is reduced, and the memory for the size in a stream is limited.
    """

    pace = 50

    __slots__ = ("_codec", "_filters", "_max_size", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, codec: Lzma) -> None:
        self._spec = spec
        self._codec = codec
        self._max_size = spec.limit if spec.size is None else spec.size
        self._filters = None if codec.filters is None else [self._limit_dictionary(dict(one)) for one in codec.filters]
        self.encoded = compressed(spec)

    def _limit_dictionary(self, one: dict[str, int]) -> dict[str, int]:
        if "dict_size" in one:
            one["dict_size"] = min(one["dict_size"], max(self._max_size, _MIN_DICTIONARY))
        return one

    def encode(self, data: Buffer) -> Buffer:
        library, codec = _library(), self._codec
        try:
            encoded: bytes = library.compress(data, codec.format, codec.check, codec.preset, self._filters)
        except (library.LZMAError, ValueError, TypeError, OverflowError, MemoryError) as error:
            raise CodecError("lzma", str(error) or "not enough memory") from None
        return encoded

    def decompressor(self) -> Any:
        """A new decompressor."""
        library = _library()
        try:
            if self._codec.format == _RAW:
                return library.LZMADecompressor(_RAW, filters=self._filters)
            return library.LZMADecompressor(self._codec.format, memlimit=min(_MEMORY + 2 * self._max_size, 2**62))
        except (library.LZMAError, ValueError, TypeError, OverflowError, MemoryError) as error:
            raise CodecError("lzma", str(error) or "not enough memory") from None

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        damaged = (_library().LZMAError, ValueError, MemoryError)
        return decode_streams("lzma", data, self._spec, self.decompressor, damaged)
