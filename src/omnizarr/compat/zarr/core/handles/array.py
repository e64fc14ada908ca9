"""`Array`: the handle of an array."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core.array_spec import ArrayConfig, parse_array_config
from omnizarr.compat.zarr.core.buffer.core import NDBuffer
from omnizarr.compat.zarr.core.handles.properties import ArrayProperties
from omnizarr.compat.zarr.core.indexing import (
    check_basic,
    check_fields,
    check_steps,
    check_vindex,
    is_plain,
    is_pure_fancy_indexing,
    is_pure_orthogonal_indexing,
    pop_fields,
)
from omnizarr.compat.zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from omnizarr.compat.zarr.errors import translated
from omnizarr.compat.zarr.storage._common import StorePath, store_path_of
from omnizarr.errors import OmnizarrError, SelectionError
from omnizarr.nodes import Array as OwnArray

__all__ = ["Array", "SelectionBrackets"]


class SelectionBrackets:
    """Square brackets for one kind of selection."""

    def __init__(self, get: Any, set: Any) -> None:
        self._get, self._set = get, set

    def __getitem__(self, selection: Any) -> Any:
        fields, selection = pop_fields(selection)
        return self._get(selection, fields=fields)

    def __setitem__(self, selection: Any, value: Any) -> None:
        fields, selection = pop_fields(selection)
        self._set(selection, value, fields=fields)


def _target(out: Any) -> Any:
    if out is not None and not isinstance(out, NDBuffer):
        raise TypeError(f"out argument needs to be an NDBuffer. Got {type(out)!r}")
    return None if out is None else out.as_ndarray_like()


class Array(ArrayProperties):
    """A chunked, compressed, N-dimensional array in a store."""

    def __init__(self, async_array: Any) -> None:
        array = getattr(async_array, "_array", async_array)
        self._handle = array._handle
        self.store_path = array.store_path
        self._config = array._config
        self._as_is = array._as_is

    @classmethod
    def _of(cls, handle: OwnArray, store_path: StorePath, config: Any = None) -> Self:
        array = cls.__new__(cls)
        array._handle = handle
        array.store_path = store_path
        array._config = parse_array_config(config)
        if array._config.write_empty_chunks:
            handle._write_empty_chunks = True
        array._as_is = array._config.order == "C" and bool(handle.shape) and array._stored_dtype is None
        return array

    @classmethod
    @translated
    def open(cls, store: Any) -> Self:
        """Opens an array."""
        place = store_path_of(store)
        return cls._of(create.open_handle(place, "array"), place)

    @classmethod
    def from_dict(cls, store_path: StorePath, data: dict[str, Any]) -> Self:
        """The handle of an array whose document is `data`."""
        metadata = (ArrayV2Metadata if data["zarr_format"] == 2 else ArrayV3Metadata).from_dict(data)
        return cls(cls._async_class(metadata, store_path))

    # -- reading

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("`copy=False` is not supported. This method always creates a copy.")
        array = np.asarray(self[...])
        return array if dtype is None else array.astype(dtype)

    def __getitem__(self, selection: Any) -> Any:
        try:
            if is_plain(selection):
                result = self._handle[selection]
                if self._as_is and type(result) is np.ndarray and result.ndim:
                    return result
                # zarr-python returns an array without dimensions for integers alone, and a scalar if `...` is among
                # them or the array itself has no dimensions.
                scalar = not self._handle.shape or not _all_integers(selection)
                return self._finish(result if scalar else np.asarray(result, self._handle.dtype), scalar=scalar)
            fields, key = pop_fields(selection)
            if is_pure_fancy_indexing(key, self.ndim):
                return self.vindex[selection]
            if is_pure_orthogonal_indexing(key, self.ndim):
                return self.get_orthogonal_selection(key, fields=fields)
            return self.get_basic_selection(key, fields=fields)
        except SelectionError as error:
            if is_plain(selection):
                check_basic(selection, self.ndim)  # raises the same error with the text of zarr-python
            return translated(_raise)(error)

    def _finish(self, result: Any, out: Any = None, scalar: bool = True) -> Any:
        if out is not None:
            return out
        if self._stored_dtype is not None and np.dtype(getattr(result, "dtype", object)) == self._handle.dtype:
            result = np.asarray(result).astype(self._stored_dtype)
        if isinstance(result, np.ndarray):
            if result.ndim == 0 and scalar:
                return result[()]
            if self.order == "F" and result.ndim > 1:
                return np.asfortranarray(result)
        return result

    @translated
    def get_basic_selection(
        self, selection: Any = Ellipsis, *, out: Any = None, prototype: Any = None, fields: Any = None
    ) -> Any:
        """The elements that integers and slices select."""
        check_fields(fields, self.dtype)
        check_basic(selection, self.ndim)
        target = _target(out)
        return self._finish(self._handle.get_basic_selection(selection, out=target, fields=fields), target)

    @translated
    def get_orthogonal_selection(
        self, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
    ) -> Any:
        """The elements of an orthogonal selection."""
        check_fields(fields, self.dtype)
        check_steps(selection)
        target = _target(out)
        result = self._handle.get_orthogonal_selection(selection, out=target, fields=fields)
        if not isinstance(result, np.ndarray):
            result = np.asarray(result, check_fields(fields, self._handle.dtype))
        return self._finish(result, target, scalar=False)

    @translated
    def get_mask_selection(self, mask: Any, *, out: Any = None, fields: Any = None, prototype: Any = None) -> Any:
        """The elements where a mask is true."""
        check_fields(fields, self.dtype)
        target = _target(out)
        return self._finish(self._handle.get_mask_selection(mask, out=target, fields=fields), target)

    @translated
    def get_coordinate_selection(
        self, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
    ) -> Any:
        """The elements at points."""
        check_fields(fields, self.dtype)
        target = _target(out)
        result = self._handle.get_coordinate_selection(selection, out=target, fields=fields)
        return self._finish(np.atleast_1d(result) if target is None else result, target, scalar=False)

    @translated
    def get_block_selection(self, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None) -> Any:
        """Whole chunks."""
        check_fields(fields, self.dtype)
        target = _target(out)
        return self._finish(self._handle.get_block_selection(selection, out=target, fields=fields), target)

    # -- writing

    @translated
    def __setitem__(self, selection: Any, value: Any) -> None:
        fields, key = pop_fields(selection)
        if fields is None and is_plain(key):
            self._handle[key] = value
        elif is_pure_fancy_indexing(key, self.ndim):
            self.vindex[selection] = value
        elif is_pure_orthogonal_indexing(key, self.ndim):
            self.set_orthogonal_selection(key, value, fields=fields)
        else:
            self.set_basic_selection(key, value, fields=fields)

    @translated
    def set_basic_selection(self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None) -> None:
        """Writes the elements that integers and slices select."""
        check_fields(fields, self.dtype)
        check_basic(selection, self.ndim)
        self._handle.set_basic_selection(selection, value, fields=fields)

    @translated
    def set_orthogonal_selection(
        self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None
    ) -> None:
        """Writes an orthogonal selection."""
        check_fields(fields, self.dtype)
        check_steps(selection)
        self._handle.set_orthogonal_selection(selection, value, fields=fields)

    @translated
    def set_mask_selection(self, mask: Any, value: Any, *, fields: Any = None, prototype: Any = None) -> None:
        """Writes the elements where a mask is true."""
        check_fields(fields, self.dtype)
        self._handle.set_mask_selection(mask, value, fields=fields)

    @translated
    def set_coordinate_selection(
        self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None
    ) -> None:
        """Writes the elements at points."""
        check_fields(fields, self.dtype)
        self._handle.set_coordinate_selection(selection, value, fields=fields)

    @translated
    def set_block_selection(self, selection: Any, value: Any, *, fields: Any = None, prototype: Any = None) -> None:
        """Writes whole chunks."""
        check_fields(fields, self.dtype)
        self._handle.set_block_selection(selection, value, fields=fields)

    @property
    def vindex(self) -> SelectionBrackets:
        """Points or a mask."""

        def get(selection: Any, fields: Any = None) -> Any:
            return self.get_coordinate_selection(check_vindex(selection, self.shape), fields=fields)

        def set(selection: Any, value: Any, fields: Any = None) -> None:
            self.set_coordinate_selection(check_vindex(selection, self.shape), value, fields=fields)

        return SelectionBrackets(get, set)

    @property
    def oindex(self) -> SelectionBrackets:
        """Orthogonal selections."""
        return SelectionBrackets(self.get_orthogonal_selection, self.set_orthogonal_selection)

    @property
    def blocks(self) -> SelectionBrackets:
        """Whole chunks."""
        return SelectionBrackets(self.get_block_selection, self.set_block_selection)

    # -- changes

    @translated
    def resize(self, new_shape: Any) -> None:
        """Changes the shape."""
        shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
        if len(shape) != self.ndim:
            raise ValueError(
                "The new shape must have the same number of dimensions as the array. "
                f"Got {len(shape)} dimension(s), expected {self.ndim}."
            )
        self._handle.resize(shape)

    @translated
    def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds elements at the end of an axis."""
        return self._handle.append(data, axis)

    @translated
    def update_attributes(self, new_attributes: dict[str, Any]) -> Self:
        """Adds or replaces attributes."""
        self.attrs.update(new_attributes)
        return self

    def with_config(self, config: Any) -> Self:
        """Another handle with other options."""
        return type(self)._of(
            self._handle,
            self.store_path,
            {**self._config.to_dict(), **(config.to_dict() if isinstance(config, ArrayConfig) else config)},
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Array):
            return NotImplemented
        return self.store_path == other.store_path and bool(self.metadata == other.metadata)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_metadata", "_meta")}

    def __dask_tokenize__(self) -> Any:
        return self._handle.__dask_tokenize__()

    def __repr__(self) -> str:
        return f"<Array {self.store_path} shape={self.shape} dtype={self.dtype}>"


def _all_integers(selection: Any) -> bool:
    items = selection if isinstance(selection, tuple) else (selection,)
    return all(isinstance(item, int) for item in items)


def _raise(error: OmnizarrError) -> Any:
    raise error
