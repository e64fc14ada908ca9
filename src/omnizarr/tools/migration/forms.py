"""How an array is stored in another generation: which of its stored objects stay as they are, and what gets lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from omnizarr.api.array_like import from_array, split_dimension_names
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.codecs import ArrayCodec, Bytes, BytesCodec, Codec, Crc32c, Gzip, Sharding
from omnizarr.codecs.array_to_bytes.n5_block import N5Block
from omnizarr.codecs.numcodecs_ import Zlib
from omnizarr.dtypes import same_bits
from omnizarr.errors import ArgumentError, OmnizarrError
from omnizarr.formats import Dialect
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel, every_codec
from omnizarr.nodes import Array
from omnizarr.nodes.metadata.documents import dump_node, parse_node
from omnizarr.store import MemoryStore
from omnizarr.tools.casts import TypeCast, possible_casts
from omnizarr.tools.migration.attributes import json_attributes
from omnizarr.tools.migration.same_decoding import decodes_alike
from omnizarr.tools.spelled_codecs import spelled_codecs

__all__ = ["WAYS", "MigrationWay", "NewForm", "Repacking", "find_form"]

MigrationWay: TypeAlias = Literal["metadata", "rename", "repack", "re-encode", "impossible"]
WAYS: tuple[MigrationWay, ...] = ("metadata", "rename", "repack", "re-encode", "impossible")
"""What has to be written, from least to most: only documents; also the same objects under other keys; also the same
encoded chunks in other objects; or chunks that are decoded and encoded again."""

Repacking: TypeAlias = Literal[
    "split shards", "strip checksum", "strip header", "add header", "zlib to gzip", "gzip to zlib"
]

_HARMLESS = ("dimension_separator",)  # zarr-python 2 wrote it into documents of the drafts, where it has no meaning
_HEADERS: dict[Repacking, str] = {
    "strip header": "a block of N5 begins with a header",
    "add header": "a block of N5 begins with a header",
    "strip checksum": "the index of a shard has no checksum in this generation",
    "zlib to gzip": "this generation has gzip, but no zlib",
    "gzip to zlib": "this generation has zlib, but no gzip",
}
_LITTLE_INDEX: tuple[Codec, ...] = (Bytes("little"),)
_CHECKED_INDEX: tuple[Codec, ...] = (Bytes("little"), Crc32c())


@dataclass(frozen=True)
class NewForm:
    """An array in the generation of `dialect`. `model` is None if that cannot express it."""

    way: MigrationWay
    dialect: Dialect
    model: ArrayModel | None = None
    reason: str = ""
    """Why no cheaper way is possible."""
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    repacking: Repacking | None = None


def find_form(array: Array, path: str, dialect: Dialect, *, default_keys: bool = False) -> NewForm:
    """The cheapest form of an array at `path` of a hierarchy of another generation. `default_keys` renames chunks for a
    store that holds no other keys than the usual ones of the generation."""
    try:
        dialect.check_path(path, "array")
    except ArgumentError as error:
        return NewForm("impossible", dialect, reason=error.message)
    attributes, losses = _attributes(array, dialect)
    base = replace(
        array.metadata,
        fill=array.metadata.fill if dialect.allows_undefined_fill else array.metadata.filler,
        zarr_format=dialect.zarr_format,
        attributes=attributes,
        dimension_names=array.dimension_names,
        storage_transformers=(),
        ignored_transformers=(),
        extra={},
        extensions=(),
        fallback=None,
        verbatim={},
        guessed_keys=False,
    )
    losses += _losses(array)
    form, reason = _same_chunks(array, base, path, dialect, default_keys)
    if form is None:
        form = _encoded_again(array, base, path, dialect, reason)
    return replace(form, losses=(*losses, *form.losses), notes=_notes(array, form))


def _notes(array: Array, form: NewForm) -> tuple[str, ...]:
    """What changes without an effect on elements."""
    old, new = array.metadata, form.model
    notes = []
    if new is not None and old.fill is None and new.fill is not None:
        notes.append(f"its fill value, which was undefined, becomes {_shown(new.fill[()])}")
    elif new is not None and new.fill is None and old.fill is not None:
        notes.append("its fill value becomes undefined")
    names = sorted({codec.name for codec in every_codec(() if new is None else new.codecs)})
    unregistered = [name for name in names if name.startswith("numcodecs.")]
    if form.dialect.zarr_format == 3 and unregistered:
        notes.append(f"not every reader of v3 has {', '.join(unregistered)}, which is not a registered codec")
    return tuple(notes)


def _attributes(array: Array, dialect: Dialect) -> tuple[dict[str, Any], list[str]]:
    """The attributes as the dialect can write them, without the names of dimensions, and what gets lost."""
    _, attributes = split_dimension_names(array)
    return json_attributes(attributes, dialect)


def _losses(array: Array) -> list[str]:
    """What no other generation has."""
    model = array.metadata
    losses = []
    unknown = [name for name in array._context.dialect.unknown_members(model) if name not in _HARMLESS]
    if unknown:
        losses.append(f"unknown members of its document: {', '.join(unknown)}")
    for transformer in model.storage_transformers:
        lost = "the history of its versions" if transformer.keeps_document else "its storage transformer"
        losses.append(f"{lost} (`{transformer.name}`)")
    if model.ignored_transformers:
        losses.append("storage transformers that omnizarr does not know")
    if model.extensions:
        losses.append("the extensions that its document names")
    if model.fallback is not None:
        losses.append("the fallback of its data type")
    return losses


# -- the same encoded chunks


def _same_chunks(
    array: Array, base: ArrayModel, path: str, dialect: Dialect, default_keys: bool
) -> tuple[NewForm | None, str]:
    """The form that keeps the encoded chunks, or why there is none."""
    old = array.metadata
    if old.storage_transformers:
        return None, "its chunks lie in a storage transformer"
    reasons: list[str] = []
    for repacking, codecs, grid, reference in _candidates(old):
        try:
            codecs = spelled_codecs(codecs, old)
        except ArgumentError as error:  # what a library no longer writes
            reasons.append(error.message)
            continue
        fixed = default_keys or repacking == "split shards"
        for keys in (None,) if fixed else _possible_keys(old.chunk_keys, dialect):
            model = replace(base, codecs=codecs, grid=grid, chunk_keys=dialect.chunk_keys(keys))
            written, refusal = _written(model, path, dialect)
            if written is None or not _keeps_chunks(repacking, reference, written):
                reasons.append(refusal or _difference(written, dialect))
                continue
            way: MigrationWay = "repack"
            if repacking is None:
                way = "metadata" if _same_keys(array, path, dialect, written.chunk_keys) else "rename"
            own = _dialect_of(model, dialect)
            reason = "" if way == "metadata" else _key_reason(old, written)
            if repacking is not None:
                reason = _HEADERS.get(repacking, reasons[0])
            return NewForm(way, own, written, reason, repacking=repacking), ""
    # The last candidate of N5 is the content of its blocks, whose codecs can have names in other generations.
    return None, reasons[-1 if isinstance(old.codecs[0], N5Block) else 0]


def _difference(written: ArrayModel | None, dialect: Dialect) -> str:
    """Why the new array cannot have the old chunks although it can be written."""
    if written is not None and isinstance(written.codecs[0], N5Block) and written.dtype.itemsize > 1:
        return "N5 stores big-endian elements"
    return f"readers of {dialect.format_name} would decode its chunks differently"


def _candidates(
    old: ArrayModel,
) -> Iterator[tuple[Repacking | None, tuple[Codec, ...], Any, ArrayModel]]:
    """What to try: how objects change, the codecs and the grid, and the array whose chunks those of the new one are."""
    yield None, old.codecs, old.grid, old
    first = old.codecs[0]
    if len(old.codecs) > 1 or not isinstance(first, (Sharding, N5Block)):
        if not isinstance(first, Sharding):
            yield "add header", old.codecs, old.grid, old
        last = old.codecs[-1]
        if isinstance(last, (Zlib, Gzip)):
            other = Gzip(last.resolved(1).level) if isinstance(last, Zlib) else Zlib(last.level)
            wrapped = replace(old, codecs=(*old.codecs[:-1], other))
            yield "zlib to gzip" if isinstance(last, Zlib) else "gzip to zlib", wrapped.codecs, old.grid, wrapped
        return
    if isinstance(first, N5Block):
        inside = replace(old, codecs=first.content_codecs)
        yield "strip header", inside.codecs, old.grid, inside
        return
    if first.index_codecs == _CHECKED_INDEX and first.index_location == "end":
        without = replace(old, codecs=(replace(first, index_codecs=_LITTLE_INDEX),))
        yield "strip checksum", without.codecs, old.grid, without
    if isinstance(old.grid, Regular):
        inside = replace(old, codecs=first.codecs, grid=Regular(first.chunk_shape))
        yield "split shards", inside.codecs, inside.grid, inside


def _possible_keys(keys: ChunkKeys, dialect: Dialect) -> list[Any]:
    """The chunk keys to try: the old ones, those with the same separator, and the default."""
    possible: list[Any] = []
    for value in (keys, getattr(keys, "separator", None), None):
        try:
            new = dialect.chunk_keys(value)
        except OmnizarrError:
            continue
        if new not in possible:
            possible.append(new)
    return possible


def _written(model: ArrayModel, path: str, dialect: Dialect) -> tuple[ArrayModel | None, str]:
    """The array as readers find it when the dialect has written it; or None, and why it cannot be written."""
    dialect = _dialect_of(model, dialect)
    try:
        adapted = dialect.adapt_new_array(model)
        documents = dump_node(dialect, path, adapted)
        parsed = {key: dialect.encoding.parse(value, key, limit=2**40) for key, value in documents.items()}
        read = parse_node(dialect, MemoryStore(), path, parsed, quiet=True)
    except OmnizarrError as error:
        return None, error.message.partition(f" cannot be written in {dialect.format_name}: ")[2] or error.message
    return (adapted, "") if isinstance(read, ArrayModel) and _same_meaning(adapted, read) else (None, "")


def _same_meaning(written: ArrayModel, read: ArrayModel) -> bool:
    """Whether readers see what was written, as far as elements are concerned."""
    return (
        written.shape == read.shape
        and written.dtype == read.dtype
        and written.grid.chunks == read.grid.chunks
        and (written.fill is None) == (read.fill is None)
        and same_bits(written.filler, read.filler)
    )


def _dialect_of(model: ArrayModel, dialect: Dialect) -> Dialect:
    """The dialect with the conventions that an array needs."""
    conventions = dialect.conventions_of(model)
    return dialect if conventions is None else dialect.with_conventions(conventions)


def _keeps_chunks(repacking: Repacking | None, reference: ArrayModel, new: ArrayModel) -> bool:
    """Whether the chunks of `reference` are those of the new array, apart from a header."""
    block = new.codecs[0]
    if repacking == "add header":
        if not isinstance(block, N5Block):
            return False
        new = replace(new, codecs=block.content_codecs)
    return decodes_alike(reference, new)


def _shown(value: Any) -> str:
    """A fill value in a message."""
    return repr(value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufcUS" else value)


def _same_keys(array: Array, path: str, dialect: Dialect, keys: ChunkKeys) -> bool:
    """Whether the chunks of the new array have the keys of the old ones, below its path."""
    rank = array.ndim
    samples = [(0,) * rank, tuple(range(1, rank + 1)), tuple(range(10, 10 + rank))]
    old_path, old = array.path, array._context.dialect
    prefix = old.chunk_prefix(old_path)[: -len(old_path) - 1 if old_path else None]
    own = dialect.chunk_prefix(path)[: -len(path) - 1 if path else None]
    return prefix == own and all(array.metadata.chunk_keys.key(at) == keys.key(at) for at in samples)


def _key_reason(old: ArrayModel, new: ArrayModel) -> str:
    at = tuple(range(1, len(old.shape) + 1))
    return f"chunk keys such as `{old.chunk_keys.key(at)}` become `{new.chunk_keys.key(at)}`"


# -- encoded again


def _encoded_again(array: Array, base: ArrayModel, path: str, dialect: Dialect, reason: str) -> NewForm:
    casts: Sequence[TypeCast | None] = (None, *possible_casts(array.dtype))
    refusal = ""
    for cast in casts:
        for fill in ("keep", "default"):
            for options in _options(array):
                try:
                    new, own = _created(array, base, path, dialect, cast, options, keep_fill=fill == "keep")
                except (OmnizarrError, TypeError, ValueError, OverflowError) as error:
                    refusal = refusal or str(getattr(error, "message", error))
                    continue
                losses = [] if cast is None else [f"its data type: {array.data_type.name} becomes {cast_name(cast)}"]
                if fill == "default" and array.metadata.fill is not None:
                    losses.append(f"its fill value {_shown(array.fill_value)}; chunks that hold it are written")
                return NewForm("re-encode", own, new, reason, tuple(losses))
    prefix = f" cannot be written in {dialect.format_name}: "
    return NewForm("impossible", dialect, reason=refusal.partition(prefix)[2] or refusal)


def cast_name(cast: TypeCast) -> str:
    """The type that elements get."""
    return cast.data_type.name


def _options(array: Array) -> Iterator[dict[str, Any]]:
    """The options to try, from those that change least."""
    sharded = array.metadata.sharding is not None
    irregular = not isinstance(array.metadata.grid, Regular)
    whole = tuple(max(length) if isinstance(length, tuple) else length for length in array.shards or array.chunks)
    shapes: list[dict[str, Any]] = []
    if irregular:
        shapes = [{}, {"chunks": whole, "shards": None}]
    elif sharded:
        shapes = [{}, {"chunks": array.chunks, "shards": None}]
    filters = [codec for codec in array.filters if isinstance(codec, ArrayCodec)]
    compressors = [codec for codec in array.compressors if isinstance(codec, BytesCodec)]
    for shape in shapes or [{}]:
        yield shape
        if filters:
            yield shape | {"filters": None, "serializer": "auto", "compressors": compressors}
        yield shape | {"serializer": "auto", "compressors": compressors}
        yield shape | {"filters": None, "serializer": "auto", "compressors": "auto"}


def _created(
    array: Array,
    base: ArrayModel,
    path: str,
    dialect: Dialect,
    cast: TypeCast | None,
    options: dict[str, Any],
    *,
    keep_fill: bool,
) -> tuple[ArrayModel, Dialect]:
    """The model of a new array with these options. Raises if it cannot be created."""
    changes: dict[str, Any] = {
        "attributes": {},
        "storage_transformers": None,
        "extensions": None,
        "fallback": None,
        **options,
    }
    if cast is not None:
        changes |= {"dtype": cast.data_type, "serializer": "auto"}
    fill = base.fill
    if not keep_fill:
        changes["fill_value"] = None
    elif cast is not None:
        changes["fill_value"] = (
            None if fill is None else cast.data_type.cast_fill(cast.convert(base.filler.reshape(1))[0])
        )
    elif fill is None or not dialect.has_fill_value:
        changes["fill_value"] = fill
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what `losses` and `notes` tell
        new = from_array(
            MemoryStore(), name=path, data=array, write_data=False, zarr_format=dialect.zarr_format, **changes
        )
    model, own = new.metadata, new._context.dialect
    if keep_fill and cast is None and not same_bits(model.filler, base.filler):
        raise ArgumentError(f"{dialect.format_name} cannot express its fill value", argument="fill_value")
    written, refusal = _written(replace(model, attributes=base.attributes | model.attributes), path, own)
    if written is None:
        raise ArgumentError(refusal, argument="zarr_format")
    return written, own
