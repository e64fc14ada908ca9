"""The `n5_default` codec: chunks as N5 stores them, each with a header that says its shape (R138)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_array.transpose import Transpose
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.chain import Chain
from omnizarr.codecs.contract import (
    BoundSerializer,
    Buffer,
    BytesCodec,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    compressed,
)
from omnizarr.codecs.parsing import codec_of, parse_codecs
from omnizarr.config import config
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundN5Default", "N5Default"]

_TYPES = frozenset([*(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)), "float32", "float64"])
_MODES = {1: "varlength", 2: "object"}
_MOST_DIMENSIONS, _LONGEST = 2**16 - 1, 2**32 - 1
_MOST_BYTES = 2**27
"""Of a block that is longer than its chunk, as where the last chunks of a grid are short and writers filled blocks up.
How long the other chunks are is not known here, and no header is believed any number."""
_EXPECTED = "`transpose`, `bytes` and at most one bytes → bytes codec"


@dataclass(frozen=True, slots=True)
class N5Default(Serializer):
    """`{"name": "n5_default", "configuration": {"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
    {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "zstd", …}]}}`: all dimensions reversed, big-endian,
    and perhaps compressed.

    N5 itself finds such chunks where chunk keys are those of version 2, separated by `/`; new arrays have these.
    """

    name: ClassVar[str] = "n5_default"
    chunk_keys: ClassVar[Json] = {"name": "v2", "configuration": {"separator": "/"}}
    codecs: tuple[Codec, ...]

    def __post_init__(self) -> None:
        if isinstance(self.codecs, (Codec, str, dict)) or not isinstance(self.codecs, Iterable):
            raise self._wrong(f"expected {_EXPECTED}, found {self.codecs!r}")
        found = tuple(codec_of(codec, "codecs") for codec in self.codecs)
        object.__setattr__(self, "codecs", found)
        problem = _wrong_codec(found)
        if problem is not None:
            raise self._wrong(problem[1])
        if any(isinstance(codec, BytesCodec) and codec.resolved(1) != codec.resolved(2) for codec in found):
            raise self._wrong(f"`{found[2].name}` leaves open what depends on the size of elements: it must be given")

    def _wrong(self, message: str) -> ArgumentError:
        return ArgumentError(f"codec `{self.name}`: `codecs`: {message}", argument="codecs")

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> N5Default | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        check_members(configuration, ("codecs",), where, problems)
        found = parse_codecs(configuration.get("codecs"), f"{where}.codecs", problems)
        if len(problems.found) > before:
            return None
        problem = _wrong_codec(found)
        if problem is not None:
            problems.add(f"{where}.codecs{problem[0]}", problem[1])
            return None
        return cls(found)

    def configuration(self) -> dict[str, Json]:
        return {"codecs": [codec.to_json() for codec in self.codecs]}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundN5Default | None:
        where = f"{path}.configuration.codecs"
        ndim = len(spec.shape)
        transpose, serializer = self.codecs[:2]
        assert isinstance(transpose, Transpose)
        assert isinstance(serializer, Bytes)
        if spec.dtype.name not in _TYPES:
            problems.add(path, f"N5 has integers of 8 to 64 bits and floats of 32 and 64, and no {spec.dtype}")
            return None
        if transpose.permutation(ndim) != tuple(reversed(range(ndim))):
            problems.add(
                f"{where}[0].configuration.order",
                f"expected all {ndim} dimensions reversed, found {transpose.configuration()['order']}",
            )
            return None
        if ndim > _MOST_DIMENSIONS or any(length > _LONGEST for length in spec.shape):
            problems.add(path, f"N5 has no block of shape {spec.shape}: its lengths have 32 bits")
            return None
        chain = Chain.bind(self.codecs, spec, where, problems)
        return None if chain is None else BoundN5Default(spec, self.codecs, chain)


def _wrong_codec(codecs: tuple[Codec, ...]) -> tuple[str, str] | None:
    """What is wrong with the codecs, whatever they will meet: where, and why."""
    if not 2 <= len(codecs) <= 3:
        return "", f"expected {_EXPECTED}, found {len(codecs)} codecs"
    if not isinstance(codecs[0], Transpose):
        return "[0]", f"expected `transpose`, found `{codecs[0].name}`"
    if not isinstance(codecs[1], Bytes):
        return "[1]", f"expected `bytes`, found `{codecs[1].name}`"
    if isinstance(codecs[0].order, str):
        return "[0].configuration.order", "expected a permutation that reverses all dimensions"
    if codecs[1].endian == "little":
        return "[1].configuration.endian", "N5 is big-endian"
    if len(codecs) == 3 and (not isinstance(codecs[2], BytesCodec) or codecs[2].private):
        return "[2]", "is no bytes → bytes codec that is known here"
    return None


class BoundN5Default(BoundSerializer):
    """Blocks have the shape of a chunk when they are written; when they are read they may be shorter, as some writers
    leave them at the end of the array, or longer, and are filled up or cut off."""

    __slots__ = ("_chain", "_codecs", "_header", "_most", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, codecs: tuple[Codec, ...], chain: Chain) -> None:
        self._spec = spec
        self._codecs = codecs
        self._chain = chain
        self._header = struct.pack(f">HH{len(spec.shape)}I", 0, len(spec.shape), *spec.shape)
        self._most = max(spec.nbytes, min(_MOST_BYTES, config.current.max_chunk_bytes))
        self.encoded = ByteSpec(None, len(self._header) + compressed(ByteSpec(None, self._most)).limit)

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return b"".join((self._header, self._chain.encode(array)))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        spec, view = self._spec, memoryview(data)
        shape = self._shape_of(view)
        content = view[len(self._header) :]
        if shape == spec.shape:
            return self._chain.decode(content)
        chain = Chain.bind(self._codecs, ChunkSpec(shape, spec.dtype, spec.fill), "$", Problems())
        assert chain is not None, "the number of dimensions is the same, and nothing else can be wrong"
        block = chain.decode(content)
        found = np.full(spec.shape, spec.fill, spec.dtype)
        both = tuple(slice(min(one, other)) for one, other in zip(shape, spec.shape, strict=True))
        found[both] = block[both]
        return found

    def _shape_of(self, block: memoryview) -> tuple[int, ...]:
        """The shape that the header says, which is in the order of the array's own (A43)."""
        spec, ndim = self._spec, len(self._spec.shape)
        if len(block) < len(self._header):
            raise CodecError(
                "n5_default", f"expected a header of {len(self._header)} bytes, found {len(block)} bytes in all"
            )
        mode, dimensions = struct.unpack_from(">HH", block)
        if mode != 0:
            raise CodecError(
                "n5_default", f"the block is of mode {mode} ({_MODES.get(mode, 'unknown')}), not of mode 0"
            )
        if dimensions != ndim:
            raise CodecError("n5_default", f"expected a block of {ndim} dimensions, found one of {dimensions}")
        shape: tuple[int, ...] = struct.unpack_from(f">{ndim}I", block, 4)
        size = prod(shape) * spec.dtype.itemsize
        if not size or size > self._most:
            raise CodecError(
                "n5_default",
                f"the header says that the block has shape {shape}: {size} bytes, and the most is {self._most}",
            )
        return shape
