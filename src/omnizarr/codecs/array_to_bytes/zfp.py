"""The `zfp` codec: lossy or lossless compression of numbers by zfp, in streams without header (R139)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, describe
from omnizarr.codecs.array_to_bytes.zfp_types import (
    MAX_BLOCK_BITS,
    SIDE,
    TYPES,
    Promotion,
    block_bits,
    find_promotion,
    min_block_bits,
)
from omnizarr.codecs.config_members import integer, members, rule
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
_MAX_PRECISION = 64  # zfp's limit for the bit planes of a number
_ZERO_BLOCK_BYTES = 24  # limit for a block whose bits are all zero: two bits for each of 64 planes, and a few more
_MAX_RATE = 128  # more than any block can need


def _between(low: float, high: float, expected: str) -> Any:
    return rule(
        expected,
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high,
        optional=True,
    )


@cache
def _library() -> Any:
    return codec_library(Zfp)


@dataclass(frozen=True, slots=True)
class Zfp(Serializer):
    """`{"name": "zfp", "configuration": {"mode": "fixed_accuracy", "tolerance": 0.05}}`. The other modes are
    `fixed_rate` (bits per number), `fixed_precision` (bit planes) and `reversible` (lossless).

    The lossy modes need not preserve infinities and NaN, because zfp supports finite numbers only. zfp does not detect
    a truncated stream unless it is much too short; add a checksum codec for that.
    """

    name: ClassVar[str] = "zfp"
    spec_rule: ClassVar[str | None] = "R139"
    needs: ClassVar[str | None] = "zfpy"
    mode: Literal["reversible", "fixed_accuracy", "fixed_rate", "fixed_precision"] = "reversible"
    tolerance: int | float | None = field(
        default=None, metadata=_between(0, np.finfo(np.float64).max, "a finite number of at least 0")
    )
    rate: int | float | None = field(default=None, metadata=_between(0, _MAX_RATE, f"a number from 0 to {_MAX_RATE}"))
    precision: int | None = field(default=None, metadata=integer(0, 2**32 - 1, optional=True))

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise ArgumentError(f"codec `zfp`: `mode`: expected {_modes()}, found {self.mode!r}", argument="mode")
        options = {name: getattr(self, name) for name in members(type(self)) if getattr(self, name) is not None}
        problems = Problems()
        _check_options(type(self), self.mode, _MODES[self.mode], options, "", problems)
        if problems:
            first = problems.found[0]
            raise ArgumentError(
                f"codec `zfp`: `{first.path.strip('.')}`: {first.message}", argument=first.path.strip(".")
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Zfp | ZfpExpert | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        mode = configuration.get("mode")
        options = {name: value for name, value in configuration.items() if name != "mode"}
        if options.get("write_header") is False:  # zarrs wrote this member before the codec was registered
            del options["write_header"]
        if mode == "expert":
            _check_options(ZfpExpert, mode, _EXPERT, options, where, problems)
            return None if len(problems.found) > before else ZfpExpert(**options)
        if not isinstance(mode, str) or mode not in _MODES:
            problems.expected(f"{where}.mode", f"{_modes()} or `expert`", mode, rule="R139")
            return None
        _check_options(cls, mode, _MODES[mode], options, where, problems)
        return None if len(problems.found) > before else cls(mode, **options)  # type: ignore[arg-type]

    def configuration(self) -> dict[str, Json]:
        return {"mode": self.mode, **{name: getattr(self, name) for name in _MODES[self.mode]}}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundZfp | None:
        promotion = _promotion(spec, path, problems)
        if promotion is None:
            return None
        if self.rate is not None:
            bits = block_bits(self.rate, len(spec.shape) or 1)
            where = f"{path}.configuration.rate"
            if not _check_block_bits(bits, min_block_bits(promotion.dtype), where, promotion, problems):
                return None
        return BoundZfp(spec, promotion, self)

    @property
    def arguments(self) -> dict[str, int | float]:
        """The keyword arguments for the library; empty for the lossless mode."""
        arguments = {name: getattr(self, name) for name in _MODES[self.mode]}
        if "precision" in arguments:
            arguments["precision"] = min(arguments["precision"], _MAX_PRECISION)
        return arguments


def _modes() -> str:
    return ", ".join(f"`{mode}`" for mode in _MODES)


def _check_options(
    cls: type[Zfp] | type[ZfpExpert],
    mode: str,
    required: tuple[str, ...],
    options: dict[str, Json],
    path: str,
    problems: Problems,
) -> None:
    """Check that `options` has exactly the members that the mode requires, with valid values."""
    check_members(options, required, path, problems, rule="R139")
    rules = members(cls)
    for name in required:
        expected = rules[name].metadata["expected"]
        if name not in options:
            problems.add(f"{path}.{name}", f"is missing: mode `{mode}` needs {expected}", rule="R139")
        elif not rules[name].metadata["accepts"](options[name]):
            problems.add(f"{path}.{name}", f"expected {expected}, found {describe(options[name])}", rule="R139")


def _promotion(spec: ChunkSpec, path: str, problems: Problems) -> Promotion | None:
    if len(spec.shape) > 4:
        problems.add(path, f"codec `zfp`: expected at most 4 dimensions, found {len(spec.shape)}", rule="R139")
        return None
    promotion = find_promotion(spec.dtype)
    if promotion is None:
        problems.add(
            path, f"codec `zfp`: expected integers, times or floats of 16 to 64 bits, found {spec.dtype}", rule="R139"
        )
    return promotion


def _check_block_bits(bits: int, least: int, path: str, promotion: Promotion, problems: Problems) -> bool:
    """Whether a block has at least the bits that zfp needs; adds to `problems` if not."""
    if bits < least:
        problems.add(path, f"expected at least {least} bits per block of {promotion.dtype}, found {bits}", rule="R139")
    return bits >= least


@dataclass(frozen=True, slots=True)
class ZfpExpert(Serializer):
    """`{"name": "zfp", "configuration": {"mode": "expert", "minbits": 1, "maxbits": 13, "maxprec": 19, "minexp": -2}}`:
    the `expert` mode. The library zfpy has no such mode, but it decodes such streams if they begin with a header."""

    name: ClassVar[str] = "zfp"
    needs: ClassVar[str | None] = "zfpy"
    only_decodes: ClassVar[str | None] = "the library zfpy cannot compress in the mode `expert`"
    minbits: int = field(metadata=integer(0, MAX_BLOCK_BITS))
    maxbits: int = field(metadata=integer(0, 2**32 - 1))
    maxprec: int = field(metadata=integer(0, 2**32 - 1))
    minexp: int = field(metadata=integer(-16495, 16272))

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> ZfpExpert | None:
        raise AssertionError("only Zfp.parse creates ZfpExpert")

    def configuration(self) -> dict[str, Json]:
        return {"mode": "expert", **{name: getattr(self, name) for name in _EXPERT}}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundZfp | None:
        if not 1 <= self.minbits <= self.maxbits or not self.maxprec:
            problems.add(
                f"{path}.configuration",
                f"expected 1 ≤ `minbits` ≤ `maxbits` and `maxprec` ≥ 1, found {self.minbits}, {self.maxbits} and "
                f"{self.maxprec}",
                rule="R139",
            )
            return None
        promotion = _promotion(spec, path, problems)
        if promotion is None:
            return None
        least = min_block_bits(promotion.dtype, self.minexp)
        if not _check_block_bits(self.maxbits, least, f"{path}.configuration.maxbits", promotion, problems):
            return None
        return BoundZfp(spec, promotion, self)

    def with_header(self, data: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
        """The stream after a zfp header with its type, shape and mode. The header has 148 bits, which are not whole
        bytes, so the bits of the stream shift."""
        width = 48 // len(shape)
        lengths = sum((length - 1) << (width * axis) for axis, length in enumerate(reversed(shape)))
        meta = TYPES.index(dtype) | (len(shape) - 1) << 2 | lengths << 4
        limits = (
            self.minbits - 1,
            min(self.maxbits, MAX_BLOCK_BITS) - 1,
            min(self.maxprec, _MAX_PRECISION) - 1,
            self.minexp + 16495,
        )
        mode = 0xFFF | limits[0] << 12 | limits[1] << 27 | limits[2] << 42 | limits[3] << 49
        header = int.from_bytes(_MAGIC, "little") | meta << 32 | mode << 84
        return (header | int.from_bytes(data, "little") << 148).to_bytes(len(data) + 19, "little")


_MAGIC = b"zfp\5"


class BoundZfp(BoundSerializer):
    """A bound `Zfp` or `ZfpExpert`.

    zfp reads beyond the end of a truncated stream, so `decode` appends zeros where it could read: the rest of the
    current block, and then one or two bits for each plane of the remaining blocks, because these are zero.
    """

    __slots__ = ("_codec", "_min_bits", "_promotion", "_shape", "_spec", "_zeros", "encoded")

    def __init__(self, spec: ChunkSpec, promotion: Promotion, codec: Zfp | ZfpExpert) -> None:
        self._spec = spec
        self._codec = codec
        self._promotion = promotion
        self._shape = spec.shape or (1,)
        blocks = math.prod(-(-length // SIDE) for length in self._shape)
        values = SIDE ** len(self._shape)
        # At most 32 bits for the exponent and flags, then the bits of the values and one more bit for each.
        least, most = 1, 32 + values * (8 * promotion.dtype.itemsize + 1)
        if isinstance(codec, ZfpExpert):
            least, most = codec.minbits, max(codec.minbits, min(codec.maxbits, most))
        elif codec.rate is not None:
            least = most = block_bits(codec.rate, len(self._shape))
        self._min_bits = blocks * least
        self._zeros = most // 8 + blocks * _ZERO_BLOCK_BYTES + 64  # a count: the chunk may be too large to decode
        self.encoded = ByteSpec(None, blocks * most // 8 + 64)

    def encode(self, array: Elements) -> Buffer:
        if isinstance(self._codec, ZfpExpert):
            raise CodecError("zfp", ZfpExpert.only_decodes or "")
        library = _library()
        try:
            numbers = np.ascontiguousarray(self._promotion.promote(array)).reshape(self._shape)
            encoded: bytes = library.compress_numpy(numbers, write_header=False, **self._codec.arguments)
        except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError) as error:
            raise CodecError("zfp", f"{error}") from None
        return encoded

    def decode(self, data: Buffer) -> Elements:
        limit = self.encoded.limit
        if len(data) > limit or 8 * len(data) < self._min_bits:
            least = -(-self._min_bits // 8)
            raise CodecError("zfp", f"expected a stream of {least} to {limit} bytes, found {len(data)}")
        library = _library()
        padded = b"".join((data, bytes(self._zeros)))
        dtype = self._promotion.dtype
        try:
            if isinstance(self._codec, ZfpExpert):
                numbers: Elements = library.decompress_numpy(self._codec.with_header(padded, self._shape, dtype))
            else:
                kind = library.dtype_to_ztype(dtype)
                numbers = library._decompress(padded, kind, self._shape, **self._codec.arguments)
        except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError) as error:
            raise CodecError("zfp", f"{error}") from None
        return self._promotion.demote(numbers).reshape(self._spec.shape)
