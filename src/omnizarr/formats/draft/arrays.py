"""Documents of arrays in the drafts of v3 (S13–S37, S63–S69, T6–T13, T25–T28). Each draft is read in the spelling of
the other, too: what programs wrote lies between the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of
from omnizarr.chunk_keys import ChunkKeys, DraftKeys
from omnizarr.codecs import ArrayCodec, Bytes, Codec, Serializer, Sharding, Transpose
from omnizarr.dtypes import DataType
from omnizarr.errors import ArgumentError
from omnizarr.formats.document_fields import (
    dimension_names_attribute,
    missing,
    parse_attributes,
    parse_shape,
    unknown_members,
)
from omnizarr.formats.draft.codecs import codec_losses, dump_codecs, filters_and_compressor, is_filters, parse_codec
from omnizarr.formats.draft.extensions import is_uri, parse_extensions
from omnizarr.formats.draft.fills import dump_draft_fill, parse_draft_fill
from omnizarr.formats.draft.grids import dump_draft_grid, is_draft_grid, parse_draft_grid
from omnizarr.formats.draft.transformers import dump_transformer, parse_transformers, unsharded, with_leading_sharding
from omnizarr.formats.draft.types import DraftType, dump_draft_type, given_fallback, parse_draft_type
from omnizarr.formats.numpy_arrays import arranged, check_codecs, object_type, parse_configs, transposed
from omnizarr.formats.numpy_dtype import stored_dtype
from omnizarr.formats.read_options import ReadOptions
from omnizarr.grids import Grid, Regular
from omnizarr.model import ArrayModel, ZarrFormat

__all__ = [
    "chunk_memory_layouts",
    "dimensions_named",
    "draft_losses",
    "dump_draft_array",
    "key_without_dimensions",
    "parse_draft_array",
    "with_given_fallback",
]

Year = Literal[2020, 2022]

_REQUIRED = (
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_memory_layout",
    "fill_value",
    "extensions",
    "attributes",
)
_OPTIONAL = {2020: ("compressor", "storage_transformers"), 2022: ("codecs", "storage_transformers")}
# What is written back as it was.
_SPELLED = ("data_type", "compressor", "codecs", "fill_value", "storage_transformers")
# What has a plain meaning where it is not there: zarrita and GDAL left out the first two, and from January 2023 on a
# codec said the last (§1.7).
_LEFT_OUT = {2020: ("extensions", "fill_value"), 2022: ("chunk_memory_layout",)}
# What writers added to their documents, and what the drafts after January 2023 have (A8).
_HARMLESS = ("dimension_separator", "dimension_names")

chunk_memory_layouts: Registry[type[ArrayCodec]] = Registry(
    "chunk memory layout", "omnizarr.chunk_memory_layouts", subclass_of(ArrayCodec)
)
"""Other orders of elements than C and F, by the URI of their specification: an array → array codec that brings them
about, which finds `type` and, if there is one, the `configuration` in what it parses."""


def parse_draft_array(
    document: dict[str, Json], year: Year, read_options: ReadOptions, problems: Problems, *, later: bool = False
) -> ArrayModel | None:
    """The array that a document describes; None, and everything that is wrong, if it describes none. In a `later` minor
    version there may be members that nobody knows."""
    before = len(problems.found)
    missing(document, [name for name in _REQUIRED if name not in _LEFT_OUT[year]], problems)
    if year == 2022 and "chunk_memory_layout" not in document:
        problems.warn("$.chunk_memory_layout", "is missing: `C` is assumed")
    extra = _parse_extra(document, year, problems, later=later)
    shape = parse_shape(document, problems)
    extensions = parse_extensions(_given(document, "extensions", year), "$.extensions", problems)
    attributes = parse_attributes(document.get("attributes"), "$.attributes", problems)
    grid, separator = _grid(document, shape, year, problems)
    layout = _parse_layout(document.get("chunk_memory_layout", "C"), shape, problems)
    kind = None
    if "data_type" in document:
        kind = parse_draft_type(document["data_type"], read_options, "$.data_type", problems)
    items = _parse_codecs(document, shape, attributes, year, read_options, problems)
    transformers = parse_transformers(
        _given(document, "storage_transformers", year), shape, year, read_options, problems
    )
    if shape is None or grid is None or kind is None or layout is None or len(problems.found) > before:
        return None
    chained = _chain(kind, items, problems)
    if chained is None:
        return None
    codecs = tuple(codec for _, codec in chained)
    data_type = kind.data_type or object_type(codecs)
    fill = _parse_fill(document.get("fill_value"), kind, data_type, year, problems)
    spelled = {name: document[name] for name in _SPELLED if name in document}
    if read_options.chunks_per_shard is not None:
        spelled.pop("storage_transformers", None)
    if year == 2020 and is_filters(attributes.get("filters")):
        spelled["filters"] = attributes["filters"]
        attributes = {name: value for name, value in attributes.items() if name != "filters"}
    if any(isinstance(codec, Transpose) for codec in codecs):  # it must not be taken for the layout
        spelled["chunk_memory_layout"] = document.get("chunk_memory_layout", "C")
    name: ZarrFormat = "3-draft-2020" if year == 2020 else "3-draft-2022"
    model = ArrayModel(
        shape=shape,
        data_type=data_type,
        fill=fill,
        grid=grid,
        chunk_keys=DraftKeys(separator) if shape else key_without_dimensions(DraftKeys(separator), year),
        codecs=(*layout, *codecs),
        attributes=attributes,
        storage_transformers=transformers,
        zarr_format=name,
        extra=extra,
        extensions=extensions,
        fallback=kind.fallback,
        spelled=spelled,
        guessed_keys=not shape,
    )
    if len(problems.found) == before:
        places = [*("$.chunk_memory_layout" for _ in layout), *(place for place, _ in chained)]
        check_codecs(model, places, problems, inline=year == 2020)  # where filters lie
    return with_leading_sharding(model) if len(problems.found) == before else None


def key_without_dimensions(keys: ChunkKeys, year: Year) -> ChunkKeys:
    """The keys of an array that has one chunk, where nothing is stored yet: zarr-python 2, which is the reader of the
    draft of 2020, looks under another name than its text says, and finds a fill value where nothing lies (A13)."""
    return replace(keys, scalar="c0") if year == 2020 and isinstance(keys, DraftKeys) else keys


def dimensions_named(model: ArrayModel, found: Json) -> tuple[str | None, ...] | None:
    """What the member `dimension_names` says, which drafts have from January 2023 on (§1.7); None if it is none."""
    return dimension_names_attribute(replace(model, attributes={"_ARRAY_DIMENSIONS": found}))


def _given(document: dict[str, Json], member: str, year: Year) -> Json:
    """A list that may be absent; writers of the draft of 2020 also wrote null (A65)."""
    found = document.get(member, [])
    return [] if found is None and year == 2020 else found


def _parse_extra(document: dict[str, Json], year: Year, problems: Problems, *, later: bool) -> dict[str, Json]:
    """Members that nobody knows: the draft of 2020 ignores them (T5), that of 2022 refuses them (S13)."""
    extra = unknown_members(document, (*_REQUIRED, *_OPTIONAL[2020], *_OPTIONAL[2022]))
    for member in extra if year == 2022 and not later else ():
        if member in _HARMLESS:
            problems.warn(f"$.{member}", "unknown member")
        elif member == "filters" and not extra[member]:
            problems.warn(f"$.{member}", "unknown member that is empty")
        else:
            known = (*_REQUIRED, *_OPTIONAL[year])
            problems.add(f"$.{member}", "unknown member", hint=problems.nearest(member, known))
    if year == 2022 and document.get("compressor") is not None:
        problems.warn("$.compressor", "a member of the draft of 2020, where `codecs` belongs")
    return extra


def _grid(
    document: dict[str, Json], shape: tuple[int, ...] | None, year: Year, problems: Problems
) -> tuple[Grid | None, str]:
    if "chunk_grid" not in document:
        return None, "/"
    return parse_draft_grid(document["chunk_grid"], shape, year, problems)


def _parse_layout(found: Json, shape: tuple[int, ...] | None, problems: Problems) -> tuple[Codec, ...] | None:
    """What brings the elements of a chunk into their order."""
    if found in ("C", "F"):
        return transposed(found, len(shape or ()))
    uri = found.get("extension") if isinstance(found, dict) else None
    if not isinstance(uri, str):
        problems.expected("$.chunk_memory_layout", '"C", "F" or an object with an `extension`', found)
        return None
    known = chunk_memory_layouts.get(uri)
    if known is None:  # S23: must be understood
        problems.unknown("$.chunk_memory_layout.extension", "chunk memory layout", uri, chunk_memory_layouts.names())
        return None
    configuration = {name: value for name, value in found.items() if name in ("type", "configuration")}
    codec = call_extension("chunk memory layout", uri, "$.chunk_memory_layout", problems, known.parse, configuration)
    return None if codec is None else (codec,)


def _parse_codecs(
    document: dict[str, Json],
    shape: tuple[int, ...] | None,
    attributes: dict[str, Json],
    year: Year,
    read_options: ReadOptions,
    problems: Problems,
) -> list[tuple[str, Codec]]:
    items: list[tuple[str, Codec]] = []
    filters = attributes.get("filters")
    if year == 2020 and is_filters(filters):
        items += parse_configs(filters, None, "$.attributes.filters", "", read_options, problems)
    found = _given(document, "codecs", year)
    if not isinstance(found, list):
        problems.expected("$.codecs", "a list", found)
        found = []
    places = [(f"$.codecs[{index}]", "type", item) for index, item in enumerate(found)]
    if document.get("compressor") is not None:  # null is none (A65)
        places.append(("$.compressor", "codec", document["compressor"]))
    for place, member, item in places:
        codec = parse_codec(item, member, place, problems)
        if isinstance(codec, Transpose) and shape is not None:
            codec = codec.resolved(len(shape))
        if codec is not None:
            items.append((place, codec))
    return items


def _chain(kind: DraftType, items: list[tuple[str, Codec]], problems: Problems) -> list[tuple[str, Codec]] | None:
    """The codecs, with their places, in the order of the model. The byte order of the type holds unless a codec says
    another (A1, A19); the fields of a struct have their own."""
    stored = kind.stored
    if stored is None:
        assert kind.data_type is not None
        stored = kind.data_type.dtype
    if stored.names is not None:
        items = [(place, codec) for place, codec in items if not isinstance(codec, Bytes)]
    found = arranged(stored, items, "$", problems)
    if found is None or stored.hasobject or _filtered([codec for _, codec in found]):
        return found
    # An order for what has none is left out, as it is from new documents (A39).
    return [(place, codec.resolved(stored) if isinstance(codec, Bytes) else codec) for place, codec in found]


def _parse_fill(value: Json, kind: DraftType, data_type: DataType, year: Year, problems: Problems) -> Any:
    if value is not None and kind.replaced:
        # Only the extension knows what its fill value means (S24); what is no value of the fallback must not keep its
        # elements from being read.
        inside = Problems()
        found = parse_draft_fill(value, data_type, kind.stored, year, "$.fill_value", inside)
        if found is None:
            problems.warn("$.fill_value", "is no value of the fallback: elements that nobody wrote are read as zeros")
        return data_type.default_fill() if found is None else found
    if value is not None:
        return parse_draft_fill(value, data_type, kind.stored, year, "$.fill_value", problems)
    if year == 2022 and not kind.extension:  # S24
        problems.add("$.fill_value", "must not be null")
    elif year == 2022:  # A6: examples in the text have it
        problems.warn("$.fill_value", "null is read as the default fill value")
        return data_type.default_fill()
    return None


# -- and back


def dump_draft_array(model: ArrayModel, year: Year) -> Json:
    """The document of an array."""
    inner = unsharded(model)
    layout, codecs = _layout(inner.codecs)
    stored = _stored(model, codecs)
    assert isinstance(model.chunk_keys, DraftKeys)
    document: dict[str, Json] = {
        "shape": list(model.shape),
        "data_type": model.spelled.get("data_type") or _dump_type(model, codecs, year),
        "chunk_grid": dump_draft_grid(inner.grid, model.chunk_keys.separator),
        "chunk_memory_layout": layout,
        "fill_value": dump_draft_fill(model.fill, model.data_type, stored, year),
        "extensions": list(model.extensions),
        "attributes": model.attributes,
    }
    if year == 2022:
        document["codecs"] = dump_codecs(codecs, stored)
    else:
        filters, compressor = filters_and_compressor(codecs)
        if compressor is not None:
            document["compressor"] = compressor
        if filters:
            document["attributes"] = model.attributes | {"filters": filters}
    if "filters" in model.spelled:
        document["attributes"] = model.attributes | {"filters": model.spelled["filters"]}
    if inner.storage_transformers:
        document["storage_transformers"] = [dump_transformer(item, year) for item in inner.storage_transformers]
    spelled = {name: value for name, value in model.spelled.items() if name != "filters"}
    return document | spelled | model.extra


def _layout(codecs: tuple[Codec, ...]) -> tuple[Json, tuple[Codec, ...]]:
    first = codecs[0] if codecs else None
    if first is not None and first == (*transposed("F", _rank(first)), None)[0]:
        return "F", codecs[1:]
    if isinstance(first, ArrayCodec) and is_uri(first.name):
        return {"extension": first.name, **first.configuration()}, codecs[1:]
    return "C", codecs


def _dump_type(model: ArrayModel, codecs: Sequence[Codec], year: Year) -> Json:
    serializer = next((codec for codec in codecs if isinstance(codec, Serializer)), None)
    return dump_draft_type(model.data_type, None if _filtered(codecs) else serializer, model.fallback, year)


def with_given_fallback(model: ArrayModel, year: Year) -> ArrayModel:
    """A new array with its `fallback` as documents spell it; ArgumentError if it is none."""
    if model.fallback is None:
        return model
    _, codecs = _layout(unsharded(model).codecs)
    try:
        spelled = _dump_type(replace(model, fallback=None), codecs, year)
    except ArgumentError:
        return model  # there is no such type, which is told with all else that cannot be written
    return replace(model, fallback=given_fallback(model.fallback, spelled, year))


def _rank(codec: Codec) -> int:
    order = getattr(codec, "order", ())
    return len(order) if not isinstance(order, str) else 0


def _filtered(codecs: Sequence[Codec]) -> bool:
    return any(isinstance(codec, ArrayCodec) for codec in codecs)


def _stored(model: ArrayModel, codecs: Sequence[Codec]) -> np.dtype[Any]:
    if model.dtype.hasobject:
        return np.dtype(object)
    serializer = next((codec for codec in codecs if isinstance(codec, Serializer)), None)
    return stored_dtype(model.dtype, Bytes("little") if _filtered(codecs) else serializer)


def draft_losses(model: ArrayModel, year: Year) -> list[str]:
    """What a document of a draft cannot say of an array."""
    draft = f"the draft of {year}"
    if not is_draft_grid(model.grid):
        return [f"the chunks of {draft} are equally large, unless an extension says otherwise by its URI"]
    if not isinstance(model.chunk_keys, DraftKeys):
        return [f"the chunks of {draft} lie under keys such as `c0/0`"]
    found = []
    if year == 2022 and model.fill is None:
        found.append(f"{draft} has no undefined fill value")
    sharding = model.codecs[0] if isinstance(model.codecs[0], Sharding) else None
    if sharding is not None:
        if len(model.codecs) > 1 or sharding.index_codecs != (Bytes("little"),) or sharding.index_location != "end":
            found.append(f"a shard of {draft} has its index at the end, little-endian and without a checksum")
        if any(isinstance(codec, Sharding) for codec in sharding.codecs):
            found.append(f"{draft} has no shards within shards")
        if model.grid.name != Regular.name:
            found.append(f"the shards of {draft} are equally large")
    elif any(isinstance(codec, Sharding) for codec in model.codecs):
        found.append(f"{draft} has nothing before its shards")
    if found:
        return found
    inner = unsharded(model)
    _, codecs = _layout(inner.codecs)
    found += [
        f"the storage transformer `{item.name}` is not for documents"
        for item in inner.storage_transformers
        if not item.layout
    ]
    if "data_type" not in model.spelled:
        try:
            _dump_type(model, codecs, year)
        except ArgumentError as error:
            found.append(f"{draft} has {error.message}")
    if not {"codecs", "compressor", "filters"} & model.spelled.keys():
        found += codec_losses(codecs, year, draft)
    problems = Problems()
    parse_extensions(list(model.extensions), "$.extensions", problems)
    found += [f"{problem.path}: {problem.message}" for problem in problems.found]
    if year == 2020 and _is_taken(model, codecs):
        found.append("the attribute `filters` is where codecs are kept in this draft")
    return found


def _is_taken(model: ArrayModel, codecs: Sequence[Codec]) -> bool:
    """Whether an attribute stands where zarr-python 2 keeps codecs, or would be taken for them."""
    if "filters" not in model.attributes:
        return False
    return (
        is_filters(model.attributes["filters"]) or "filters" in model.spelled or bool(filters_and_compressor(codecs)[0])
    )
