"""`numcodecs.blosc`, `numcodecs.zstd` and `numcodecs.gzip`: the core codecs under the names and with the members of
numcodecs. They store the same bytes.

The codecs `blosc`, `zstd` and `gzip` of v2 documents are read as core codecs. `core` and `of` convert between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self, get_args

from omnizarr._json import Json, Problems
from omnizarr.codecs.bytes_to_bytes.blosc import Blosc, BoundBlosc
from omnizarr.codecs.bytes_to_bytes.gzip import BoundGzip, Gzip
from omnizarr.codecs.bytes_to_bytes.zstd import BoundZstd, Zstd
from omnizarr.codecs.config_members import boolean, check, choice, integer, or_null
from omnizarr.codecs.contract import BytesCodec, ByteSpec
from omnizarr.codecs.numcodecs_.base import Numcodec

__all__ = ["NumcodecsBlosc", "NumcodecsGzip", "NumcodecsZstd"]

Compressor = Literal["lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib"]
ShuffleName = Literal["noshuffle", "shuffle", "bitshuffle"]
_SHUFFLES: tuple[ShuffleName, ...] = get_args(ShuffleName)  # in the order of numcodecs' numbers
_AUTOMATIC = -1
_SHUFFLE_WORDS = {"none": 0, "noshuffle": 0, "byte": 1, "shuffle": 1, "bit": 2, "bitshuffle": 2}
"""Words for `shuffle` in v2 documents: those of GDAL in upper case, and those of v3."""
_DEFAULT_DEFLATE_LEVEL = 6
_MAX_ZSTD_LEVEL = 22


@dataclass(frozen=True, slots=True)
class NumcodecsBlosc(Numcodec, BytesCodec):
    """`{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}`. `shuffle` is 0 (none), 1 (bytes),
    2 (bits) or −1 (chosen by the element size)."""

    name: ClassVar[str] = "numcodecs.blosc"
    id: ClassVar[str] = "blosc"
    cname: Compressor = field(default="lz4", metadata=choice(*get_args(Compressor), optional=True))
    clevel: int = field(default=5, metadata=integer(0, 9, optional=True))
    shuffle: int = field(default=1, metadata=integer(_AUTOMATIC, 2, optional=True))
    blocksize: int = field(default=0, metadata=integer(0, 2**31 - 1, optional=True))
    typesize: int | None = field(default=None, metadata=or_null(integer(1, 2**31 - 1, optional=True)))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        shuffle = config.get("shuffle")
        if isinstance(shuffle, str) and shuffle.lower() in _SHUFFLE_WORDS:
            config = config | {"shuffle": _SHUFFLE_WORDS[shuffle.lower()]}
        return super(NumcodecsBlosc, cls).from_config(config, path, problems)

    def configuration(self) -> dict[str, Json]:
        """Omits a `typesize` of None, like numcodecs; old releases of it do not know this member."""
        members = super(NumcodecsBlosc, self).configuration()
        if self.typesize is None:
            del members["typesize"]
        return members

    @property
    def core(self) -> Blosc:
        """The core codec with the same stored bytes."""
        shuffle = None if self.shuffle == _AUTOMATIC else _SHUFFLES[self.shuffle]
        return Blosc(self.cname, self.clevel, shuffle, self.typesize, self.blocksize)

    @classmethod
    def of(cls, core: Blosc) -> Self:
        """The numcodecs form of a core codec, without `typesize`, which numcodecs derives from the array."""
        shuffle = _AUTOMATIC if core.shuffle is None else _SHUFFLES.index(core.shuffle)
        return cls(core.cname, core.clevel, shuffle, core.blocksize)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBlosc:
        return self.core.bind(spec, path, problems)


@dataclass(frozen=True, slots=True)
class NumcodecsZstd(Numcodec, BytesCodec):
    """`{"id": "zstd", "level": 0, "checksum": false}`. The library reads levels above its maximum as the maximum."""

    name: ClassVar[str] = "numcodecs.zstd"
    id: ClassVar[str] = "zstd"
    level: int = field(default=0, metadata=integer(-131072, 2**31 - 1, optional=True))
    checksum: bool = field(default=False, metadata=boolean(optional=True))

    def __post_init__(self) -> None:
        check(self)

    def configuration(self) -> dict[str, Json]:
        """Omits a false `checksum`, because numcodecs before 0.13 and TensorStore (in v2) do not know this member."""
        members: dict[str, Json] = {"level": self.level}
        return members | {"checksum": True} if self.checksum else members

    @property
    def core(self) -> Zstd:
        """The core codec with the same stored bytes."""
        return Zstd(min(self.level, _MAX_ZSTD_LEVEL), self.checksum)

    @classmethod
    def of(cls, core: Zstd) -> Self:
        """The numcodecs form of a core codec."""
        return cls(core.level, core.checksum)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundZstd:
        return self.core.bind(spec, path, problems)


@dataclass(frozen=True, slots=True)
class NumcodecsGzip(Numcodec, BytesCodec):
    """`{"id": "gzip", "level": 1}`. A level of −1 means the library's default."""

    name: ClassVar[str] = "numcodecs.gzip"
    id: ClassVar[str] = "gzip"
    level: int = field(default=1, metadata=integer(-1, 9, optional=True))

    def __post_init__(self) -> None:
        check(self)

    @property
    def core(self) -> Gzip:
        """The core codec with the same stored bytes."""
        return Gzip(_DEFAULT_DEFLATE_LEVEL if self.level < 0 else self.level)

    @classmethod
    def of(cls, core: Gzip) -> Self:
        """The numcodecs form of a core codec."""
        return cls(core.level)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundGzip:
        return self.core.bind(spec, path, problems)
