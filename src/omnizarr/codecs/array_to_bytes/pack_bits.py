"""The `packbits` codec: stores some bits of each element, packed without gaps across byte boundaries (R136)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import Rule, check, choice, integer, or_null, read
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, check_size
from omnizarr.codecs.number_types import Elements, IntegerType, components, number_type
from omnizarr.dtypes.numbers.ml_dtypes_ import SUBBYTE_WIDTHS
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundPackBits", "PackBits"]

_BLOCK = 2**15  # components; a multiple of 8, so that a block fills whole bytes. Unpacking needs a byte per bit.
_MEMBER_ALIASES = {"start_bit": "first_bit", "end_bit": "last_bit"}
_PADDING_ALIASES = {"start_byte": "first_byte", "end_byte": "last_byte"}


def _bit() -> Rule:
    return or_null(integer(0, 63, optional=True))


@dataclass(frozen=True, slots=True)
class PackBits(Serializer):
    """`{"name": "packbits", "configuration": {"padding_encoding": "first_byte", "first_bit": 0, "last_bit": 11}}`:
    stores the bits from `first_bit` to `last_bit`, counted from the least significant one. None means the first or last
    bit of the type. `padding_encoding` adds a byte with the number of padding bits at the end.
    """

    name: ClassVar[str] = "packbits"
    spec_rule: ClassVar[str | None] = "R136"
    padding_encoding: Literal["first_byte", "last_byte", "none"] = field(
        default="none", metadata=choice("first_byte", "last_byte", "none", optional=True)
    )
    first_bit: int | None = field(default=None, metadata=_bit())
    last_bit: int | None = field(default=None, metadata=_bit())

    def __post_init__(self) -> None:
        check(self)
        if self.last_bit is not None and self.last_bit < (self.first_bit or 0):
            raise ArgumentError(
                f"codec `{self.name}`: `last_bit`: expected at least `first_bit` = {self.first_bit}, "
                f"found {self.last_bit}",
                argument="last_bit",
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> PackBits | None:
        """Also accepts the member names of the registry's schema, which differ from those of its text (A20)."""
        where = f"{path}.configuration"
        members: dict[str, Json] = {}
        for member, value in configuration.items():
            name = _MEMBER_ALIASES.get(member, member)
            if name in members:
                problems.add(
                    f"{where}.{member}", f"duplicate: another member has the same meaning as `{name}`", rule="R136"
                )
                return None
            members[name] = value
        padding = members.get("padding_encoding")
        if isinstance(padding, str):
            members["padding_encoding"] = _PADDING_ALIASES.get(padding, padding)
        arguments = read(cls, members, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        members = {
            "padding_encoding": None if self.padding_encoding == "none" else self.padding_encoding,
            "first_bit": self.first_bit,
            "last_bit": self.last_bit,
        }
        return {name: value for name, value in members.items() if value is not None}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundPackBits | None:
        parts = components(spec.dtype)
        if parts is None:
            problems.add(path, f"codec `{self.name}`: expected booleans or numbers, found {spec.dtype}", rule="R136")
            return None
        width = _width(parts[0])
        first, last = self.first_bit or 0, width - 1 if self.last_bit is None else self.last_bit
        if not first <= last < width:
            member = "last_bit" if last >= width else "first_bit"
            problems.add(
                f"{path}.configuration.{member}",
                f"expected bits from 0 to {width - 1}, which {spec.dtype} has, found {first} to {last}",
                rule="R136",
            )
            return None
        return BoundPackBits(spec, parts, width, first, last, self.padding_encoding)


def _width(part: np.dtype[Any]) -> int:
    if part.kind == "b":
        return 1
    return SUBBYTE_WIDTHS.get(part.name, 8 * part.itemsize)


class BoundPackBits(BoundSerializer):
    """A bound `PackBits`. It begins with the least significant bit of each element, and fills each byte from its least
    significant bit. The numcodecs codec of the same name begins at the most significant bit (A20)."""

    __slots__ = (
        "_bits",
        "_count",
        "_first",
        "_length",
        "_mask",
        "_padding",
        "_padding_optional",
        "_sign",
        "_spec",
        "encoded",
    )

    def __init__(
        self, spec: ChunkSpec, parts: tuple[np.dtype[Any], int], width: int, first: int, last: int, padding: str
    ) -> None:
        part, times = parts
        number = number_type(part)
        self._spec = spec
        self._first = first
        self._length = last - first + 1
        self._count = prod(spec.shape) * times
        self._padding = padding
        self._bits = np.dtype(f"<u{part.itemsize}")
        self._mask = (1 << width) - 1
        """The bits that belong to an element; the other bits of its memory stay zero."""
        signed = isinstance(number, IntegerType) and number.signed and last < width - 1
        self._sign = 1 << last if signed else 0
        size = -(-self._count * self._length // 8) + (padding != "none")
        # zarrs omits the padding byte where elements are whole bytes, so `decode` accepts both forms.
        self._padding_optional = padding != "none" and self._length == 8 * part.itemsize
        self.encoded = ByteSpec(None if self._padding_optional else size, size)

    @property
    def _padding_bits(self) -> int:
        """The number of unused bits in the last byte."""
        return -self._count * self._length % 8

    def encode(self, array: Elements) -> Buffer:
        flat = np.asarray(array, order="C").reshape(-1).view(self._bits.newbyteorder("="))
        bits = np.minimum(flat, 1) if array.dtype.kind == "b" else flat.astype(self._bits, copy=False)
        packed = bytearray()
        for start in range(0, self._count, _BLOCK):
            packed += self._pack(bits[start : start + _BLOCK])
        if self._padding == "first_byte":
            return bytes([self._padding_bits]) + packed
        if self._padding == "last_byte":
            packed.append(self._padding_bits)
        return packed

    def _pack(self, bits: Elements) -> bytes:
        if self._length == 8 * self._bits.itemsize:
            return bits.tobytes()
        if self._length == 1:  # such as booleans
            return np.packbits(bits >> bits.dtype.type(self._first) & bits.dtype.type(1), bitorder="little").tobytes()
        table = np.unpackbits(bits.view(np.uint8).reshape(len(bits), -1), axis=1, bitorder="little")
        return np.packbits(table[:, self._first : self._first + self._length], bitorder="little").tobytes()

    def decode(self, data: Buffer) -> Elements:
        view = memoryview(data)
        omitted = self._padding_optional and len(data) == self.encoded.limit - 1
        check_size("packbits", ByteSpec(self.encoded.limit, self.encoded.limit), len(data) + omitted)
        if omitted:
            padding_bits = 0
        elif self._padding == "first_byte":
            padding_bits, view = view[0], view[1:]
        elif self._padding == "last_byte":
            padding_bits, view = view[-1], view[:-1]
        else:
            padding_bits = self._padding_bits
        if padding_bits != self._padding_bits:
            raise CodecError("packbits", f"expected a padding byte of {self._padding_bits} bits, found {padding_bits}")
        packed = np.frombuffer(view, np.uint8)
        bits = np.empty(self._count, self._bits)
        step = _BLOCK * self._length // 8
        for index, start in enumerate(range(0, self._count, _BLOCK)):
            count = min(_BLOCK, self._count - start)
            bits[start : start + count] = self._unpack(packed[index * step : (index + 1) * step], count)
        native = bits.astype(self._bits.newbyteorder("="), copy=False)
        return native.view(self._spec.dtype).reshape(self._spec.shape)

    def _unpack(self, packed: Elements, count: int) -> Elements:
        if self._length == 8 * self._bits.itemsize:
            return packed.view(self._bits)
        stored = np.unpackbits(packed, count=count * self._length, bitorder="little")
        bits: Elements
        if self._length == 1:
            bits = stored.astype(self._bits, copy=False) << self._bits.type(self._first)
        else:
            table = np.zeros((count, 8 * self._bits.itemsize), np.uint8)
            table[:, self._first : self._first + self._length] = stored.reshape(count, -1)
            bits = np.packbits(table, axis=1, bitorder="little").view(self._bits).reshape(-1)
        if not self._sign:
            return bits
        sign = bits.dtype.type(self._sign)
        extended: Elements = ((bits ^ sign) - sign) & bits.dtype.type(self._mask)
        return extended
