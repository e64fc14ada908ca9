"""Arrays whose documents name a NumPy type, an order, and a list of codecs that does not tell kinds apart: v1, v2, and
what zarr-python 2 wrote as a draft of v3. Here that list becomes the three kinds of the model, and a list again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs import (
    ArrayCodec,
    Blosc,
    Bytes,
    BytesCodec,
    Codec,
    Serializer,
    StoredBytes,
    Transpose,
    VlenBytes,
    VlenUtf8,
    plain_serializer,
)
from omnizarr.codecs.numcodecs_ import Foreign, ForeignArray, OverBytes, Pickle
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config, config_of
from omnizarr.codecs.parsing import MAX_CODECS
from omnizarr.dtypes import (
    DataType,
    Objects,
    Record,
    Scalar,
    String,
    VariableBytes,
    data_type_of,
    data_type_of_stored,
    parse_typestr,
)
from omnizarr.errors import Problem
from omnizarr.formats.numpy_dtype import byte_orders, stored_dtype
from omnizarr.formats.read_options import ReadOptions
from omnizarr.formats.v2_fills import parse_fill
from omnizarr.model import ArrayModel

__all__ = [
    "Flat",
    "arranged",
    "check_codecs",
    "configs_of",
    "flat",
    "holds_objects",
    "keeps_shape",
    "new_data_type",
    "new_serializer",
    "object_type",
    "order_of",
    "parse_configs",
    "parse_flat",
    "settled",
    "settled_objects",
    "stored_dtype_of",
    "swaps",
    "transposed",
    "untransposed",
]


_NO_COMPRESSORS = (
    *("adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3"),
    *("astype", "base64", "bitround", "categorize", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"),
)
"""Codecs that stand among the filters, also as the last one of all."""


class Flat(NamedTuple):
    """What such a document says about the elements and their codecs."""

    data_type: DataType
    fill: Any
    codecs: tuple[Codec, ...]
    places: tuple[str, ...]
    """Where in the document each codec stands."""


ParseFill: TypeAlias = Callable[[Json, DataType, np.dtype[Any], str, Problems], Scalar | None]


def parse_flat(
    document: dict[str, Json], read_options: ReadOptions, rank: int | None, problems: Problems
) -> Flat | None:
    """Reads `dtype`, `order`, `filters`, `compressor` and `fill_value` as v2 spells them."""
    before = len(problems.found)
    stored = parse_typestr(document["dtype"], "$.dtype", problems) if "dtype" in document else None
    order = document.get("order")
    if "order" in document and order not in ("C", "F"):
        problems.expected("$.order", '"C" or "F"', order)
    items = parse_configs(
        document.get("filters"), document.get("compressor"), "$.filters", "$.compressor", read_options, problems
    )
    if stored is None or rank is None or len(problems.found) > before:
        return None
    return flat(stored, transposed(order, rank), items, document.get("fill_value"), "$", problems)


def flat(
    stored: np.dtype[Any],
    first: tuple[Codec, ...],
    items: list[tuple[str, Codec]],
    fill_value: Json,
    place: str,
    problems: Problems,
    parse: ParseFill = parse_fill,
) -> Flat | None:
    """Puts the parts together: the type as it is stored, what brings the elements in order, the codecs with their
    places, and the fill value as `parse` reads it."""
    found = arranged(stored, items, place, problems)
    codecs = () if found is None else tuple(codec for _, codec in found)
    data_type = data_type_of_stored(stored) if not stored.hasobject else object_type(codecs)
    if data_type is None:
        problems.add(f"{place}.dtype", f"elements of type `{stored}` cannot be read here")
    if found is None or data_type is None:
        return None
    before = len(problems.found)
    fill = None
    if fill_value is not None:
        fill = parse(fill_value, data_type, stored, f"{place}.fill_value", problems)
    if keeps_shape(codecs):
        first = ()
    places = (*(f"{place}.order" for _ in first), *(where for where, _ in found))
    return Flat(data_type, fill, (*first, *codecs), places) if len(problems.found) == before else None


def keeps_shape(codecs: Iterable[Codec]) -> bool:
    """Whether chunks are stored with their shape, so that the order of elements in memory means nothing to them.
    zarr-python 2 takes it into account all the same when it reads, and cannot read what it wrote in F order."""
    return any(getattr(codec, "id", None) in ("json", "json2", "msgpack", "msgpack2", "pickle") for codec in codecs)


def parse_configs(
    filters: Json,
    compressor: Json,
    filters_place: str,
    compressor_place: str,
    read_options: ReadOptions,
    problems: Problems,
) -> list[tuple[str, Codec]]:
    """The codecs of `filters` and `compressor`, each with its place; an empty list counts as null (V26)."""
    configs: list[tuple[str, Json]] = []
    if isinstance(filters, list) and len(filters) > MAX_CODECS:
        problems.add(filters_place, f"has {len(filters)} codecs, more than the {MAX_CODECS} allowed")
    elif isinstance(filters, list):
        configs += [(f"{filters_place}[{index}]", config) for index, config in enumerate(filters)]
    elif filters is not None:
        problems.expected(filters_place, "a list, or null", filters)
    if compressor is not None:
        configs.append((compressor_place, compressor))
    items: list[tuple[str, Codec]] = []
    for where, config in configs:
        codec = codec_from_config(config, where, problems)
        if isinstance(codec, Pickle):
            codec = replace(codec, allowed=read_options.allow_pickle)
        if codec is not None:
            items.append((where, codec))
    return items


def arranged(
    stored: np.dtype[Any], items: Iterable[tuple[str, Codec]], place: str, problems: Problems
) -> list[tuple[str, Codec]] | None:
    """The codecs, with their places, in the order of the model: those that take arrays, the one that makes bytes, those
    that take bytes. What takes arrays and stands behind bytes is told to see them as an array."""
    arrays: list[tuple[str, Codec]] = []
    serializer: tuple[str, Codec] | None = None
    steps: list[tuple[str, Codec]] = []
    for where, codec in items:
        if isinstance(codec, ArrayCodec) and serializer is None:
            if swaps(stored, codec):
                problems.add(where, f"`{codec.name}` takes another byte order than that of `{stored.str}`")
                return None
            arrays.append((where, codec))
            stored = getattr(codec, "encoded_dtype", None) or stored
        elif isinstance(codec, ArrayCodec):
            steps.append((where, OverBytes(codec)))
        elif holds_objects(stored) and serializer is None and not isinstance(codec, Pickle):
            problems.add(where, f"`{codec.name}` cannot store records that hold objects; only pickles do")
            return None
        elif isinstance(codec, Serializer):
            if serializer is not None:
                problems.add(where, f"`{codec.name}` takes arrays and cannot stand behind bytes")
                return None
            if isinstance(codec, Pickle) and holds_objects(stored):
                codec = replace(codec, record=stored)
            serializer = where, codec
        elif isinstance(codec, Foreign) and serializer is None:
            serializer = where, codec.behind_array(stored)
        else:
            serializer = serializer or _plain_serializer(stored, place, problems)
            if serializer is None:
                return None
            steps.append((where, codec))
    serializer = serializer or _plain_serializer(stored, place, problems)
    return None if serializer is None else [*arrays, serializer, *steps]


def holds_objects(stored: np.dtype[Any]) -> bool:
    """Whether elements are records with objects in them, which are tuples in memory."""
    return stored.names is not None and stored.hasobject


def swaps(stored: np.dtype[Any], codec: ArrayCodec) -> bool:
    """Whether a filter would see the bytes of each element in the wrong order: numcodecs computes with such numbers,
    which nobody can have meant."""
    taken = getattr(codec, "decoded_dtype", None)
    return taken is not None and len({*byte_orders(stored), *byte_orders(taken)}) > 1


def _plain_serializer(stored: np.dtype[Any], place: str, problems: Problems) -> tuple[str, Codec] | None:
    if not stored.hasobject:
        return f"{place}.dtype", plain_serializer(stored)
    problems.add(  # A56
        f"{place}.filters", "there is no codec that turns objects into bytes, such as `vlen-utf8` or `json2`"
    )
    return None


def check_codecs(model: ArrayModel, places: Sequence[str], problems: Problems, *, inline: bool = True) -> None:
    """Binds the codecs of an array, and says of each that does not fit where it stands in the document; `inline`, if a
    configuration has no member of its own there."""
    found = Problems()
    for chunk_shape in model.grid.chunk_shapes(model.shape):
        if model.chain(chunk_shape, "$", found) is None:
            break  # of other shapes the same would be said again

    def told(problem: Problem) -> Problem:
        index = re.match(r"\$\[(\d+)\]", problem.path)
        if index is None:
            return problem
        rest = problem.path[index.end() :]
        rest = rest.replace(".configuration", "") if inline else rest
        return replace(problem, path=places[int(index[1])] + rest)

    problems.found.extend(map(told, found.found))
    problems.warnings.extend(map(told, found.warnings))


def object_type(codecs: Iterable[Codec]) -> DataType:
    """What the elements of an object array are: its codec tells."""
    for codec in codecs:
        if isinstance(codec, VlenUtf8):
            return String()
        if isinstance(codec, VlenBytes):
            return VariableBytes()
    return Objects()


def transposed(order: Json, rank: int) -> tuple[Codec, ...]:
    """What brings the elements of a chunk into column-major order. It stands there for any number of dimensions: `F` is
    what the document says, also where that changes nothing."""
    return (Transpose(tuple(reversed(range(rank)))),) if order == "F" else ()


# -- and back


def order_of(model: ArrayModel) -> str:
    """The order in which elements are stored."""
    return "F" if model.codecs and isinstance(model.codecs[0], Transpose) else "C"


def untransposed(model: ArrayModel) -> tuple[Codec, ...]:
    """The codecs but for the one that brings the elements in order."""
    return model.codecs[1:] if order_of(model) == "F" else model.codecs


def stored_dtype_of(model: ArrayModel) -> np.dtype[Any]:
    """The NumPy type of the elements before any codec but the one that writes them: with filters in between, the first
    that names a byte order tells which one it takes."""
    codecs = untransposed(model)
    serializer = next((codec for codec in codecs if isinstance(codec, Serializer)), None)
    if model.dtype.hasobject or model.dtype.kind == "T":
        return np.dtype(object)
    for codec in codecs:
        if isinstance(codec, ArrayCodec):
            taken = getattr(codec, "decoded_dtype", None)
            orders = {} if taken is None else set(byte_orders(taken))
            if orders:
                return model.dtype.newbyteorder("big" if orders == {">"} else "little")
            if getattr(codec, "encoded_dtype", None) is not None:
                return stored_dtype(model.dtype, Bytes("little"))
    return stored_dtype(model.dtype, serializer)


def configs_of(model: ArrayModel) -> tuple[list[Json] | None, Json]:
    """The members `filters` and `compressor`: the last codec, unless it compresses nothing."""
    configs = [config_of(codec) for codec in untransposed(model) if not isinstance(codec, (Bytes, StoredBytes))]
    last = configs[-1] if configs and _compresses(model.codecs[-1], model.dtype) else None
    compressor = configs.pop() if last is not None and last["id"] not in _NO_COMPRESSORS else None
    return configs or None, compressor


def _compresses(codec: Codec, dtype: np.dtype[Any]) -> bool:
    """Whether a codec may be the compressor: if it takes bytes, or an array that is not of objects. What turns objects
    into bytes is looked for among the filters."""
    takes_arrays = isinstance(codec, ForeignArray) or getattr(codec, "id", None) in ("pcodec", "zfpy")
    return isinstance(codec, BytesCodec) or (takes_arrays and not dtype.hasobject)


# -- new arrays


def new_data_type(dtype: Any) -> DataType:
    """The data type for what a user gives: as everywhere, but for objects and for records that are not packed."""
    if isinstance(dtype, DataType):
        return dtype
    try:
        found = None if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        found = None
    if found is not None and found == np.dtype(object):
        return Objects()
    if found is not None and found.names is not None:
        kind = data_type_of_stored(found)
        if isinstance(kind, Record):
            return kind
    return data_type_of(dtype)


def new_serializer(dtype: Any) -> Serializer | None:
    """What writes records just as the user's dtype says, where one byte order would not do; else None."""
    try:
        stored = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        return None
    return plain_serializer(stored) if stored.names is not None else None


def settled(model: ArrayModel) -> ArrayModel:
    """A new array just as it will be read again."""
    return _settled_codecs(settled_objects(model))


def _settled_codecs(model: ArrayModel) -> ArrayModel:
    """A new array whose serializer writes the byte order that the last of its filters names, and whose blosc takes the
    size of elements from what it is given, for the document has no place for it."""
    stored = stored_dtype_of(model)
    codecs: list[Codec] = []
    filtered = False
    for codec in model.codecs:
        if isinstance(codec, ArrayCodec) and not isinstance(codec, Transpose):
            filtered = True
            stored = getattr(codec, "encoded_dtype", None) or stored
        elif isinstance(codec, Bytes) and filtered:
            codec = plain_serializer(stored)
        elif isinstance(codec, ForeignArray):
            codec = replace(codec, dtype=stored)
        elif isinstance(codec, Blosc):
            codec = replace(codec, typesize=None)
        codecs.append(codec)
    return replace(model, codecs=tuple(codecs))


def settled_objects(model: ArrayModel) -> ArrayModel:
    """A new array of objects whose codec says what the objects are, as it will be read again."""
    if not isinstance(model.data_type, Objects):
        return model
    kind = object_type(model.codecs)
    fill = model.fill
    if isinstance(kind, Objects):
        if fill is not None:
            kind.dump_fill(fill)  # refuses bytes, which only those codecs that store bytes can spell
        return replace(model, fill=None) if fill is not None and fill[()] is None else model
    if fill is not None:
        fill = kind.default_fill() if fill[()] is None or fill[()] == 0 else kind.cast_fill(fill[()])
    return replace(model, data_type=kind, fill=fill)
