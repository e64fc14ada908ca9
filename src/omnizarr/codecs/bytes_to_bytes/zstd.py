"""The `zstd` codec: Zstandard frames (R124, RFC 8878)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import boolean, check, integer, read
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size, compressed
from omnizarr.errors import CodecError

__all__ = ["BoundZstd", "Zstd"]

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte of 0x50 to 0x5f
_MAX_BLOCK = 2**17  # bytes
_MAX_HEADER = 18  # bytes
_CHECKSUM_FLAG = 4
_HARMLESS = 2**20
"""Frames without a size may decode to this many bytes before the limit of the spec applies."""
_SMALL = 2**18
"""For chunks up to this size, creating a context dominates (10 µs to decode, 80 µs to encode), so `zstandard` is used,
whose contexts can be reused. For larger ones, `numcodecs` decodes in place, without a copy that leaves the CPU
cache."""


@cache
def _numcodecs() -> Any:
    return import_library("numcodecs.zstd")


@cache
def _zstandard() -> Any:
    return import_library("zstandard")


@dataclass(frozen=True, slots=True)
class Zstd(BytesCodec):
    """`{"name": "zstd", "configuration": {"level": 0, "checksum": false}}`: level 0 is the library's default; negative
    levels are faster, with larger output."""

    name: ClassVar[str] = "zstd"
    spec_rule: ClassVar[str | None] = "R124"
    shares_bound: ClassVar[bool] = True
    level: int = field(default=0, metadata=integer(-131072, 22))
    checksum: bool = field(default=False, metadata=boolean(optional=True))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Zstd | None:
        arguments = read(cls, configuration, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        """Includes `checksum` even if it is false, which R124 would omit: older versions of zarr-python require it."""
        return {"level": self.level, "checksum": self.checksum}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundZstd:
        return BoundZstd(spec, self)


class BoundZstd(BoundBytesCodec):
    """A bound `Zstd`. It reads any number of frames, with or without a content size, and skippable frames.

    numcodecs allocates the sum of the content sizes in the frame headers, whatever it is. If a frame has no content
    size, it needs a buffer of the exact size, or its output grows without limit. So `decode` scans the frame headers
    first and never lets it decode more bytes than expected.

    Contexts for small chunks are reused. A thread removes a context from its list while it uses it.
    """

    pace = 1000
    batches = True
    parts = from_start = True
    native = "zstd"

    __slots__ = ("_codec", "_compressors", "_decompressors", "_size", "_spec", "encoded", "native_options")

    def __init__(self, spec: ByteSpec, codec: Zstd) -> None:
        self._spec = spec
        self._codec = codec
        self._size = spec.size if spec.size is not None and spec.size <= _SMALL else 0
        self._compressors: list[Any] = []
        self._decompressors: list[Any] = []
        self.encoded = compressed(spec)
        self.native_options = (codec.level, codec.checksum)

    def encode(self, data: Buffer) -> Buffer:
        try:
            compressor = self._compressors.pop()
        except IndexError:
            codec = self._codec
            compressor = _zstandard().ZstdCompressor(level=codec.level, write_checksum=codec.checksum)
        try:
            frame: bytes = compressor.compress(data)
        except (_zstandard().ZstdError, ValueError) as error:
            raise CodecError("zstd", str(error)) from None
        if len(data) <= _SMALL:
            self._compressors.append(compressor)
        elif len(frame) < len(data) // 4:
            # The library allocated memory for the worst case, and may keep all of it as long as `frame` lives.
            frame = bytes(memoryview(frame))
        return frame

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        if self._size:
            small = self._decode_small(data)
            if small is not None:
                if out is None or len(out) != self._size:
                    return small
                out[:] = small
                return out
        size = self._spec.size
        if size and self._has_content_size(data, size) and (out is None or len(out) == size):
            # The usual case. The library cannot write beyond the buffer, and checks the content size of the header.
            return self._decode_into(data, np.empty(size, np.uint8).data if out is None else out)
        try:
            total, most = _scan_frames(data)
        except IndexError:
            raise CodecError("zstd", "the data end in the middle of a frame") from None
        size = self._spec.size if total is None else total
        if total is not None:
            check_size("zstd", self._spec, total)
            if total > most:
                raise CodecError(
                    "zstd", f"the frame headers declare {total} bytes, but the blocks decode to at most {most}"
                )
            if not total:
                return b""  # the library raises for empty content
        elif size is None and most > max(self._spec.limit, _HARMLESS):
            raise CodecError("zstd", f"expected at most {self._spec.limit} bytes, found blocks for up to {most}")
        if size is not None and out is not None and len(out) == size:
            return self._decode_into(data, out)
        if size is not None and total is None:
            return self._decode_into(data, np.empty(size, np.uint8).data)
        try:
            decoded: bytes = _numcodecs().decompress(data)
        except (RuntimeError, ValueError) as error:
            raise CodecError("zstd", _reason(error)) from None
        if size is None:
            check_size("zstd", self._spec, len(decoded))
        return decoded

    def decode_many(
        self,
        values: Sequence[Buffer | None],
        outs: Sequence[memoryview | None],
        room: memoryview | None = None,
    ) -> Sequence[Buffer | None]:
        """Decode all values as consecutive frames in one call, if each is a single frame with the expected content
        size. A frame that extends into the next would leave a part of `room` unfilled, which the library reports."""
        size = self._size
        if size and room is not None and len(values) > 1 and None not in values:
            content_size = _zstandard().frame_content_size
            try:
                if all(content_size(data) == size and _is_single(data) for data in values):  # type: ignore[arg-type]
                    frames = b"".join(values)  # type: ignore[arg-type]  # none of them is None
                    self._decode_into(frames, room[: size * len(values)])
                    return outs
            except (_zstandard().ZstdError, CodecError):
                pass  # `decode` reports which one is damaged
        return super().decode_many(values, outs)

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        """Decode a frame up to the end of the part, after checking that its blocks are complete. A frame with a
        checksum is decoded whole, to verify it, and so are unusual frames."""
        data = read(0, encoded)
        size, stop = self._spec.size, start + length
        if (
            not size
            or not self._has_content_size(data, size)
            or data[4] & _CHECKSUM_FLAG
            or not _is_complete(data, size)
        ):
            return memoryview(self.decode(data))[start:stop]
        decoded = np.empty(stop, np.uint8).data
        library = _zstandard()
        done = 0
        try:
            reader = library.ZstdDecompressor(max_window_size=max(size, _MAX_BLOCK)).stream_reader(data)
            while done < stop:
                count = reader.readinto(decoded[done:])
                if not count:
                    raise CodecError("zstd", f"expected {size} bytes, found {done}")
                done += count
        except library.ZstdError as error:
            raise CodecError("zstd", str(error)) from None
        return decoded[start:]

    def _decode_small(self, data: Buffer) -> bytes | None:
        """Decode a single frame with the expected content size; None for everything else."""
        library = _zstandard()
        try:
            if library.frame_content_size(data) != self._size:
                return None
            try:
                decompressor = self._decompressors.pop()
            except IndexError:
                decompressor = library.ZstdDecompressor(max_window_size=_SMALL)
            decoded: bytes = decompressor.decompress(data, allow_extra_data=False)
        except library.ZstdError:
            return None
        self._decompressors.append(decompressor)
        return decoded if len(decoded) == self._size else None

    @staticmethod
    def _has_content_size(data: Buffer, size: int) -> bool:
        """Whether the header of the first frame has the content size `size`."""
        return len(data) > _MAX_HEADER and data[:4] == _MAGIC and _header(data, 0)[0] == size

    def _decode_into(self, data: Buffer, out: memoryview) -> memoryview:
        try:
            _numcodecs().decompress(data, np.frombuffer(out, np.uint8))
        except (RuntimeError, ValueError) as error:
            raise CodecError("zstd", _reason(error)) from None
        return out


def _reason(error: Exception) -> str:
    """The message of the library without its fixed prefix and the `b'…'` around it."""
    return str(error).removeprefix("Zstd decompression error: ").removeprefix("b'").removesuffix("'")


def _scan_frames(data: Buffer) -> tuple[int | None, int]:
    """The sum of the content sizes of all frames, or None if one has none; and the maximum that their blocks can decode
    to. Reads only headers. Raises IndexError if the data are truncated."""
    total: int | None = 0
    most = at = 0
    while at < len(data):
        if data[at : at + 4] == _MAGIC:
            checksum_size = data[at + 4] & _CHECKSUM_FLAG  # the flag 4 equals the size of the checksum
            size, length = _header(data, at)
            total = None if size is None or total is None else total + size
            at += length
            last = 0
            while not last:
                block = data[at] | data[at + 1] << 8 | data[at + 2] << 16
                last, kind, length = block & 1, block >> 1 & 3, block >> 3
                most += _MAX_BLOCK if kind == 2 else length  # 0: uncompressed, 1: one repeated byte, 2: compressed
                at += 3 + (1 if kind == 1 else length)
            at += checksum_size
        elif data[at + 1 : at + 4] == _SKIPPABLE and 0x50 <= data[at] <= 0x5F:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        else:
            raise CodecError("zstd", f"expected a Zstandard frame at byte {at}, found other data")
    if at > len(data) or not data:
        raise IndexError
    return total, most


def _is_complete(data: Buffer, size: int) -> bool:
    """Whether the data are complete frames with a total content size of `size`."""
    try:
        return _scan_frames(data)[0] == size
    except (IndexError, CodecError):
        return False


def _is_single(data: Buffer) -> bool:
    """Whether the data, which begin with the header of a frame, consist of exactly this frame."""
    flags, length = data[4], len(data)
    at, last = _HEADER_LENGTHS[flags], 0
    while not last:
        block = int.from_bytes(data[at : at + 3], "little")
        last = block & 1
        at += 3 + (1 if block & 6 == 2 else block >> 3)
        if at > length:
            return False
    return at + (flags & _CHECKSUM_FLAG) == length


def _header(data: Buffer, at: int) -> tuple[int | None, int]:
    """The content size in the header of the frame at `at`, and the length of the header."""
    flags = data[at + 4]
    single = flags >> 5 & 1
    width = (single, 2, 4, 8)[flags >> 6]
    start = 6 - single + (0, 1, 2, 4)[flags & 3]
    size = int.from_bytes(data[at + start : at + start + width], "little") + (256 if width == 2 else 0)
    return size if width else None, start + width


_HEADER_LENGTHS = [_header(bytes((0, 0, 0, 0, flags)), 0)[1] for flags in range(256)]
