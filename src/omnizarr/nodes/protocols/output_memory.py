"""Memory that a caller passes as `out`: NumPy arrays, tensors with DLPack, and objects with the buffer protocol."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError

__all__ = ["as_output", "check_output"]


def as_output(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A NumPy array of this shape in the memory of `out`.

    `out` is a NumPy array; or has `__dlpack__`, such as a tensor in pinned or shared memory of the processor; or has
    the buffer protocol, such as a `bytearray` or the memory of a `SharedMemory`. A buffer of bytes must have the size
    of the result.
    """
    if not isinstance(out, np.ndarray):
        out = _from_dlpack(out) if hasattr(out, "__dlpack__") else _from_buffer(out, shape, dtype)
    check_output(out, shape, dtype)
    array: npt.NDArray[Any] = out
    return array


def check_output(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raises ArgumentError if a result of this shape and type cannot be written to `out`."""
    if not isinstance(out, np.ndarray) or not out.flags.writeable:
        raise ArgumentError("`out`: expected a writable NumPy array", argument="out")
    if out.shape != shape:
        raise ArgumentError(f"`out`: expected the selection's shape {shape}, found {out.shape}", argument="out")
    numbers = dtype.kind in "biufc" and out.dtype.kind in "biufc"
    if out.dtype != dtype and not (numbers and np.can_cast(dtype, out.dtype, "same_kind")):
        raise ArgumentError(f"`out`: expected a type that {dtype} can be cast to, found {out.dtype}", argument="out")


def _from_dlpack(tensor: Any) -> npt.NDArray[Any]:
    try:
        array = np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(
            f"`out`: expected memory of the processor, found {type(tensor).__name__}: {error}", argument="out"
        ) from None
    if not array.flags.writeable and hasattr(tensor, "numpy"):  # a tensor whose DLPack version cannot say "writable"
        array = tensor.numpy()
    return array


def _from_buffer(buffer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ArgumentError(
            f"`out`: expected a NumPy array, or memory with DLPack or the buffer protocol, "
            f"found {type(buffer).__name__}",
            argument="out",
        ) from None
    if view.ndim == len(shape) and view.shape == shape and view.itemsize == dtype.itemsize and view.format != "B":
        return np.asarray(view)
    size = prod(shape) * dtype.itemsize
    if not view.c_contiguous or view.nbytes != size or dtype.hasobject:
        raise ArgumentError(
            f"`out`: expected {size} contiguous bytes for shape {shape} of {dtype}, found {view.nbytes}", argument="out"
        )
    return np.frombuffer(view, dtype).reshape(shape) if size else np.empty(shape, dtype)
