"""Casts of elements to types that every generation has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes import DataType, data_type_of

__all__ = ["TypeCast", "cast_for_generation", "cast_small_float", "cast_to", "possible_casts"]


class TypeCast(NamedTuple):
    """A data type instead of another one, and how elements become elements of it."""

    data_type: DataType
    convert: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


def cast_for_generation(dtype: np.dtype[Any]) -> TypeCast | None:
    """The cast of elements whose type a generation cannot name, to numbers or text that every generation has."""
    if dtype.hasobject or dtype.kind == "T":
        return TypeCast(data_type_of("string"), _texts)
    if dtype.kind in "mM":  # a time without a unit
        return TypeCast(data_type_of("int64"), lambda block: block.astype("int64"))
    small = cast_small_float(dtype)
    if small is not None:
        return small
    if dtype.names is not None:
        return _flat_record(dtype)
    if dtype.names is None and dtype.kind == "V" and "int" in dtype.name:  # integers of 2 and 4 bits
        return cast_to(np.dtype("uint8" if dtype.name.startswith("u") else "int8"))
    return None


def possible_casts(dtype: np.dtype[Any]) -> list[TypeCast]:
    """The casts of elements to types that more generations have, the best first."""
    casts = [cast_to(np.dtype("uint8"))] if dtype.kind == "b" else []
    if dtype == np.dtype("float16"):
        casts.append(cast_to(np.dtype("float32")))
    general = cast_for_generation(dtype)
    return casts if general is None else [*casts, general]


def _flat_record(dtype: np.dtype[Any]) -> TypeCast:
    """The cast of records with padding, arrays or records inside to records of plain fields: `a`, `b.c`, `d[0,1]`."""
    leaves = list(_leaves(dtype, "", ()))
    flat = np.dtype([(name, leaf.newbyteorder("<")) for name, leaf, _ in leaves])

    def convert(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        records = np.zeros(block.shape, flat)
        for name, _, steps in leaves:
            values: Any = block
            for step in steps:
                values = values[step] if isinstance(step, str) else values[(..., *step)]
            records[name] = values
        return records

    return TypeCast(data_type_of(flat), convert)


def _leaves(
    dtype: np.dtype[Any], name: str, steps: tuple[str | tuple[int, ...], ...]
) -> Iterator[tuple[str, np.dtype[Any], tuple[str | tuple[int, ...], ...]]]:
    """The plain fields inside a type: a name, the type, and the steps that lead to it."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for position in np.ndindex(*shape):
            yield from _leaves(base, f"{name}[{','.join(map(str, position))}]", (*steps, position))
    elif dtype.names is not None and dtype.fields is not None:
        for field in dtype.names:
            yield from _leaves(dtype.fields[field][0], f"{name}.{field}" if name else field, (*steps, field))
    else:
        yield name, dtype, steps


def cast_small_float(dtype: np.dtype[Any]) -> TypeCast | None:
    """The cast of the floats of `ml_dtypes`, which NumPy has not."""
    is_float = "float" in dtype.name and dtype.name not in ("float16", "float32", "float64")
    return cast_to(np.dtype("float32")) if is_float else None


def cast_to(target: np.dtype[Any]) -> TypeCast:
    """The cast to a type of numbers. Integers are clipped to its range."""

    def convert(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if target.kind in "iu" and block.dtype.kind in "iu":
            limits = np.iinfo(target)
            block = np.clip(
                block, max(limits.min, np.iinfo(block.dtype).min), min(limits.max, np.iinfo(block.dtype).max)
            )
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite
            return block.astype(target)

    return TypeCast(data_type_of(target), convert)


def _texts(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
    texts = np.empty(block.shape, dtype=object)
    for position, value in np.ndenumerate(block):
        texts[position] = value if isinstance(value, str) else _text(value)
    return texts


def _text(value: Any) -> str:
    """A Python object as JSON, or as Python writes it."""
    from json import dumps  # lazy import: few arrays hold objects

    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return dumps(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
    except (TypeError, ValueError):
        return repr(value)
