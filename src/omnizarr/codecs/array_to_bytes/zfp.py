"""The `zfp` codec: arrays of numbers compressed by zfp, with loss or without, in streams that have no header (R139)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, describe
from omnizarr.codecs.array_to_bytes.zfp_types import (
    MOST_BITS,
    SIDE,
    TYPES,
    Promotion,
    block_bits,
    fewest_bits,
    promotion_of,
)
from omnizarr.codecs.config_fields import integer, members, rule
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, codec_library
from omnizarr.codecs.number_types import Elements
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundZfp", "Zfp", "ZfpExpert"]

_MODES = {
    "reversible": (),
    "fixed_accuracy": ("tolerance",),
    "fixed_rate": ("rate",),
    "fixed_precision": ("precision",),
}
_EXPERT = ("minbits", "maxbits", "maxprec", "minexp")
_MOST_PRECISION = 64  # of a number, in zfp itself
_BYTES_OF_ZEROS = 24  # that a block takes at most if all its bits are zero: two for each of 64 planes, and a few
_HIGHEST_RATE = 128  # more than any block can need


def _between(low: float, high: float, what: str) -> Any:
    return rule(
        what,
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high,
        optional=True,
    )


@cache
def _library() -> Any:
    return codec_library(Zfp)


@dataclass(frozen=True, slots=True)
class Zfp(Serializer):
    """`{"name": "zfp", "configuration": {"mode": "fixed_accuracy", "tolerance": 0.05}}`; or `fixed_rate`, of so many
    bits per number, `fixed_precision`, of so many bit planes, or `reversible`, without loss.

    Where there is loss, nothing promises that infinities and NaN come back; zfp knows finite numbers only. Nor can zfp
    tell a stream that was cut off from a whole one, unless it is much too short; a check sum behind it can.
    """

    name: ClassVar[str] = "zfp"
    needs: ClassVar[str | None] = "zfpy"
    mode: Literal["reversible", "fixed_accuracy", "fixed_rate", "fixed_precision"] = "reversible"
    tolerance: int | float | None = field(
        default=None, metadata=_between(0, np.finfo(np.float64).max, "a finite number of at least 0")
    )
    rate: int | float | None = field(
        default=None, metadata=_between(0, _HIGHEST_RATE, f"a number from 0 to {_HIGHEST_RATE}")
    )
    precision: int | None = field(default=None, metadata=integer(0, 2**32 - 1, optional=True))

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise ArgumentError(f"codec `zfp`: `mode`: expected {_modes()}, found {self.mode!r}", argument="mode")
        given = {name: getattr(self, name) for name in members(type(self)) if getattr(self, name) is not None}
        problems = Problems()
        _check(type(self), self.mode, _MODES[self.mode], given, "", problems)
        if problems:
            first = problems.found[0]
            raise ArgumentError(
                f"codec `zfp`: `{first.path.strip('.')}` {first.message}", argument=first.path.strip(".")
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Zfp | ZfpExpert | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        mode = configuration.get("mode")
        found = {name: value for name, value in configuration.items() if name != "mode"}
        if found.get("write_header") is False:  # a member that zarrs had before the codec was registered
            del found["write_header"]
        if mode == "expert":
            _check(ZfpExpert, mode, _EXPERT, found, where, problems)
            return None if len(problems.found) > before else ZfpExpert(**found)
        if not isinstance(mode, str) or mode not in _MODES:
            problems.expected(f"{where}.mode", f"{_modes()} or `expert`", mode)
            return None
        _check(cls, mode, _MODES[mode], found, where, problems)
        return None if len(problems.found) > before else cls(mode, **found)  # type: ignore[arg-type]

    def configuration(self) -> dict[str, Json]:
        return {"mode": self.mode, **{name: getattr(self, name) for name in _MODES[self.mode]}}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundZfp | None:
        promotion = _promotion(spec, path, problems)
        if promotion is None:
            return None
        if self.rate is not None:
            bits = block_bits(self.rate, len(spec.shape) or 1)
            if not _enough(bits, fewest_bits(promotion.dtype), f"{path}.configuration.rate", promotion, problems):
                return None
        return BoundZfp(spec, promotion, self)

    @property
    def arguments(self) -> dict[str, int | float]:
        """What the library is asked for; nothing is without loss."""
        found = {name: getattr(self, name) for name in _MODES[self.mode]}
        if "precision" in found:
            found["precision"] = min(found["precision"], _MOST_PRECISION)
        return found


def _modes() -> str:
    return ", ".join(f"`{mode}`" for mode in _MODES)


def _check(
    cls: type[Zfp] | type[ZfpExpert],
    mode: str,
    wanted: tuple[str, ...],
    found: dict[str, Json],
    path: str,
    problems: Problems,
) -> None:
    """The members that a mode has are those that must be there, and no other."""
    check_members(found, wanted, path, problems)
    rules = members(cls)
    for name in wanted:
        expected = rules[name].metadata["expected"]
        if name not in found:
            problems.add(f"{path}.{name}", f"is missing: mode `{mode}` needs {expected}")
        elif not rules[name].metadata["accepts"](found[name]):
            problems.add(f"{path}.{name}", f"expected {expected}, found {describe(found[name])}")


def _promotion(spec: ChunkSpec, path: str, problems: Problems) -> Promotion | None:
    if len(spec.shape) > 4:
        problems.add(path, f"codec `zfp` takes arrays of up to 4 dimensions, and chunks have {len(spec.shape)}")
        return None
    promotion = promotion_of(spec.dtype)
    if promotion is None:
        problems.add(path, f"codec `zfp` takes integers, times and floats of 16 to 64 bits, and no {spec.dtype}")
    return promotion


def _enough(bits: int, fewest: int, path: str, promotion: Promotion, problems: Problems) -> bool:
    """Whether blocks of so many bits hold anything; adds to `problems` if not."""
    if bits < fewest:
        problems.add(path, f"leaves {bits} bits to a block, and one of {promotion.dtype} needs {fewest}")
    return bits >= fewest


@dataclass(frozen=True, slots=True)
class ZfpExpert(Serializer):
    """`{"name": "zfp", "configuration": {"mode": "expert", "minbits": 1, "maxbits": 13, "maxprec": 19, "minexp": -2}}`:
    what documents may hold. The library for Python has no such mode; it can be led to decode streams of it."""

    name: ClassVar[str] = "zfp"
    needs: ClassVar[str | None] = "zfpy"
    only_decodes: ClassVar[str | None] = "the library zfpy cannot compress in the mode `expert`"
    minbits: int = field(metadata=integer(0, MOST_BITS))
    maxbits: int = field(metadata=integer(0, 2**32 - 1))
    maxprec: int = field(metadata=integer(0, 2**32 - 1))
    minexp: int = field(metadata=integer(-16495, 16272))

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> ZfpExpert | None:
        raise AssertionError("it is made by Zfp.parse")

    def configuration(self) -> dict[str, Json]:
        return {"mode": "expert", **{name: getattr(self, name) for name in _EXPERT}}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundZfp | None:
        if not 1 <= self.minbits <= self.maxbits or not self.maxprec:
            problems.add(f"{path}.configuration", "zfp wants 1 ≤ `minbits` ≤ `maxbits` and a `maxprec` of at least 1")
            return None
        promotion = _promotion(spec, path, problems)
        if promotion is None:
            return None
        fewest = fewest_bits(promotion.dtype, self.minexp)
        if not _enough(self.maxbits, fewest, f"{path}.configuration.maxbits", promotion, problems):
            return None
        return BoundZfp(spec, promotion, self)

    def with_header(self, data: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
        """A stream with the header that zfp itself puts before it to say its type, shape and mode: all in bits, so that
        the stream moves by the 148 bits that the header has."""
        width = 48 // len(shape)
        lengths = sum((length - 1) << (width * axis) for axis, length in enumerate(reversed(shape)))
        meta = TYPES.index(dtype) | (len(shape) - 1) << 2 | lengths << 4
        limits = (
            self.minbits - 1,
            min(self.maxbits, MOST_BITS) - 1,
            min(self.maxprec, _MOST_PRECISION) - 1,
            self.minexp + 16495,
        )
        mode = 0xFFF | limits[0] << 12 | limits[1] << 27 | limits[2] << 42 | limits[3] << 49
        header = int.from_bytes(_MAGIC, "little") | meta << 32 | mode << 84
        return (header | int.from_bytes(data, "little") << 148).to_bytes(len(data) + 19, "little")


_MAGIC = b"zfp\5"


class BoundZfp(BoundSerializer):
    """The library is told type, shape and mode, and reads on where a stream is cut off: so zeros are put where it could
    read. That is the rest of the block that it is in, and then, of zeros, a bit or two for each plane of the others."""

    __slots__ = ("_bits", "_codec", "_promotion", "_shape", "_spec", "_zeros", "encoded")

    def __init__(self, spec: ChunkSpec, promotion: Promotion, codec: Zfp | ZfpExpert) -> None:
        self._spec = spec
        self._codec = codec
        self._promotion = promotion
        self._shape = spec.shape or (1,)
        blocks = math.prod(-(-length // SIDE) for length in self._shape)
        values = SIDE ** len(self._shape)
        # Exponent and the like; and a bit for each plane beside its values.
        least, most = 1, 32 + values * (8 * promotion.dtype.itemsize + 1)
        if isinstance(codec, ZfpExpert):
            least, most = codec.minbits, max(codec.minbits, min(codec.maxbits, most))
        elif codec.rate is not None:
            least = most = block_bits(codec.rate, len(self._shape))
        self._bits = blocks * least
        self._zeros = most // 8 + blocks * _BYTES_OF_ZEROS + 64  # of a chunk that may be too large to be read at all
        self.encoded = ByteSpec(None, blocks * most // 8 + 64)

    def encode(self, array: Elements) -> Buffer:
        if isinstance(self._codec, ZfpExpert):
            raise CodecError("zfp", ZfpExpert.only_decodes or "")
        library = _library()
        try:
            numbers = np.ascontiguousarray(self._promotion.promoted(array)).reshape(self._shape)
            encoded: bytes = library.compress_numpy(numbers, write_header=False, **self._codec.arguments)
        except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError) as error:
            raise CodecError("zfp", f"{error}") from None
        return encoded

    def decode(self, data: Buffer) -> Elements:
        most = self.encoded.limit
        if len(data) > most or 8 * len(data) < self._bits:
            raise CodecError("zfp", f"expected a stream of {-(-self._bits // 8)} to {most} bytes, found {len(data)}")
        library = _library()
        padded = b"".join((data, bytes(self._zeros)))
        dtype = self._promotion.dtype
        try:
            if isinstance(self._codec, ZfpExpert):
                found: Elements = library.decompress_numpy(self._codec.with_header(padded, self._shape, dtype))
            else:
                kind = library.dtype_to_ztype(dtype)
                found = library._decompress(padded, kind, self._shape, **self._codec.arguments)
        except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError) as error:
            raise CodecError("zfp", f"{error}") from None
        return self._promotion.demoted(found).reshape(self._spec.shape)
