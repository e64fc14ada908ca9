"""`zlib`: DEFLATE in the zlib container."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from omnizarr._json import Problems
from omnizarr.codecs.bytes_to_bytes.gzip import BoundDeflate
from omnizarr.codecs.config_members import check, integer
from omnizarr.codecs.contract import BytesCodec, ByteSpec
from omnizarr.codecs.numcodecs_.base import Numcodec

__all__ = ["Zlib"]

_DEFAULT_LEVEL = 6  # zlib's meaning of −1


@dataclass(frozen=True, slots=True)
class Zlib(Numcodec, BytesCodec):
    """`{"id": "zlib", "level": 1}`: level 0 does not compress, 1 is fastest, 9 is smallest, −1 is the default."""

    name: ClassVar[str] = "numcodecs.zlib"
    id: ClassVar[str] = "zlib"
    level: int = field(default=1, metadata=integer(-1, 9, optional=True))

    def __post_init__(self) -> None:
        check(self)

    def resolved(self, itemsize: int) -> Zlib:
        return replace(self, level=_DEFAULT_LEVEL) if self.level < 0 else self  # not all readers accept −1

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundDeflate:
        return BoundDeflate(spec, _DEFAULT_LEVEL if self.level < 0 else self.level, self.id, gzip=False)
