"""Zarr v3, as the final specification (3.0 and 3.1) writes it: one `zarr.json` per node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from omnizarr._extension import parse_extension
from omnizarr._json import Json, Problems, describe, is_integer, nearest
from omnizarr.chunk_keys import ChunkKeys, Default, parse_chunk_keys
from omnizarr.codecs import ArrayCodec, Codec, parse_codecs
from omnizarr.dtypes import DataType, Scalar, parse_data_type
from omnizarr.errors import ArgumentError
from omnizarr.formats.contract import Dialect, Documents, Node
from omnizarr.grids import Grid, parse_grid
from omnizarr.model import MOST_DIMENSIONS, ArrayModel, GroupModel, ZarrFormat

__all__ = ["V3"]

_ARRAY_REQUIRED = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
_ARRAY_MEMBERS = (
    "zarr_format",
    "node_type",
    *_ARRAY_REQUIRED,
    "attributes",
    "storage_transformers",
    "dimension_names",
)
_GROUP_MEMBERS = ("zarr_format", "node_type", "attributes", "consolidated_metadata")


class V3(Dialect):
    """The dialect of v3."""

    zarr_format: ClassVar[ZarrFormat] = 3

    def keys(self, path: str) -> tuple[str, ...]:
        return (f"{path}/zarr.json" if path else "zarr.json",)

    def node_type(self, path: str, documents: Documents) -> str | None:
        document = documents.get(self.keys(path)[0])
        kind = document.get("node_type") if isinstance(document, dict) else None
        return kind if kind in ("array", "group") else None

    def parse(self, path: str, documents: Documents, problems: Problems) -> Node | None:
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
        node: Node | None = None
        if kind == "array":
            node = _parse_array(document, problems)
        elif kind == "group":
            node = _parse_group(document, problems)
        else:
            hint = nearest(kind, ("array", "group")) if isinstance(kind, str) else None
            problems.add("$.node_type", f'expected "array" or "group", found {describe(kind)}', hint=hint)
        return node if len(problems.found) == before else None

    def dump(self, path: str, node: Node) -> dict[str, Json]:
        return {self.keys(path)[0]: _dump_array(node) if isinstance(node, ArrayModel) else _dump_group(node)}

    def losses(self, node: Node) -> Sequence[str]:
        if isinstance(node, ArrayModel) and node.fill is None:
            return ["v3 has no undefined fill value"]
        return []

    def check_path(self, path: str) -> None:
        for name in path.split("/"):
            if (reason := _forbidden(name)) is not None:
                raise ArgumentError(f"`{path}` cannot be created: the name of a node {reason}", argument="path")

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[str]:
        start = len(self.listing_prefix(path))
        names = [prefix[start:-1] for prefix in listing[1]]
        return [name for name in names if not name.startswith("__")]  # reserved (R51)

    def listing_prefix(self, path: str) -> str:
        return f"{path}/" if path else ""

    def ancestors(self, path: str) -> list[str]:
        segments = path.split("/") if path else []
        return ["/".join(segments[:count]) for count in range(len(segments))]

    def prefixes(self, path: str) -> list[str]:
        return [self.listing_prefix(path)]

    def chunk_prefix(self, path: str) -> str:
        return self.listing_prefix(path)


def _forbidden(name: str) -> str | None:
    """Why a new node must not be called so (R45–R47). Old data may hold such nodes (A36)."""
    if name and not name.strip("."):
        return "must not consist of periods only"
    if name.startswith("__"):
        return "must not start with `__`, which is reserved"
    return "must not be `zarr.json`" if name == "zarr.json" else None


# -- arrays


def _parse_array(document: dict[str, Json], problems: Problems) -> ArrayModel | None:
    for member in _ARRAY_REQUIRED:
        if member not in document:
            problems.add(f"$.{member}", "is missing")
    extra = _parse_extra(document, _ARRAY_MEMBERS, problems)
    attributes = _parse_attributes(document, problems)
    shape = _parse_shape(document, problems)
    names = _parse_dimension_names(document, shape, problems)
    transformers = _parse_transformers(document, problems)

    data_type: DataType | None = None
    grid: Grid | None = None
    keys: ChunkKeys | None = None
    fill: Scalar | None = None
    codecs: tuple[Codec, ...] | None = None
    if "data_type" in document:
        data_type = parse_data_type(document["data_type"], "$.data_type", problems)
    if "chunk_grid" in document:
        grid = parse_grid(document["chunk_grid"], shape, "$.chunk_grid", problems)
    if "chunk_key_encoding" in document:
        keys = parse_chunk_keys(document["chunk_key_encoding"], "$.chunk_key_encoding", problems)
    if "fill_value" in document and data_type is not None:
        fill = data_type.parse_fill(document["fill_value"], "$.fill_value", problems)
    if "codecs" in document:
        codecs = _parse_codecs(document["codecs"], shape, problems)
    if shape is None or data_type is None or grid is None or codecs is None:
        return None
    model = ArrayModel(
        shape=shape,
        data_type=data_type,
        fill=data_type.default_fill() if fill is None else fill,
        grid=grid,
        chunk_keys=keys or Default(),
        codecs=codecs,
        attributes=attributes,
        dimension_names=names,
        storage_transformers=transformers,
        zarr_format=3,
        extra=extra,
    )
    # What is missing so far does not matter here: whether the codecs fit the chunks belongs to the same report.
    for chunk_shape in grid.chunk_shapes(shape):
        model.chain(chunk_shape, "$.codecs", problems)
    return model if keys is not None and fill is not None else None


def _parse_codecs(found: Json, shape: tuple[int, ...] | None, problems: Problems) -> tuple[Codec, ...] | None:
    before = len(problems.found)
    codecs = parse_codecs(found, "$.codecs", problems)
    if len(problems.found) > before:
        return None
    if shape is None:
        return codecs
    return tuple(codec.resolved(len(shape)) if isinstance(codec, ArrayCodec) else codec for codec in codecs)


def _parse_shape(document: dict[str, Json], problems: Problems) -> tuple[int, ...] | None:
    found = document.get("shape")
    if "shape" not in document:
        return None
    if not isinstance(found, list) or not all(is_integer(length) and length >= 0 for length in found):
        problems.expected("$.shape", "a list of integers of at least 0", found)
        return None
    if len(found) > MOST_DIMENSIONS:
        problems.add("$.shape", f"has {len(found)} dimensions, more than {MOST_DIMENSIONS}")
        return None
    if any(length >= 2**63 for length in found):
        problems.add("$.shape", "has a length of 2^63 or more")
        return None
    return tuple(found)


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


def _parse_transformers(document: dict[str, Json], problems: Problems) -> tuple[Json, ...]:
    """Storage transformers: none is known to v3, so each must say that it may be ignored (R123)."""
    found = document.get("storage_transformers")
    if found is None:
        return ()
    if not isinstance(found, list):
        problems.expected("$.storage_transformers", "a list", found)
        return ()
    for index, item in enumerate(found):
        path = f"$.storage_transformers[{index}]"
        extension = parse_extension(item, path, problems, kind="storage transformer")
        if extension is None:
            continue
        if extension.must_understand:
            problems.unknown(extension.place, "storage transformer", extension.name, ())
        else:
            problems.warn(path, f"unknown storage transformer `{extension.name}` is ignored, as its metadata allows")
    return tuple(found)


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
        "storage_transformers": list(model.storage_transformers),
    }
    if model.dimension_names is not None:
        document["dimension_names"] = list(model.dimension_names)
    return document | model.extra


# -- groups


def _parse_group(document: dict[str, Json], problems: Problems) -> GroupModel:
    extra = _parse_extra(document, _GROUP_MEMBERS, problems)
    attributes = _parse_attributes(document, problems)
    consolidated = _parse_consolidated(document, extra, problems)
    return GroupModel(attributes=attributes, consolidated=consolidated, zarr_format=3, extra=extra)


def _parse_consolidated(
    document: dict[str, Json], extra: dict[str, Json], problems: Problems
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
    return {path.strip("/"): child for path, child in metadata.items()}


def _dump_group(model: GroupModel) -> dict[str, Json]:
    document: dict[str, Json] = {"zarr_format": 3, "node_type": "group", "attributes": model.attributes}
    if model.consolidated is not None:
        ordered = sorted(model.consolidated, key=lambda path: (path.count("/"), path.casefold(), path))
        document["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": {path: model.consolidated[path] for path in ordered},
        }
    return document | model.extra


# -- both


def _parse_attributes(document: dict[str, Json], problems: Problems) -> dict[str, Json]:
    found = document.get("attributes")
    if found is None:
        return {}
    if not isinstance(found, dict):
        problems.expected("$.attributes", "an object", found)
        return {}
    return found


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
