"""What a new array shall be: from the options that a user gives to a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, is_integer
from omnizarr.chunk_keys import ChunkKeys, Default, parse_chunk_keys
from omnizarr.codecs import (
    ArrayCodec,
    Blosc,
    Bytes,
    BytesCodec,
    Codec,
    Serializer,
    Sharding,
    Transpose,
    Zstd,
    codec_of,
)
from omnizarr.dtypes import DataType, data_type_of
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.grids import Grid, Regular
from omnizarr.grids.auto import auto_chunks, auto_shards
from omnizarr.model import ArrayModel, ZarrFormat

__all__ = ["ArrayOptions", "array_model", "takes_array_options"]

CodecLike: TypeAlias = Codec | str | dict[str, Json]
Codecs: TypeAlias = CodecLike | Sequence[CodecLike] | Literal["auto"] | None


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
C = TypeVar("C", bound=Codec)


def takes_array_options(function: F) -> F:
    """Shows the options of a new array in `help(function)`, with their defaults, in place of `**options`."""
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
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for (name, default), annotation in zip(defaults.items(), ArrayOptions.__annotations__.values(), strict=True)
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return function


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
        data = np.asarray(data)
        shape = data.shape if shape is None else shape
        dtype = data.dtype if dtype is None else dtype
    if shape is None:
        raise ArgumentError("`shape` is missing; or give `data`, which has one", argument="shape")
    if dtype is None:
        raise ArgumentError("`dtype` is missing; or give `data`, which has one", argument="dtype")
    lengths = _lengths(shape, "shape", least=0)
    if data is not None and data.shape != lengths:
        raise ArgumentError(f"`data` has the shape {data.shape}, but `shape` is {lengths}", argument="shape")
    data_type = data_type_of(dtype)
    outer, inner = _chunk_shapes(chunks, shards, lengths, data_type.dtype.itemsize)
    codecs = _chunk_codecs(filters, serializer, compressors, order, len(lengths), data_type, dtype)
    if inner is not None:
        codecs = (Sharding(inner, codecs),)
    try:
        fill = data_type.default_fill() if fill_value is None else data_type.cast_fill(fill_value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(
            f"`fill_value`: {fill_value!r} cannot be a {data_type.name}: {error}", argument="fill_value"
        ) from None
    model = ArrayModel(
        shape=lengths,
        data_type=data_type,
        fill=fill,
        grid=Regular(outer),
        chunk_keys=_chunk_keys(chunk_key_encoding),
        codecs=codecs,
        attributes=dict(attributes or {}),
        dimension_names=_dimension_names(dimension_names, len(lengths)),
        zarr_format=zarr_format,
    )
    _check_codecs(model, model.grid)
    return model, data


def _check_codecs(model: ArrayModel, grid: Grid) -> None:
    problems = Problems()
    for shape in grid.chunk_shapes(model.shape):
        if model.chain(shape, "$.codecs", problems) is None:
            raise MetadataError("the codecs do not fit the array", problems.found)


def _lengths(value: Any, argument: str, *, least: int) -> tuple[int, ...]:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = (value,)
    try:
        lengths = tuple(value)
    except TypeError:
        lengths = (None,)
    if isinstance(value, str) or not all(
        isinstance(length, (int, np.integer)) and not isinstance(length, bool) and least <= length < 2**63
        for length in lengths
    ):
        raise ArgumentError(f"`{argument}`: expected integers of at least {least}, found {value!r}", argument=argument)
    return tuple(int(length) for length in lengths)


def _chunk_shapes(
    chunks: Any, shards: Any, shape: tuple[int, ...], itemsize: int
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The shape of what is stored, and that of the inner chunks if there are shards."""
    given = _given_chunks(chunks, shape)
    if shards is None or shards is False:
        return given or auto_chunks(shape, itemsize), None
    if isinstance(shards, str) or shards is True:
        if shards not in ("auto", True):
            raise ArgumentError(f'`shards`: expected lengths or "auto", found {shards!r}', argument="shards")
        inner = given or auto_chunks(shape, itemsize)
        return auto_shards(shape, inner, itemsize), inner
    outer = _lengths(shards, "shards", least=1)
    if len(outer) != len(shape):
        raise ArgumentError(f"`shards`: expected {len(shape)} lengths, found {outer}", argument="shards")
    if given is None:
        wanted = auto_chunks(outer, itemsize)
        given = tuple(_largest_divisor(length, limit) for length, limit in zip(outer, wanted, strict=True))
    for axis, (length, piece) in enumerate(zip(outer, given, strict=True)):
        if length % piece:
            raise ArgumentError(
                f"`shards`: the length {length} of axis {axis} is not a multiple of the chunk length {piece}",
                argument="shards",
            )
    return outer, given


def _given_chunks(chunks: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The chunk lengths that the user gave; None if they are to be chosen."""
    if chunks is True or (isinstance(chunks, str) and chunks == "auto"):
        return None
    if chunks is False or chunks is None:
        return tuple(max(1, length) for length in shape)
    if is_integer(chunks) or isinstance(chunks, np.integer):
        chunks = (chunks,) * len(shape)
    lengths = [
        max(1, shape[axis]) if (length is None or length == -1) and axis < len(shape) else length
        for axis, length in enumerate(chunks if not isinstance(chunks, str) else (chunks,))
    ]
    sizes = _lengths(lengths, "chunks", least=1)
    if len(sizes) != len(shape):
        raise ArgumentError(f"`chunks`: expected {len(shape)} lengths, found {len(sizes)}", argument="chunks")
    return sizes


def _largest_divisor(length: int, limit: int) -> int:
    """The largest divisor of `length` that is at most `limit`."""
    best = 1
    divisor = 1
    while divisor * divisor <= length and divisor <= 2**20:
        if length % divisor == 0:
            best = max([best, *(d for d in (divisor, length // divisor) if d <= limit)])
        divisor += 1
    return best


def _chunk_codecs(
    filters: Codecs,
    serializer: CodecLike | Literal["auto"],
    compressors: Codecs,
    order: str,
    rank: int,
    data_type: DataType,
    dtype: Any,
) -> tuple[Codec, ...]:
    if order not in ("C", "F"):
        raise ArgumentError(f'`order`: expected "C" or "F", found {order!r}', argument="order")
    arrays: tuple[ArrayCodec, ...] = _codecs(filters, "filters", ArrayCodec, "array → array", ())  # type: ignore[type-abstract]
    if order == "F" and rank > 1:
        arrays = (Transpose(tuple(reversed(range(rank)))), *arrays)
    if isinstance(serializer, str) and serializer == "auto":
        middle: Codec = Bytes(_endian(dtype) if data_type.multibyte else None)
    else:
        middle = codec_of(serializer, "serializer")
        if not isinstance(middle, Serializer):
            raise ArgumentError(f"`serializer`: `{middle.name}` is not an array → bytes codec", argument="serializer")
    steps = _codecs(compressors, "compressors", BytesCodec, "bytes → bytes", default_compressors(data_type))  # type: ignore[type-abstract]
    arrays = tuple(codec.resolved(rank) for codec in arrays)
    return (*arrays, middle, *(step.resolved(data_type.dtype.itemsize) for step in steps))


def default_compressors(data_type: DataType) -> tuple[BytesCodec, ...]:
    """What compresses well and fast on most data, and is read by everybody: measured, see docs/defaults.md."""
    itemsize = data_type.dtype.itemsize
    if 2 <= itemsize <= 255:
        return (Blosc("zstd", 1, "shuffle", itemsize, min(2**17 * itemsize, 2**20)),)
    return (Zstd(level=1),)


def _endian(dtype: Any) -> Literal["little", "big"]:
    """Big if the user's dtype says so; else little, which is what nearly every machine has."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        return "little"
    orders = {found[name].byteorder for name in found.names} if found.names else {found.byteorder}
    return "big" if orders - {"|"} == {">"} else "little"


def _codecs(value: Codecs, argument: str, kind: type[C], what: str, default: tuple[C, ...]) -> tuple[C, ...]:
    if isinstance(value, str) and value == "auto":
        return default
    if value is None:
        return ()
    items: Sequence[CodecLike] = [value] if isinstance(value, (Codec, str, dict)) else list(value)
    codecs: list[C] = []
    for item in items:
        codec = codec_of(item, argument)
        if not isinstance(codec, kind):
            raise ArgumentError(f"`{argument}`: `{codec.name}` is not a codec of the kind {what}", argument=argument)
        codecs.append(codec)
    return tuple(codecs)


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
    found = tuple(names) if not isinstance(names, str) else (names,)
    if len(found) != rank or not all(name is None or isinstance(name, str) for name in found):
        raise ArgumentError(
            f"`dimension_names`: expected {rank} names, each a string or None, found {names!r}",
            argument="dimension_names",
        )
    return found
