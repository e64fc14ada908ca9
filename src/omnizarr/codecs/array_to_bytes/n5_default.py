"""The `n5_default` codec: chunks in the block format of N5, with a header that contains the shape (R138)."""

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
_MAX_DIMENSIONS, _MAX_LENGTH = 2**16 - 1, 2**32 - 1
_MAX_BYTES = 2**27
"""Limit for a block that is larger than its chunk. That occurs where the last chunks of a grid are short and the writer
padded the blocks. The codec does not know the size of the other chunks, so a fixed limit guards against bad headers."""
_EXPECTED = "`transpose`, `bytes` and at most one bytes → bytes codec"


@dataclass(frozen=True, slots=True)
class N5Default(Serializer):
    """`{"name": "n5_default", "configuration": {"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
    {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "zstd", …}]}}`: a transpose that reverses all
    dimensions, big-endian bytes, and at most one bytes → bytes codec.

    N5 libraries find the chunks only under v2 chunk keys with the separator `/`, so new arrays use these.
    """

    name: ClassVar[str] = "n5_default"
    chunk_keys: ClassVar[Json] = {"name": "v2", "configuration": {"separator": "/"}}
    codecs: tuple[Codec, ...]

    def __post_init__(self) -> None:
        if isinstance(self.codecs, (Codec, str, dict)) or not isinstance(self.codecs, Iterable):
            raise self._wrong(f"expected {_EXPECTED}, found {self.codecs!r}")
        codecs = tuple(codec_of(codec, "codecs") for codec in self.codecs)
        object.__setattr__(self, "codecs", codecs)
        problem = _find_problem(codecs)
        if problem is not None:
            raise self._wrong(problem[1])
        if any(isinstance(codec, BytesCodec) and codec.resolved(1) != codec.resolved(2) for codec in codecs):
            raise self._wrong(f"`{codecs[2].name}` needs explicit values for options that depend on the element size")

    def _wrong(self, message: str) -> ArgumentError:
        return ArgumentError(f"codec `{self.name}`: `codecs`: {message}", argument="codecs")

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> N5Default | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        check_members(configuration, ("codecs",), where, problems)
        codecs = parse_codecs(configuration.get("codecs"), f"{where}.codecs", problems)
        if len(problems.found) > before:
            return None
        problem = _find_problem(codecs)
        if problem is not None:
            problems.add(f"{where}.codecs{problem[0]}", problem[1])
            return None
        return cls(codecs)

    def configuration(self) -> dict[str, Json]:
        return {"codecs": [codec.to_json() for codec in self.codecs]}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundN5Default | None:
        where = f"{path}.configuration.codecs"
        ndim = len(spec.shape)
        transpose, serializer = self.codecs[:2]
        assert isinstance(transpose, Transpose)
        assert isinstance(serializer, Bytes)
        if spec.dtype.name not in _TYPES:
            problems.add(
                path,
                f"codec `{self.name}`: expected integers of 8 to 64 bits or floats of 32 or 64, found {spec.dtype}",
            )
            return None
        if transpose.permutation(ndim) != tuple(reversed(range(ndim))):
            problems.add(
                f"{where}[0].configuration.order",
                f"expected all {ndim} dimensions reversed, found {transpose.configuration()['order']}",
            )
            return None
        if ndim > _MAX_DIMENSIONS or any(length > _MAX_LENGTH for length in spec.shape):
            problems.add(
                path, f"codec `{self.name}`: expected lengths of chunks that fit into 32 bits, found shape {spec.shape}"
            )
            return None
        chain = Chain.bind(self.codecs, spec, where, problems)
        return None if chain is None else BoundN5Default(spec, self.codecs, chain)


def _find_problem(codecs: tuple[Codec, ...]) -> tuple[str, str] | None:
    """The first problem of a codec list that does not depend on the chunks: its relative JSON path and its message."""
    if not 2 <= len(codecs) <= 3:
        return "", f"expected {_EXPECTED}, found {len(codecs)} codecs"
    if not isinstance(codecs[0], Transpose):
        return "[0]", f"expected `transpose`, found `{codecs[0].name}`"
    if not isinstance(codecs[1], Bytes):
        return "[1]", f"expected `bytes`, found `{codecs[1].name}`"
    if isinstance(codecs[0].order, str):
        return "[0].configuration.order", "expected a permutation that reverses all dimensions"
    if codecs[1].endian == "little":
        return "[1].configuration.endian", "expected `big`, found `little`"
    if len(codecs) == 3 and (not isinstance(codecs[2], BytesCodec) or codecs[2].private):
        return "[2]", f"expected a bytes → bytes codec, found `{codecs[2].name}`"
    return None


class BoundN5Default(BoundSerializer):
    """A bound `N5Default`. `encode` writes blocks of the chunk's shape. `decode` also accepts shorter blocks, which
    some writers store at the end of an array, and longer ones: it pads or crops them."""

    __slots__ = ("_chain", "_codecs", "_header", "_max_bytes", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, codecs: tuple[Codec, ...], chain: Chain) -> None:
        self._spec = spec
        self._codecs = codecs
        self._chain = chain
        self._header = struct.pack(f">HH{len(spec.shape)}I", 0, len(spec.shape), *spec.shape)
        self._max_bytes = max(spec.nbytes, min(_MAX_BYTES, config.current.max_chunk_bytes))
        self.encoded = ByteSpec(None, len(self._header) + compressed(ByteSpec(None, self._max_bytes)).limit)

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return b"".join((self._header, self._chain.encode(array)))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        spec, view = self._spec, memoryview(data)
        shape = self._read_header(view)
        content = view[len(self._header) :]
        if shape == spec.shape:
            return self._chain.decode(content)
        chain = Chain.bind(self._codecs, ChunkSpec(shape, spec.dtype, spec.fill), "$", Problems())
        assert chain is not None, "only the lengths differ from those that were checked"
        block = chain.decode(content)
        chunk = np.full(spec.shape, spec.fill, spec.dtype)
        common = tuple(slice(min(one, other)) for one, other in zip(shape, spec.shape, strict=True))
        chunk[common] = block[common]
        return chunk

    def _read_header(self, block: memoryview) -> tuple[int, ...]:
        """The shape in the header, in the order of the array's dimensions (A43)."""
        spec, ndim = self._spec, len(self._spec.shape)
        if len(block) < len(self._header):
            raise CodecError(
                "n5_default", f"expected a header of {len(self._header)} bytes, found {len(block)} bytes in all"
            )
        mode, dimensions = struct.unpack_from(">HH", block)
        if mode != 0:
            raise CodecError(
                "n5_default", f"expected a block of mode 0, found mode {mode} ({_MODES.get(mode, 'unknown')})"
            )
        if dimensions != ndim:
            raise CodecError("n5_default", f"expected a block of {ndim} dimensions, found {dimensions}")
        shape: tuple[int, ...] = struct.unpack_from(f">{ndim}I", block, 4)
        size = prod(shape) * spec.dtype.itemsize
        if not size or size > self._max_bytes:
            raise CodecError(
                "n5_default",
                f"expected a block of 1 to {self._max_bytes} bytes, found shape {shape} ({size} bytes) in its header",
            )
        return shape
