"""A variable of xarray as the options of a new array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from xarray import Variable
from xarray.coding.strings import check_vlen_dtype

from omnizarr.codecs import ArrayCodec, BytesCodec, Codec, Serializer, codec_of
from omnizarr.errors import ArgumentError
from omnizarr.formats import Dialect
from omnizarr.integrations.xarray.fill_values import encode_fill_value
from omnizarr.integrations.xarray.writing.argument_errors import ArgumentTypeError
from omnizarr.integrations.xarray.writing.attributes import variable_attributes
from omnizarr.nodes.create.options import array_model
from omnizarr.nodes.metadata.documents import dump_node

__all__ = ["array_options", "check_new_array"]

_OPTIONS = (
    *("chunks", "shards", "filters", "serializer", "compressors", "fill_value"),
    *("order", "chunk_key_encoding", "write_empty_chunks"),
)
_IGNORED = ("cache_metadata", "source", "original_shape", "preferred_chunks")


def array_options(
    variable: Variable, name: str, dialect: Dialect, *, explicit: bool, shards: Any, write_empty_chunks: bool | None
) -> dict[str, Any]:
    """The options of `Group.create_array` for a variable that is already encoded.

    `explicit` says that the caller gave its encoding for this write. Otherwise it comes from the file that the
    variable was read from: what Zarr does not know is ignored.
    """
    encoding = {key: value for key, value in variable.encoding.items() if key not in _IGNORED}
    attributes = variable_attributes(variable, name)
    _check_names(encoding, name, dialect, explicit=explicit)
    options: dict[str, Any] = {
        "shape": variable.shape,
        "dtype": str if check_vlen_dtype(variable.dtype) is str else variable.dtype,
        "dimension_names": variable.dims,
    }
    options |= _chunk_options(variable, encoding, name, shards, explicit=explicit)
    options |= _codec_options(encoding, dialect, explicit=explicit)
    for option in ("order", "chunk_key_encoding"):
        if option in encoding:
            options[option] = encoding[option]
    options["write_empty_chunks"] = _write_empty_chunks(encoding, name, write_empty_chunks)
    missing = attributes.pop("_FillValue", None)
    if dialect.allows_undefined_fill:
        options["fill_value"] = missing
    else:
        fill = encoding.get("fill_value")
        if fill is None and variable.dtype.kind == "f":
            fill = np.nan  # as xarray does, so that values that are never written are missing
        if fill is not None and dialect.has_fill_value:
            options["fill_value"] = fill
        if missing is not None:
            attributes["_FillValue"] = encode_fill_value(missing, variable.dtype)
    options["attributes"] = attributes
    return options


def check_new_array(name: str, options: Mapping[str, Any], dialect: Dialect) -> None:
    """Raises what `Group.create_array` would raise for these options, before anything is erased or written."""
    dialect.check_path(name, "array")
    model, _ = array_model(dialect, **{key: value for key, value in options.items() if key != "write_empty_chunks"})
    if dialect.conventions_for(model) is None:
        dump_node(dialect, name, model)


def _check_names(encoding: dict[str, Any], name: str, dialect: Dialect, *, explicit: bool) -> None:
    missing = encoding.pop("_FillValue", None)
    unknown = [key for key in encoding if key not in _OPTIONS]
    if dialect.allows_undefined_fill and "fill_value" in encoding:
        unknown.append("fill_value")
    if missing is not None:
        unknown.append("_FillValue")
    if explicit and unknown:
        raise ArgumentError(
            f"`encoding` of variable `{name}`: there is no option {', '.join(f'`{key}`' for key in unknown)}",
            argument="encoding",
            hint="the options are " + ", ".join(_OPTIONS)
            if "fill_value" not in unknown
            else f"in {dialect.format_name} the fill value marks missing data: use `_FillValue`",
        )
    for key in unknown:
        encoding.pop(key, None)


# -- chunks and shards


def _chunk_options(
    variable: Variable, encoding: Mapping[str, Any], name: str, shards: Any, *, explicit: bool
) -> dict[str, Any]:
    """The options `chunks` and `shards`: those of the encoding, or else the blocks of dask as chunks."""
    rank = variable.ndim
    chunks = _per_dimension(encoding.get("chunks"), "chunks", rank, name, explicit=explicit)
    stored = _per_dimension(encoding.get("shards"), "shards", rank, name, explicit=explicit)
    blocks = None if variable.chunks is None else tuple(max(lengths, default=1) or 1 for lengths in variable.chunks)
    if stored is None and shards is not None and rank:
        if isinstance(shards, Mapping):
            inner = chunks if chunks is not None else blocks
            if any(dimension in shards for dimension in variable.dims):
                chunks, stored = _mapped_shards(variable, inner, shards)
        else:
            stored = shards
            return {"chunks": "auto" if chunks is None else chunks, "shards": stored}
    if chunks is None and stored is None and blocks is not None:
        chunks = blocks
    return {"chunks": "auto" if chunks is None else chunks, "shards": stored}


def _mapped_shards(variable: Variable, inner: Any, shards: Mapping[Any, Any]) -> tuple[Any, Any]:
    """The chunks and shards for shard lengths by dimension. Other dimensions have one chunk per shard."""
    lengths = tuple(shards.get(dimension) for dimension in variable.dims)
    if inner is None:
        return None, tuple(
            size if length is None else length for length, size in zip(lengths, variable.shape, strict=True)
        )
    # A block of dask that is longer than the shard becomes a chunk of that length.
    chunks = tuple(
        size if length is None or length % size == 0 else length for length, size in zip(lengths, inner, strict=True)
    )
    return chunks, tuple(size if length is None else length for length, size in zip(lengths, chunks, strict=True))


def _per_dimension(value: Any, option: str, rank: int, name: str, *, explicit: bool) -> Any:
    """A value for all dimensions as a tuple. One that does not fit, from another file, is left out."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value if explicit and value is not None else None
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return (int(value),) * rank
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == rank:
        if any(isinstance(length, (float, str)) for length in value):
            raise ArgumentTypeError(
                f"`encoding` of variable `{name}`: expected integers for `{option}`, found {value!r}",
                argument="encoding",
            )
        return tuple(value)
    if not explicit:
        return None
    raise ArgumentError(
        f"`encoding` of variable `{name}`: expected {rank} lengths for `{option}`, found {value!r}", argument="encoding"
    )


# -- codecs


def _codec_options(encoding: Mapping[str, Any], dialect: Dialect, *, explicit: bool) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for option in ("filters", "serializer", "compressors"):
        value = encoding.get(option, "auto")
        if isinstance(value, str):
            if value != "auto":
                options[option] = value
        elif option == "serializer":
            if value is not None:
                options[option] = _portable(value)
        else:
            options[option] = [] if value is None else [_portable(item) for item in _listed(value)]
    if explicit or not options:
        return options
    # The encoding may come from another generation, which sorts codecs into other options.
    codecs: list[Codec] = []
    for option in ("filters", "serializer", "compressors"):
        for item in _listed(options.get(option, ())):
            codecs.append(codec_of(item, option))
    serializers = [codec for codec in codecs if isinstance(codec, Serializer)]
    sorted_options: dict[str, Any] = {"filters": [codec for codec in codecs if isinstance(codec, ArrayCodec)]}
    if serializers:
        sorted_options["serializer"] = serializers[0]
    if "compressors" in options:
        sorted_options["compressors"] = [codec for codec in codecs if isinstance(codec, BytesCodec)]
    return sorted_options


def _listed(value: Any) -> Iterable[Any]:
    single = isinstance(value, (str, Mapping)) or not isinstance(value, Iterable)
    return [value] if single else value


def _portable(codec: Any) -> Any:
    """A codec of zarr-python 3 as a JSON object; other codecs as they are."""
    if isinstance(codec, (Codec, str, Mapping)) or not hasattr(codec, "to_dict"):
        return codec
    return codec.to_dict()


def _write_empty_chunks(encoding: Mapping[str, Any], name: str, argument: bool | None) -> bool:
    stored = encoding.get("write_empty_chunks")
    if argument is None or stored is None or bool(stored) == argument:
        return bool(stored if argument is None else argument)
    raise ArgumentError(
        f"`write_empty_chunks`: expected the same as in the encoding of `{name}`, which is {stored!r}, "
        f"found {argument!r}",
        argument="write_empty_chunks",
    )
