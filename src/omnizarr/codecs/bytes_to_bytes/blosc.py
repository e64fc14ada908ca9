"""The `blosc` codec: frames of Blosc 1, with optional shuffling and one of several compressors (R90 to R93)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.bytes_to_bytes.blosc_frames import (
    HEADER,
    MAX_BYTES,
    MEMCPYED,
    Header,
    extract_blocks,
    join_frames,
    parse_header,
)
from omnizarr.codecs.config_members import check, choice, integer, read
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size, compressed
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["Blosc", "BoundBlosc"]

_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")  # in the order of the library's numbers

_FIRST_READ = 1024  # bytes; enough for the table of 252 blocks, and as fast to read as 16 bytes
_COMPRESSORS = ("blosclz", "lz4", "snappy", "zlib", "zstd")  # in the order of the three highest bits of the flags


@cache
def _library() -> Any:
    blosc: Any = import_library("numcodecs.blosc")
    # With its own threads the library processes one call at a time. omnizarr decodes chunks in several threads already,
    # and these would wait for each other.
    blosc.use_threads = False
    return blosc


@dataclass(frozen=True, slots=True)
class Blosc(BytesCodec):
    """`{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4,
    "blocksize": 0}}`

    If `shuffle` or `typesize` is None, `resolved` derives it from the element size; a new array records the result
    (R91). With a `blocksize` of 0 the library chooses the size.
    """

    name: ClassVar[str] = "blosc"
    spec_rule: ClassVar[str | None] = "R90"
    shares_bound: ClassVar[bool] = True
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
        """Accepts missing members (A27), for `shuffle` also the numbers that drafts and numcodecs use, and what n5-zarr
        writes: `nthreads`, and 0 as `typesize`."""
        members = {"shuffle": "noshuffle", **configuration}
        shuffle = members["shuffle"]
        if is_integer(shuffle) and -1 <= shuffle <= 2:
            problems.warn(
                f"{path}.configuration.shuffle",
                f"expected a name, found {shuffle}, read as the number of older drafts",
                rule="§1.7",
            )
            del members["shuffle"]
            if shuffle >= 0:  # -1 is automatic
                members["shuffle"] = _SHUFFLES[shuffle]
        if members.get("typesize") == 0 and is_integer(members["typesize"]):
            del members["typesize"]  # without shuffle it has no meaning (R90), and decoders use the header (R92)
            if members.get("shuffle") != "noshuffle":
                message = "0 is read as the size of an element, as n5-zarr means it"
                problems.warn(f"{path}.configuration.typesize", message, rule="R90")
        if is_integer(members.get("nthreads")):
            del members["nthreads"]
            problems.warn(f"{path}.configuration.nthreads", "is an option of n5-zarr, and is ignored", rule="R90")
        arguments = read(cls, members, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        """All five members, except `shuffle` and `typesize` while they are None."""
        members = {
            "cname": self.cname,
            "clevel": self.clevel,
            "shuffle": self.shuffle,
            "typesize": self.typesize,
            "blocksize": self.blocksize,
        }
        return {name: value for name, value in members.items() if value is not None}

    def resolved(self, itemsize: int) -> Blosc:
        """The codec with `shuffle` and `typesize` for elements of `itemsize` bytes. For a type size of 1 it shuffles
        bits, because shuffling bytes would change nothing."""
        if self.cname == "snappy" and "snappy" not in _library().list_compressors():
            raise ArgumentError("codec `blosc`: the installed library does not support `snappy`", argument="cname")
        return self._with_defaults(itemsize)

    def _with_defaults(self, itemsize: int) -> Blosc:
        typesize = self.typesize or max(1, itemsize)
        return replace(self, typesize=typesize, shuffle=self.shuffle or ("bitshuffle" if typesize == 1 else "shuffle"))

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBlosc:
        return BoundBlosc(spec, self._with_defaults(spec.itemsize))


class BoundBlosc(BoundBytesCodec):
    """A bound `Blosc`. `decode` depends only on the frame, not on the configuration (R92). The library trusts the
    header and does not know the length of the data, so `decode` checks the header first."""

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
        if len(data) > MAX_BYTES:
            raise CodecError("blosc", f"expected at most {MAX_BYTES} bytes for a frame, found {len(data)}")
        try:
            frame: bytes = _library().compress(data, *self.native_options)
        except (RuntimeError, ValueError) as error:
            raise _codec_error(self._codec.cname, error) from None
        return frame

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        header = parse_header(data, len(data))
        check_size("blosc", self._spec, header.size)
        if not header.size:
            return b""  # the library raises for an empty frame
        try:
            if out is not None and len(out) == header.size:
                _library().decompress(data, np.frombuffer(out, np.uint8))
                return out
            decoded: bytes = _library().decompress(data)
        except (RuntimeError, ValueError, MemoryError) as error:
            return _decode_otherwise(data, header, error)
        return decoded

    def decode_many(
        self,
        values: Sequence[Buffer | None],
        outs: Sequence[memoryview | None],
        room: memoryview | None = None,
    ) -> Sequence[Buffer | None]:
        size = self._spec.size
        if size and room is not None and len(values) > 1 and None not in values:
            frame = join_frames(values, size)  # type: ignore[arg-type]  # none of them is None
            if frame is not None:
                try:
                    _library().decompress(frame, np.frombuffer(room[: size * len(values)], np.uint8))
                    return outs
                except (RuntimeError, ValueError, MemoryError):
                    pass  # `decode` reports which one is damaged
        return super().decode_many(values, outs)

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        head = read(0, min(encoded, _FIRST_READ))
        header = parse_header(head, encoded)
        check_size("blosc", self._spec, header.size)
        if header.flags & MEMCPYED:
            if encoded != HEADER.size + header.size:
                size = encoded - HEADER.size
                raise CodecError("blosc", f"expected {header.size} bytes after the header, found {size}")
            return read(HEADER.size + start, length)
        if not 0 < header.block <= header.size or header.start > encoded:
            raise CodecError("blosc", f"invalid block size {header.block} for a frame of {encoded} bytes")
        table = head if header.start <= len(head) else read(0, header.start)
        frame, skipped = extract_blocks(read, table, header, start, length)
        decoded: Buffer
        try:
            decoded = _library().decompress(frame)
        except (RuntimeError, ValueError, MemoryError) as error:
            decoded = _decode_otherwise(frame, parse_header(frame, len(frame)), error)
        return memoryview(decoded)[start - skipped : start - skipped + length]


def _decode_otherwise(frame: Buffer, header: Header, error: Exception) -> Buffer:
    """A frame that numcodecs could not decode, because its Blosc is built without snappy. The Blosc of imagecodecs is
    built with it. Raises CodecError for any other frame."""
    number = header.flags >> 5
    compressor = _COMPRESSORS[number] if number < len(_COMPRESSORS) else f"{number}"
    if compressor != "snappy" or compressor in _library().list_compressors():
        raise _codec_error(compressor, error) from None
    try:
        imagecodecs = import_library("imagecodecs")
    except ImportError:
        raise _codec_error(compressor, error) from None
    try:
        return bytes(imagecodecs.blosc_decode(frame, out=header.size, numthreads=1))
    except Exception as failure:  # a library may raise anything
        raise CodecError("blosc", f"the frame is damaged ({failure})") from None


def _codec_error(compressor: str, error: Exception) -> CodecError:
    """The CodecError for an exception of the library, which does not report an unsupported compressor as such."""
    available = _library().list_compressors()
    if compressor not in available:
        return CodecError(
            "blosc",
            f"the installed library does not support compressor `{compressor}`, only {', '.join(available)}",
            hint="install imagecodecs, which can read it: `pip install 'omnizarr[imagecodecs]'`"
            if compressor == "snappy"
            else "compile numcodecs with it, or let the writer compress the array in another way",
        )
    if isinstance(error, RuntimeError):
        return CodecError("blosc", f"the frame is damaged ({error})")
    return CodecError("blosc", str(error) or "not enough memory")
