"""Documents → arrays of v1 and v2, and of the drafts as zarr-python 2 wrote them. The documents have a NumPy dtype, an
element order, and codecs without kinds, which are sorted into the three kinds of the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs import ArrayCodec, Codec, Serializer, Transpose, VlenBytes, VlenUtf8, plain_serializer
from omnizarr.codecs.bytes_to_bytes.array_codec_on_bytes import ArrayCodecOnBytes
from omnizarr.codecs.contract import check_codec_count
from omnizarr.codecs.numcodecs_ import FilterOnBytes, Foreign, Pickle
from omnizarr.codecs.numcodecs_.filters.base import Filter
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config
from omnizarr.dtypes import DataType, Objects, Scalar, String, VariableBytes, data_type_of_stored, parse_typestr
from omnizarr.errors import Problem
from omnizarr.formats.numpy_dtype import byte_orders, is_object_record
from omnizarr.formats.read_options import ReadOptions
from omnizarr.formats.v2_fills import parse_fill
from omnizarr.model import ArrayModel

__all__ = [
    "ChunkEncoding",
    "arrange_codecs",
    "byte_order_differs",
    "check_codecs",
    "make_chunk_encoding",
    "object_type",
    "order_codecs",
    "parse_chunk_encoding",
    "parse_codec_configs",
    "stores_shape",
]


class ChunkEncoding(NamedTuple):
    """The elements of an array and how its chunks encode them."""

    data_type: DataType
    fill: Any
    codecs: tuple[Codec, ...]
    places: tuple[str, ...]
    """The JSON path of each codec in the document."""


ParseFill: TypeAlias = Callable[[Json, DataType, np.dtype[Any], str, Problems], Scalar | None]


def parse_chunk_encoding(
    document: dict[str, Json], read_options: ReadOptions, rank: int | None, problems: Problems
) -> ChunkEncoding | None:
    """Parses the members `dtype`, `order`, `filters`, `compressor` and `fill_value` of v2."""
    before = len(problems.found)
    stored = parse_typestr(document["dtype"], "$.dtype", problems) if "dtype" in document else None
    order = document.get("order")
    if "order" in document and order not in ("C", "F"):
        problems.expected("$.order", '"C" or "F"', order, rule="V21")
    items = parse_codec_configs(
        document.get("filters"), document.get("compressor"), "$.filters", "$.compressor", read_options, problems
    )
    if stored is None or rank is None or len(problems.found) > before:
        return None
    return make_chunk_encoding(stored, order_codecs(order, rank), items, document.get("fill_value"), "$", problems)


def make_chunk_encoding(
    stored: np.dtype[Any],
    first: tuple[Codec, ...],
    items: list[tuple[str, Codec]],
    fill_value: Json,
    place: str,
    problems: Problems,
    parse: ParseFill = parse_fill,
) -> ChunkEncoding | None:
    """Combines the stored dtype, the result of `order_codecs`, the codecs with their JSON paths, and the fill value,
    which `parse` reads."""
    arranged = arrange_codecs(stored, items, place, problems)
    codecs = () if arranged is None else tuple(codec for _, codec in arranged)
    data_type = data_type_of_stored(stored) if not stored.hasobject else object_type(codecs)
    if data_type is None:
        problems.add(f"{place}.dtype", f"elements of type `{stored}` are not supported", rule="V7")
    if arranged is None or data_type is None:
        return None
    before = len(problems.found)
    fill = None
    if fill_value is not None:
        fill = parse(fill_value, data_type, stored, f"{place}.fill_value", problems)
    if stores_shape(codecs):
        first = ()
    places = (*(f"{place}.order" for _ in first), *(where for where, _ in arranged))
    return ChunkEncoding(data_type, fill, (*first, *codecs), places) if len(problems.found) == before else None


def stores_shape(codecs: Iterable[Codec]) -> bool:
    """Whether chunks contain their shape, so that the element order has no effect. zarr-python 2 applies the order all
    the same when it reads, and so cannot read what it wrote in F order."""
    return any(getattr(codec, "id", None) in ("json", "json2", "msgpack", "msgpack2", "pickle") for codec in codecs)


def parse_codec_configs(
    filters: Json,
    compressor: Json,
    filters_place: str,
    compressor_place: str,
    read_options: ReadOptions,
    problems: Problems,
) -> list[tuple[str, Codec]]:
    """The codecs of `filters` and `compressor`, each with its JSON path; an empty list counts as null (V26)."""
    configs: list[tuple[str, Json]] = []
    if isinstance(filters, list):
        if check_codec_count(len(filters), filters_place, problems):
            configs += [(f"{filters_place}[{index}]", config) for index, config in enumerate(filters)]
    elif filters is not None:
        problems.expected(filters_place, "a list, or null", filters, rule="V4")
    if compressor is not None:
        configs.append((compressor_place, compressor))
    items: list[tuple[str, Codec]] = []
    for place, config in configs:
        codec = codec_from_config(config, place, problems)
        if isinstance(codec, Pickle):
            codec = replace(codec, allowed=read_options.allow_pickle)
        if codec is not None:
            items.append((place, codec))
    return items


def arrange_codecs(
    stored: np.dtype[Any], items: Iterable[tuple[str, Codec]], document_place: str, problems: Problems
) -> list[tuple[str, Codec]] | None:
    """The codecs, with their JSON paths, in the order of the model: array → array, array → bytes, bytes → bytes. An
    array codec that follows bytes is wrapped so that it sees them as an array."""
    arrays: list[tuple[str, Codec]] = []
    serializer: tuple[str, Codec] | None = None
    steps: list[tuple[str, Codec]] = []
    for place, codec in items:
        if isinstance(codec, ArrayCodec) and serializer is None:
            if byte_order_differs(stored, codec):
                problems.add(
                    place, f"`{codec.name}` expects another byte order than that of `{stored.str}`", rule="V15"
                )
                return None
            arrays.append((place, codec))
            stored = getattr(codec, "encoded_dtype", None) or stored
        elif isinstance(codec, ArrayCodec):
            steps.append((place, FilterOnBytes(codec) if isinstance(codec, Filter) else ArrayCodecOnBytes(codec)))
        elif is_object_record(stored) and serializer is None and not isinstance(codec, Pickle):
            problems.add(place, f"`{codec.name}` cannot store records that hold objects; only `pickle` can", rule="V24")
            return None
        elif isinstance(codec, Serializer):
            if serializer is not None:
                problems.add(
                    place, f"`{codec.name}` encodes arrays and cannot follow a codec that produces bytes", rule="V15"
                )
                return None
            if isinstance(codec, Pickle) and is_object_record(stored):
                codec = replace(codec, record=stored)
            serializer = place, codec
        elif isinstance(codec, Foreign) and serializer is None:
            serializer = place, codec.for_array(stored)
        else:
            serializer = serializer or _plain_serializer(stored, document_place, problems)
            if serializer is None:
                return None
            steps.append((place, codec))
    serializer = serializer or _plain_serializer(stored, document_place, problems)
    return None if serializer is None else [*arrays, serializer, *steps]


def byte_order_differs(stored: np.dtype[Any], codec: ArrayCodec) -> bool:
    """Whether a filter names another byte order than the elements have. numcodecs would compute with swapped bytes,
    which no writer can have intended."""
    decoded = getattr(codec, "decoded_dtype", None)
    return decoded is not None and len({*byte_orders(stored), *byte_orders(decoded)}) > 1


def _plain_serializer(stored: np.dtype[Any], document_place: str, problems: Problems) -> tuple[str, Codec] | None:
    if not stored.hasobject:
        return f"{document_place}.dtype", plain_serializer(stored)
    problems.add(  # A56
        f"{document_place}.filters",
        "there is no codec that turns objects into bytes, such as `vlen-utf8` or `json2`",
        rule="A56",
    )
    return None


def check_codecs(model: ArrayModel, places: Sequence[str], problems: Problems, *, inline: bool = True) -> None:
    """Binds the codecs of an array. Reports problems at the JSON paths `places`. `inline` says that documents have the
    configuration of a codec beside its id, not in a member of its own."""
    binding = Problems()
    for chunk_shape in model.grid.chunk_shapes(model.shape):
        if model.chain(chunk_shape, "$", binding) is None:
            break  # other shapes would repeat the same problems

    def relocate(problem: Problem) -> Problem:
        index = re.match(r"\$\[(\d+)\]", problem.path)
        if index is None:
            return problem
        rest = problem.path[index.end() :]
        rest = rest.replace(".configuration", "") if inline else rest
        return problem._replace(path=places[int(index[1])] + rest)

    problems.found.extend(map(relocate, binding.found))
    problems.warnings.extend(map(relocate, binding.warnings))


def object_type(codecs: Iterable[Codec]) -> DataType:
    """The data type of an object array, which its codec determines."""
    for codec in codecs:
        if isinstance(codec, VlenUtf8):
            return String()
        if isinstance(codec, VlenBytes):
            return VariableBytes()
    return Objects()


def order_codecs(order: Json, rank: int) -> tuple[Codec, ...]:
    """The codecs for the element order: none for C, a transpose for F. F gives one for every rank, so that it is kept
    in the document even where it means the same as C."""
    return (Transpose(tuple(reversed(range(rank)))),) if order == "F" else ()
