"""Zarr v1: one array per store, with its metadata in `meta` and its attributes in `attrs` (U1–U16)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems, is_integer
from omnizarr._json import parse as parse_json
from omnizarr.chunk_keys import ChunkKeys, V2Keys
from omnizarr.codecs import Blosc, Bytes, BytesCodec, Codec, Sharding, StoredBytes
from omnizarr.codecs.numcodecs_ import Zlib
from omnizarr.codecs.numcodecs_.v2_ids import config_of
from omnizarr.dtypes import DataType, Scalar, dump_typestr, fill_from_bytes, parse_typestr, same_bits
from omnizarr.dtypes.record_padding import leaf_types
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel, key_below
from omnizarr.formats.document_encoding import LENIENT_JSON, Encoding
from omnizarr.formats.document_keys import v1_keys
from omnizarr.formats.document_members import (
    check_required,
    dimension_names_attribute,
    parse_attributes,
    parse_chunk_shape,
    parse_shape,
    unknown_members,
    with_dimension_names_attribute,
)
from omnizarr.formats.rule_table import RuleTable
from omnizarr.formats.v1_v2_dump import (
    codecs_without_order,
    normalize_new_array,
    order_of,
    stored_dtype_of,
    v1_v2_losses,
)
from omnizarr.formats.v1_v2_parse import check_codecs, make_chunk_encoding, order_codecs, parse_codec_configs
from omnizarr.formats.v2_fills import fill_losses, parse_fill
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat

__all__ = ["V1Dialect"]

_REQUIRED = ("shape", "chunks", "dtype", "compression", "compression_opts", "fill_value", "order")
_COMPRESSORS = ("blosc", "zlib", "bz2", "lzma")
_NOT_FILTERS = (Bytes, StoredBytes, BytesCodec, Sharding)


_RULES = RuleTable(
    "U",
    {
        "": "U2",
        "(attrs)": "U12",
        "zarr_format": "U4",
        "chunks": "U5",
        "dtype": "U6",
        "compression": "U14",
        "compression_opts": "U14",
        "fill_value": "U10",
        "order": "U13",
    },
    keeps=frozenset(("A35", "A52", "A55", "A60")),
    translations={"V9": "U7"},
    codecs={"": "U8", "chunk": "U5", "bytes": "U5"},
    hierarchy={
        "json": "U2",
        "duplicate": "R154",
        "orphan": "U9",
        "foreign": "U1",
        "child": "U1",
        "group": "U1",
        "consolidated": "U1",
        "other generation": "Z1",
    },
)


@dataclass(frozen=True, slots=True)
class V1Dialect(Dialect):
    """Dialect of v1."""

    zarr_format: ClassVar[ZarrFormat] = 1
    rules: ClassVar[RuleTable] = _RULES
    has_distinctive_keys: ClassVar[bool] = False
    allows_undefined_fill: ClassVar[bool] = True
    allows_any_filter: ClassVar[bool] = True
    has_order_member: ClassVar[bool] = True

    @property
    def encoding(self) -> Encoding:
        return LENIENT_JSON

    # -- documents

    def keys(self, path: str) -> tuple[str, ...]:
        return v1_keys(path)

    def identifying_keys(self, path: str) -> tuple[str, ...]:
        return (key_below(path, "meta"),)

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        return "array" if key_below(path, "meta") in documents else None

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        before = len(problems.found)
        document = documents.get(key_below(path, "meta"))
        if not isinstance(document, dict):
            problems.expected("$", "an object", document, rule="U2")
            return None
        attributes = parse_attributes(documents.get(key_below(path, "attrs")), "$(attrs)", problems)
        version = document.get("zarr_format")
        if not is_integer(version) or version != 1:
            problems.expected("$.zarr_format", "1", version, rule="U4")
        check_required(document, _REQUIRED, problems, rule="U2")
        shape = parse_shape(document, problems)
        grid = parse_chunk_shape(document["chunks"], shape, "$.chunks", problems) if "chunks" in document else None
        stored = parse_typestr(document["dtype"], "$.dtype", problems) if "dtype" in document else None
        order = document.get("order")
        if "order" in document and order not in ("C", "F"):
            problems.expected("$.order", '"C" or "F"', order, rule="U13")
        compressor = _parse_compressor(document, problems)
        codecs = parse_codec_configs(None, compressor, "", "$.compression_opts", self.read_options, problems)
        if shape is None or grid is None or stored is None or len(problems.found) > before:
            return None
        wrong_order = order == "F" and len(shape) > 1 and not any(isinstance(codec, Blosc) for _, codec in codecs)
        if wrong_order and self.read_options.v1_f_order == "written":
            # zarr 1.x, the only writer of v1, stored C order with every compressor except blosc, whatever the document
            # says (A55, U16).
            problems.warn(
                "$.order",
                "is F, but zarr 1.x stored such chunks in C order, and they are read so; "
                '`v1_f_order="document"` reads them in F order',
                rule="A55",
            )
            order = "C"
        encoding = make_chunk_encoding(
            stored, order_codecs(order, len(shape)), codecs, document["fill_value"], "$", problems, _parse_fill
        )
        if encoding is None:
            return None
        model = ArrayModel(
            shape=shape,
            data_type=encoding.data_type,
            fill=encoding.fill,
            grid=grid,
            chunk_keys=V2Keys("."),
            codecs=encoding.codecs,
            attributes=attributes,
            zarr_format=1,
            extra=unknown_members(document, ("zarr_format", *_REQUIRED)),  # U3
            verbatim={name: document[name] for name in ("dtype", "compression", "compression_opts", "order")},
        )
        if model.fill is not None and _dump_fill(model) is None:
            model = replace(model, verbatim=model.verbatim | {"fill_value": document["fill_value"]})
        check_codecs(model, encoding.places, problems)
        return model if len(problems.found) == before else None

    def ignores_path(self, path: str) -> bool:
        return True

    def check_strictly(self, path: str, documents: Documents, node: NodeModel | None, problems: Problems) -> None:
        from omnizarr.formats.strictness.v1_v2 import check_v1_array  # lazy import: only to validate

        document = documents.get(key_below(path, "meta"))
        if isinstance(document, dict):
            model = node if isinstance(node, ArrayModel) else None
            check_v1_array(document, documents.get(key_below(path, "attrs")), model, problems)

    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        assert isinstance(node, ArrayModel)
        assert isinstance(node.grid, Regular)
        compression, options = _dump_compression(node.codecs[-1])
        document: dict[str, Json] = {
            "zarr_format": 1,
            "shape": list(node.shape),
            "chunks": list(node.grid.chunk_shape),
            "dtype": dump_typestr(stored_dtype_of(node)),
            "compression": compression,
            "compression_opts": options,
            "fill_value": _dump_fill(node),
            "order": order_of(node),
        }
        return {
            key_below(path, "meta"): document | node.verbatim | node.extra,
            key_below(path, "attrs"): node.attributes,
        }

    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        if isinstance(node, GroupModel):
            return ["v1 has no groups"]
        losses = v1_v2_losses(node, "v1")
        if path:
            losses.append("a v1 array is a store of its own and has no path")
        if node.chunk_keys != V2Keys("."):
            losses.append("v1 has only chunk keys such as `0.0`")
        if not node.shape:
            losses.append("v1 has no arrays without dimensions")  # no text defines the key of their chunk
        if node.dtype.hasobject:
            losses.append("v1 has no arrays of objects")
        if not losses and node.dtype.names is not None and _has_parts(node):
            losses.append("a field of a v1 struct is a number or a string")
        steps = [codec for codec in node.codecs if isinstance(codec, BytesCodec)]
        if len(steps) > 1 or any(_dump_compression(codec)[0] not in _COMPRESSORS for codec in steps):
            losses.append(f"v1 has one compressor, which is one of {', '.join(_COMPRESSORS)}")
        if any(isinstance(codec, Blosc) and codec.cname in ("zstd", "snappy") for codec in steps):
            losses.append("blosc in zarr 1.x supports neither zstd nor snappy")
        if _has(node.dtype, "mM") and not node.verbatim and any(isinstance(codec, Blosc) for codec in steps):
            losses.append("zarr 1.x cannot compress times with blosc")
        if not node.dtype.hasobject and not all(
            isinstance(codec, _NOT_FILTERS) for codec in codecs_without_order(node)
        ):
            losses.append("v1 has no filters")
        new_f_order = order_of(node) == "F" and len(node.shape) > 1 and not node.verbatim
        if new_f_order and not any(isinstance(codec, Blosc) for codec in steps):
            losses.append("zarr 1.x reads F order only with blosc")
        if not losses and node.fill is not None and not node.verbatim and _dump_fill(node) is None:
            losses.append(
                f"v1 cannot express this fill value of `{node.data_type.name}`; `fill_value=None` leaves it undefined"
            )
        return losses or fill_losses(node.fill, node.data_type, stored_dtype_of(node), "v1")

    # -- the hierarchy: a single array

    def check_path(self, path: str, kind: Kind) -> None:
        if kind == "group":
            raise ArgumentError("v1 has no groups: a store holds a single array", argument="zarr_format")
        if path:
            raise ArgumentError(
                f"`{path}` cannot be created: a v1 array is a store of its own and has no path", argument="path"
            )

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        return []

    def ancestors(self, path: str) -> list[str]:
        return []

    # -- new arrays

    def chunk_keys(self, value: Any) -> ChunkKeys:
        if not (value is None or (isinstance(value, (str, V2Keys)) and value in (".", V2Keys(".")))):
            raise ArgumentError(
                "`chunk_key_encoding`: v1 has only chunk keys such as `0.0`", argument="chunk_key_encoding"
            )
        return V2Keys(".")

    def default_compressors(self, data_type: DataType) -> tuple[BytesCodec, ...]:
        if _has(data_type.dtype, "mM"):
            return (Zlib(1),)  # zarr 1 passes arrays to blosc by the buffer protocol, which does not support times
        return (Blosc("lz4", 5, "shuffle"),)  # blosc in zarr 1 does not support zstd

    def default_fill(self, data_type: DataType) -> Scalar | None:
        # Documents have no fill value for records with times, whose default is NaT.
        unknown = data_type.dtype.names is not None and _has(data_type.dtype, "mM")
        return None if unknown else data_type.default_fill()

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        fill = model.fill
        undefined = replace(model, fill=None)
        if fill is not None and _dump_fill(model) is None and same_bits(fill, undefined.filler):
            model = undefined  # its elements are read as the same value
        model = with_dimension_names_attribute(normalize_new_array(model))
        codecs = (replace(codec, blocksize=0) if isinstance(codec, Blosc) else codec for codec in model.codecs)
        return replace(model, codecs=tuple(codecs))

    def dimension_names(self, model: ArrayModel) -> tuple[str | None, ...] | None:
        return dimension_names_attribute(model)


def _parse_compressor(document: dict[str, Json], problems: Problems) -> Json:
    """The compressor in the form of v2; null if there is none (U15)."""
    name, options = document.get("compression"), document.get("compression_opts")
    if name is None or name == "none":
        return None
    if isinstance(options, str):
        options = _from_text(options)
    if name in ("zlib", "gzip", "bz2"):  # `gzip` is an alias of `zlib`
        if options is not None and not is_integer(options):
            problems.expected("$.compression_opts", "an integer", document["compression_opts"], rule="U14")
            return None
        return {"id": "zlib" if name == "gzip" else name, **({} if options is None else {"level": options})}
    if name in ("blosc", "lzma"):
        if options is not None and not isinstance(options, dict):
            problems.expected("$.compression_opts", "an object", document["compression_opts"], rule="U14")
            return None
        return {"id": name, **(options or {})}
    problems.unknown("$.compression", "compressor", str(name), (*_COMPRESSORS, "none"), rule="U14")
    return None


def _from_text(text: str) -> Json:
    """The value of `compression_opts` that a text states in JSON; the text itself if it states none."""
    try:
        return None if text in ("", "None") else parse_json(text.encode(), "compression_opts", limit=1000)
    except (MetadataError, UnicodeError):
        return text


def _dump_compression(codec: Codec) -> tuple[str, Json]:
    """The members `compression` and `compression_opts`."""
    if not isinstance(codec, BytesCodec):
        return "none", None
    config = dict(config_of(codec) or {"id": codec.name})
    name = config.pop("id")
    if name in ("zlib", "bz2"):
        return name, config["level"]
    config.pop("blocksize", None)  # v1 does not have it, and readers do not need it
    return name, config


def _has_parts(model: ArrayModel) -> bool:
    """Whether a field of a struct is a struct or an array, or padding precedes it."""
    descr = dump_typestr(stored_dtype_of(model))
    return not all(len(field) == 2 and field[0] and isinstance(field[1], str) for field in descr)


def _parse_fill(
    value: Json, data_type: DataType, stored: np.dtype[Any], path: str, problems: Problems
) -> Scalar | None:
    """The fill value as in zarr 1.x, which passes the JSON value to NumPy to fill a chunk with. So a number can also
    fill text, and fills all fields of a record."""
    if stored.kind not in "SUV":
        return parse_fill(value, data_type, stored, path, problems)
    if not isinstance(value, (str, int, float)) or (stored.kind == "V" and isinstance(value, str)):
        problems.expected(path, "text or a number" if stored.kind in "SU" else "a number", value, rule="U10")
        return None
    try:
        filled = _filled(value, stored)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:  # ValueError includes text that is not ASCII
        problems.add(path, f"{value!r} cannot be a value of type `{stored}`: {error}", rule="U10")
        return None
    return fill_from_bytes(filled.tobytes(), stored, path, problems)


def _filled(value: Json, stored: np.dtype[Any]) -> Scalar:
    """Same as `np.full((), value, stored)`, which needs 100 times the memory to convert a number to text."""
    text = value if isinstance(value, str) else str(np.asarray(value).astype("U"))
    result = np.zeros((), stored)
    for path, leaf in leaf_types(stored):
        part = result
        for name in path:
            part = part[name]
        with np.errstate(invalid="ignore"):  # as a cast in C
            part[...] = text if leaf.kind in "SU" else value if leaf.kind == "V" else np.asarray(value).astype(leaf)
    return result


def _dump_fill(model: ArrayModel) -> Json:
    """The member `fill_value`; None if v1 cannot express the fill value, or if it is undefined. Non-finite numbers
    become text, which NumPy parses like the bare tokens of zarr 1.x, and which is valid JSON (A60)."""
    if model.fill is None:
        return None
    kind, fill = model.dtype.kind, model.fill
    if kind == "c" and (fill.imag != 0 or np.signbit(fill.imag)):
        return None
    if kind in "biufc":
        number = (fill.real if kind == "c" else fill).item()
        number = float(number) if isinstance(number, np.floating) else number  # Python has no long double
        if not isinstance(number, float) or math.isfinite(number):
            return number
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if kind == "S":
        try:
            return bytes(fill.item()).decode("ascii")
        except UnicodeDecodeError:
            return None
    if kind == "U":
        return str(fill.item())
    if kind in "mM":
        return int(fill.view("i8"))
    numbers = fill.dtype.names is not None and not _has(fill.dtype, "SUV")  # in text fields, zero would become "0"
    return 0 if numbers and same_bits(fill, np.zeros((), fill.dtype)) else None


def _has(dtype: np.dtype[Any], kinds: str) -> bool:
    """Whether the dtype contains one of these kinds."""
    return any(leaf.kind in kinds for _, leaf in leaf_types(dtype))
