"""`zfpy`: zfp streams with a header."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_bytes.zfp_types import MAX_BLOCK_BITS, SIDE, TYPES, block_bits, min_block_bits
from omnizarr.codecs.config_members import check, integer, number, read_config
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, codec_library, compressed
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import CodecError

__all__ = ["BoundZfpy", "Zfpy"]

_RATE = 2
_MODES = {_RATE: "rate", 3: "precision", 4: "tolerance"}
_MAGIC = b"zfp"


@cache
def _library() -> Any:
    return codec_library(Zfpy)


@dataclass(frozen=True, slots=True)
class Zfpy(Numcodec, Serializer):
    """`{"id": "zfpy", "mode": 4, "tolerance": 0.01, "rate": -1, "precision": -1}`: `mode` selects one of the others, 2
    the rate, 3 the precision, 4 the tolerance. A value of −1 means lossless."""

    name: ClassVar[str] = "numcodecs.zfpy"
    id: ClassVar[str] = "zfpy"
    needs: ClassVar[str | None] = "zfpy"
    mode: int = field(default=4, metadata=integer(2, 4, optional=True))
    tolerance: int | float = field(default=-1, metadata=number(optional=True))
    rate: int | float = field(default=-1, metadata=number(optional=True))
    precision: int = field(default=-1, metadata=integer(-1, 128, optional=True))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Self | None:
        return super(Zfpy, cls).parse(_without_arguments(configuration), path, problems)

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        return cls._create(read_config(cls, _without_arguments(config), path, problems), path, problems)

    @property
    def arguments(self) -> dict[str, Json]:
        """The keyword arguments for the library."""
        name = _MODES[self.mode]
        return {name: getattr(self, name)}

    def to_config(self) -> dict[str, Json]:
        return {
            "mode": self.mode,
            "compression_kwargs": self.arguments,
            "tolerance": self.tolerance,
            "rate": self.rate,
            "precision": self.precision,
        }

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundZfpy | None:
        if spec.dtype not in TYPES or len(spec.shape) > 4:
            problems.add(
                path,
                f"codec `{self.name}`: expected int32, int64, float32 or float64 in at most 4 dimensions, "
                f"found {spec.dtype} in {len(spec.shape)}",
            )
            return None
        if self.mode == _RATE and self.rate >= 0:
            bits, least = block_bits(self.rate, len(spec.shape) or 1), min_block_bits(spec.dtype)
            if not least <= bits <= MAX_BLOCK_BITS:
                problems.add(
                    f"{path}.configuration.rate",
                    f"expected {least} to {MAX_BLOCK_BITS} bits per block of {spec.dtype}, found {bits}",
                )
                return None
        return BoundZfpy(spec, self)


def _without_arguments(members: dict[str, Json]) -> dict[str, Json]:
    """The members without `compression_kwargs`, which numcodecs writes but ignores."""
    return {name: value for name, value in members.items() if name != "compression_kwargs"}


class BoundZfpy(BoundSerializer):
    """A bound `Zfpy`. `decode` depends only on the stream, not on the configuration.

    The library trusts the header and reads beyond the end of a truncated stream. So `decode` checks the header, and
    appends zeros where the library could read.
    """

    __slots__ = ("_codec", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, codec: Zfpy) -> None:
        self._spec = spec
        self._codec = codec
        blocks = math.prod(-(-length // SIDE) for length in spec.shape) * SIDE ** len(spec.shape)
        room = max(spec.nbytes, blocks * spec.dtype.itemsize)  # blocks are whole, even if the chunk is thinner
        self.encoded = compressed(ByteSpec(None, room))

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        library = _library()
        try:
            encoded: bytes = library.compress_numpy(
                np.ascontiguousarray(array).reshape(array.shape or (1,)), write_header=True, **self._codec.arguments
            )
        except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError) as error:
            raise CodecError("zfpy", f"{type(error).__name__}: {error}") from None
        return encoded

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        library = _library()
        padded = self._pad(bytes(data))
        try:
            array: npt.NDArray[Any] = library.decompress_numpy(padded)
            return array.reshape(self._spec.shape)
        except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError) as error:
            raise CodecError("zfpy", f"{type(error).__name__}: {error}") from None

    def _pad(self, data: bytes) -> bytes:
        """Check the header of the stream, and append as many zeros as the library could read."""
        if len(data) < 16 or not data.startswith(_MAGIC):
            raise CodecError("zfpy", "expected a zfp stream with a header, found other data")
        bits = int.from_bytes(data[4:24], "little")
        dtype, ndim = TYPES[bits & 3], (bits >> 2 & 3) + 1
        width = 48 // ndim
        shape = [(bits >> (4 + width * axis) & ((1 << width) - 1)) + 1 for axis in range(ndim)]
        spec = self._spec
        if dtype != spec.dtype or math.prod(shape) != math.prod(spec.shape):
            raise CodecError("zfpy", f"expected {spec.dtype} of shape {spec.shape}, found {dtype} of {shape[::-1]}")
        mode = bits >> 52 & 0xFFF
        if mode < 0x800:
            least = mode + 1  # fixed rate: all blocks have this many bits
        elif mode == 0xFFF:
            least = (bits >> 64 & 0x7FFF) + 1
        else:
            least = 1
        blocks = math.prod(-(-length // SIDE) for length in shape)
        values = SIDE**ndim
        most = 32 + values * (8 * dtype.itemsize + 1)  # exponent and flags; the values, and one more bit for each
        if len(data) < blocks * least // 8:  # no block is shorter; this also limits the memory for a short stream
            raise CodecError(
                "zfpy", f"truncated stream: expected {blocks} blocks of {least} bits, found {len(data)} bytes"
            )
        return data.ljust(24 + blocks * max(most, least) // 8 + 64, b"\0")
