"""The `zstd` codec: Zstandard frames (R124, RFC 8878)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems
from omnizarr.codecs.config_fields import boolean, check, integer, read
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size, codecs, compressed
from omnizarr.errors import CodecError

__all__ = ["BoundZstd", "Zstd"]

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte of 0x50 to 0x5f
_LONGEST_BLOCK = 2**17
_LONGEST_HEADER = 18
_CHECKSUM = 4  # among the flags of a frame
_HARMLESS = 2**20
"""How much a stream of unknown length may decode to before its length is compared with the limit."""
_SMALL = 2**18
"""Up to so many bytes it is the making of a context that counts, 10 µs to decode and 80 to encode, and one that is used
again is better. Beyond, the other library decodes in place, without a copy that leaves the processor's cache."""


@cache
def _library() -> Any:
    return import_library("numcodecs.zstd")


@cache
def _quick() -> Any:
    return import_library("zstandard")


@dataclass(frozen=True, slots=True)
class Zstd(BytesCodec):
    """`{"name": "zstd", "configuration": {"level": 0, "checksum": false}}`: level 0 is the library's choice, negative
    ones are faster and larger."""

    name: ClassVar[str] = "zstd"
    level: int = field(default=0, metadata=integer(-131072, 22))
    checksum: bool = field(default=False, metadata=boolean(optional=True))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Zstd | None:
        found = read(cls, configuration, path, problems)
        return None if found is None else cls(**found)

    def configuration(self) -> dict[str, Json]:
        """With `checksum` even where it is false and R124 would leave it out: older zarr-python refuses to read a
        configuration without it."""
        return {"level": self.level, "checksum": self.checksum}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundZstd:
        return BoundZstd(spec, self)


class BoundZstd(BoundBytesCodec):
    """Reads any number of frames, with or without a stated size, and skippable ones between them.

    The library adds up the sizes that the frames state, and asks for as much memory as the sum, whatever it is; if one
    frame states none it wants to be given exactly as much room as will be filled, or grows until memory ends. So the
    frames are surveyed before it is called, and it never gets to more bytes than are expected.

    Contexts of small chunks are kept. One serves a single thread at a time, which takes it out of its list meanwhile.
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
            compressor = _quick().ZstdCompressor(level=codec.level, write_checksum=codec.checksum)
        try:
            frame: bytes = compressor.compress(data)
        except (_quick().ZstdError, ValueError) as error:
            raise CodecError("zstd", str(error)) from None
        if len(data) <= _SMALL:
            self._compressors.append(compressor)
        elif len(frame) < len(data) // 4:
            # It was cut out of memory for the worst case, the rest of which may be no good to anybody while it lives.
            frame = bytes(memoryview(frame))
        return frame

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        if self._size:
            quick = self._decoded_quickly(data)
            if quick is not None:
                if out is None or len(out) != self._size:
                    return quick
                out[:] = quick
                return out
        size = self._spec.size
        if size and self._states(data, size) and (out is None or len(out) == size):
            # The usual case: it can fill no more than it is given, and the library checks that it fills what it states.
            return self._decoded_into(data, np.empty(size, np.uint8).data if out is None else out)
        try:
            total, most = _survey(data)
        except IndexError:
            raise CodecError("zstd", "the data end in the middle of a frame") from None
        size = self._spec.size if total is None else total
        if total is not None:
            check_size("zstd", self._spec, total)
            if total > most:
                raise CodecError("zstd", f"the frames state {total} bytes, but their blocks hold at most {most}")
            if not total:
                return b""  # the library takes it for an error
        elif size is None and most > max(self._spec.limit, _HARMLESS):
            raise CodecError("zstd", f"may decode to {most} bytes, more than the limit of {self._spec.limit}")
        if size is not None and out is not None and len(out) == size:
            return self._decoded_into(data, out)
        if size is not None and total is None:
            return self._decoded_into(data, np.empty(size, np.uint8).data)
        try:
            decoded: bytes = _library().decompress(data)
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
        """Frames that follow each other are what the library decodes anyway: if each value is one that states the right
        size, each gives its own. One that reached into the next would leave room that nobody fills."""
        size = self._size
        if size and room is not None and len(values) > 1 and None not in values:
            stated = _quick().frame_content_size
            try:
                if all(stated(data) == size and _is_single(data) for data in values):  # type: ignore[arg-type]
                    frames = b"".join(values)  # type: ignore[arg-type]  # none of them is None
                    self._decoded_into(frames, room[: size * len(values)])
                    return outs
            except (_quick().ZstdError, CodecError):
                pass  # `decode` says which one is damaged
        return super().decode_many(values, outs)

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        """Decodes a single frame up to the end of the part, if nothing is missing behind it. One with a checksum is
        decoded as a whole, which shows that it is right; and so are the rarer kinds of frames."""
        data = read(0, encoded)
        size, stop = self._spec.size, start + length
        if not size or not self._states(data, size) or data[4] & _CHECKSUM or not _is_whole(data, size):
            return memoryview(self.decode(data))[start:stop]
        decoded = np.empty(stop, np.uint8).data
        library = _quick()
        done = 0
        try:
            reader = library.ZstdDecompressor(max_window_size=max(size, _LONGEST_BLOCK)).stream_reader(data)
            while done < stop:
                count = reader.readinto(decoded[done:])
                if not count:
                    raise CodecError("zstd", f"the data end after {done} of {size} bytes")
                done += count
        except library.ZstdError as error:
            raise CodecError("zstd", str(error)) from None
        return decoded[start:]

    def _decoded_quickly(self, data: Buffer) -> bytes | None:
        """The usual case, a single frame that states the right size; None leaves all others to the long way."""
        library = _quick()
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
    def _states(data: Buffer, size: int) -> bool:
        """Whether the first frame states that it holds `size` bytes."""
        return len(data) > _LONGEST_HEADER and data[:4] == _MAGIC and _header(data, 0)[0] == size

    def _decoded_into(self, data: Buffer, out: memoryview) -> memoryview:
        try:
            _library().decompress(data, np.frombuffer(out, np.uint8))
        except (RuntimeError, ValueError) as error:
            raise CodecError("zstd", _reason(error)) from None
        return out


def _reason(error: Exception) -> str:
    """What the library says, without what it says every time; it shows bytes as Python writes them."""
    return str(error).removeprefix("Zstd decompression error: ").removeprefix("b'").removesuffix("'")


def _survey(data: Buffer) -> tuple[int | None, int]:
    """The sum of the sizes that all frames state, None if one states none; and the most that their blocks can hold.
    Reads only headers. IndexError if the data are cut off."""
    total: int | None = 0
    most = at = 0
    while at < len(data):
        if data[at : at + 4] == _MAGIC:
            has_checksum = data[at + 4] & _CHECKSUM
            size, length = _header(data, at)
            total = None if size is None or total is None else total + size
            at += length
            last = 0
            while not last:
                block = data[at] | data[at + 1] << 8 | data[at + 2] << 16
                last, kind, length = block & 1, block >> 1 & 3, block >> 3
                most += _LONGEST_BLOCK if kind == 2 else length  # 0 is stored as it is, 1 is one repeated byte
                at += 3 + (1 if kind == 1 else length)
            at += has_checksum  # four bytes, as it happens
        elif data[at + 1 : at + 4] == _SKIPPABLE and 0x50 <= data[at] <= 0x5F:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        else:
            raise CodecError("zstd", f"no Zstandard frame at byte {at}")
    if at > len(data) or not data:
        raise IndexError
    return total, most


def _is_whole(data: Buffer, size: int) -> bool:
    """Whether the data end where their last frame does, and state `size` bytes."""
    try:
        return _survey(data)[0] == size
    except (IndexError, CodecError):
        return False


def _is_single(data: Buffer) -> bool:
    """Whether the data, which begin with the header of a frame, end where that frame does."""
    flags, length = data[4], len(data)
    at, last = _HEADERS[flags], 0
    while not last:
        block = int.from_bytes(data[at : at + 3], "little")
        last = block & 1
        at += 3 + (1 if block & 6 == 2 else block >> 3)
        if at > length:
            return False
    return at + (flags & _CHECKSUM) == length


def _header(data: Buffer, at: int) -> tuple[int | None, int]:
    """The content size that the frame at `at` states, and the length of its header."""
    flags = data[at + 4]
    single = flags >> 5 & 1
    width = (single, 2, 4, 8)[flags >> 6]
    start = 6 - single + (0, 1, 2, 4)[flags & 3]
    size = int.from_bytes(data[at + start : at + start + width], "little") + (256 if width == 2 else 0)
    return size if width else None, start + width


_HEADERS = [_header(bytes((0, 0, 0, 0, flags)), 0)[1] for flags in range(256)]  # their lengths


codecs.register(Zstd.name, Zstd)
