"""Zarr v3, as the final specification (3.0 and 3.1) writes it: one `zarr.json` per node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from omnizarr._extension import call_extension, parse_extension
from omnizarr._json import Json, Problems, describe, is_integer, nearest
from omnizarr.chunk_keys import ChunkKeys, DefaultKeys, chunk_key_encodings, parse_chunk_keys
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel, key_below
from omnizarr.formats.document_fields import missing, parse_attributes, parse_shape
from omnizarr.formats.v3_shared import parse_parts
from omnizarr.formats.zarr_python_types import has_old_name
from omnizarr.grids import parse_grid
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
_LATE = re.compile(r"\$\.(?!data_type|chunk_grid)")  # what stands behind the grid
_SPELLED = ("data_type", "fill_value", "codecs")
_ADVICE = {"indexed": "; `shards` gives its sharding codec"}
_GROUP_MEMBERS = ("zarr_format", "node_type", "attributes", "consolidated_metadata")


@dataclass(frozen=True, slots=True)
class V3Dialect(Dialect):
    """The dialect of v3."""

    zarr_format: ClassVar[ZarrFormat] = 3

    def keys(self, path: str) -> tuple[str, ...]:
        return (key_below(path, "zarr.json"),)

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        document = documents.get(self.keys(path)[0])
        kind = document.get("node_type") if isinstance(document, dict) else None
        return kind if kind in ("array", "group") else None

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        document = documents[self.keys(path)[0]]
        if not isinstance(document, dict):
            problems.expected("$", "an object", document)
            return None
        before = len(problems.found)
        for name in path.split("/"):
            if (reason := _forbidden(name)) is not None:
                problems.warn("$", f"the node is called `{name}`, but a name {reason}")
        version = document.get("zarr_format")
        if not is_integer(version) or version != 3:
            problems.expected("$.zarr_format", "3", version)
        kind = document.get("node_type")
        node: NodeModel | None = None
        if kind == "array":
            node = _parse_array(document, problems)
        elif kind == "group":
            node = _parse_group(path, document, problems)
        else:
            hint = nearest(kind, ("array", "group")) if isinstance(kind, str) else None
            problems.add("$.node_type", f'expected "array" or "group", found {describe(kind)}', hint=hint)
        return node if len(problems.found) == before else None

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
            f"v3 has no storage transformer `{transformer.name}`" + _ADVICE.get(transformer.type or "", "")
            for transformer in node.storage_transformers
            if transformer.type is not None or not transformer.layout
        ]
        if chunk_key_encodings.get(node.chunk_keys.name) is None:
            losses.append("v3 has no such chunk keys")
        return losses

    def can_consolidate(self, path: str) -> bool:
        return True  # in the group's own document

    def check_path(self, path: str, kind: Kind) -> None:
        for name in path.split("/"):
            if (reason := _forbidden(name)) is not None:
                raise ArgumentError(f"`{path}` cannot be created: the name of a node {reason}", argument="path")

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        start = len(self.listing_prefix(path))
        names = [prefix[start:-1] for prefix in listing[1]]
        return [Child(name) for name in names if not name.startswith("__")]  # reserved (R51)

    def chunk_keys(self, value: Any) -> ChunkKeys:
        if value is None:
            return DefaultKeys("/")
        if isinstance(value, ChunkKeys):
            return value
        if isinstance(value, str) and value in ("/", "."):
            return DefaultKeys(value)
        if isinstance(value, dict) and "separator" in value:  # zarr-python's spelling of the argument
            value = {"name": value.get("name"), "configuration": {"separator": value["separator"]}}
        problems = Problems()
        found = parse_chunk_keys(value, "$", problems)
        if found is None:
            raise MetadataError("`chunk_key_encoding` is not usable", problems.found)
        return found


def _forbidden(name: str) -> str | None:
    """Why a new node must not be called so (R45–R47). Old data may hold such nodes (A36)."""
    if name and not name.strip("."):
        return "must not consist of periods only"
    if name.startswith("__"):
        return "must not start with `__`, which is reserved"
    return "must not be `zarr.json`" if name == "zarr.json" else None


# -- arrays


def _parse_array(document: dict[str, Json], problems: Problems) -> ArrayModel | None:
    missing(document, _ARRAY_REQUIRED, problems)
    extra = _parse_extra(document, _ARRAY_MEMBERS, problems)
    attributes = parse_attributes(document.get("attributes"), "$.attributes", problems)
    shape = parse_shape(document, problems)
    names = _parse_dimension_names(document, shape, problems)
    transformers, ignored = _parse_transformers(document, shape, problems)

    before = len(problems.found)
    parts = parse_parts(document, None if shape is None else len(shape), problems)
    grid = None if "chunk_grid" not in document else parse_grid(document["chunk_grid"], shape, "$.chunk_grid", problems)
    # in the order in which documents have their members, whatever was parsed first
    problems.found[before:] = sorted(problems.found[before:], key=lambda problem: _LATE.match(problem.path) is not None)
    data_type, fill, keys, codecs = parts.data_type, parts.fill, parts.keys, parts.codecs
    if shape is None or data_type is None or grid is None or codecs is None:
        return None
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
        spelled={name: document.get(name) for name in _SPELLED} if has_old_name(document["data_type"]) else {},
    )
    model.bound_before(parts.chains)
    # What is missing so far does not matter here: whether the codecs fit the chunks belongs to the same report.
    for chunk_shape in grid.chunk_shapes(shape):
        if model.chain(chunk_shape, "$.codecs", problems) is None:
            break  # of other shapes the same would be said again
    return model if keys is not None and fill is not None else None


def _parse_dimension_names(
    document: dict[str, Json], shape: tuple[int, ...] | None, problems: Problems
) -> tuple[str | None, ...] | None:
    found = document.get("dimension_names")
    if found is None:
        return None
    if not isinstance(found, list) or not all(name is None or isinstance(name, str) for name in found):
        problems.expected("$.dimension_names", "a list of strings and nulls", found)
        return None
    if shape is not None and len(found) != len(shape):
        problems.add("$.dimension_names", f"has {len(found)} names, but `shape` has {len(shape)} dimensions")
        return None
    return tuple(found)


def _parse_transformers(
    document: dict[str, Json], shape: tuple[int, ...] | None, problems: Problems
) -> tuple[tuple[StorageTransformer, ...], tuple[Json, ...]]:
    """Storage transformers, and those that are unknown, which must say that they may be ignored (R123)."""
    found = document.get("storage_transformers")
    if found is None or found == []:
        return (), ()
    if not isinstance(found, list):
        problems.expected("$.storage_transformers", "a list", found)
        return (), ()
    from omnizarr.transformers import storage_transformers  # hardly any array has one

    known: list[StorageTransformer] = []
    ignored: list[Json] = []
    for index, item in enumerate(found):
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
            problems.unknown(extension.name_path, "storage transformer", extension.name, storage_transformers.names())
        else:
            problems.warn(path, f"unknown storage transformer `{extension.name}` is ignored, as its metadata allows")
            ignored.append(item)
    return tuple(known), tuple(ignored)


def _dump_array(model: ArrayModel) -> dict[str, Json]:
    assert model.fill is not None, "the caller asked for `losses` first"
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
    return document | model.spelled | model.extra


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
    """The documents of the nodes below (R28, R29). A kind that we do not know is ignored and kept (A34)."""
    found = document.get("consolidated_metadata")
    if found is None:
        return None
    if not isinstance(found, dict):
        problems.expected("$.consolidated_metadata", "an object", found)
        return None
    if found.get("kind") != "inline":
        if found.get("must_understand", True) is not False:
            problems.expected("$.consolidated_metadata.kind", '"inline"', found.get("kind"))
        extra["consolidated_metadata"] = found
        return None
    if found.get("must_understand") is not False:
        problems.warn("$.consolidated_metadata.must_understand", "should be false")
    metadata = found.get("metadata")
    if not isinstance(metadata, dict):
        problems.expected("$.consolidated_metadata.metadata", "an object", metadata)
        return None
    return {key_below(path, f"{name.strip('/')}/zarr.json"): child for name, child in metadata.items()}


def _dump_group(path: str, model: GroupModel) -> dict[str, Json]:
    document: dict[str, Json] = {"zarr_format": 3, "node_type": "group", "attributes": model.attributes}
    if model.consolidated is not None:
        document["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": _relative(path, model.consolidated),
        }
    return document | model.extra


def _relative(path: str, documents: Mapping[str, Json]) -> dict[str, Json]:
    """Documents by the path of their node below the group, as consolidated metadata holds them; a group's without any
    consolidated metadata of its own."""
    start, end = len(key_below(path, "")), -len("/zarr.json")
    found = {key[start:end]: document for key, document in documents.items()}
    ordered = sorted(found, key=lambda name: (name.count("/"), name.casefold(), name))
    return {name: _without_own(found[name]) for name in ordered}


def _without_own(document: Json) -> Json:
    if not isinstance(document, dict):
        return document
    return {member: value for member, value in document.items() if member != "consolidated_metadata"}


# -- both


def _parse_extra(document: dict[str, Json], known: tuple[str, ...], problems: Problems) -> dict[str, Json]:
    """Members that nobody knows: kept if they say that they may be ignored, refused otherwise (R30, R32)."""
    extra: dict[str, Json] = {}
    for member, value in document.items():
        if member in known:
            continue
        if isinstance(value, dict) and value.get("must_understand") is False:
            extra[member] = value
        elif member == "extensions" and value == []:
            problems.warn("$.extensions", "a member of drafts, not used any more")
        else:
            problems.add(f"$.{member}", "unknown member that must be understood", hint=problems.nearest(member, known))
    return extra
