"""Array documents of the drafts of v3 (S13–S37, S63–S69, T6–T13, T25–T28). The parser accepts the forms of both drafts
in either, because writers mixed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import DraftKeys
from omnizarr.codecs import ArrayCodec, Blosc, Bytes, Codec, Serializer, Sharding, Transpose
from omnizarr.codecs.contract import check_codec_count
from omnizarr.dtypes import DataType
from omnizarr.errors import ArgumentError
from omnizarr.formats.document_members import (
    check_required,
    dimension_names_attribute,
    parse_attributes,
    parse_shape,
    unknown_members,
)
from omnizarr.formats.draft.codecs import (
    codec_losses,
    codec_on_bytes,
    dump_codecs,
    filters_and_compressor,
    is_filters,
    parse_codec,
)
from omnizarr.formats.draft.conventions import text_losses, uses_conventions
from omnizarr.formats.draft.extensions import is_uri, parse_extensions
from omnizarr.formats.draft.fallbacks import fallback_from_user
from omnizarr.formats.draft.fills import dump_draft_fill, parse_draft_fill
from omnizarr.formats.draft.grids import dump_draft_grid, is_draft_grid, parse_draft_grid
from omnizarr.formats.draft.layouts import parse_layout, split_layout
from omnizarr.formats.draft.transformers import dump_transformer, parse_transformers, unsharded, with_leading_sharding
from omnizarr.formats.draft.types import DraftType, default_fallback, dump_draft_type, parse_draft_type
from omnizarr.formats.numpy_dtype import byte_orders, stored_dtype
from omnizarr.formats.read_options import ReadOptions
from omnizarr.formats.v1_v2_dump import filter_losses, first_stored_dtype, normalize_codecs
from omnizarr.formats.v1_v2_parse import arrange_codecs, check_codecs, object_type, parse_codec_configs
from omnizarr.grids import Grid, Regular
from omnizarr.model import UNFINISHED_RESIZE, ArrayModel, ZarrFormat

__all__ = [
    "MEMBERS",
    "draft_losses",
    "dump_draft_array",
    "normalize_draft_codecs",
    "parse_dimension_names",
    "parse_draft_array",
    "scalar_chunk_key",
    "with_fallback_member",
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
MEMBERS: dict[int, tuple[str, ...]] = {year: (*_REQUIRED, *_OPTIONAL[year]) for year in (2020, 2022)}
"""The members of an array's document, by draft."""
# Members to write back verbatim.
_VERBATIM = ("data_type", "compressor", "codecs", "fill_value", "storage_transformers")
# Required members that may be missing: zarrita and GDAL omitted the first two, and from January 2023 on a codec
# replaced the last (§1.7).
_OMITTED = {2020: ("extensions", "fill_value"), 2022: ("chunk_memory_layout",)}
# Unknown members that only cause a warning: some writers add them, and drafts after January 2023 have them (A8).
_HARMLESS = ("dimension_separator", "dimension_names")


def parse_draft_array(
    document: dict[str, Json], year: Year, read_options: ReadOptions, problems: Problems, *, allow_unknown: bool = False
) -> ArrayModel | None:
    """The array that a document describes. If it is invalid, adds all problems and returns None. `allow_unknown`
    accepts unknown members, which a later minor version may have."""
    before = len(problems.found)
    check_required(document, [name for name in _REQUIRED if name not in _OMITTED[year]], problems, rule="S13")
    if year == 2022 and "chunk_memory_layout" not in document:
        problems.warn("$.chunk_memory_layout", "is missing: `C` is assumed", rule="§1.7")
    extra = _parse_extra(document, year, problems, allow_unknown=allow_unknown)
    shape = parse_shape(document, problems)
    extensions = parse_extensions(_list_member(document, "extensions", year), "$.extensions", problems)
    attributes = parse_attributes(document.get("attributes"), "$.attributes", problems)
    grid, separator = _parse_grid(document, shape, year, problems)
    layout = parse_layout(document.get("chunk_memory_layout", "C"), shape, problems)
    draft_type = None
    if "data_type" in document:
        draft_type = parse_draft_type(document["data_type"], read_options, "$.data_type", problems)
    items = _parse_codecs(document, shape, attributes, year, read_options, problems)
    transformers = parse_transformers(
        _list_member(document, "storage_transformers", year), shape, year, read_options, problems
    )
    if shape is None or grid is None or draft_type is None or layout is None or len(problems.found) > before:
        return None
    arranged = _arrange_codecs(draft_type, items, year, problems)
    if arranged is None:
        return None
    codecs = tuple(codec for _, codec in arranged)
    data_type = draft_type.data_type or object_type(codecs)
    fill = _parse_fill(document.get("fill_value"), draft_type, data_type, year, problems)
    verbatim = {name: document[name] for name in _VERBATIM if name in document}
    if read_options.chunks_per_shard is not None:
        verbatim.pop("storage_transformers", None)
    if year == 2020 and is_filters(attributes.get("filters")):
        verbatim["filters"] = attributes["filters"]
        attributes = {name: value for name, value in attributes.items() if name != "filters"}
    verbatim["chunk_memory_layout"] = document.get("chunk_memory_layout", "C")
    keys = DraftKeys(separator)
    if not shape:
        keys = scalar_chunk_key(keys, zarr_python=year == 2020 and uses_conventions(document))
    is_default = not draft_type.is_fallback and draft_type.fallback == default_fallback(data_type, year)
    name: ZarrFormat = "3-draft-2020" if year == 2020 else "3-draft-2022"
    model = ArrayModel(
        shape=shape,
        data_type=data_type,
        fill=fill,
        grid=grid,
        chunk_keys=keys,
        codecs=(*layout, *codecs),
        attributes=attributes,
        storage_transformers=transformers,
        zarr_format=name,
        extra=extra,
        extensions=extensions,
        fallback=None if is_default else draft_type.fallback,
        verbatim=verbatim,
        guessed_keys=not shape,
    )
    if len(problems.found) == before:
        places = [*("$.chunk_memory_layout" for _ in layout), *(place for place, _ in arranged)]
        check_codecs(model, places, problems, inline=year == 2020)  # filters have inline configurations
    return with_leading_sharding(model) if len(problems.found) == before else None


def scalar_chunk_key(keys: DraftKeys, *, zarr_python: bool) -> DraftKeys:
    """Chunk keys with the key of an array without dimensions: that of the text, or that of zarr-python 2, which reads
    no other, and returns the fill value instead (A13)."""
    return replace(keys, scalar="c0" if zarr_python else "c")


def parse_dimension_names(model: ArrayModel, value: Json) -> tuple[str | None, ...] | None:
    """The member `dimension_names`, which drafts have from January 2023 on (§1.7); None if it is absent or invalid."""
    return dimension_names_attribute(replace(model, attributes={"_ARRAY_DIMENSIONS": value}))


def _list_member(document: dict[str, Json], member: str, year: Year) -> Json:
    """A list that may be absent; writers of the draft of 2020 also wrote null (A65)."""
    value = document.get(member, [])
    return [] if value is None and year == 2020 else value


def _parse_extra(document: dict[str, Json], year: Year, problems: Problems, *, allow_unknown: bool) -> dict[str, Json]:
    """The unknown members. The draft of 2020 ignores them (T5); in that of 2022 they are problems (S13)."""
    extra = unknown_members(document, (*_REQUIRED, *_OPTIONAL[2020], *_OPTIONAL[2022]))
    for member in extra if year == 2022 and not allow_unknown else ():
        if member == UNFINISHED_RESIZE:
            continue
        if member in _HARMLESS:
            problems.warn(f"$.{member}", "unknown member", rule="A8")
        elif member == "filters" and not extra[member]:
            problems.warn(f"$.{member}", "unknown, empty member", rule="A8")
        else:
            known = (*_REQUIRED, *_OPTIONAL[year])
            problems.add(f"$.{member}", "unknown member", hint=problems.nearest(member, known), rule="S13")
    if year == 2022 and document.get("compressor") is not None:
        problems.warn("$.compressor", "a member of the draft of 2020; the draft of 2022 has `codecs`", rule="A8")
    return extra


def _parse_grid(
    document: dict[str, Json], shape: tuple[int, ...] | None, year: Year, problems: Problems
) -> tuple[Grid | None, str]:
    if "chunk_grid" not in document:
        return None, "/"
    return parse_draft_grid(document["chunk_grid"], shape, year, problems)


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
        items += parse_codec_configs(filters, None, "$.attributes.filters", "", read_options, problems)
    codecs = _list_member(document, "codecs", year)
    if not isinstance(codecs, list):
        problems.expected("$.codecs", "a list", codecs, rule="S28")
        codecs = []
    elif not check_codec_count(len(codecs), "$.codecs", problems):
        codecs = []
    places = [(f"$.codecs[{index}]", "type", item) for index, item in enumerate(codecs)]
    if document.get("compressor") is not None:  # null means none (A65)
        places.append(("$.compressor", "codec", document["compressor"]))
    for place, member, item in places:
        codec = parse_codec(item, member, place, problems)
        if isinstance(codec, Transpose) and shape is not None:
            codec = codec.resolved(len(shape))
        if codec is not None:
            items.append((place, codec))
    return items


def _arrange_codecs(
    draft_type: DraftType, items: list[tuple[str, Codec]], year: Year, problems: Problems
) -> list[tuple[str, Codec]] | None:
    """The codecs, with their JSON paths, in the order of the model. A codec `endian` overrides the byte order of the
    type (A1, A19), except for structs, whose fields have their own."""
    stored = draft_type.stored
    if stored is None:
        assert draft_type.data_type is not None
        stored = draft_type.data_type.dtype
    if stored.names is not None:
        items = [(place, codec) for place, codec in items if not isinstance(codec, Bytes)]
    if year == 2022:
        items = _with_default_serializer(stored, items)
    arranged = arrange_codecs(stored, items, "$", problems)
    if arranged is None or stored.hasobject or _has_filters([codec for _, codec in arranged]):
        return arranged
    # Drop the byte order of types that have none, as in new documents (A39).
    return [(place, codec.resolved(stored) if isinstance(codec, Bytes) else codec) for place, codec in arranged]


def _with_default_serializer(stored: np.dtype[Any], items: list[tuple[str, Codec]]) -> list[tuple[str, Codec]]:
    """The codecs with an explicit serializer behind third-party array codecs. These may change the type, so that only
    their bound form tells whether the elements have a byte order; the default is little-endian (S16, S35). A further
    array → bytes codec receives the bytes as an array (S34)."""
    count = next((index for index, (_, codec) in enumerate(items) if not isinstance(codec, ArrayCodec)), len(items))
    items[count + 1 :] = [(place, codec_on_bytes(codec) or codec) for place, codec in items[count + 1 :]]
    if not any(is_uri(codec.name) for _, codec in items[:count]):
        return items
    if count < len(items) and isinstance(items[count][1], Serializer):
        return items
    endian: Literal["little", "big"] = "big" if set(byte_orders(stored)) == {">"} else "little"  # A1
    return [*items[:count], ("$.codecs", Bytes(endian)), *items[count:]]


def _parse_fill(value: Json, draft_type: DraftType, data_type: DataType, year: Year, problems: Problems) -> Any:
    if value is not None and draft_type.is_fallback:
        # Only the extension can interpret its fill value (S24). One that does not fit the fallback type is no reason to
        # reject the elements.
        fill = parse_draft_fill(value, data_type, draft_type.stored, year, "$.fill_value", Problems())
        if fill is None:
            problems.warn(
                "$.fill_value", "is no value of the fallback type: unwritten elements are read as zeros", rule="S24"
            )
        return data_type.default_fill() if fill is None else fill
    if value is not None:
        return parse_draft_fill(value, data_type, draft_type.stored, year, "$.fill_value", problems)
    if year == 2022 and not draft_type.extension:  # S24
        problems.add("$.fill_value", "must not be null", rule="S24")
    elif year == 2022:  # A6: examples in the specification have null
        problems.warn("$.fill_value", "null is read as the default fill value", rule="A6")
        return data_type.default_fill()
    return None


# -- model to document


def dump_draft_array(model: ArrayModel, year: Year) -> Json:
    """The document that describes the array."""
    inner = unsharded(model)
    layout, codecs = split_layout(inner.codecs)
    stored = _stored(model.dtype, codecs, year)
    assert isinstance(model.chunk_keys, DraftKeys)
    document: dict[str, Json] = {
        "shape": list(model.shape),
        "data_type": model.verbatim.get("data_type") or _dump_type(model, codecs, year),
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
    if "filters" in model.verbatim:
        document["attributes"] = model.attributes | {"filters": model.verbatim["filters"]}
    if inner.storage_transformers:
        document["storage_transformers"] = [dump_transformer(item, year) for item in inner.storage_transformers]
    verbatim = {name: value for name, value in model.verbatim.items() if name != "filters"}
    return document | verbatim | model.extra


def _dump_type(model: ArrayModel, codecs: Sequence[Codec], year: Year) -> Json:
    return dump_draft_type(model.data_type, _stored(model.dtype, codecs, year), model.fallback, year)


def with_fallback_member(model: ArrayModel, year: Year) -> ArrayModel:
    """A new array with its `fallback` in the form of documents; ArgumentError if it is invalid."""
    if model.fallback is None:
        return model
    _, codecs = split_layout(unsharded(model).codecs)
    try:
        _dump_type(replace(model, fallback=None), codecs, year)
    except ArgumentError:
        return model  # `draft_losses` reports the unknown type together with all other losses
    fallback = fallback_from_user(model.fallback, model.data_type, _stored(model.dtype, codecs, year), year)
    return replace(model, fallback=None if fallback == default_fallback(model.data_type, year) else fallback)


def _has_filters(codecs: Sequence[Codec]) -> bool:
    return any(isinstance(codec, ArrayCodec) for codec in codecs)


def _stored(dtype: np.dtype[Any], codecs: Sequence[Codec], year: Year) -> np.dtype[Any]:
    """The dtype that the member `data_type` describes, with its byte order. In the draft of 2022, names of types have
    no byte order: a codec expresses it."""
    if year == 2020 or not _has_filters(codecs):
        return first_stored_dtype(dtype, codecs)
    return np.dtype(object) if dtype.hasobject else stored_dtype(dtype, Bytes("little"))


def normalize_draft_codecs(model: ArrayModel, year: Year) -> ArrayModel:
    """A new array whose codecs have the form in which its document will be parsed."""
    first = model.codecs[0]
    codecs = first.codecs if isinstance(first, Sharding) else model.codecs
    _, rest = split_layout(codecs)
    layout = codecs[: len(codecs) - len(rest)]
    if year == 2020:
        rest = normalize_codecs(rest, _stored(model.dtype, rest, year))
    else:
        rest = tuple(replace(codec, typesize=None) if isinstance(codec, Blosc) else codec for codec in rest)
        if any(isinstance(codec, ArrayCodec) and is_uri(codec.name) for codec in rest):
            rest = tuple(Bytes(codec.endian or "little") if isinstance(codec, Bytes) else codec for codec in rest)
    codecs = (*layout, *rest)
    return replace(model, codecs=(replace(first, codecs=codecs),) if isinstance(first, Sharding) else codecs)


def draft_losses(model: ArrayModel, year: Year, *, zarr_python: bool = False) -> list[str]:
    """What a document of a draft cannot express of an array. `zarr_python` allows the conventions of zarr-python 2; an
    array that was read from a document keeps those that it uses."""
    draft = f"the draft of {year}"
    if not is_draft_grid(model.grid):
        return [f"all chunks of {draft} have the same shape, unless an extension with a URI defines the grid"]
    if not isinstance(model.chunk_keys, DraftKeys):
        return [f"{draft} has only chunk keys such as `c0/0`"]
    losses = []
    if year == 2022 and model.fill is None:
        losses.append(f"{draft} has no undefined fill value")
    sharding = model.codecs[0] if isinstance(model.codecs[0], Sharding) else None
    if sharding is not None:
        if len(model.codecs) > 1 or sharding.index_codecs != (Bytes("little"),) or sharding.index_location != "end":
            losses.append(f"shards of {draft} have a little-endian index without checksum at the end")
        if any(isinstance(codec, Sharding) for codec in sharding.codecs):
            losses.append(f"{draft} has no nested shards")
        if model.grid.name != Regular.name:
            losses.append(f"all shards of {draft} have the same shape")
    elif any(isinstance(codec, Sharding) for codec in model.codecs):
        losses.append(f"{draft} has no codecs before its sharding")
    if losses:
        return losses
    inner = unsharded(model)
    _, codecs = split_layout(inner.codecs)
    losses += [
        f"the storage transformer `{item.name}` cannot be stored in documents"
        for item in inner.storage_transformers
        if not item.layout
    ]
    if "data_type" not in model.verbatim:
        try:
            _dump_type(model, codecs, year)
        except ArgumentError as error:
            losses.append(f"{draft} has {error.message}")
    if not {"codecs", "compressor", "filters"} & model.verbatim.keys():
        losses += codec_losses(codecs, year, draft, records=model.dtype.names is not None)
        losses += filter_losses(_stored(model.dtype, codecs, year), codecs) if year == 2020 else []
    if year == 2020 and not zarr_python and not model.verbatim and not losses:
        losses += text_losses(inner, codecs)
    problems = Problems()
    parse_extensions(list(model.extensions), "$.extensions", problems)
    losses += [f"{problem.path}: {problem.message}" for problem in problems.found]
    if year == 2020 and _uses_reserved_attribute(model, codecs):
        losses.append("the attribute `filters` is reserved for codecs in this draft")
    return losses


def _uses_reserved_attribute(model: ArrayModel, codecs: Sequence[Codec]) -> bool:
    """Whether the attribute `filters` collides with codecs that zarr-python 2 keeps there, or could be read as such."""
    if "filters" not in model.attributes:
        return False
    if is_filters(model.attributes["filters"]) or "filters" in model.verbatim:
        return True
    return bool(filters_and_compressor(codecs)[0])
