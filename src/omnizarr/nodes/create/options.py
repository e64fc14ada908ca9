"""What a new array shall be: from the options that a user gives to a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, TypeVar, overload

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, describe, nearest
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.codecs import Codec, Serializer, Sharding
from omnizarr.codecs.sharding import INDEX_CODECS
from omnizarr.config import config
from omnizarr.dtypes import DataType, Scalar
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.formats import Dialect, format_name
from omnizarr.grids import Grid
from omnizarr.model import MOST_DIMENSIONS, ArrayModel, ZarrFormat
from omnizarr.nodes.attributes import as_attributes
from omnizarr.nodes.create.chunk_shapes import as_lengths, chunk_grid
from omnizarr.nodes.create.codec_options import CodecLike, Codecs, chunk_codecs

__all__ = ["ArrayOptions", "array_model", "check_names", "longer", "takes_array_options", "unfolded"]


class ArrayOptions(TypedDict, total=False):
    """The options of a new array, as every function that creates one takes them."""

    shape: int | Sequence[int] | None
    dtype: Any
    data: Any
    chunks: int | Sequence[int | Sequence[int] | None] | Grid | bool | Literal["auto"] | None
    shards: int | Sequence[int | Sequence[int] | None] | Grid | Literal["auto"] | None
    filters: Codecs
    compressors: Codecs
    serializer: CodecLike | Literal["auto"]
    fill_value: Any
    order: Literal["C", "F"] | None
    zarr_format: ZarrFormat | None
    attributes: dict[str, Json] | None
    chunk_key_encoding: Any
    dimension_names: Sequence[str | None] | None
    storage_transformers: Sequence[Any] | None
    extensions: Sequence[Json] | None
    fallback: Json
    storage_options: dict[str, Any] | None
    overwrite: bool
    write_empty_chunks: bool


class _NotGiven:
    """Tells what is left out from None, which may be a value."""

    def __repr__(self) -> str:
        return "<default>"


_NOT_GIVEN: Any = _NotGiven()

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
        "fill_value": _NOT_GIVEN,
        "order": "C",
        "zarr_format": 3,
        "attributes": None,
        "chunk_key_encoding": None,
        "dimension_names": None,
        "storage_transformers": None,
        "extensions": None,
        "fallback": None,
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


def check_names(
    options: Iterable[str], known: Collection[str] = ArrayOptions.__annotations__, *, beside: Iterable[str] = ()
) -> None:
    """Refuses what is not an option, and says which one may be meant: one of these, or of those that stand beside."""
    for name in options:
        if name not in known:
            raise ArgumentError(f"there is no option `{name}`", argument=name, hint=nearest(name, [*known, *beside]))


def array_model(
    dialect: Dialect,
    *,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    data: Any = None,
    chunks: int | Sequence[int | Sequence[int] | None] | Grid | bool | Literal["auto"] | None = "auto",
    shards: int | Sequence[int | Sequence[int] | None] | Grid | Literal["auto"] | None = None,
    filters: Codecs = "auto",
    compressors: Codecs = "auto",
    serializer: CodecLike | Literal["auto"] = "auto",
    fill_value: Any = _NOT_GIVEN,
    order: Literal["C", "F"] | None = "C",
    attributes: dict[str, Json] | None = None,
    chunk_key_encoding: Any = None,
    dimension_names: Sequence[str | None] | None = None,
    storage_transformers: Sequence[Any] | None = None,
    extensions: Sequence[Json] | None = None,
    fallback: Json = None,
    storage_options: dict[str, Any] | None = None,
) -> tuple[ArrayModel, npt.NDArray[Any] | None]:
    """The model of a new array, and its data if there are any. All is checked before anything is stored."""
    if storage_options:
        raise ArgumentError("`storage_options` belong to the function that opens a URL", argument="storage_options")
    dtype, inner = unfolded(dtype)
    if inner and (shape is not None or data is not None):
        data = None if data is None else np.asarray(data, np.dtype((dtype, inner)))
        shape = data.shape[: -len(inner)] if shape is None else as_lengths(shape, "shape", least=0)
        chunks, shards = longer(chunks, len(shape), inner), longer(shards, len(shape), inner)
        dimension_names = longer(dimension_names, len(shape), (None,) * len(inner))
        shape = (*shape, *inner)
    if data is not None:
        data = np.asarray(data) if dtype is None else dialect.data_type(dtype).elements(data)
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
    data_type = dialect.data_type(dtype)
    grid, in_shard = chunk_grid(chunks, shards, lengths, data_type.dtype.itemsize)
    codecs = chunk_codecs(dialect, filters, serializer, compressors, order or "C", len(lengths), data_type, dtype)
    if in_shard is not None:
        codecs = (Sharding(in_shard, codecs, dialect.index_codecs or INDEX_CODECS),)
    model = ArrayModel(
        shape=lengths,
        data_type=data_type,
        fill=None if fill_value is None and dialect.allows_undefined_fill else _fill(data_type, fill_value),
        grid=grid,
        chunk_keys=_chunk_keys(dialect, chunk_key_encoding, codecs),
        codecs=codecs,
        attributes=as_attributes(attributes),
        dimension_names=_dimension_names(dimension_names, len(lengths)),
        storage_transformers=_listed(storage_transformers, "storage_transformers"),
        zarr_format=dialect.zarr_format,
        extensions=_listed(extensions, "extensions"),
        fallback=fallback,
    )
    _check_draft_only(dialect, model)
    model = dialect.adapt_new_array(model)
    problems = Problems()
    limit = config.current.max_chunk_bytes
    for chunk_shape in model.grid.chunk_shapes(model.shape):
        chain = model.chain(chunk_shape, "$.codecs", problems)
        if chain is None:
            raise MetadataError("the codecs do not fit the array", problems.found)
        if data is not None and chain.spec.nbytes > limit:  # it could not be written
            raise ArgumentError(
                f"`chunks`: one of shape {chunk_shape} has {chain.spec.nbytes} bytes, more than the limit of {limit}",
                argument="chunks",
                hint="choose smaller ones, or raise it with `omnizarr.config.set(max_chunk_bytes=...)`",
            )
    return model, data


def _chunk_keys(dialect: Dialect, given: Any, codecs: Sequence[Codec]) -> ChunkKeys:
    """How chunks are named: as the user says, and as a codec says that knows only one way."""
    for codec in codecs:
        if isinstance(codec, Serializer) and codec.chunk_keys is not None:
            wanted = dialect.chunk_keys(codec.chunk_keys)
            if given is not None and dialect.chunk_keys(given) != wanted:
                raise ArgumentError(
                    f"`chunk_key_encoding`: with codec `{codec.name}` it is {describe(codec.chunk_keys)}",
                    argument="chunk_key_encoding",
                )
            return wanted
    return dialect.chunk_keys(given)


def _listed(value: Any, argument: str) -> tuple[Any, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(f"`{argument}`: expected a list, found {describe(value)}", argument=argument)
    return tuple(value)


def _check_draft_only(dialect: Dialect, model: ArrayModel) -> None:
    """Refuses what only a hierarchy with an entry point has."""
    if dialect.hierarchy_documents():
        return
    for argument, given in (("extensions", model.extensions), ("fallback", model.fallback)):
        if given:
            raise ArgumentError(
                f"{format_name(dialect.zarr_format)} has no extensions: `{argument}` is for the drafts of v3",
                argument=argument,
            )
    if model.storage_transformers:
        from omnizarr.transformers import StorageTransformer  # few arrays have any

        if not all(isinstance(item, StorageTransformer) for item in model.storage_transformers):
            raise ArgumentError(
                "`storage_transformers`: expected objects such as those in `omnizarr.transformers`",
                argument="storage_transformers",
            )


def _fill(data_type: DataType, value: Any) -> Scalar:
    if value is None or value is _NOT_GIVEN:
        return data_type.default_fill()
    try:
        return data_type.cast_fill(value)
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(
            f"`fill_value`: {value!r} cannot be a {data_type.name}: {error}", argument="fill_value"
        ) from None


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


def unfolded(dtype: Any) -> tuple[Any, tuple[int, ...]]:
    """What a user gives as dtype, without the array that its elements are, and the shape of that array."""
    if not isinstance(dtype, (np.dtype, tuple, str)):
        return dtype, ()
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        return dtype, ()
    return (dtype, ()) if found.subdtype is None else (found.base, found.shape)


def longer(lengths: Any, rank: int, more: tuple[Any, ...]) -> Any:
    """Lengths, or names, of `rank` dimensions, with those of further dimensions behind them. What is given for all of
    them, or is no list of lengths, stays as it is."""
    if not more or isinstance(lengths, (str, bool)) or lengths is None:
        return lengths
    given = tuple(lengths) if isinstance(lengths, Iterable) else (lengths,) * rank
    return (*given, *more) if len(given) == rank else lengths
