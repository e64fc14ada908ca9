"""The `vlen-utf8` and `vlen-bytes` codecs: elements of variable length, each preceded by its length (R125, R126).

A chunk begins with the number of elements. Then follow, for each element in C order, the number of its bytes and the
bytes. All numbers are little-endian and have four bytes.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import read
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, check_size
from omnizarr.config import config
from omnizarr.errors import CodecError

__all__ = ["Vlen", "VlenBytes", "VlenUtf8"]

_LENGTH_SIZE = 4
_MAX_LENGTH = 2**31 - 1  # bytes per element; numcodecs counts them in a C int without checking for overflow

V = TypeVar("V", bound="Vlen")


@cache
def _library() -> Any:
    return import_library("numcodecs.vlen")


@dataclass(frozen=True, slots=True)
class Vlen(Serializer):
    """Base of these codecs, which have no configuration. Each stores both data types, as zarrs does."""

    id: ClassVar[str]
    """The name in numcodecs and in v2 documents."""

    @classmethod
    def parse(cls: type[V], configuration: dict[str, Json], path: str, problems: Problems) -> V | None:
        return None if read(cls, configuration, path, problems) is None else cls()

    def configuration(self) -> dict[str, Json]:
        return {}

    @classmethod
    def from_config(cls: type[V], config: dict[str, Json], path: str, problems: Problems) -> V | None:
        """The codec for a v2 configuration without its `id`."""
        for member in config:
            problems.warn(f"{path}.{member}", f"unknown member of codec `{cls.id}`, ignored", rule="R125")
        return cls()

    def to_config(self) -> dict[str, Json]:
        """The options in a document of v2, without the name: none."""
        return {}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundVlenUtf8 | BoundVlenBytes | None:
        if spec.dtype.kind not in "TO":
            problems.add(
                path, f"codec `{self.name}`: expected data type `string` or `bytes`, found {spec.dtype}", rule="R125"
            )
        elif prod(spec.shape) >= 2**32:
            problems.add(
                path,
                f"codec `{self.name}`: expected fewer than 2^32 elements per chunk, found {prod(spec.shape)}",
                rule="R125",
            )
        else:
            return BoundVlenUtf8(self.name, spec) if spec.dtype.kind == "T" else BoundVlenBytes(self.name, spec)
        return None


@dataclass(frozen=True, slots=True)
class VlenUtf8(Vlen):
    """`{"name": "vlen-utf8"}`, for `string`."""

    name: ClassVar[str] = "vlen-utf8"
    spec_rule: ClassVar[str | None] = "R125"
    only_read: ClassVar[frozenset[str]] = frozenset(["bytes"])
    id: ClassVar[str] = "vlen-utf8"


@dataclass(frozen=True, slots=True)
class VlenBytes(Vlen):
    """`{"name": "vlen-bytes"}`, for `bytes`."""

    name: ClassVar[str] = "vlen-bytes"
    spec_rule: ClassVar[str | None] = "R126"
    only_read: ClassVar[frozenset[str]] = frozenset(["string"])
    id: ClassVar[str] = "vlen-bytes"


class _BoundVlen(BoundSerializer):
    """Base of both bound codecs. numcodecs trusts the number of elements in the data, so `decode` checks it first.
    numcodecs checks the lengths of the elements itself."""

    __slots__ = ("_count", "_name", "_shape", "encoded")

    def __init__(self, name: str, spec: ChunkSpec) -> None:
        self._name = name
        self._shape = spec.shape
        self._count = prod(spec.shape)
        # The metadata does not limit the length of elements, so only the general limit for chunks applies.
        self.encoded = ByteSpec(size=None, limit=config.current.max_chunk_bytes)

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        # numcodecs reads a transposed array in memory order, so make it C-contiguous.
        flat = np.asarray(array, order="C").reshape(-1)
        try:
            data = self._encode_flat(flat)
        except UnicodeError as error:  # some conversions of NumPy produce invalid text
            raise CodecError(self._name, str(error)) from None
        if len(data) > self.encoded.limit:  # it could not be decoded again
            raise CodecError(
                self._name,
                f"the elements of a chunk have {len(data)} bytes, more than the limit of {self.encoded.limit}",
                hint="choose smaller chunks, or raise the limit with `omnizarr.config.set(max_chunk_bytes=...)` and "
                "open the array again",
            )
        return data

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        check_size(self._name, self.encoded, len(data))
        overhead = _LENGTH_SIZE * (1 + self._count)
        if len(data) < overhead:
            raise CodecError(self._name, f"expected at least {overhead} bytes, found {len(data)}")
        count = int.from_bytes(data[:_LENGTH_SIZE], "little")
        if count != self._count:
            raise CodecError(self._name, f"expected {self._count} elements, found {count}")
        try:
            array = self._decode_flat(data)
        except ValueError as error:
            raise CodecError(self._name, str(error)) from None
        surplus = self._surplus(array, len(data) - overhead)
        if surplus:
            raise CodecError(self._name, f"expected no bytes after the last element, found {surplus}")
        return array.reshape(self._shape)

    @abstractmethod
    def _encode_flat(self, flat: npt.NDArray[Any]) -> bytearray: ...

    @abstractmethod
    def _decode_flat(self, data: Buffer) -> npt.NDArray[Any]: ...

    @abstractmethod
    def _surplus(self, flat: npt.NDArray[Any], size: int) -> int:
        """How many of `size` bytes belong to no element."""

    def _check_max_length(self, length: int) -> None:
        if length > _MAX_LENGTH:
            raise CodecError(self._name, f"expected elements of at most {_MAX_LENGTH} bytes, found {length}")


class BoundVlenUtf8(_BoundVlen):
    """A bound `VlenUtf8`. It converts through Python strings with numcodecs: 100,000 short texts take about 30 ms in
    either direction. A loop in Python takes more than twice as long."""

    __slots__ = ("_dtype",)

    def __init__(self, name: str, spec: ChunkSpec) -> None:
        super().__init__(name, spec)
        self._dtype = spec.dtype

    def _encode_flat(self, flat: npt.NDArray[Any]) -> bytearray:
        if flat.size:
            longest = int(np.strings.str_len(flat).max())
            if 4 * longest > _MAX_LENGTH:  # a character has up to 4 bytes; count exactly only if it may matter
                self._check_max_length(max(len(text.encode()) for text in flat.tolist()))
        data: bytearray = _library().VLenUTF8().encode(flat.astype(object))
        return data

    def _decode_flat(self, data: Buffer) -> npt.NDArray[Any]:
        texts: npt.NDArray[Any] = _library().VLenUTF8().decode(data)
        return texts.astype(self._dtype)

    def _surplus(self, flat: npt.NDArray[Any], size: int) -> int:
        # A text never has fewer bytes than characters, so if there are `size` characters, no bytes are left. This fast
        # check covers all ASCII text.
        characters = int(np.strings.str_len(flat).sum())
        return 0 if characters == size else size - len("".join(flat.tolist()).encode())


class BoundVlenBytes(_BoundVlen):
    """A bound `VlenBytes`, for an array of `bytes` objects."""

    __slots__ = ()

    def _encode_flat(self, flat: npt.NDArray[Any]) -> bytearray:
        items = flat.tolist()
        for item in items:
            if type(item) is not bytes:  # numcodecs treats None and 0 as empty, and crashes on some other types
                raise CodecError(self._name, f"expected elements of type bytes, found {type(item).__name__}")
        self._check_max_length(max(map(len, items), default=0))
        # numcodecs requires writable memory, although it does not write to it.
        data: bytearray = _library().VLenBytes().encode(flat if flat.flags.writeable else flat.copy())
        return data

    def _decode_flat(self, data: Buffer) -> npt.NDArray[Any]:
        items: npt.NDArray[Any] = _library().VLenBytes().decode(data)
        return items

    def _surplus(self, flat: npt.NDArray[Any], size: int) -> int:
        return size - sum(map(len, flat.tolist()))
