"""The `vlen-utf8` and `vlen-bytes` codecs: elements of any length, each after its own length (R125, R126).

A chunk is the number of its elements and then, for each in C order, the number of its bytes and the bytes; both numbers
are little-endian and of four bytes.
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
from omnizarr.codecs.config_fields import read
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, check_size
from omnizarr.config import config
from omnizarr.errors import CodecError

__all__ = ["VlenBytes", "VlenUtf8"]

_LENGTH = 4
_LONGEST = 2**31 - 1  # bytes of one element: the library counts them in a C int, and would not notice any more

V = TypeVar("V", bound="_Vlen")


@cache
def _library() -> Any:
    return import_library("numcodecs.vlen")


@dataclass(frozen=True, slots=True)
class _Vlen(Serializer):
    """What both have in common: no configuration, and chunks of no fixed size."""

    id: ClassVar[str]
    """The name in numcodecs, and so in version 2."""

    @classmethod
    def parse(cls: type[V], configuration: dict[str, Json], path: str, problems: Problems) -> V | None:
        return None if read(cls, configuration, path, problems) is None else cls()

    def configuration(self) -> dict[str, Json]:
        return {}

    @classmethod
    def from_config(cls: type[V], config: dict[str, Json], path: str, problems: Problems) -> V | None:
        """The codec that version 2 configures so, without the `id`."""
        for member in config:
            problems.warn(f"{path}.{member}", f"`{cls.id}` has no such member: it is ignored")
        return cls()

    def to_config(self) -> dict[str, Json]:
        return {}

    def _check(self, spec: ChunkSpec, kind: str, data_type: str, path: str, problems: Problems) -> bool:
        if spec.dtype.kind != kind:
            problems.add(path, f"codec `{self.name}` stores the data type `{data_type}`, and no {spec.dtype}")
        elif prod(spec.shape) >= 2**32:
            problems.add(path, f"codec `{self.name}` stores less than 2^32 elements in a chunk")
        else:
            return True
        return False


@dataclass(frozen=True, slots=True)
class VlenUtf8(_Vlen):
    """`{"name": "vlen-utf8"}`, for `string`."""

    name: ClassVar[str] = "vlen-utf8"
    id: ClassVar[str] = "vlen-utf8"

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundVlenUtf8 | None:
        return BoundVlenUtf8(self.name, spec) if self._check(spec, "T", "string", path, problems) else None


@dataclass(frozen=True, slots=True)
class VlenBytes(_Vlen):
    """`{"name": "vlen-bytes"}`, for `bytes`."""

    name: ClassVar[str] = "vlen-bytes"
    id: ClassVar[str] = "vlen-bytes"

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundVlenBytes | None:
        return BoundVlenBytes(self.name, spec) if self._check(spec, "O", "bytes", path, problems) else None


class _Bound(BoundSerializer):
    """The library trusts the number of elements that it finds, so that is checked before it is called; it checks the
    lengths of the elements itself."""

    __slots__ = ("_count", "_name", "_shape", "encoded")

    def __init__(self, name: str, spec: ChunkSpec) -> None:
        self._name = name
        self._shape = spec.shape
        self._count = prod(spec.shape)
        # Nothing in the metadata says how long the elements are: what holds for every chunk is all that bounds them.
        self.encoded = ByteSpec(size=None, limit=config.current.max_chunk_bytes)

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        # The library would take the elements of a transposed array in the order of its memory.
        flat = np.asarray(array, order="C").reshape(-1)
        try:
            data = self._encoded(flat)
        except UnicodeError as error:  # some of NumPy's own conversions make text that is none
            raise CodecError(self._name, str(error)) from None
        if len(data) > self.encoded.limit:  # nobody could read it again
            raise CodecError(
                self._name,
                f"the elements of a chunk have {len(data)} bytes, more than the limit of {self.encoded.limit}",
                hint="choose smaller chunks, or raise it with `omnizarr.config.set(max_chunk_bytes=...)` and open the "
                "array again",
            )
        return data

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        check_size(self._name, self.encoded, len(data))
        least = _LENGTH * (1 + self._count)
        if len(data) < least:
            raise CodecError(self._name, f"expected at least {least} bytes, found {len(data)}")
        count = int.from_bytes(data[:_LENGTH], "little")
        if count != self._count:
            raise CodecError(self._name, f"expected {self._count} elements, found {count}")
        try:
            array = self._decoded(data)
        except ValueError as error:
            raise CodecError(self._name, str(error)) from None
        left = self._left(array, len(data) - least)
        if left:
            raise CodecError(self._name, f"{left} bytes are left after the last element")
        return array.reshape(self._shape)

    @abstractmethod
    def _encoded(self, flat: npt.NDArray[Any]) -> bytearray: ...

    @abstractmethod
    def _decoded(self, data: Buffer) -> npt.NDArray[Any]: ...

    @abstractmethod
    def _left(self, flat: npt.NDArray[Any], size: int) -> int:
        """How many of `size` bytes belong to no element."""

    def _check_longest(self, longest: int) -> None:
        if longest > _LONGEST:
            raise CodecError(self._name, f"an element of {longest} bytes, more than {_LONGEST}")


class BoundVlenUtf8(_Bound):
    """By way of Python's strings, for only the library and Python take such bytes apart quickly: 100,000 short texts
    take about 30 ms in either direction, and a loop in Python more than twice as long."""

    __slots__ = ("_dtype",)

    def __init__(self, name: str, spec: ChunkSpec) -> None:
        super().__init__(name, spec)
        self._dtype = spec.dtype

    def _encoded(self, flat: npt.NDArray[Any]) -> bytearray:
        if flat.size:
            longest = int(np.strings.str_len(flat).max())
            if 4 * longest > _LONGEST:  # perhaps: only then it is worth while to count bytes
                self._check_longest(max(len(text.encode()) for text in flat.tolist()))
        data: bytearray = _library().VLenUTF8().encode(flat.astype(object))
        return data

    def _decoded(self, data: Buffer) -> npt.NDArray[Any]:
        texts: npt.NDArray[Any] = _library().VLenUTF8().decode(data)
        return texts.astype(self._dtype)

    def _left(self, flat: npt.NDArray[Any], size: int) -> int:
        # No text has fewer bytes than characters, so where as many characters came out there are no bytes left: true
        # of all ASCII, and much the quickest to find out.
        characters = int(np.strings.str_len(flat).sum())
        return 0 if characters == size else size - len("".join(flat.tolist()).encode())


class BoundVlenBytes(_Bound):
    """Elements are Python's `bytes`."""

    __slots__ = ()

    def _encoded(self, flat: npt.NDArray[Any]) -> bytearray:
        items = flat.tolist()
        for item in items:
            if type(item) is not bytes:  # the library takes None and 0 for nothing, and dies of some others
                raise CodecError(self._name, f"expected elements of type bytes, found {type(item).__name__}")
        self._check_longest(max(map(len, items), default=0))
        # The library wants memory that could be written to, though it does not.
        data: bytearray = _library().VLenBytes().encode(flat if flat.flags.writeable else flat.copy())
        return data

    def _decoded(self, data: Buffer) -> npt.NDArray[Any]:
        items: npt.NDArray[Any] = _library().VLenBytes().decode(data)
        return items

    def _left(self, flat: npt.NDArray[Any], size: int) -> int:
        return size - sum(map(len, flat.tolist()))
