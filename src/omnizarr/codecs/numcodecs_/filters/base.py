"""`Filter` and `TypedFilter`, the bases of the numcodecs filters, which turn flat arrays of one type into another.

The types in a configuration have a byte order, because numcodecs works on stored bytes. In omnizarr, the input and
output of a filter have native byte order. `decoded_dtype` and `encoded_dtype` tell `formats` the byte order of the
configuration, so that it can choose the serializer.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import check, members
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec
from omnizarr.codecs.numcodecs_.base import Numcodec, to_typestr
from omnizarr.dtypes.contract import native_order
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundFilter", "Filter", "TypedFilter", "cast", "little_endian", "native"]

Elements = npt.NDArray[Any]

_LONGEST_ELEMENT = 2**16  # bytes; to cast one text, NumPy allocates memory for 128 of that length


def native(dtype: str | np.dtype[Any]) -> np.dtype[Any]:
    """The type in native byte order."""
    return np.dtype(dtype).newbyteorder("=")


def little_endian(typestr: str | None) -> str | None:
    """The type string in little-endian byte order."""
    return None if typestr is None else np.dtype(typestr).newbyteorder("<").str


def cast(array: Elements, dtype: np.dtype[Any]) -> Elements:
    """Cast elements as C does. Of complex numbers it keeps the real part, without NumPy's warning."""
    if array.dtype.kind == "c" and dtype.kind in "iufmM":
        array = array.real
    return array.astype(dtype, copy=False)


def _has_same_layout(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether the bytes of one type can be read as the other type: equal types, or integers, times and booleans of
    equal size."""
    return one == other or (one.itemsize == other.itemsize and one.kind in "iumM" and other.kind in "iumMb")


class Filter(Numcodec, ArrayCodec):
    """A filter. `encode_flat` and `decode_flat` convert one-dimensional arrays in native byte order, and do not change
    their argument."""

    @property
    @abstractmethod
    def decoded_dtype(self) -> np.dtype[Any] | None:
        """The input type of `encode`, with the byte order of the configuration; None if it accepts any type."""

    @property
    @abstractmethod
    def encoded_dtype(self) -> np.dtype[Any] | None:
        """The output type of `encode`, with the byte order of the configuration; None if it equals the input type."""

    @abstractmethod
    def encode_flat(self, array: Elements) -> Elements: ...

    @abstractmethod
    def decode_flat(self, array: Elements) -> Elements: ...

    def with_types(self, dtype: np.dtype[Any]) -> Filter:
        """The filter for arrays of this type, with missing types filled in. Raises ArgumentError if it does not support
        the type."""
        return self

    def with_little_endian_types(self) -> Filter:
        """The filter with little-endian types in its configuration, for documents whose types have no byte order."""
        return self

    def completed(self, dtype: np.dtype[Any]) -> Filter:
        """`with_types` for a new array, which must have the input type of the filter. Documents may have another type
        of the same size, because numcodecs only interprets bytes."""
        typed = self.with_types(dtype)
        expected = typed.decoded_dtype
        if expected is not None and not _has_same_layout(native(expected), native_order(dtype)):
            raise ArgumentError(
                f"codec `{self.name}`: expected elements of type {native(expected)}, found {dtype}", argument="filters"
            )
        return typed

    def becomes(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        encoded = self.with_types(dtype).encoded_dtype
        return dtype if encoded is None else native(encoded)

    def unsupported_reason(self, dtype: np.dtype[Any]) -> str | None:
        """Why the filter does not support elements of this type, or None. NumPy decides by a trial run."""
        encoded = dtype if self.encoded_dtype is None else self.encoded_dtype
        if encoded.itemsize > _LONGEST_ELEMENT:
            return f"its output, {encoded}, has elements of more than {_LONGEST_ELEMENT} bytes"
        try:
            with np.errstate(all="ignore"):
                self.decode_flat(self.encode_flat(np.zeros(2, dtype)))
        except TypeError as error:
            return str(error)
        except (ValueError, OverflowError):
            pass  # the values are invalid, not the type
        return None

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape after encoding, for arrays of this shape."""
        return shape

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None:
        try:
            codec = self.with_types(spec.dtype)
        except ArgumentError:
            problems.add(path, f"codec `{self.name}` does not support elements of type {spec.dtype}", rule="A45")
            return None
        inner = spec.dtype if codec.decoded_dtype is None else native(codec.decoded_dtype)
        parts, rest = divmod(spec.dtype.itemsize, inner.itemsize)
        if spec.dtype.hasobject or rest or (parts > 1 and inner.kind == "b"):
            problems.add(
                path, f"codec `{self.name}`: expected elements of type {inner}, found {spec.dtype}", rule="A45"
            )
            return None
        reason = codec.unsupported_reason(inner)
        if reason is not None:
            problems.add(
                path, f"codec `{self.name}` does not support elements of type {spec.dtype}: {reason}", rule="A45"
            )
            return None
        return BoundFilter(codec, spec, inner)


class TypedFilter(Filter):
    """A filter whose configuration contains its input type `dtype` and its output type `astype`. A `dtype` of None
    means the type of the array, and an `astype` of None means `dtype`."""

    dtype: str | None
    astype: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", to_typestr(self.dtype))
        object.__setattr__(self, "astype", self.dtype if self.astype is None else to_typestr(self.astype))
        check(self)

    def configuration(self) -> dict[str, Json]:
        return {name: value for name in members(self) if (value := getattr(self, name)) is not None}

    def with_types(self, dtype: np.dtype[Any]) -> TypedFilter:
        if self.dtype is not None:
            return self
        dataclass: Any = self
        completed: TypedFilter = replace(dataclass, dtype=dtype.str, astype=self.astype or dtype.str)
        return completed

    def with_little_endian_types(self) -> TypedFilter:
        dataclass: Any = self
        changed: TypedFilter = replace(dataclass, dtype=little_endian(self.dtype), astype=little_endian(self.astype))
        return changed

    @property
    def decoded_dtype(self) -> np.dtype[Any] | None:
        return None if self.dtype is None else np.dtype(self.dtype)

    @property
    def encoded_dtype(self) -> np.dtype[Any] | None:
        return None if self.astype is None else np.dtype(self.astype)


class BoundFilter(BoundArrayCodec):
    """A bound `Filter`."""

    __slots__ = ("_codec", "_inner", "_spec", "encoded")

    def __init__(self, codec: Filter, spec: ChunkSpec, inner: np.dtype[Any]) -> None:
        self._codec = codec
        self._spec = spec
        self._inner = inner
        dtype = inner if codec.encoded_dtype is None else native(codec.encoded_dtype)
        shape = spec.shape
        if inner.itemsize != spec.dtype.itemsize:  # GDAL names the type of the parts of complex numbers
            shape = (spec.nbytes // inner.itemsize,)
        self.encoded = ChunkSpec(codec.encoded_shape(shape), dtype, _fill(spec.fill, dtype))

    def encode(self, array: Elements) -> Elements:
        flat = np.ascontiguousarray(array).reshape(-1)
        if flat.dtype != self._inner:
            if self._inner.kind == "b" and flat.size and flat.view(np.uint8).max() > 1:
                raise CodecError(self._codec.id, "expected booleans, found an element other than 0 and 1")
            flat = flat.view(self._inner)
        return self._apply(self._codec.encode_flat, flat, self.encoded)

    def decode(self, array: Elements) -> Elements:
        return self._apply(self._decode_flat, np.ascontiguousarray(array).reshape(-1), self._spec)

    def _decode_flat(self, flat: Elements) -> Elements:
        decoded = self._codec.decode_flat(flat)
        if decoded.dtype == self._spec.dtype:
            return decoded
        if self._spec.dtype.kind == "b":
            return np.not_equal(decoded, 0)  # NumPy computes wrong results with booleans other than 0 and 1
        return decoded.view(self._spec.dtype)

    def _apply(self, function: Any, flat: Elements, spec: ChunkSpec) -> Elements:
        try:
            with np.errstate(all="ignore"):
                result: Elements = function(flat)
                return result.reshape(spec.shape)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise CodecError(self._codec.id, str(error) or "not enough memory") from None


def _fill(fill: Elements, dtype: np.dtype[Any]) -> Elements:
    """The fill value after a filter: the same value in the output type, as in zarr-python 3 (A37)."""
    try:
        with np.errstate(all="ignore"):
            return cast(fill, dtype)
    except (TypeError, ValueError, OverflowError):
        return np.zeros((), dtype)
