"""Zarr v3 as in the final specification (3.0 and 3.1): one `zarr.json` per node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from omnizarr._extension import call_extension, parse_extension
from omnizarr._json import Json, Problems, as_document, describe, is_integer, nearest
from omnizarr.chunk_keys import ChunkKeys, DefaultKeys, chunk_key_encodings, parse_chunk_keys
from omnizarr.codecs import ArrayCodec, Codec, Sharding
from omnizarr.errors import ArgumentError, MetadataError, warn
from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel, key_below
from omnizarr.formats.document_members import check_required, parse_attributes, parse_shape
from omnizarr.formats.rule_table import RuleTable
from omnizarr.formats.v3_member_cache import parse_shared_grid, parse_shared_members
from omnizarr.formats.zarr_python_types import has_zarr_python_name
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat, every_codec

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["V3Dialect"]

_ARRAY_REQUIRED = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value")
_ARRAY_MEMBERS = (
    "zarr_format",
    "node_type",
    *_ARRAY_REQUIRED,
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
)
_AFTER_GRID = re.compile(r"\$\.(?!data_type|chunk_grid)")  # members that follow the grid in a document
_VERBATIM = ("data_type", "fill_value", "codecs")  # written back unchanged if the type has one of zarr-python's names
_TRANSFORMER_HINTS = {"indexed": "; use `shards`, which sets the sharding codec"}
_GROUP_MEMBERS = ("zarr_format", "node_type", "attributes", "consolidated_metadata")
_UNNAMED_IN_XARRAY = "__xarray_dataarray_variable__"
"""The name under which xarray stores a DataArray without a name. Users do not choose it, so it does not warn."""


_RULES = RuleTable(
    "RAZ§",
    {
        "": "R8",
        "zarr_format": "R9",
        "node_type": "R10",
        "shape": "R11",
        "data_type": "R12",
        "chunk_grid": "R13",
        "chunk_key_encoding": "R14",
        "fill_value": "R15",
        "codecs": "R18",
        "attributes": "R20",
        "storage_transformers": "R21",
        "dimension_names": "R22",
        "consolidated_metadata": "R28",
    },
    translations={"V7": "R150", "V9": "R150", "V11": "R150"},
    codecs={
        "": "R79",
        "chunk": "R87",
        "bytes": "R87",
        "gzip": "R89",
        "blosc": "R92",
        "crc32c": "R94",
        "sharding_indexed": "R106",
        "zstd": "R124",
        "vlen-utf8": "R125",
        "vlen-bytes": "R126",
        "packbits": "R136",
        "conditional": "R137",
        "n5_default": "R138",
        "zfp": "R139",
    },
    hierarchy={
        "json": "R8",
        "duplicate": "R154",
        "orphan": "R63",
        "foreign": "R3",
        "child": "R4",
        "group": "R26",
        "consolidated": "R29",
        "other generation": "Z1",
    },
)


@dataclass(frozen=True, slots=True)
class V3Dialect(Dialect):
    """Dialect of v3."""

    zarr_format: ClassVar[ZarrFormat] = 3
    rules: ClassVar[RuleTable] = _RULES

    def keys(self, path: str) -> tuple[str, ...]:
        return (f"{path}/zarr.json" if path else "zarr.json",)  # `key_below`, inline: each opening runs it

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        document = documents.get(self.keys(path)[0])
        kind = document.get("node_type") if isinstance(document, dict) else None
        return kind if kind in ("array", "group") else None

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        document = documents[self.keys(path)[0]]
        if not isinstance(document, dict):
            problems.expected("$", "an object", document, rule="R8")
            return None
        before = len(problems.found)
        for name in path.split("/"):
            if (reason := _forbidden(name)) is not None:
                problems.warn("$", f"the node has the name `{name}`, but a name {reason}", rule="A36")
        version = document.get("zarr_format")
        if not is_integer(version) or version != 3:
            problems.expected("$.zarr_format", "3", version, rule="R9")
        kind = document.get("node_type")
        node: NodeModel | None = None
        if kind == "array":
            node = _parse_array(document, problems)
        elif kind == "group":
            node = _parse_group(path, document, problems)
        else:
            hint = nearest(kind, ("array", "group")) if isinstance(kind, str) else None
            problems.add("$.node_type", f'expected "array" or "group", found {describe(kind)}', hint=hint, rule="R10")
        return node if len(problems.found) == before else None

    def ignores_path(self, path: str) -> bool:
        return "." not in path or all(_forbidden(name) is None for name in path.split("/"))

    def check_strictly(self, path: str, documents: Documents, node: NodeModel | None, problems: Problems) -> None:
        from omnizarr.formats.strictness.v3 import check_v3_array, check_v3_group, check_v3_name  # only to validate

        document = documents.get(self.keys(path)[0])
        if path:
            check_v3_name(path.rpartition("/")[2], problems)
        if isinstance(document, dict) and document.get("node_type") == "array":
            check_v3_array(document, node if isinstance(node, ArrayModel) else None, problems)
        elif isinstance(document, dict) and document.get("node_type") == "group":
            check_v3_group(document, problems)

    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        return {self.keys(path)[0]: _dump_array(node) if isinstance(node, ArrayModel) else _dump_group(path, node)}

    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        if not isinstance(node, ArrayModel):
            return []
        losses = []
        if node.data_type.private:
            losses.append(f"v3 has no data type for {node.dtype}")
        elif node.fill is None:
            losses.append("v3 has no undefined fill value")
        losses += [f"v3 has no codec `{codec.name}`" for codec in every_codec(node.codecs) if codec.private]
        losses += [
            f"v3 has no storage transformer `{transformer.name}`" + _TRANSFORMER_HINTS.get(transformer.type or "", "")
            for transformer in node.storage_transformers
            if transformer.type is not None or not transformer.layout
        ]
        if chunk_key_encodings.get(node.chunk_keys.name) is None:
            losses.append(f"v3 has no chunk key encoding `{node.chunk_keys.name}`")
        return losses

    def can_consolidate(self, path: str) -> bool:
        return True  # in the group's own document

    def check_path(self, path: str, kind: Kind) -> None:
        for name in path.split("/"):
            if (reason := _forbidden(name)) is not None:
                raise ArgumentError(f"`{path}` cannot be created: the name of a node {reason}", argument="path")
            if name.startswith("__") and name != _UNNAMED_IN_XARRAY:
                warn(f"the new node `{path}` has the name `{name}`: names that start with `__` are reserved (v3)")

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        start = len(self.listing_prefix(path))
        names = [prefix[start:-1] for prefix in listing[1]]
        # Reserved names (R51) are listed, too: xarray has always written nodes with such names.
        return [Child(name) for name in names]

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        codecs = _with_little_endian_filters(model.codecs)
        return model if codecs == model.codecs else replace(model, codecs=codecs)

    def chunk_keys(self, value: Any) -> ChunkKeys:
        if value is None:
            return DefaultKeys("/")
        if isinstance(value, ChunkKeys):
            return value
        if isinstance(value, str) and value in ("/", "."):
            return DefaultKeys(value)
        if isinstance(value, dict) and "separator" in value:  # the form of zarr-python's argument
            value = {"name": value.get("name"), "configuration": {"separator": value["separator"]}}
        problems = Problems()
        chunk_keys = parse_chunk_keys(as_document(value), "$", problems)
        if chunk_keys is None:
            raise MetadataError("`chunk_key_encoding` is invalid", problems.found)
        return chunk_keys


def _with_little_endian_filters(codecs: Sequence[Codec]) -> tuple[Codec, ...]:
    """The codecs with little-endian types in numcodecs filters. Elements have no byte order before the serializer, and
    zarr-python 3 would read the memory of native elements as if it were big-endian."""
    changed: list[Codec] = []
    for codec in codecs:
        if isinstance(codec, Sharding):
            codec = replace(codec, codecs=_with_little_endian_filters(codec.codecs))
        elif isinstance(codec, ArrayCodec) and hasattr(codec, "with_little_endian_types"):
            codec = codec.with_little_endian_types()
        changed.append(codec)
    return tuple(changed)


def _forbidden(name: str) -> str | None:
    """The reason why a new node must not have this name (R45, R47), or None. Existing nodes may have it (A36)."""
    if name and not name.strip("."):
        return "must not consist of periods only"
    return "must not be `zarr.json`" if name == "zarr.json" else None


# -- arrays


def _parse_array(document: dict[str, Json], problems: Problems) -> ArrayModel | None:
    check_required(document, _ARRAY_REQUIRED, problems, rule="R25")
    extra = _parse_extra(document, _ARRAY_MEMBERS, problems)
    attributes = parse_attributes(document.get("attributes"), "$.attributes", problems)
    shape = parse_shape(document, problems)
    names = _parse_dimension_names(document, shape, problems)
    transformers, ignored = _parse_transformers(document, shape, problems)

    before = len(problems.found)
    shared = parse_shared_members(document, None if shape is None else len(shape), problems)
    grid = None if "chunk_grid" not in document else parse_shared_grid(document["chunk_grid"], shape, problems)
    # Report problems in the order of the members, not in the order of parsing.
    problems.found[before:] = sorted(
        problems.found[before:], key=lambda problem: _AFTER_GRID.match(problem.path) is not None
    )
    data_type, fill, keys, codecs = shared.data_type, shared.fill, shared.keys, shared.codecs
    if shape is None or data_type is None or grid is None or codecs is None:
        return None
    has_old_type = has_zarr_python_name(document["data_type"])
    model = ArrayModel(
        shape=shape,
        data_type=data_type,
        fill=data_type.default_fill() if fill is None else fill,
        grid=grid,
        chunk_keys=keys or DefaultKeys(),
        codecs=codecs,
        attributes=attributes,
        dimension_names=names,
        storage_transformers=transformers,
        ignored_transformers=ignored,
        zarr_format=3,
        extra=extra,
        verbatim={name: document.get(name) for name in _VERBATIM} if has_old_type else {},
    )
    model.share(shared.chains, shared.derived_for(shape, grid))
    # Check the codecs even if another member is invalid, so that one report has all problems.
    for chunk_shape in grid.chunk_shapes(shape):
        if model.chain(chunk_shape, "$.codecs", problems) is None:
            break  # other shapes would repeat the same problems
    return model if keys is not None and fill is not None else None


def _parse_dimension_names(
    document: dict[str, Json], shape: tuple[int, ...] | None, problems: Problems
) -> tuple[str | None, ...] | None:
    names = document.get("dimension_names")
    if names is None:
        return None
    if not isinstance(names, list) or not all(name is None or isinstance(name, str) for name in names):
        problems.expected("$.dimension_names", "a list of strings and nulls", names, rule="R22")
        return None
    if shape is not None and len(names) != len(shape):
        problems.add(
            "$.dimension_names", f"has {len(names)} names, but `shape` has {len(shape)} dimensions", rule="R22"
        )
        return None
    return tuple(names)


def _parse_transformers(
    document: dict[str, Json], shape: tuple[int, ...] | None, problems: Problems
) -> tuple[tuple[StorageTransformer, ...], tuple[Json, ...]]:
    """The known storage transformers, and the JSON of unknown ones that may be ignored (R123)."""
    items = document.get("storage_transformers")
    if items is None or items == []:
        return (), ()
    if not isinstance(items, list):
        problems.expected("$.storage_transformers", "a list", items, rule="R21")
        return (), ()
    from omnizarr.transformers import storage_transformers  # lazy import: few arrays have any

    known: list[StorageTransformer] = []
    ignored: list[Json] = []
    for index, item in enumerate(items):
        path = f"$.storage_transformers[{index}]"
        extension = parse_extension(item, path, problems, kind="storage transformer")
        if extension is None:
            continue
        transformer = storage_transformers.get(extension.name)
        if transformer is not None:
            parsed = call_extension(
                "storage transformer", extension.name, path, problems, transformer.parse, extension.configuration
            )
            if parsed is not None and shape is not None:
                parsed.check(shape, path, problems)
                known.append(parsed)
        elif extension.must_understand:
            problems.unknown(
                extension.name_path, "storage transformer", extension.name, storage_transformers.names(), rule="R123"
            )
        else:
            problems.warn(
                path, f"unknown storage transformer `{extension.name}` is ignored, as its metadata allows", rule="R38"
            )
            ignored.append(item)
    return tuple(known), tuple(ignored)


def _dump_array(model: ArrayModel) -> dict[str, Json]:
    assert model.fill is not None, "the caller checks `losses` first"
    document: dict[str, Json] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(model.shape),
        "data_type": model.data_type.to_json(),
        "chunk_grid": model.grid.to_json(),
        "chunk_key_encoding": model.chunk_keys.to_json(),
        "fill_value": model.data_type.dump_fill(model.fill),
        "codecs": [codec.to_json() for codec in model.codecs],
        "attributes": model.attributes,
        "storage_transformers": [*map(_dump_transformer, model.storage_transformers), *model.ignored_transformers],
    }
    if model.dimension_names is not None:
        document["dimension_names"] = list(model.dimension_names)
    return document | model.verbatim | model.extra


def _dump_transformer(transformer: StorageTransformer) -> Json:
    configuration = transformer.configuration()
    document: dict[str, Json] = {"name": transformer.name}
    return document | {"configuration": configuration} if configuration else document


# -- groups


def _parse_group(path: str, document: dict[str, Json], problems: Problems) -> GroupModel:
    extra = _parse_extra(document, _GROUP_MEMBERS, problems)
    attributes = parse_attributes(document.get("attributes"), "$.attributes", problems)
    consolidated = _parse_consolidated(path, document, extra, problems)
    return GroupModel(attributes=attributes, consolidated=consolidated, zarr_format=3, extra=extra)


def _parse_consolidated(
    path: str, document: dict[str, Json], extra: dict[str, Json], problems: Problems
) -> dict[str, Json] | None:
    """The documents of the descendants, by key (R28, R29). An unknown kind is ignored and kept in `extra` (A34)."""
    consolidated = document.get("consolidated_metadata")
    if consolidated is None:
        return None
    if not isinstance(consolidated, dict):
        problems.expected("$.consolidated_metadata", "an object", consolidated, rule="R28")
        return None
    if consolidated.get("kind") != "inline":
        if consolidated.get("must_understand", True) is not False:
            problems.expected("$.consolidated_metadata.kind", '"inline"', consolidated.get("kind"), rule="R28")
        extra["consolidated_metadata"] = consolidated
        return None
    if consolidated.get("must_understand") is not False:
        problems.warn("$.consolidated_metadata.must_understand", "should be false", rule="R28")
    metadata = consolidated.get("metadata")
    if not isinstance(metadata, dict):
        problems.expected("$.consolidated_metadata.metadata", "an object", metadata, rule="R28")
        return None
    return {key_below(path, f"{name.strip('/')}/zarr.json"): child for name, child in metadata.items()}


def _dump_group(path: str, model: GroupModel) -> dict[str, Json]:
    document: dict[str, Json] = {"zarr_format": 3, "node_type": "group", "attributes": model.attributes}
    if model.consolidated is not None:
        document["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": _by_relative_path(path, model.consolidated),
        }
    return document | model.extra


def _by_relative_path(path: str, documents: Mapping[str, Json]) -> dict[str, Json]:
    """Documents by the path of their node relative to the group at `path`, without nested consolidated metadata."""
    start, end = len(key_below(path, "")), -len("/zarr.json")
    relative = {key[start:end]: document for key, document in documents.items()}
    ordered = sorted(relative, key=lambda name: (name.count("/"), name.casefold(), name))
    return {name: _without_consolidated(relative[name]) for name in ordered}


def _without_consolidated(document: Json) -> Json:
    if not isinstance(document, dict):
        return document
    return {member: value for member, value in document.items() if member != "consolidated_metadata"}


# -- both


def _parse_extra(document: dict[str, Json], known: tuple[str, ...], problems: Problems) -> dict[str, Json]:
    """The unknown members to keep: those with `must_understand: false`. Others are problems (R30, R32)."""
    extra: dict[str, Json] = {}
    for member, value in document.items():
        if member in known:
            continue
        if isinstance(value, dict) and value.get("must_understand") is False:
            extra[member] = value
        elif member == "extensions" and value == []:
            problems.warn("$.extensions", "a member of the drafts, which v3 does not use", rule="§1.7")
        else:
            problems.add(
                f"$.{member}",
                "unknown member that must be understood",
                hint=problems.nearest(member, known),
                rule="R30",
            )
    return extra
