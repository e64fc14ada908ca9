"""Zarr v2: one `.zarray` or `.zgroup` per node, with its `.zattrs` (V1–V30)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems, describe, is_integer
from omnizarr.chunk_keys import ChunkKeys, V2Keys
from omnizarr.codecs import Serializer
from omnizarr.dtypes import DataType, Objects, dump_typestr
from omnizarr.errors import ArgumentError
from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel, key_below
from omnizarr.formats.document_encoding import LENIENT_JSON, Encoding
from omnizarr.formats.document_keys import v2_keys
from omnizarr.formats.document_members import (
    check_ascii,
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
    dump_codec_configs,
    new_data_type,
    new_serializer,
    normalize_new_array,
    order_of,
    stored_dtype_of,
    v1_v2_losses,
)
from omnizarr.formats.v1_v2_parse import check_codecs, parse_chunk_encoding
from omnizarr.formats.v2_fills import dump_fill, fill_losses
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat, normal_path

__all__ = ["V2Dialect", "parse_v2_consolidated"]

_ARRAY, _GROUP, _ATTRIBUTES, _CONSOLIDATED = ".zarray", ".zgroup", ".zattrs", ".zmetadata"
_MEMBERS = (
    "zarr_format",
    "shape",
    "chunks",
    "dtype",
    "compressor",
    "fill_value",
    "order",
    "filters",
    "dimension_separator",
)
# netCDF omits `filters` and `fill_value`, which means null (V26).
_REQUIRED = ("shape", "chunks", "dtype", "compressor", "order")


_RULES = RuleTable(
    "V",
    {
        "": "V1",
        "(.zattrs)": "V20",
        "(.zgroup)": "V17",
        "dtype": "V7",
        "compressor": "V3",
        "filters": "V4",
        "fill_value": "V29",
        "order": "V21",
        "dimension_separator": "V5",
        "metadata": "V23",
    },
    keeps=frozenset(("A18", "A35", "A52", "A56", "A57", "A58", "A59", "A60", "A61")),
    translations={"R55": "V10", "A9": "V10"},
    codecs={"": "V15", "chunk": "V14", "bytes": "V14"},
    hierarchy={
        "json": "V1",
        "duplicate": "R154",
        "orphan": "V12",
        "foreign": "V19",
        "child": "V18",
        "group": "V18",
        "consolidated": "A58",
        "other generation": "Z1",
    },
)


@dataclass(frozen=True, slots=True)
class V2Dialect(Dialect):
    """Dialect of v2."""

    zarr_format: ClassVar[ZarrFormat] = 2
    rules: ClassVar[RuleTable] = _RULES
    allows_undefined_fill: ClassVar[bool] = True
    allows_any_filter: ClassVar[bool] = True
    has_order_member: ClassVar[bool] = True
    has_lowercase_writers: ClassVar[bool] = True

    @property
    def encoding(self) -> Encoding:
        return LENIENT_JSON

    def normalize_path(self, path: str) -> str:
        return normal_path(path.replace("\\", "/"))  # V16

    # -- documents

    def keys(self, path: str) -> tuple[str, ...]:
        return v2_keys(path)

    def identifying_keys(self, path: str) -> tuple[str, ...]:
        return v2_keys(path)[:2]

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        if key_below(path, _ARRAY) in documents:
            return "array"
        return "group" if key_below(path, _GROUP) in documents else None

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        before = len(problems.found)
        kind = self.node_type(path, documents)
        attributes = parse_attributes(documents.get(key_below(path, _ATTRIBUTES)), "$(.zattrs)", problems)
        node: NodeModel | None = None
        if kind is None:
            problems.add("$", "there is neither a `.zarray` nor a `.zgroup`", rule="V1")
        elif kind == "group":
            node = _parse_group(documents[key_below(path, _GROUP)], attributes, problems)
        else:
            if key_below(path, _GROUP) in documents:
                problems.warn("$", "there is also a `.zgroup`, which is ignored", rule="A18")
            node = self._parse_array(documents[key_below(path, _ARRAY)], attributes, problems)
        return node if len(problems.found) == before else None

    def _parse_array(self, document: Json, attributes: dict[str, Json], problems: Problems) -> ArrayModel | None:
        if not _is_v2(document, problems):
            return None
        check_required(document, _REQUIRED, problems, rule="V1")
        document = _normalized(document, problems)
        shape = parse_shape(document, problems)
        grid = parse_chunk_shape(document["chunks"], shape, "$.chunks", problems) if "chunks" in document else None
        separator = document.get("dimension_separator")
        if separator not in (".", "/", None):
            problems.expected("$.dimension_separator", '"." or "/"', separator, rule="V5")
            separator = None
        encoding = parse_chunk_encoding(document, self.read_options, None if shape is None else len(shape), problems)
        if shape is None or grid is None or encoding is None:
            return None
        members = _verbatim_members(document, encoding.data_type)
        model = ArrayModel(
            shape=shape,
            data_type=encoding.data_type,
            fill=encoding.fill,
            grid=grid,
            chunk_keys=V2Keys(separator or "."),
            codecs=encoding.codecs,
            attributes=attributes,
            zarr_format=2,
            extra=unknown_members(document, _MEMBERS),  # V2
            verbatim={name: document[name] for name in members if name in document},
            guessed_keys=separator is None and len(shape) > 1,
        )
        check_codecs(model, encoding.places, problems)
        return model

    def ignores_path(self, path: str) -> bool:
        return True

    def check_strictly(self, path: str, documents: Documents, node: NodeModel | None, problems: Problems) -> None:
        from omnizarr.formats.strictness.v1_v2 import check_v2_array, check_v2_group  # lazy import: only to validate

        if not path.isascii():
            problems.warn("$", "keys are ASCII, but the path of the node is not", rule="V22")
        array, group = documents.get(key_below(path, _ARRAY)), documents.get(key_below(path, _GROUP))
        if isinstance(array, dict):
            check_v2_array(array, _MEMBERS, node if isinstance(node, ArrayModel) else None, problems)
        elif isinstance(group, dict):
            check_v2_group(group, problems)

    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        documents: dict[str, Json] = {}
        if isinstance(node, GroupModel):
            documents[key_below(path, _GROUP)] = {"zarr_format": 2} | node.extra
        else:
            documents[key_below(path, _ARRAY)] = self._dump_array(node)
        if node.attributes:
            documents[key_below(path, _ATTRIBUTES)] = node.attributes  # omitted if empty (A53)
        return documents

    def _dump_array(self, model: ArrayModel) -> Json:
        assert isinstance(model.grid, Regular)
        filters, compressor = dump_codec_configs(model)
        document: dict[str, Json] = {
            "zarr_format": 2,
            "shape": list(model.shape),
            "chunks": list(model.grid.chunk_shape),
            "dtype": dump_typestr(stored_dtype_of(model)),
            "compressor": compressor,
            "fill_value": dump_fill(model.fill, model.data_type, stored_dtype_of(model)),
            "order": order_of(model),
            "filters": filters,
        }
        if not model.guessed_keys:
            assert isinstance(model.chunk_keys, V2Keys)
            document["dimension_separator"] = model.chunk_keys.separator  # A57
        return document | model.verbatim | model.extra

    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        if isinstance(node, GroupModel):
            return []
        losses = v1_v2_losses(node, "v2")
        if not isinstance(node.chunk_keys, V2Keys):
            losses.append("v2 has only chunk keys such as `0.0` or `0/0`")
        return losses or fill_losses(node.fill, node.data_type, stored_dtype_of(node), "v2")

    # -- consolidated metadata

    def consolidated_key(self, path: str) -> str | None:
        return key_below(path, _CONSOLIDATED)

    def parse_consolidated(self, path: str, document: Json, problems: Problems) -> dict[str, Json] | None:
        documents = parse_v2_consolidated(document, problems)
        return None if documents is None else {key_below(path, key): value for key, value in documents.items()}

    def dump_consolidated(self, path: str, documents: Documents) -> Json:
        start = len(key_below(path, ""))
        return {
            "zarr_consolidated_format": 1,
            "metadata": {key[start:]: documents[key] for key in sorted(documents)},
        }

    # -- the hierarchy

    def check_path(self, path: str, kind: Kind) -> None:
        check_ascii(path, "v2")  # V22
        for name in path.split("/"):
            if name in (_ARRAY, _GROUP, _ATTRIBUTES, _CONSOLIDATED):
                raise ArgumentError(f"`{path}` cannot be created: `{name}` is the name of a document", argument="path")

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        start = len(self.listing_prefix(path))
        return [Child(prefix[start:-1]) for prefix in listing[1]]

    # -- new arrays

    def data_type(self, dtype: Any) -> DataType:
        return new_data_type(dtype)

    def chunk_keys(self, value: Any) -> ChunkKeys:
        return separated_keys(value)

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        return with_dimension_names_attribute(normalize_new_array(model))

    def serializer(self, dtype: Any) -> Serializer | None:
        return new_serializer(dtype)

    def dimension_names(self, model: ArrayModel) -> tuple[str | None, ...] | None:
        return dimension_names_attribute(model)


def _verbatim_members(document: dict[str, Json], data_type: DataType) -> tuple[str, ...]:
    """The members to write back verbatim; they include `fill_value` if it is a pickled record."""
    pickled = isinstance(data_type, Objects) and isinstance(document["dtype"], list)
    return ("dtype", "compressor", "filters", "order", *(("fill_value",) if pickled else ()))


def _is_v2(document: Json, problems: Problems) -> bool:
    if not isinstance(document, dict):
        problems.expected("$", "an object", document, rule="V1")
        return False
    version = document.get("zarr_format")
    if not is_integer(version) or version != 2:
        problems.expected("$.zarr_format", "2", version, rule="V1")
    return True


_NUMPY_NAMES = frozenset(["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]).union(
    ["float16", "float32", "float64", "complex64", "complex128"]
)


def _normalized(document: dict[str, Json], problems: Problems) -> dict[str, Json]:
    """The document of an array in the usual spelling, where zarr-python reads others. jsonlite of R writes a list of
    one length as a number, and null as {}; other writers use NumPy's name of a type, or small letters for the order."""
    usual: dict[str, Json] = {}
    for name in ("shape", "chunks"):
        if is_integer(document.get(name)):
            usual[name] = [document[name]]
    dtype, order = document.get("dtype"), document.get("order")
    if isinstance(dtype, str) and dtype in _NUMPY_NAMES:
        usual["dtype"] = np.dtype(dtype).newbyteorder("<").str
    if order in ("c", "f"):
        usual["order"] = order.upper()
    if document.get("filters") == {}:
        usual["filters"] = None
    for name, value in usual.items():
        message = f"{describe(document[name])} is read as {describe(value)}"
        problems.warn(f"$.{name}", message, rule=_RULES.members.get(name, "V1"))
    return document | usual


def _parse_group(document: Json, attributes: dict[str, Json], problems: Problems) -> GroupModel | None:
    if not _is_v2(document, problems):
        return None
    # V17 forbids other members, but zarr-python 3 writes one into consolidated metadata: keep all, use none.
    return GroupModel(attributes=attributes, zarr_format=2, extra=unknown_members(document, ("zarr_format",)))


def separated_keys(value: Any) -> V2Keys:
    """The chunk keys that a user gives: the separator alone, or the form of v3."""
    if value is None:
        return V2Keys(".")
    if isinstance(value, V2Keys):
        return value
    if isinstance(value, str) and value in (".", "/"):
        return V2Keys(value)
    if isinstance(value, dict) and value.get("name", "v2") == "v2":
        configuration = value.get("configuration", value)
        separator = configuration.get("separator", ".") if isinstance(configuration, dict) else None
        if isinstance(separator, str) and separator in (".", "/"):
            return V2Keys(separator)
    raise ArgumentError(
        f"`chunk_key_encoding`: expected one of the separators `.` and `/`, found {value!r}",
        argument="chunk_key_encoding",
    )


def parse_v2_consolidated(document: Json, problems: Problems) -> dict[str, Json] | None:
    """The documents in a `.zmetadata`, by the keys that it has for them."""
    if not isinstance(document, dict):
        problems.expected("$", "an object", document, rule="V1")
        return None
    version = document.get("zarr_consolidated_format")
    if not is_integer(version) or version != 1:
        problems.expected("$.zarr_consolidated_format", "1", version, rule="V23")
        return None
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        problems.expected("$.metadata", "an object", metadata, rule="V23")
        return None
    return metadata
