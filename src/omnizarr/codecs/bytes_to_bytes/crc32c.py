"""The `crc32c` codec: appends a checksum of four bytes (R94)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import read
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, check_size, codecs
from omnizarr.errors import CodecError

__all__ = ["BoundCrc32c", "Crc32c", "checksum"]

_LENGTH = 4


@cache
def checksum() -> Callable[[Buffer], int]:
    """The function that computes a CRC-32C."""
    function: Callable[[Buffer], int] = import_library("fastcrc").crc32.iscsi  # another name of CRC-32C
    return function


@dataclass(frozen=True, slots=True)
class Crc32c(BytesCodec):
    """`{"name": "crc32c"}`"""

    name: ClassVar[str] = "crc32c"
    spec_rule: ClassVar[str | None] = "R94"
    shares_bound: ClassVar[bool] = True

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Crc32c | None:
        return None if read(cls, configuration, path, problems) is None else cls()

    def configuration(self) -> dict[str, Json]:
        return {}

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundCrc32c:
        return BoundCrc32c(spec)


class BoundCrc32c(BoundBytesCodec):
    """A bound `Crc32c`. `encode` copies the data once, `decode` does not copy."""

    pace = 10000

    __slots__ = ("_spec", "encoded")

    def __init__(self, spec: ByteSpec) -> None:
        self._spec = spec
        size = None if spec.size is None else spec.size + _LENGTH
        self.encoded = ByteSpec(size, spec.limit + _LENGTH, spec.itemsize)

    def encode(self, data: Buffer) -> Buffer:
        return b"".join((data, checksum()(data).to_bytes(_LENGTH, "little")))

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        view = memoryview(data)
        size = len(view) - _LENGTH
        if size < 0:
            raise CodecError("crc32c", f"expected at least {_LENGTH} bytes, found {len(view)}")
        if size != self._spec.size:
            check_size("crc32c", self._spec, size)
        content = view[:size]
        stored, computed = int.from_bytes(view[size:], "little"), checksum()(content)
        if stored != computed:
            raise CodecError(
                "crc32c",
                f"the data are damaged: expected checksum {stored:#010x}, found {computed:#010x}",
                hint="zarrs before 0.11.5 stored wrong checksums",
            )
        return content


codecs.register(Crc32c.name, Crc32c)
