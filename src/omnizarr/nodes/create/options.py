"""The model of a new array, from the options that a user gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json, Problems, describe
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.codecs import Codec, Serializer, Sharding
from omnizarr.codecs.sharding import INDEX_CODECS
from omnizarr.config import config
from omnizarr.dtypes import DataType, Scalar
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.formats import Dialect
from omnizarr.grids import Grid
from omnizarr.model import MOST_DIMENSIONS, ArrayModel
from omnizarr.nodes.attributes import as_attributes
from omnizarr.nodes.create.chunk_shapes import as_lengths, chunk_grid
from omnizarr.nodes.create.codec_options import CodecLike, Codecs, chunk_codecs
from omnizarr.nodes.create.option_names import NOT_GIVEN

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["array_model", "split_subarray"]


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
    fill_value: Any = NOT_GIVEN,
    order: Literal["C", "F"] | None = "C",
    attributes: dict[str, Json] | None = None,
    chunk_key_encoding: Any = None,
    dimension_names: Sequence[str | None] | None = None,
    storage_transformers: Any = None,
    extensions: Sequence[Json] | None = None,
    fallback: Json = None,
    storage_options: dict[str, Any] | None = None,
) -> tuple[ArrayModel, npt.NDArray[Any] | None]:
    """The model of a new array, and its data if there are any. Raises ArgumentError or MetadataError."""
    if storage_options is not None:
        raise ArgumentError(
            "`storage_options`: expected by the functions that open a URL, not by a group", argument="storage_options"
        )
    dtype, subarray_shape = split_subarray(dtype)
    if subarray_shape and (shape is not None or data is not None):
        data = None if data is None else np.asarray(data, np.dtype((dtype, subarray_shape)))
        shape = data.shape[: -len(subarray_shape)] if shape is None else as_lengths(shape, "shape", least=0)
        chunks = _extend_lengths(chunks, len(shape), subarray_shape)
        shards = _extend_lengths(shards, len(shape), subarray_shape)
        dimension_names = _extend_lengths(dimension_names, len(shape), (None,) * len(subarray_shape))
        shape = (*shape, *subarray_shape)
    if data is not None:
        data = np.asarray(data) if dtype is None else dialect.data_type(dtype).elements(data)
        shape = data.shape if shape is None else shape
        dtype = data.dtype if dtype is None else dtype
    if shape is None:
        raise ArgumentError("`shape` is missing: give it, or `data`", argument="shape")
    if dtype is None:
        raise ArgumentError("`dtype` is missing: give it, or `data`", argument="dtype")
    lengths = as_lengths(shape, "shape", least=0)
    if len(lengths) > MOST_DIMENSIONS:
        raise ArgumentError(
            f"`shape`: expected at most {MOST_DIMENSIONS} dimensions, found {len(lengths)}", argument="shape"
        )
    if data is not None and data.shape != lengths:
        raise ArgumentError(f"`shape`: expected {data.shape}, the shape of `data`, found {lengths}", argument="shape")
    data_type = dialect.data_type(dtype)
    grid, inner_shape = chunk_grid(chunks, shards, lengths, data_type.dtype.itemsize)
    order = "C" if order is None else order
    codecs = chunk_codecs(dialect, filters, serializer, compressors, order, len(lengths), data_type, dtype)
    if inner_shape is not None:
        codecs = (Sharding(inner_shape, codecs, dialect.index_codecs or INDEX_CODECS),)
    model = ArrayModel(
        shape=lengths,
        data_type=data_type,
        fill=_fill(dialect, data_type, fill_value),
        grid=grid,
        chunk_keys=_chunk_keys(dialect, chunk_key_encoding, codecs),
        codecs=codecs,
        attributes=as_attributes(attributes),
        dimension_names=_dimension_names(dimension_names, len(lengths)),
        storage_transformers=_storage_transformers(storage_transformers, lengths),
        zarr_format=dialect.zarr_format,
        extensions=_as_tuple(extensions, "extensions"),
        fallback=fallback,
    )
    dialect.check_extensions(model)
    model = dialect.adapt_new_array(model)
    problems = Problems()
    limit = config.current.max_chunk_bytes
    for chunk_shape in model.grid.chunk_shapes(model.shape):
        chain = model.chain(chunk_shape, "$.codecs", problems)
        if chain is None:
            raise MetadataError("the codecs do not fit the array", problems.found)
        if data is not None and chain.spec.nbytes > limit:  # the data could not be written
            raise ArgumentError(
                f"`chunks`: a chunk of shape {chunk_shape} has {chain.spec.nbytes} bytes, the limit is {limit}",
                argument="chunks",
                hint="choose smaller chunks, or raise the limit with `omnizarr.config.set(max_chunk_bytes=...)`",
            )
    return model, data


def _chunk_keys(dialect: Dialect, encoding: Any, codecs: Sequence[Codec]) -> ChunkKeys:
    """The chunk key encoding that the user gives, or the only one that a codec allows."""
    for codec in codecs:
        if isinstance(codec, Serializer) and codec.chunk_keys is not None:
            required = dialect.chunk_keys(codec.chunk_keys)
            if encoding is not None and dialect.chunk_keys(encoding) != required:
                raise ArgumentError(
                    f"`chunk_key_encoding`: codec `{codec.name}` needs {describe(codec.chunk_keys)}, "
                    f"found {encoding!r}",
                    argument="chunk_key_encoding",
                )
            return required
    return dialect.chunk_keys(encoding)


def _as_tuple(value: Any, argument: str) -> tuple[Any, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(f"`{argument}`: expected a list, found {describe(value)}", argument=argument)
    return tuple(value)


def _storage_transformers(transformers: Any, shape: tuple[int, ...]) -> tuple[StorageTransformer, ...]:
    if transformers is None:
        return ()
    from omnizarr.transformers.from_user import transformers_from_user  # lazy import: few arrays have any

    return transformers_from_user(transformers, shape)


def _fill(dialect: Dialect, data_type: DataType, value: Any) -> Scalar | None:
    if value is None and dialect.allows_undefined_fill:
        return None
    if value is None or value is NOT_GIVEN:
        return dialect.default_fill(data_type)
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
    items = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (names,)
    if len(items) != rank or not all(name is None or isinstance(name, str) for name in items):
        raise ArgumentError(
            f"`dimension_names`: expected {rank} names, each a string or None, found {names!r}",
            argument="dimension_names",
        )
    return items


def split_subarray(dtype: Any) -> tuple[Any, tuple[int, ...]]:
    """The base type and the shape of a subarray dtype; any other dtype, and an empty shape."""
    if not isinstance(dtype, (np.dtype, tuple, str)):
        return dtype, ()
    try:
        parsed = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        return dtype, ()
    return (dtype, ()) if parsed.subdtype is None else (parsed.base, parsed.shape)


def _extend_lengths(lengths: Any, rank: int, more: tuple[Any, ...]) -> Any:
    """A user's lengths, or names, for `rank` dimensions, extended by those of further dimensions.

    A value for all dimensions, such as "auto", stays as it is.
    """
    if not more or isinstance(lengths, (str, bool)) or lengths is None:
        return lengths
    own_lengths = tuple(lengths) if isinstance(lengths, Iterable) else (lengths,) * rank
    return (*own_lengths, *more) if len(own_lengths) == rank else lengths
