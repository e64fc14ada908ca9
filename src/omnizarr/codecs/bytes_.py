"""The `bytes` codec: the elements of an array in C order, in one byte order (R85 to R87)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, codecs
from omnizarr.codecs.members import check, choice, read
from omnizarr.codecs.sizes import check_size

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


def _bools(dtype: np.dtype[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The field names that lead to each boolean inside `dtype`; one empty path if it is a boolean itself."""
    if dtype.fields is not None:
        for name, entry in dtype.fields.items():
            yield from _bools(entry[0].base, (*path, name))
    elif dtype.kind == "b":
        yield path


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
            problems.add(path, f"codec `bytes` cannot store elements of varying length ({spec.dtype})")
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
    with any other byte. Arrays that hold booleans are not `plain`, for their bytes must be looked at.
    """

    __slots__ = ("_bools", "_dtype", "_shape", "_size", "_stored", "encoded", "plain")

    def __init__(self, spec: ChunkSpec, stored: np.dtype[Any]) -> None:
        self._shape = spec.shape
        self._dtype = spec.dtype
        self._stored = stored
        self._size = spec.nbytes
        self._bools = tuple(_bools(spec.dtype))
        self.plain = stored is spec.dtype and not self._bools
        self.encoded = ByteSpec(size=spec.nbytes, limit=spec.nbytes, itemsize=max(1, spec.dtype.itemsize))

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        """A view of the array's own memory where that is possible, else of a converted copy."""
        if not self._size:
            return b""
        array = np.ascontiguousarray(array, self._stored)
        if self._bools:
            array = self._with_true_as_one(array)
        return array.reshape(-1).view(np.uint8).data

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        if len(data) != self._size:
            check_size("bytes", self.encoded, len(data))
        array: npt.NDArray[Any] = np.ndarray(self._shape, self._stored, data)
        if self._stored is not self._dtype:
            array = array.astype(self._dtype)
        if self._bools:
            array = self._with_true_as_one(array)
        array.flags.writeable = False  # the bytes may be a store's own
        return array

    def _with_true_as_one(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`array` itself if every boolean in it is 0 or 1, else a copy in which it is so."""
        if any(part.size and part.max() > 1 for part in map(_raw, [array] * len(self._bools), self._bools)):
            array = array.copy()
            for path in self._bools:
                part = _raw(array, path)
                np.minimum(part, 1, out=part)
        return array


def _raw(array: npt.NDArray[Any], path: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    """The booleans that `path` leads to, as bytes, in place."""
    for name in path:
        array = array[name]
    return array.view(np.uint8)


codecs.register(Bytes.name, Bytes, aliases=("endian",))  # its name until January 2024
