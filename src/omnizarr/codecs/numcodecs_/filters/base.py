"""What the filters have in common: array → array codecs that take elements of one type, in C order, for elements of
another.

The types in a configuration have a byte order, because numcodecs looks at stored bytes. Here arrays are native in
memory, before a filter and behind it; `decoded_dtype` and `encoded_dtype` tell whoever chooses the serializer which
byte order the configuration asks for.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_fields import check, members
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec
from omnizarr.codecs.numcodecs_.base import Numcodec, to_typestr
from omnizarr.dtypes.contract import native_order
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundFilter", "Filter", "TypedFilter", "cast", "native"]

Elements = npt.NDArray[Any]


def native(dtype: str | np.dtype[Any]) -> np.dtype[Any]:
    """The same type in this machine's byte order."""
    return np.dtype(dtype).newbyteorder("=")


def cast(array: Elements, dtype: np.dtype[Any]) -> Elements:
    """The elements in another type, as a cast in C gives them. Of complex numbers the real part is left, about which
    NumPy would warn."""
    if array.dtype.kind == "c" and dtype.kind in "iufmM":
        array = array.real
    return array.astype(dtype, copy=False)


def _has_same_layout(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether elements of one type can be taken for elements of another: integers, times and truths are all counted in
    whole bits."""
    return one == other or (one.itemsize == other.itemsize and one.kind in "iumM" and other.kind in "iumMb")


class Filter(Numcodec, ArrayCodec):
    """A filter. `encode_flat` and `decode_flat` take and give arrays of one dimension, in native byte order, and never
    change what they are given."""

    @property
    @abstractmethod
    def decoded_dtype(self) -> np.dtype[Any] | None:
        """The type that it takes arrays for, with the byte order of the configuration; None if it takes them as they
        come."""

    @property
    @abstractmethod
    def encoded_dtype(self) -> np.dtype[Any] | None:
        """The type of what it makes of them, with the byte order of the configuration; None if that is the type and
        byte order of what it was given."""

    @abstractmethod
    def encode_flat(self, array: Elements) -> Elements: ...

    @abstractmethod
    def decode_flat(self, array: Elements) -> Elements: ...

    def with_types(self, dtype: np.dtype[Any]) -> Filter:
        """The same filter for arrays of this type, with no type left open; ArgumentError if it cannot take them."""
        return self

    def completed(self, dtype: np.dtype[Any]) -> Filter:
        """The same for a new array, which must be of the type that the filter takes. Documents may hold others of the
        same size: numcodecs looks at bytes alone, and whoever wrote them so reads them so."""
        found = self.with_types(dtype)
        taken = found.decoded_dtype
        if taken is not None and not _has_same_layout(native(taken), native_order(dtype)):
            raise ArgumentError(
                f"`{self.name}` takes elements of type {native(taken)}, and these are of type {dtype}",
                argument="filters",
            )
        return found

    def becomes(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        encoded = self.with_types(dtype).encoded_dtype
        return dtype if encoded is None else native(encoded)

    def unsupported_reason(self, dtype: np.dtype[Any]) -> str | None:
        """Why it cannot take elements of this type at all; some types do not go together, and NumPy knows which."""
        try:
            with np.errstate(all="ignore"):
                self.decode_flat(self.encode_flat(np.zeros(2, dtype)))
        except TypeError as error:
            return str(error)
        except (ValueError, OverflowError):
            pass  # it is these elements that it cannot take
        return None

    def encoded_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of what it makes of an array of that shape."""
        return shape

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None:
        try:
            codec = self.with_types(spec.dtype)
        except ArgumentError:
            problems.add(path, f"`{self.name}` cannot take elements of type {spec.dtype}")
            return None
        inner = spec.dtype if codec.decoded_dtype is None else native(codec.decoded_dtype)
        if spec.dtype.hasobject or inner.itemsize != spec.dtype.itemsize:
            problems.add(path, f"`{self.name}` takes elements of type {inner}, and these are of type {spec.dtype}")
            return None
        reason = codec.unsupported_reason(inner)
        if reason is not None:
            problems.add(path, f"`{self.name}` cannot take elements of type {spec.dtype}: {reason}")
            return None
        return BoundFilter(codec, spec, inner)


class TypedFilter(Filter):
    """A filter whose configuration says what it takes, `dtype`, and what it makes of that, `astype`; `dtype` left None
    is the type of the array, and `astype` left None is `dtype`."""

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
        found: Any = self
        completed: TypedFilter = replace(found, dtype=dtype.str, astype=self.astype or dtype.str)
        return completed

    @property
    def decoded_dtype(self) -> np.dtype[Any] | None:
        return None if self.dtype is None else np.dtype(self.dtype)

    @property
    def encoded_dtype(self) -> np.dtype[Any] | None:
        return None if self.astype is None else np.dtype(self.astype)


class BoundFilter(BoundArrayCodec):
    """A filter and the chunks that it will meet."""

    __slots__ = ("_codec", "_inner", "_spec", "encoded")

    def __init__(self, codec: Filter, spec: ChunkSpec, inner: np.dtype[Any]) -> None:
        self._codec = codec
        self._spec = spec
        self._inner = inner
        dtype = inner if codec.encoded_dtype is None else native(codec.encoded_dtype)
        self.encoded = ChunkSpec(codec.encoded_shape(spec.shape), dtype, _fill(spec.fill, dtype))

    def encode(self, array: Elements) -> Elements:
        flat = np.ascontiguousarray(array).reshape(-1)
        if flat.dtype != self._inner:
            if self._inner.kind == "b" and flat.size and flat.view(np.uint8).max() > 1:
                raise CodecError(self._codec.id, "stores truths: an element is neither 0 nor 1")
            flat = flat.view(self._inner)
        return self._apply(self._codec.encode_flat, flat, self.encoded)

    def decode(self, array: Elements) -> Elements:
        decoded = self._apply(self._codec.decode_flat, np.ascontiguousarray(array).reshape(-1), self._spec)
        if decoded.dtype == self._spec.dtype:
            return decoded
        if self._spec.dtype.kind == "b":
            return np.not_equal(decoded, 0)  # NumPy computes nonsense with truths that are neither 0 nor 1
        return decoded.view(self._spec.dtype)

    def _apply(self, function: Any, flat: Elements, spec: ChunkSpec) -> Elements:
        try:
            with np.errstate(all="ignore"):
                found: Elements = function(flat)
                return found.reshape(spec.shape)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise CodecError(self._codec.id, str(error) or "not enough memory") from None


def _fill(fill: Elements, dtype: np.dtype[Any]) -> Elements:
    """The fill value of what is behind a filter: the same value in the other type, as zarr-python 3 takes it (A37)."""
    try:
        with np.errstate(all="ignore"):
            return cast(fill, dtype)
    except (TypeError, ValueError, OverflowError):
        return np.zeros((), dtype)
