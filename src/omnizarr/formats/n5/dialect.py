"""The dialect of N5: `attributes.json` ↔ model, and the hierarchy, in which every directory is a group (K1–K24)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.chunk_keys.n5 import N5Keys
from omnizarr.codecs import ArrayCodec, Blosc, Bytes, BytesCodec, Codec, Gzip, Serializer, Sharding, Transpose
from omnizarr.codecs.array_to_bytes.n5_block import N5_TYPES, N5Block
from omnizarr.codecs.array_to_bytes.n5_default import N5Default
from omnizarr.codecs.bytes_to_bytes.lz4_blocks import MIN_BLOCK_SIZE, Lz4Blocks
from omnizarr.codecs.numcodecs_.lz4 import Lz4
from omnizarr.dtypes import DataType, data_type_of, same_bits
from omnizarr.errors import ArgumentError
from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel
from omnizarr.formats.document_encoding import LENIENT_JSON, Encoding
from omnizarr.formats.document_keys import OWN_PREFIXES, is_n5_array, n5_key
from omnizarr.formats.document_members import check_required, dimension_names_attribute, parse_shape, unknown_members
from omnizarr.formats.n5.compression import (
    COMPRESSIONS,
    dump_compression,
    parse_compression,
    parse_compression_type,
)
from omnizarr.formats.rule_table import RuleTable
from omnizarr.formats.v1_v2_parse import check_codecs
from omnizarr.grids import Regular
from omnizarr.model import UNFINISHED_RESIZE, ArrayModel, GroupModel, ZarrFormat

__all__ = ["N5Dialect", "check_version"]

_VERSION = "4.0.0"
_NEWEST = 4  # the newest known major version
_MEMBERS = ("dimensions", "blockSize", "dataType")
_COMPRESSION = ("compression", "compressionType")
_RESERVED = ("n5", *_MEMBERS, *_COMPRESSION)
_MAX_BLOCK_BYTES = 2**31 - 1
_AXES = "axes"


_RULES = RuleTable(
    "K",
    {
        "": "K1",
        "n5": "K6",
        "dimensions": "K3",
        "blockSize": "K3",
        "dataType": "K5",
        "compression": "K8",
        "compressionType": "K12",
    },
    keeps=frozenset(("A35", "A60")),
    codecs={"": "K8", "chunk": "K17", "n5": "K14"},
    hierarchy={
        "json": "K1",
        "duplicate": "R154",
        "orphan": "K13",
        "foreign": "K2",
        "child": "K2",
        "group": "K2",
        "consolidated": "K21",
        "other generation": "K22",
    },
)


@dataclass(frozen=True, slots=True)
class N5Dialect(Dialect):
    """Dialect of N5.

    The array has the dimensions of the document in reverse, as in zarr-python 2, z5 and HDF5 tools (K4)."""

    zarr_format: ClassVar[ZarrFormat] = "n5"
    rules: ClassVar[RuleTable] = _RULES
    implicit_groups: ClassVar[bool] = True
    has_fill_value: ClassVar[bool] = False
    dimension_names_attributes: ClassVar[tuple[str, ...]] = (_AXES, *Dialect.dimension_names_attributes)
    allows_any_filter: ClassVar[bool] = True  # codecs have the names of numcodecs

    @property
    def format_name(self) -> str:
        return "N5"

    @property
    def encoding(self) -> Encoding:
        return LENIENT_JSON

    # -- documents

    def keys(self, path: str) -> tuple[str, ...]:
        return (n5_key(path),)

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        document = documents.get(n5_key(path))
        if not isinstance(document, dict):
            return None
        return "array" if is_n5_array(document) else "group"

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        before = len(problems.found)
        document = documents[n5_key(path)]
        if not isinstance(document, dict):
            problems.expected("$", "an object", document, rule="K1")
            return None
        check_version(document, problems)
        node: NodeModel | None
        # None marks a stored node without a version, which gets none when it changes.
        extra = {"n5": document.get("n5")}
        if UNFINISHED_RESIZE in document:
            extra[UNFINISHED_RESIZE] = document[UNFINISHED_RESIZE]
        if is_n5_array(document):
            node = _parse_array(document, extra, problems)
        else:
            node = GroupModel(attributes=unknown_members(document, ("n5",)), zarr_format="n5", extra=extra)
        return node if len(problems.found) == before else None

    def check_strictly(self, path: str, documents: Documents, node: NodeModel | None, problems: Problems) -> None:
        from omnizarr.formats.strictness.drafts_n5 import check_n5_node  # lazy import: only to validate

        document = documents.get(n5_key(path))
        if isinstance(document, dict):
            check_n5_node(document, path, problems)

    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        # Only the root has a version, but zarr-python 2 writes one into each group.
        version = node.extra.get("n5", None if path else _VERSION)
        document: dict[str, Json] = {} if version is None else {"n5": version}
        if isinstance(node, ArrayModel):
            document |= _dump_array(node)
        if UNFINISHED_RESIZE in node.extra:
            document[UNFINISHED_RESIZE] = node.extra[UNFINISHED_RESIZE]
        return {n5_key(path): document | node.attributes}

    def unknown_members(self, model: ArrayModel) -> list[str]:
        return []  # they are attributes; `extra` has the version of N5

    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        reserved = _RESERVED if isinstance(node, ArrayModel) else ("n5",)
        losses = [
            f"`{name}` is a member of N5 and cannot be an attribute" for name in reserved if name in node.attributes
        ]
        if isinstance(node, GroupModel):
            if is_n5_array(node.attributes):
                losses.append("a group with the attributes `dimensions` and `dataType` would be an array")
            return losses
        return losses + _array_losses(node)

    # -- the hierarchy

    def check_path(self, path: str, kind: Kind) -> None:
        if "attributes.json" in path.split("/"):
            raise ArgumentError(
                f"`{path}` cannot be created: `attributes.json` is the name of a document", argument="path"
            )

    def groups_to_create(self, missing: Sequence[str]) -> Sequence[str]:
        return [path for path in missing if not path]  # the root, for the version (K6)

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        start = len(self.listing_prefix(path))
        # Every directory is a group, except those of omnizarr at the root of the store.
        return [Child(prefix[start:-1]) for prefix in listing[1] if prefix[start:] not in OWN_PREFIXES]

    # -- new arrays

    def chunk_keys(self, value: Any) -> ChunkKeys:
        if value is not None and value != "/" and not isinstance(value, N5Keys) and value != N5Default.chunk_keys:
            raise ArgumentError(
                f"`chunk_key_encoding`: N5 has only keys such as `0/0`, found {value!r}", argument="chunk_key_encoding"
            )
        return N5Keys()

    def default_compressors(self, data_type: DataType) -> tuple[BytesCodec, ...]:
        return (Gzip(1),)  # blosc and zstd are extensions, which not all readers have

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        attributes = model.attributes
        if model.dimension_names is not None:
            attributes = attributes | {_AXES: [name or "" for name in reversed(model.dimension_names)]}
        model = replace(model, attributes=attributes, dimension_names=None)
        if _array_losses(model, with_codecs=False):
            return model  # a block could not be bound, and `losses` has the better message
        return replace(model, codecs=_as_block(model.codecs, len(model.shape), model.dtype.itemsize))

    def dimension_names(self, model: ArrayModel) -> tuple[str | None, ...] | None:
        names = model.attributes.get(_AXES)
        if isinstance(names, list) and len(names) == len(model.shape) and all(isinstance(name, str) for name in names):
            return tuple(name or None for name in reversed(names))
        return dimension_names_attribute(model)  # of xarray with zarr-python 2


def check_version(document: Json, problems: Problems) -> None:
    """Adds a problem if the member `n5` of a document names a version that is too new. As in the Java library, other
    text counts as version 0."""
    version = document.get("n5") if isinstance(document, dict) else None
    if version is None:
        return
    major = re.match(r"\d{1,9}", version) if isinstance(version, str) else None
    if major is None:
        problems.warn("$.n5", f"expected a version such as `{_VERSION}`, found {version!r}", rule="K6")
    elif int(major[0]) > _NEWEST:
        problems.add("$.n5", f"is version {version}, but omnizarr knows N5 only up to version {_NEWEST}", rule="K6")


# -- documents of arrays


def _parse_array(document: dict[str, Json], extra: dict[str, Json], problems: Problems) -> ArrayModel | None:
    check_required(document, _MEMBERS, problems, rule="K3")
    dimensions = parse_shape(document, problems, "dimensions")
    lengths = None
    if "blockSize" in document:
        lengths = Regular.parse_lengths(document["blockSize"], dimensions, "$.blockSize", problems, "dimensions")
    name = document["dataType"]
    if not isinstance(name, str) or name not in N5_TYPES:
        if name in ("object", "string"):
            problems.add(
                "$.dataType", f"is `{name}`: such blocks do not hold arrays of numbers and cannot be read", rule="K5"
            )
        else:
            problems.unknown("$.dataType", "data type", str(name), sorted(N5_TYPES), rule="K5")
        name = None
    before = len(problems.found)
    compressor = None
    if document.get("compression") is not None:
        compressor = parse_compression(document["compression"], "$.compression", problems)
    elif document.get("compressionType") is not None:
        compressor = parse_compression_type(document["compressionType"], "$.compressionType", problems)
    else:
        problems.add("$.compression", "is missing", rule="K3")
    if dimensions is None or lengths is None or name is None or len(problems.found) > before:
        return None
    data_type = data_type_of(name)
    model = ArrayModel(
        shape=dimensions[::-1],
        data_type=data_type,
        fill=data_type.default_fill(),
        grid=Regular(lengths[::-1]),
        chunk_keys=N5Keys(),
        codecs=(N5Block(compressor),),
        attributes=unknown_members(document, (*_RESERVED, UNFINISHED_RESIZE)),
        zarr_format="n5",
        extra=extra,
        verbatim={name: document[name] for name in _COMPRESSION if name in document},
    )
    check_codecs(model, ("$.blockSize",), problems)
    return model


def _dump_array(model: ArrayModel) -> dict[str, Json]:
    assert isinstance(model.grid, Regular)
    compression = model.verbatim or {"compression": dump_compression(_compressor(model), model.dtype.itemsize)}
    return {
        "dimensions": list(reversed(model.shape)),
        "blockSize": list(reversed(model.grid.chunk_shape)),
        "dataType": model.data_type.name,
        **compression,
    }


def _compressor(model: ArrayModel) -> BytesCodec | None:
    (block,) = model.codecs
    assert isinstance(block, N5Block)
    return block.compressor


# -- new arrays


def _array_losses(model: ArrayModel, *, with_codecs: bool = True) -> list[str]:
    losses = []
    if model.data_type.name not in N5_TYPES:
        losses.append(f"N5 has no data type `{model.data_type.name}`, only integers and floats of 32 and 64 bits")
    elif model.fill is not None and not same_bits(model.fill, model.data_type.default_fill()):
        losses.append("N5 has no fill value other than 0")
    if not isinstance(model.grid, Regular):
        losses.append("all blocks of N5 have the same shape")
    elif prod(model.grid.chunk_shape) * model.dtype.itemsize > _MAX_BLOCK_BYTES:
        losses.append("a block of N5 has less than 2 GiB")
    if not with_codecs:
        return losses
    if not (len(model.codecs) == 1 and isinstance(model.codecs[0], N5Block)):
        losses += _codec_losses(model.codecs, len(model.shape))
    elif not model.verbatim and dump_compression(_compressor(model), model.dtype.itemsize) is None:
        losses.append(_compressor_loss(model.codecs[0].compressor))
    if model.storage_transformers:
        losses.append("N5 has no storage transformers")
    return list(dict.fromkeys(losses))


def _codec_losses(codecs: Sequence[Codec], rank: int) -> list[str]:
    """Why codecs do not form a block."""
    losses = []
    for codec in codecs:
        if isinstance(codec, Sharding):
            losses.append("N5 has no shards")
        elif isinstance(codec, Transpose):
            losses.append("N5 stores elements in C order only")
        elif isinstance(codec, ArrayCodec):
            losses.append("N5 has no filters")
        elif isinstance(codec, Serializer) and not isinstance(codec, Bytes):
            losses.append(f"N5 has no codec `{codec.name}`")
    if sum(isinstance(codec, BytesCodec) for codec in codecs) > 1:
        losses.append("N5 has only one compressor")
    return losses


def _compressor_loss(codec: Codec | None) -> str:
    assert codec is not None
    return f"N5 has no compressor `{codec.name}` with these options, only {', '.join(COMPRESSIONS[1:])}"


def _as_block(codecs: tuple[Codec, ...], rank: int, itemsize: int) -> tuple[Codec, ...]:
    """The codecs of a new array as one block; unchanged if N5 cannot express them, which `losses` reports.

    The codec `n5_default` after a transpose stores the same bytes as a block of N5."""
    if codecs[:1] == (Transpose(tuple(reversed(range(rank)))),) and isinstance(codecs[1], N5Default):
        codecs = (*codecs[1].codecs[1:], *codecs[2:])
    match codecs:
        case (N5Block(compressor=compressor),) | (Bytes(), compressor):
            pass
        case (Bytes(),):
            compressor = None
        case _:
            return codecs
    if isinstance(compressor, Lz4) or (isinstance(compressor, Lz4Blocks) and compressor.block_size < MIN_BLOCK_SIZE):
        compressor = Lz4Blocks()
    elif isinstance(compressor, Blosc) and compressor.typesize == itemsize:
        compressor = replace(compressor, typesize=None)  # documents have no member for it
    return (N5Block(compressor),)  # type: ignore[arg-type]
