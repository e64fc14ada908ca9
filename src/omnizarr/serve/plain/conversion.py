"""How an array of any generation is shown in another one: with its stored bytes, repacked, or encoded again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from omnizarr._json import Json, Problems
from omnizarr.codecs import Bytes, Codec, Sharding, VlenBytes, VlenUtf8, Zstd
from omnizarr.errors import OmnizarrError, StoreError
from omnizarr.formats import Dialect
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel, every_codec
from omnizarr.nodes import Array, Group
from omnizarr.serve.plain.casts import cast_for_viewer
from omnizarr.tools.casts import TypeCast, cast_for_generation
from omnizarr.tools.results import as_json
from omnizarr.tools.spelled_codecs import spelled_codecs

__all__ = ["Conversion", "Way", "convert", "plain_attributes"]

Way: TypeAlias = Literal["stored", "repacked", "re-encoded"]
"""How the chunks of an array are made: `stored` sends their bytes unchanged, `repacked` cuts encoded chunks out of
shards or blocks, and `re-encoded` decodes and encodes."""

_PLAIN = frozenset(
    ("bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed", "vlen-utf8", "vlen-bytes")
)
"""Codecs that every reader of v3 has."""
_LARGEST_CHUNK = 2**24  # elements of a chunk of an array whose own chunks differ in shape


@dataclass(frozen=True)
class Conversion:
    """An array, and its model in the generation in which it is shown."""

    array: Array
    model: ArrayModel
    way: Way
    cast: TypeCast | None = None


def convert(array: Array, dialect: Dialect, viewer: str | None = None) -> Conversion:
    """The conversion of an array that changes least."""
    cast = None if viewer is None else cast_for_viewer(viewer, array.dtype)
    base = _base(array, dialect)
    if cast is None:
        for way, codecs, chunk_shape in _candidates(array):
            grid = base.grid if chunk_shape is None else Regular(chunk_shape)
            model = _accepted(replace(base, codecs=spelled_codecs(codecs, base), grid=grid), dialect)
            if model is not None:
                return Conversion(array, model, way)
    for each in (cast,) if cast is not None else (None, cast_for_generation(array.dtype)):
        model = _encoded_again(array, base, each, dialect)
        if model is not None:
            return Conversion(array, model, "re-encoded", each)
    raise StoreError(f"array `{array.name}` of type {array.dtype} cannot be shown as {dialect.format_name}")


def plain_attributes(node: Array | Group) -> dict[str, Json]:
    """The attributes of a node, with text in place of NaN and infinities, which JSON lacks: browsers would reject the
    document."""
    attributes = as_json(node.attrs.asdict())
    assert isinstance(attributes, dict)
    return attributes


def _base(array: Array, dialect: Dialect) -> ArrayModel:
    """The model without everything that only its own generation has."""
    model = array.metadata
    fill = model.fill if dialect.allows_undefined_fill else model.filler
    return replace(
        model,
        fill=fill,
        zarr_format=dialect.zarr_format,
        chunk_keys=dialect.chunk_keys(None),
        dimension_names=array.dimension_names,
        attributes=plain_attributes(array),
        storage_transformers=(),
        ignored_transformers=(),
        extra={},
        extensions=(),
        fallback=None,
        verbatim={},
        guessed_keys=False,
    )


def _candidates(array: Array) -> Iterator[tuple[Way, Sequence[Codec], tuple[int, ...] | None]]:
    """The codecs to try that need no decoding, and the chunk shape where it differs from that of the array."""
    model = array.metadata
    yield "stored", model.codecs, None
    content = getattr(model.codecs[0], "content_codecs", None)
    if content is not None and len(model.codecs) == 1:
        yield "repacked", content, None
    if len(model.codecs) == 1 and isinstance(model.codecs[0], Sharding):
        sharding = model.codecs[0]
        yield "repacked", sharding.codecs, sharding.chunk_shape


def _accepted(model: ArrayModel, dialect: Dialect) -> ArrayModel | None:
    """The model as the dialect writes it; None if it cannot, or if other readers do not have all of its codecs."""
    try:
        model = dialect.adapt_new_array(model)
        if not isinstance(model.grid, Regular) or dialect.losses("", model):
            return None
        if not dialect.allows_any_filter and any(codec.name not in _PLAIN for codec in every_codec(model.codecs)):
            return None
        if any(isinstance(codec, Sharding) and not _has_usual_index(codec) for codec in model.codecs):
            return None
        problems = Problems()
        parsed = dialect.parse("", dialect.dump("", model), problems)
    except OmnizarrError:
        return None
    return model if isinstance(parsed, ArrayModel) and not problems.found else None


def _has_usual_index(sharding: Sharding) -> bool:
    """Whether the index of a shard has a checksum. zarrita.js reads no other; the shards of the drafts have none."""
    return sharding.index_codecs is not None and [codec.name for codec in sharding.index_codecs] == ["bytes", "crc32c"]


def _encoded_again(array: Array, base: ArrayModel, cast: TypeCast | None, dialect: Dialect) -> ArrayModel | None:
    data_type, fill = base.data_type, base.fill
    if cast is not None:
        data_type = cast.data_type
        fill = data_type.cast_fill(cast.convert(base.filler.reshape(1))[0])
    serializer: Codec = Bytes("little")
    if not data_type.fixed_size:
        serializer = VlenBytes() if data_type.name in ("bytes", "variable_length_bytes") else VlenUtf8()
    codecs: tuple[Codec, ...] = (serializer, Zstd(level=1))
    grid = Regular(_chunk_shape(array))
    model = replace(base, data_type=data_type, fill=fill, codecs=codecs, grid=grid)
    if serializer == Bytes("little") and data_type.dtype.itemsize == 1 and data_type.dtype.names is None:
        model = replace(model, codecs=(Bytes(None), *codecs[1:]))
    return _accepted(model, dialect)


def _chunk_shape(array: Array) -> tuple[int, ...]:
    """The shape of the chunks: that of the array's own chunks, or of its largest one if they differ."""
    lengths = []
    for chunk in array.chunks:
        longest = max(chunk, default=1) if isinstance(chunk, tuple) else chunk
        lengths.append(max(1, longest))
    elements = 1
    for length in lengths:
        elements *= length
    while elements > _LARGEST_CHUNK and max(lengths) > 1 and any(isinstance(chunk, tuple) for chunk in array.chunks):
        axis = lengths.index(max(lengths))
        elements = elements // lengths[axis] * -(-lengths[axis] // 2)
        lengths[axis] = -(-lengths[axis] // 2)
    return tuple(lengths)
