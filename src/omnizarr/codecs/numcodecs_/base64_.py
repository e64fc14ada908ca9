"""`base64`: bytes as Base64 text."""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import ClassVar

from omnizarr._json import Problems
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import CodecError

__all__ = ["Base64", "BoundBase64"]


@dataclass(frozen=True, slots=True)
class Base64(Numcodec, BytesCodec):
    """`{"id": "base64"}`: the standard alphabet, with padding, without line breaks."""

    name: ClassVar[str] = "numcodecs.base64"
    id: ClassVar[str] = "base64"
    private: ClassVar[bool] = True

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBase64:
        return BoundBase64(spec)


class BoundBase64(BoundBytesCodec):
    """A bound `Base64`. Like numcodecs, `decode` skips other characters, such as line breaks; the size limit allows
    as many of them as there are characters of the alphabet."""

    pace = 600

    __slots__ = ("_spec", "encoded")

    def __init__(self, spec: ByteSpec) -> None:
        self._spec = spec
        self.encoded = ByteSpec(None, 2 * _encoded_size(spec.limit) + 4096)

    def encode(self, data: Buffer) -> Buffer:
        return binascii.b2a_base64(data, newline=False)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        if len(data) > self.encoded.limit:
            raise CodecError("base64", f"expected at most {self.encoded.limit} bytes, found {len(data)}")
        try:
            decoded = binascii.a2b_base64(data)
        except binascii.Error as error:
            raise CodecError("base64", str(error)) from None
        check_size("base64", self._spec, len(decoded))
        return decoded


def _encoded_size(count: int) -> int:
    return -(-count // 3) * 4
