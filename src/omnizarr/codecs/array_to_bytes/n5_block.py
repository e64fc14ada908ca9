"""Blocks of N5: a header with the shape of the block, and its elements, big-endian and compressed (K14–K20).

Two codecs store them: `N5Block` in N5 itself, and `n5_default` in v3.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
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
from omnizarr.errors import CodecError

__all__ = ["N5_TYPES", "BoundBlock", "BoundN5Block", "N5Block", "check_block_spec"]

N5_TYPES = frozenset([*(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)), "float32", "float64"])
"""The NumPy names of the types that a block can hold."""
_MAX_DIMENSIONS, _MAX_LENGTH = 2**16 - 1, 2**32 - 1
_DEFAULT, _VARLENGTH = 0, 1
_MODES = {_VARLENGTH: "varlength", 2: "object"}


def check_block_spec(codec: str, spec: ChunkSpec, path: str, problems: Problems) -> bool:
    """Whether a header of N5 can describe chunks of `spec`; adds to `problems` if not."""
    if spec.dtype.name not in N5_TYPES:
        problems.add(
            path,
            f"codec `{codec}`: expected integers of 8 to 64 bits or floats of 32 or 64, found {spec.dtype}",
            rule="K5",
        )
        return False
    if len(spec.shape) > _MAX_DIMENSIONS or any(length > _MAX_LENGTH for length in spec.shape):
        problems.add(
            path,
            f"codec `{codec}`: expected lengths of chunks that fit into 32 bits, found shape {spec.shape}",
            rule="K5",
        )
        return False
    return True


@dataclass(frozen=True, slots=True)
class N5Block(Serializer):
    """The only serializer of N5. The header lists the dimensions in reverse, and the elements are in C order, so the
    first dimension of N5 is the last one of the array. Its compressor is inside, because the header is not compressed.
    """

    name: ClassVar[str] = "n5"
    private: ClassVar[bool] = True
    compressor: BytesCodec | None = None

    @property
    def content_codecs(self) -> tuple[Codec, ...]:
        """The codecs of what follows the header."""
        return (Bytes("big"),) if self.compressor is None else (Bytes("big"), self.compressor)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> N5Block | None:
        raise AssertionError("no document has this codec by name")

    def configuration(self) -> dict[str, Json]:
        return {} if self.compressor is None else {"compressor": self.compressor.to_json()}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundN5Block | None:
        if not check_block_spec(self.name, spec, path, problems):
            return None
        chain = Chain.bind(self.content_codecs, spec, path, problems)
        return None if chain is None else BoundN5Block(spec, self.content_codecs, chain)


class BoundBlock(BoundSerializer):
    """Base of the bound codecs. `encode` writes blocks of the chunk's shape. `decode` also accepts shorter blocks,
    which some writers store at the end of an array, and fills them up."""

    name: ClassVar[str]
    modes: ClassVar[tuple[int, ...]] = (_DEFAULT,)
    """The modes of blocks that `decode` accepts."""

    __slots__ = ("_chain", "_codecs", "_header", "_max_bytes", "_spec", "encoded", "peak")

    def __init__(self, spec: ChunkSpec, codecs: tuple[Codec, ...], chain: Chain, max_bytes: int) -> None:
        self._spec = spec
        self._codecs = codecs
        self._chain = chain
        self.peak = chain.peak
        self._max_bytes = max_bytes
        lengths = self._arrange(spec.shape)
        self._header = struct.pack(f">HH{len(lengths)}I", _DEFAULT, len(lengths), *lengths)
        # A header of the mode `varlength` has four bytes more.
        self.encoded = ByteSpec(None, len(self._header) + 4 + compressed(ByteSpec(None, max_bytes)).limit)

    def _arrange(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """The lengths of the array's dimensions in the order of the header, and the other way round."""
        return lengths

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        return b"".join((self._header, self._chain.encode(array)))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        spec, view = self._spec, memoryview(data)
        if view[: len(self._header)] == self._header:
            return self._chain.decode(view[len(self._header) :])
        shape, content = self._read_header(view)
        if shape == spec.shape:
            return self._chain.decode(content)
        chain = Chain.bind(self._codecs, ChunkSpec(shape, spec.dtype, spec.fill), "$", Problems())
        assert chain is not None, "only the lengths differ from those that were checked"
        block = chain.decode(content)
        chunk = np.full(spec.shape, spec.fill, spec.dtype)
        common = tuple(slice(min(one, other)) for one, other in zip(shape, spec.shape, strict=True))
        chunk[common] = block[common]
        return chunk

    def _read_header(self, block: memoryview) -> tuple[tuple[int, ...], memoryview]:
        """The shape of a block, in the order of the array's dimensions (A43), and its content."""
        spec, ndim = self._spec, len(self._spec.shape)
        if len(block) < len(self._header):
            raise CodecError(
                self.name, f"expected a header of {len(self._header)} bytes, found {len(block)} bytes in all"
            )
        mode, dimensions = struct.unpack_from(">HH", block)
        if mode not in self.modes:
            expected = " or ".join(map(str, self.modes))
            raise CodecError(
                self.name, f"expected a block of mode {expected}, found mode {mode} ({_MODES.get(mode, 'unknown')})"
            )
        if dimensions != ndim:
            raise CodecError(self.name, f"expected a block of {ndim} dimensions, found {dimensions}")
        shape = self._arrange(struct.unpack_from(f">{ndim}I", block, 4))
        size = prod(shape) * spec.dtype.itemsize
        self._check_shape(shape, size)
        return shape, self._varlength_content(block, prod(shape)) if mode else block[len(self._header) :]

    def _varlength_content(self, block: memoryview, size: int) -> memoryview:
        """What follows the header of a block of mode 1 and `size` elements."""
        start = len(self._header)
        if len(block) < start + 4:
            raise CodecError(self.name, f"expected a header of {start + 4} bytes, found {len(block)} bytes in all")
        (count,) = struct.unpack_from(">I", block, start)
        if count != size:
            raise CodecError(
                self.name,
                f"the block, of mode 1 (varlength), has {count} elements, but its shape has {size}; such blocks do not "
                "store the elements of an array one by one and cannot be read",
                expected=size,
                found=count,
            )
        return block[start + 4 :]

    def _check_shape(self, shape: tuple[int, ...], size: int) -> None:
        if not size or size > self._max_bytes:
            raise CodecError(
                self.name,
                f"expected a block of 1 to {self._max_bytes} bytes, found shape {shape} ({size} bytes) in its header",
            )


class BoundN5Block(BoundBlock):
    """A bound `N5Block`."""

    name = "n5"
    modes = (_DEFAULT, _VARLENGTH)

    __slots__ = ()

    def __init__(self, spec: ChunkSpec, codecs: tuple[Codec, ...], chain: Chain) -> None:
        super().__init__(spec, codecs, chain, spec.nbytes)

    def _arrange(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        return lengths[::-1]

    def _check_shape(self, shape: tuple[int, ...], size: int) -> None:
        limits = self._spec.shape
        if not size or any(length > limit for length, limit in zip(shape, limits, strict=True)):
            raise CodecError(
                self.name,
                f"expected a block of at most {limits[::-1]} elements, found {shape[::-1]} in its header",
            )
