"""The names and defaults of the options of a new array. Every program that uses a group loads this module, but only one
that creates an array loads those that read the options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

import numpy as np

from omnizarr._json import Json, nearest
from omnizarr.errors import ArgumentError

if TYPE_CHECKING:
    from omnizarr.grids import Grid
    from omnizarr.model import ZarrFormat
    from omnizarr.nodes.create.codec_options import CodecLike, Codecs

__all__ = ["NOT_GIVEN", "ArrayOptions", "check_flag", "check_names", "takes_array_options"]


class ArrayOptions(TypedDict, total=False):
    """The options of all functions that create an array; `omnizarr.create_array` explains them."""

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
    storage_transformers: Any
    extensions: Sequence[Json] | None
    fallback: Json
    conventions: str | None
    storage_options: dict[str, Any] | None
    overwrite: bool
    write_empty_chunks: bool


class _NotGiven:
    """The type of `NOT_GIVEN`, which marks an option that was left out, because None may be a value."""

    def __repr__(self) -> str:
        return "<default>"


NOT_GIVEN: Any = _NotGiven()

F = TypeVar("F", bound=Callable[..., Any])


@overload
def takes_array_options(function: F) -> F: ...
@overload
def takes_array_options(*, without: Collection[str]) -> Callable[[F], F]: ...
def takes_array_options(function: Any = None, *, without: Collection[str] = ()) -> Any:
    """Decorator: shows the array options and their defaults in `help(function)` instead of `**options`.

    `without` names options that the function does not take.
    """
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
        "fill_value": NOT_GIVEN,
        "order": "C",
        "zarr_format": 3,
        "attributes": None,
        "chunk_key_encoding": None,
        "dimension_names": None,
        "storage_transformers": None,
        "extensions": None,
        "fallback": None,
        "conventions": None,
        "storage_options": None,
        "overwrite": False,
        "write_empty_chunks": False,
    }
    signature = inspect.signature(function)
    declared = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation.__forward_arg__)
        for (name, default), annotation in zip(defaults.items(), ArrayOptions.__annotations__.values(), strict=True)
        if name not in signature.parameters and name not in without
    ]
    function.__signature__ = signature.replace(parameters=[*declared, *added])  # type: ignore[attr-defined]
    return function


def check_names(
    options: Iterable[str], known: Collection[str] = ArrayOptions.__annotations__, *, arguments: Iterable[str] = ()
) -> None:
    """Raises ArgumentError for an unknown option, with the most similar name among the options and `arguments`."""
    for name in options:
        if name not in known:
            raise ArgumentError(f"there is no option `{name}`", argument=name, hint=nearest(name, [*known, *arguments]))


def check_flag(value: object, argument: str) -> None:
    """Raises ArgumentError unless `value` is True or False. The text "False" would count as true."""
    if not isinstance(value, (int, np.bool_)) or value not in (0, 1):
        raise ArgumentError(f"`{argument}`: expected True or False, found {value!r}", argument=argument)
