"""The `blosc` codec: shuffled blocks in one of several compressors, as frames of Blosc 1 (R90 to R93)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.bytes_to_bytes.blosc_frames import HEADER, LONGEST, MEMCPYED, Header, excerpt, joined, parse_header
from omnizarr.codecs.config_fields import check, choice, integer, read
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size, codecs, compressed
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["Blosc", "BoundBlosc"]

_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")  # in the order of the library's numbers

_LOOK = 1024  # bytes that tell where up to 252 blocks are, and are read as fast as 16
_COMPRESSORS = ("blosclz", "lz4", "snappy", "zlib", "zstd")  # in the order of the three highest bits of the flags


@cache
def _library() -> Any:
    blosc: Any = import_library("numcodecs.blosc")
    # With its own threads the library serves one call at a time and divides it over all cores; chunks are decoded in
    # many threads here already, which would wait for each other.
    blosc.use_threads = False
    return blosc


@dataclass(frozen=True, slots=True)
class Blosc(BytesCodec):
    """`{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4,
    "blocksize": 0}}`

    `shuffle` and `typesize` left None are chosen from the size of the elements; `resolved` makes the choice, which a
    new array records (R91). A `blocksize` of 0 leaves the size to the library.
    """

    name: ClassVar[str] = "blosc"
    cname: Literal["lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib"] = field(
        default="lz4", metadata=choice("lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib")
    )
    clevel: int = field(default=5, metadata=integer(0, 9))
    shuffle: Literal["noshuffle", "shuffle", "bitshuffle"] | None = field(
        default=None, metadata=choice(*_SHUFFLES, optional=True)
    )
    typesize: int | None = field(default=None, metadata=integer(1, 2**31 - 1, optional=True))
    blocksize: int = field(default=0, metadata=integer(0, 2**31 - 1))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Blosc | None:
        """No member has to be there (A27); the numbers that drafts and numcodecs use for `shuffle` are understood."""
        members = {"shuffle": "noshuffle", **configuration}
        shuffle = members["shuffle"]
        if is_integer(shuffle) and -1 <= shuffle <= 2:
            problems.warn(f"{path}.configuration.shuffle", f"{shuffle} is read as the number of a draft, not a name")
            del members["shuffle"]
            if shuffle >= 0:  # -1 is automatic
                members["shuffle"] = _SHUFFLES[shuffle]
        if members.get("shuffle") == "noshuffle" and members.get("typesize") == 0:
            del members["typesize"]  # it means nothing then (R90)
        found = read(cls, members, path, problems)
        return None if found is None else cls(**found)

    def configuration(self) -> dict[str, Json]:
        """All five members; less only what is still to be chosen."""
        members = {
            "cname": self.cname,
            "clevel": self.clevel,
            "shuffle": self.shuffle,
            "typesize": self.typesize,
            "blocksize": self.blocksize,
        }
        return {name: value for name, value in members.items() if value is not None}

    def resolved(self, itemsize: int) -> Blosc:
        """The same codec with nothing left to choose, for elements of `itemsize` bytes: bits are shuffled where bytes
        would stay where they are, at a type size of 1."""
        if self.cname == "snappy" and "snappy" not in _library().list_compressors():
            raise ArgumentError("the blosc library here is built without snappy", argument="cname")
        return self._completed(itemsize)

    def _completed(self, itemsize: int) -> Blosc:
        typesize = self.typesize or max(1, itemsize)
        return replace(self, typesize=typesize, shuffle=self.shuffle or ("bitshuffle" if typesize == 1 else "shuffle"))

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBlosc:
        return BoundBlosc(spec, self._completed(spec.itemsize))


class BoundBlosc(BoundBytesCodec):
    """Decoding looks at the frame alone, never at the configuration (R92). The library believes a frame's header and
    is not told how long the data are, so the header is checked before it is called."""

    pace = 3000
    batches = True
    parts = True
    native = "blosc"

    __slots__ = ("_codec", "_spec", "encoded", "native_options")

    def __init__(self, spec: ByteSpec, codec: Blosc) -> None:
        self._spec = spec
        self._codec = codec
        shuffle = _SHUFFLES.index(codec.shuffle or "noshuffle")
        self.native_options = (codec.cname.encode(), codec.clevel, shuffle, codec.blocksize, codec.typesize)
        self.encoded = compressed(spec)

    def encode(self, data: Buffer) -> Buffer:
        if len(data) > LONGEST:
            raise CodecError("blosc", f"a frame holds at most {LONGEST} bytes, found {len(data)}")
        try:
            frame: bytes = _library().compress(data, *self.native_options)
        except (RuntimeError, ValueError) as error:
            raise _explained(self._codec.cname, error) from None
        return frame

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        header = parse_header(data, len(data))
        check_size("blosc", self._spec, header.size)
        if not header.size:
            return b""  # the library takes an empty frame for an error
        try:
            if out is not None and len(out) == header.size:
                _library().decompress(data, np.frombuffer(out, np.uint8))
                return out
            decoded: bytes = _library().decompress(data)
        except (RuntimeError, ValueError, MemoryError) as error:
            raise _refused(header, error) from None
        return decoded

    def decode_many(
        self,
        values: Sequence[Buffer | None],
        outs: Sequence[memoryview | None],
        room: memoryview | None = None,
    ) -> Sequence[Buffer | None]:
        size = self._spec.size
        if size and room is not None and len(values) > 1 and None not in values:
            frame = joined(values, size)  # type: ignore[arg-type]  # none of them is None
            if frame is not None:
                try:
                    _library().decompress(frame, np.frombuffer(room[: size * len(values)], np.uint8))
                    return outs
                except (RuntimeError, ValueError, MemoryError):
                    pass  # `decode` says which one is damaged
        return super().decode_many(values, outs)

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        head = read(0, min(encoded, _LOOK))
        header = parse_header(head, encoded)
        check_size("blosc", self._spec, header.size)
        if header.flags & MEMCPYED:
            if encoded != HEADER.size + header.size:
                found = encoded - HEADER.size
                raise CodecError("blosc", f"expected {header.size} bytes behind the header, found {found}")
            return read(HEADER.size + start, length)
        if not 0 < header.block <= header.size or header.start > encoded:
            raise CodecError("blosc", f"a frame of {encoded} bytes cannot have blocks of {header.block} bytes")
        table = head if header.start <= len(head) else read(0, header.start)
        frame, skipped = excerpt(read, table, header, start, length)
        try:
            decoded: bytes = _library().decompress(frame)
        except (RuntimeError, ValueError, MemoryError) as error:
            raise _refused(header, error) from None
        return memoryview(decoded)[start - skipped : start - skipped + length]


def _refused(header: Header, error: Exception) -> CodecError:
    compressor = header.flags >> 5
    return _explained(_COMPRESSORS[compressor] if compressor < len(_COMPRESSORS) else f"{compressor}", error)


def _explained(compressor: str, error: Exception) -> CodecError:
    available = _library().list_compressors()
    if compressor not in available:
        return CodecError(
            "blosc", f"compressor `{compressor}` is not in the installed library, which has {', '.join(available)}"
        )
    if isinstance(error, RuntimeError):
        return CodecError("blosc", f"the frame is damaged ({error})")
    return CodecError("blosc", str(error) or "not enough memory")


codecs.register(Blosc.name, Blosc)
