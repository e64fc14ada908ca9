"""What a new array shall be: from the options that a user gives to a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, TypeVar, overload

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, nearest
from omnizarr.chunk_keys import ChunkKeys, Default, parse_chunk_keys
from omnizarr.codecs import Sharding
from omnizarr.dtypes import DataType, Scalar, data_type_of
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.grids import Regular
from omnizarr.model import MOST_DIMENSIONS, ArrayModel, ZarrFormat
from omnizarr.nodes.attributes import as_attributes
from omnizarr.nodes.lengths import as_lengths, chunk_shapes
from omnizarr.nodes.pipeline import CodecLike, Codecs, chunk_codecs
from omnizarr.nodes.values import as_value

__all__ = ["ArrayOptions", "array_model", "check_names", "takes_array_options"]


class ArrayOptions(TypedDict, total=False):
    """The options of a new array, as every function that creates one takes them."""

    shape: int | Sequence[int] | None
    dtype: Any
    data: Any
    chunks: int | Sequence[int] | bool | Literal["auto"] | None
    shards: Sequence[int] | Literal["auto"] | None
    filters: Codecs
    compressors: Codecs
    serializer: CodecLike | Literal["auto"]
    fill_value: Any
    order: Literal["C", "F"]
    zarr_format: ZarrFormat
    attributes: dict[str, Json] | None
    chunk_key_encoding: Any
    dimension_names: Sequence[str | None] | None
    storage_options: dict[str, Any] | None
    overwrite: bool
    write_empty_chunks: bool


F = TypeVar("F", bound=Callable[..., Any])


@overload
def takes_array_options(function: F) -> F: ...
@overload
def takes_array_options(*, without: Collection[str]) -> Callable[[F], F]: ...
def takes_array_options(function: Any = None, *, without: Collection[str] = ()) -> Any:
    """Shows the options of a new array in `help(function)`, with their defaults, in place of `**options`; but not those
    `without` which it does."""
    if function is None:
        return partial(_with_options, without=without)
    return _with_options(function, without)


def _with_options(function: F, without: Collection[str]) -> F:
    defaults: dict[str, Any] = {
        "shape": None,
        "dtype": None,
        "data": None,
        "chunks": "auto",
        "shards": None,
        "filters": "auto",
        "compressors": "auto",
        "serializer": "auto",
        "fill_value": None,
        "order": "C",
        "zarr_format": 3,
        "attributes": None,
        "chunk_key_encoding": None,
        "dimension_names": None,
        "storage_options": None,
        "overwrite": False,
        "write_empty_chunks": False,
    }
    signature = inspect.signature(function)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation.__forward_arg__)
        for (name, default), annotation in zip(defaults.items(), ArrayOptions.__annotations__.values(), strict=True)
        if name not in signature.parameters and name not in without
    ]
    function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return function


def check_names(options: Iterable[str], known: Collection[str] = ArrayOptions.__annotations__) -> None:
    """Refuses what is not an option, and says which one may be meant."""
    for name in options:
        if name not in known:
            raise ArgumentError(f"there is no option `{name}`", argument=name, hint=nearest(name, known))


def array_model(
    *,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    data: Any = None,
    chunks: int | Sequence[int] | bool | Literal["auto"] | None = "auto",
    shards: Sequence[int] | Literal["auto"] | None = None,
    filters: Codecs = "auto",
    compressors: Codecs = "auto",
    serializer: CodecLike | Literal["auto"] = "auto",
    fill_value: Any = None,
    order: Literal["C", "F"] = "C",
    zarr_format: ZarrFormat = 3,
    attributes: dict[str, Json] | None = None,
    chunk_key_encoding: Any = None,
    dimension_names: Sequence[str | None] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> tuple[ArrayModel, npt.NDArray[Any] | None]:
    """The model of a new array, and its data if there are any. All is checked before anything is stored."""
    if storage_options:
        raise ArgumentError("`storage_options` belong to the function that opens a URL", argument="storage_options")
    if data is not None:
        data = np.asarray(data) if dtype is None else as_value(data, data_type_of(dtype).dtype)
        shape = data.shape if shape is None else shape
        dtype = data.dtype if dtype is None else dtype
    if shape is None:
        raise ArgumentError("`shape` is missing; or give `data`, which has one", argument="shape")
    if dtype is None:
        raise ArgumentError("`dtype` is missing; or give `data`, which has one", argument="dtype")
    lengths = as_lengths(shape, "shape", least=0)
    if len(lengths) > MOST_DIMENSIONS:
        raise ArgumentError(
            f"`shape`: expected at most {MOST_DIMENSIONS} dimensions, found {len(lengths)}", argument="shape"
        )
    if data is not None and data.shape != lengths:
        raise ArgumentError(f"`data` has the shape {data.shape}, but `shape` is {lengths}", argument="shape")
    data_type = data_type_of(dtype)
    outer, inner = chunk_shapes(chunks, shards, lengths, data_type.dtype.itemsize)
    codecs = chunk_codecs(filters, serializer, compressors, order, len(lengths), data_type, dtype)
    if inner is not None:
        codecs = (Sharding(inner, codecs),)
    model = ArrayModel(
        shape=lengths,
        data_type=data_type,
        fill=_fill(data_type, fill_value),
        grid=Regular(outer),
        chunk_keys=_chunk_keys(chunk_key_encoding),
        codecs=codecs,
        attributes=as_attributes(attributes),
        dimension_names=_dimension_names(dimension_names, len(lengths)),
        zarr_format=zarr_format,
    )
    problems = Problems()
    for chunk_shape in model.grid.chunk_shapes(model.shape):
        if model.chain(chunk_shape, "$.codecs", problems) is None:
            raise MetadataError("the codecs do not fit the array", problems.found)
    return model, data


def _fill(data_type: DataType, value: Any) -> Scalar:
    if value is None:
        return data_type.default_fill()
    try:
        return data_type.cast_fill(value)
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(
            f"`fill_value`: {value!r} cannot be a {data_type.name}: {error}", argument="fill_value"
        ) from None


def _chunk_keys(value: Any) -> ChunkKeys:
    if value is None:
        return Default("/")
    if isinstance(value, ChunkKeys):
        return value
    if value in ("/", "."):
        return Default(value)
    if isinstance(value, dict) and "separator" in value:  # zarr-python's spelling of the argument
        value = {"name": value.get("name"), "configuration": {"separator": value["separator"]}}
    problems = Problems()
    found = parse_chunk_keys(value, "$", problems)
    if found is None:
        raise MetadataError("`chunk_key_encoding` is not usable", problems.found)
    return found


def _dimension_names(names: Sequence[str | None] | None, rank: int) -> tuple[str | None, ...] | None:
    if names is None:
        return None
    found = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (names,)
    if len(found) != rank or not all(name is None or isinstance(name, str) for name in found):
        raise ArgumentError(
            f"`dimension_names`: expected {rank} names, each a string or None, found {names!r}",
            argument="dimension_names",
        )
    return found
