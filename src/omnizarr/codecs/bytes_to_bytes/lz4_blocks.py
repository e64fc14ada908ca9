"""LZ4 as N5 stores it: the block stream of the Java library lz4-java; or, as z5 writes it, one bare LZ4 block.

The stream is a list of blocks. Each has a header of 21 bytes: the text `LZ4Block`, a byte with the method and the block
size, the encoded and the decoded size, and a checksum of the decoded bytes. An empty block ends the stream.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

from omnizarr._json import Json, Problems
from omnizarr.codecs.bytes_to_bytes.xxh32 import xxh32
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size, compressed
from omnizarr.codecs.numcodecs_.lz4 import BoundLz4
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["MIN_BLOCK_SIZE", "BoundLz4Blocks", "Lz4Blocks"]

MIN_BLOCK_SIZE, _MAX_BLOCK_SIZE = 64, 2**25
_HEADER = struct.Struct("<8sBIII")
_MAGIC = b"LZ4Block"
_RAW, _LZ4 = 0x10, 0x20
_LEVEL_BASE = 10
_SEED = 0x9747B28C
_MASK = 0x0FFFFFFF  # lz4-java drops the four highest bits


@dataclass(frozen=True, slots=True)
class Lz4Blocks(BytesCodec):
    """LZ4 in blocks of `block_size` decoded bytes. For a size below 64, which lz4-java does not accept, a single bare
    LZ4 block: z5 writes that, with a compression level in place of the size."""

    name: ClassVar[str] = "n5.lz4"
    private: ClassVar[bool] = True
    block_size: int = 2**16

    def __post_init__(self) -> None:
        if not 0 <= self.block_size <= _MAX_BLOCK_SIZE:
            raise ArgumentError(
                f"codec `{self.name}`: `block_size`: expected at most {_MAX_BLOCK_SIZE}, found {self.block_size}",
                argument="block_size",
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Lz4Blocks | None:
        raise AssertionError("no document has this codec by name")

    def configuration(self) -> dict[str, Json]:
        return {"blockSize": self.block_size}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundLz4Blocks:
        return BoundLz4Blocks(spec, self.block_size)


class BoundLz4Blocks(BoundBytesCodec):
    """A bound `Lz4Blocks`. `decode` accepts both forms, whatever the block size."""

    pace = 1000

    __slots__ = ("_block_size", "_spec", "encoded")

    def __init__(self, spec: ByteSpec, block_size: int) -> None:
        self._block_size = block_size
        self._spec = spec
        self.encoded = compressed(spec)
        if block_size >= MIN_BLOCK_SIZE:  # each block has a header
            blocks = -(-spec.limit // block_size) + 1
            self.encoded = ByteSpec(None, self.encoded.limit + blocks * _HEADER.size)

    def encode(self, data: Buffer) -> Buffer:
        view = memoryview(data).cast("B")
        size = self._block_size
        if size < MIN_BLOCK_SIZE:
            return _compress(view)
        level = max(0, (size - 1).bit_length() - _LEVEL_BASE)
        pieces: list[Buffer] = []
        for start in range(0, len(view), size):
            decoded = view[start : start + size]
            encoded: Buffer = _compress(decoded)
            method = _LZ4
            if len(encoded) >= len(decoded):
                method, encoded = _RAW, decoded
            checksum = xxh32(decoded, _SEED) & _MASK
            pieces += _HEADER.pack(_MAGIC, method | level, len(encoded), len(decoded), checksum), encoded
        pieces.append(_HEADER.pack(_MAGIC, _RAW | level, 0, 0, 0))
        return b"".join(pieces)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        view = memoryview(data).cast("B")
        if view[: len(_MAGIC)] != _MAGIC:
            return self._decode_bare(view)
        pieces: list[Buffer] = []
        total = at = 0
        while True:
            method, decoded_size, checksum, encoded = self._next_block(view, at)
            at += _HEADER.size + len(encoded)
            if not decoded_size:
                break
            total += decoded_size
            self._check_total(total)
            decoded = bytes(encoded) if method == _RAW else _decompress(encoded, decoded_size)
            if xxh32(decoded, _SEED) & _MASK != checksum:
                raise CodecError("lz4", "the checksum of a block is wrong")
            pieces.append(decoded)
        if at < len(view):
            raise CodecError("lz4", f"expected the end of the data at byte {at}, found {len(view) - at} bytes more")
        check_size("lz4", self._spec, total)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _next_block(self, view: memoryview, at: int) -> tuple[int, int, int, memoryview]:
        """The method, the decoded size, the checksum and the encoded bytes of the block at `at`."""
        if len(view) < at + _HEADER.size:
            raise CodecError("lz4", "the data end in the middle of a stream")
        magic, token, encoded_size, decoded_size, checksum = _HEADER.unpack_from(view, at)
        method, level = token & 0xF0, token & 0x0F
        encoded = view[at + _HEADER.size : at + _HEADER.size + encoded_size]
        damaged = (
            magic != _MAGIC
            or method not in (_RAW, _LZ4)
            or bool(encoded_size) != bool(decoded_size)
            or decoded_size > 1 << (level + _LEVEL_BASE)
            or (method == _RAW and encoded_size != decoded_size)
            or (not decoded_size and checksum)
            or len(encoded) < encoded_size
        )
        if damaged:
            raise CodecError("lz4", f"the header of the block at byte {at} is damaged")
        return method, decoded_size, checksum, encoded

    def _check_total(self, total: int) -> None:
        limit = self._spec.limit if self._spec.size is None else self._spec.size
        if total > limit:
            raise CodecError("lz4", f"expected {limit} bytes, found more", expected=limit, found=total)

    def _decode_bare(self, view: memoryview) -> Buffer:
        if self._spec.size is None:
            raise CodecError("lz4", f"expected data that begin with `{_MAGIC.decode()}`")
        return _decompress(view, self._spec.size)


def _codec(size: int) -> BoundLz4:
    return BoundLz4(ByteSpec(size, size), 1)


def _compress(decoded: memoryview) -> Buffer:
    """One LZ4 block, without the size that numcodecs puts in front."""
    return memoryview(_codec(len(decoded)).encode(decoded))[4:]


def _decompress(encoded: memoryview, size: int) -> Buffer:
    return _codec(size).decode(b"".join((struct.pack("<I", size), encoded)))
