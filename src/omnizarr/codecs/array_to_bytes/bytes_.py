"""The `bytes` codec: the elements of an array in C order, in one byte order (R85 to R87)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_fields import check, choice, read
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, check_size, codecs
from omnizarr.dtypes.record_padding import has_padding, zeroed_padding
from omnizarr.dtypes.sanitize import Sanitizer
from omnizarr.errors import CodecError

__all__ = ["BoundBytes", "Bytes", "has_byte_order"]


def has_byte_order(dtype: np.dtype[Any]) -> bool:
    """Whether the stored bytes depend on a byte order: one-byte types, `S` and raw `V` do not, a struct does if any of
    its fields does."""
    if dtype.fields is not None:
        return any(has_byte_order(entry[0]) for entry in dtype.fields.values())
    if dtype.subdtype is not None:
        return has_byte_order(dtype.base)
    # types of ml_dtypes claim the order "=" even where they are one byte long
    return dtype.itemsize > 1 and dtype.byteorder != "|"


@dataclass(frozen=True, slots=True)
class Bytes(Serializer):
    """`{"name": "bytes", "configuration": {"endian": "little"}}`; `endian` is left out for types without byte order."""

    name: ClassVar[str] = "bytes"
    endian: Literal["little", "big"] | None = field(default=None, metadata=choice("little", "big", optional=True))

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Bytes | None:
        found = read(cls, configuration, path, problems)
        return None if found is None else cls(**found)

    def configuration(self) -> dict[str, Json]:
        return {} if self.endian is None else {"endian": self.endian}

    def resolved(self, dtype: np.dtype[Any]) -> Bytes:
        """What a new array of this type records: no `endian` where it means nothing (A39), else the one that was asked
        for, else little."""
        return Bytes(self.endian or "little") if has_byte_order(dtype) else Bytes()

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundBytes | None:
        if spec.dtype.hasobject:
            other = {"T": "vlen-utf8", "O": "vlen-bytes"}.get(spec.dtype.kind, "vlen-bytes")
            problems.add(
                path,
                f"codec `bytes` cannot store elements of varying length ({spec.dtype})",
                hint=f"`{other}` can",
            )
            return None
        if not has_byte_order(spec.dtype):
            return BoundBytes(spec, spec.dtype)  # an `endian` that means nothing is ignored (A39)
        if self.endian is None:
            problems.add(
                f"{path}.configuration", f"`endian` is missing: elements of type {spec.dtype} have a byte order"
            )
            return None
        stored = spec.dtype.newbyteorder(self.endian)
        # the very same object where both are equal, so that NumPy sees at once that there is nothing to convert
        return BoundBytes(spec, spec.dtype if stored == spec.dtype else stored)


class BoundBytes(BoundSerializer):
    """Chunks in memory as `spec` says, in storage as `stored` says.

    A stored boolean other than 0 and 1 is read as true (R87): that is what C made of it, and NumPy computes nonsense
    with any other byte. Of a number of less than a byte, the bits above it are ignored, and written as its sign or as
    zeros (R141, R143). Characters that Unicode does not have are refused (R147). Arrays that hold any of these are not
    `plain`, for their bytes must be looked at.
    """

    __slots__ = ("_dtype", "_padded", "_sanitizer", "_shape", "_size", "_stored", "_swapped", "encoded", "plain")

    def __init__(self, spec: ChunkSpec, stored: np.dtype[Any]) -> None:
        self._shape = spec.shape
        self._dtype = spec.dtype
        self._stored = stored
        self._size = spec.nbytes
        self._sanitizer = Sanitizer(spec.dtype)
        self._padded = has_padding(stored)
        # To NumPy, a time without a unit is a time of any kind: it would be left as it is, byte order and all.
        self._swapped = stored is not spec.dtype and stored.kind in "mM"
        self.plain = stored is spec.dtype and not self._sanitizer
        self.encoded = ByteSpec(size=spec.nbytes, limit=spec.nbytes, itemsize=max(1, spec.dtype.itemsize))

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        """A view of the array's own memory where that is possible, else of a converted copy."""
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
        array.flags.writeable = False  # the bytes may be a store's own
        return array


codecs.register(Bytes.name, Bytes, aliases=("endian",))  # its name until January 2024
