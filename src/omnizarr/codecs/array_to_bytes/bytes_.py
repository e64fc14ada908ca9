"""The `bytes` codec: the elements of a chunk in C order, with a fixed byte order (R85 to R87)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import check, choice, read
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, check_size, codecs
from omnizarr.dtypes.record_padding import has_padding, zeroed_padding
from omnizarr.dtypes.sanitize import Sanitizer
from omnizarr.errors import CodecError

__all__ = ["BoundBytes", "Bytes", "has_byte_order"]


def has_byte_order(dtype: np.dtype[Any]) -> bool:
    """Whether the stored bytes depend on a byte order. One-byte types, `S` and raw `V` do not; a struct does if any of
    its fields does."""
    if dtype.fields is not None:
        return any(has_byte_order(entry[0]) for entry in dtype.fields.values())
    if dtype.subdtype is not None:
        return has_byte_order(dtype.base)
    # One-byte types of ml_dtypes also report the byte order "=".
    return dtype.itemsize > 1 and dtype.byteorder != "|"


@dataclass(frozen=True, slots=True)
class Bytes(Serializer):
    """`{"name": "bytes", "configuration": {"endian": "little"}}`. Types without byte order have no `endian`."""

    name: ClassVar[str] = "bytes"
    spec_rule: ClassVar[str | None] = "R85"
    shares_bound: ClassVar[bool] = True
    endian: Literal["little", "big"] | None = field(default=None, metadata=choice("little", "big", optional=True))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Bytes | None:
        arguments = read(cls, configuration, path, problems)
        return None if arguments is None else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        return {} if self.endian is None else {"endian": self.endian}

    def resolved(self, dtype: np.dtype[Any]) -> Bytes:
        """The codec that a new array of this type records: without `endian` if the type has no byte order (A39),
        otherwise with the given one, or else little."""
        endian = (self.endian or "little") if has_byte_order(dtype) else None
        return self if endian == self.endian else Bytes(endian)

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundBytes | None:
        if spec.dtype.hasobject:
            other = {"T": "vlen-utf8", "O": "vlen-bytes"}.get(spec.dtype.kind, "vlen-bytes")
            problems.add(
                path,
                f"codec `bytes` cannot store elements of variable length ({spec.dtype})",
                hint=f"use `{other}`",
                rule="R85",
            )
            return None
        if not has_byte_order(spec.dtype):
            return BoundBytes(spec, spec.dtype)  # an `endian` without meaning is ignored (A39)
        if self.endian is None:
            problems.add(
                f"{path}.configuration",
                f"`endian` is missing: elements of type {spec.dtype} have a byte order",
                rule="R85",
            )
            return None
        stored = spec.dtype.newbyteorder(self.endian)
        # If both are equal, pass the same object: NumPy then sees at once that no conversion is needed.
        return BoundBytes(spec, spec.dtype if stored == spec.dtype else stored)


class BoundBytes(BoundSerializer):
    """A bound `Bytes` or `StoredBytes`: converts between the type in memory (`spec.dtype`) and the `stored` type.

    A stored boolean other than 0 and 1 is read as true (R87), as in C; NumPy computes wrong results with other bytes.
    In numbers of less than a byte, `decode` ignores the unused bits, and `encode` fills them with the sign or with
    zeros (R141, R143). Code points outside Unicode are an error (R147). Chunks of these types are not `plain`, because
    `decode` must check their bytes.
    """

    __slots__ = ("_dtype", "_padded", "_sanitizer", "_shape", "_size", "_stored", "_swapped", "encoded", "plain")

    def __init__(self, spec: ChunkSpec, stored: np.dtype[Any]) -> None:
        self._shape = spec.shape
        self._dtype = spec.dtype
        self._stored = stored
        self._size = spec.nbytes
        self._sanitizer = Sanitizer(spec.dtype)
        self._padded = has_padding(stored)
        # NumPy treats a time without unit as equal to any other time type and would not swap its bytes.
        self._swapped = stored is not spec.dtype and stored.kind in "mM"
        self.plain = stored is spec.dtype and not self._sanitizer
        self.encoded = ByteSpec(size=spec.nbytes, limit=spec.nbytes, itemsize=max(1, spec.dtype.itemsize))

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        """The memory of the array itself if possible, otherwise that of a converted copy."""
        if not self._size:
            return b""
        if self._swapped:
            array = np.ascontiguousarray(array, self._dtype).byteswap()
        else:
            array = zeroed_padding(array, self._stored) if self._padded else np.ascontiguousarray(array, self._stored)
        if self._sanitizer:
            array = self._sanitizer.to_stored(array)
        return array.reshape(-1).view(np.uint8).data

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        if len(data) != self._size:
            check_size("bytes", self.encoded, len(data))
        array: npt.NDArray[Any] = np.ndarray(self._shape, self._stored, data)
        if self._swapped:
            array = array.byteswap().view(self._dtype)
        elif self._stored is not self._dtype:
            array = array.astype(self._dtype)
        if self._sanitizer:
            try:
                array = self._sanitizer.sanitize(array)
            except ValueError as error:
                raise CodecError("bytes", str(error)) from None
        array.flags.writeable = False  # `data` may be memory of a store
        return array


codecs.register(Bytes.name, Bytes, aliases=("endian",))  # its name until January 2024
