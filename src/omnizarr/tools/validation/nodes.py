"""The nodes of a hierarchy as `validate` sees them: documents, models and problems, for bad data, too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from omnizarr._json import Json, Problems, utf8_text
from omnizarr.errors import (
    ExtensionError,
    MetadataError,
    MissingDependencyError,
    OmnizarrError,
    Problem,
)
from omnizarr.formats import (
    Dialect,
    NodeModel,
    PossibleNode,
    ReadOptions,
    candidate_keys,
    confirm_node,
    detect,
)
from omnizarr.formats.detect import DetectedNode
from omnizarr.formats.document_encoding import JSON, Encoding
from omnizarr.model import ArrayModel, join_path
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.nodes.metadata.fetch import not_found
from omnizarr.store import Buffer, Store

__all__ = ["CheckedNode", "Hierarchy", "check_documents", "find_hierarchy", "nodes_below"]

_BATCH = 1000  # children whose documents are fetched together


@dataclass(slots=True)
class CheckedNode:
    """A node, readable or not."""

    path: str
    kind: str | None
    documents: dict[str, Json]
    model: NodeModel | None
    problems: Problems = field(default_factory=Problems)
    values: Mapping[str, Buffer] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    """What is wrong with documents that could not be parsed, by key."""
    missing_library: str | None = None

    @property
    def array(self) -> ArrayModel | None:
        return self.model if isinstance(self.model, ArrayModel) else None


@dataclass(slots=True)
class Hierarchy:
    """The hierarchy or node at a location."""

    store: Store
    dialect: Dialect
    top: CheckedNode
    entry_point: Problems
    """Problems of the document of the hierarchy itself, which only the drafts have."""
    other_generation: str | None = None


def find_hierarchy(store: Store, path: str, zarr_format: object, read_options: ReadOptions) -> Hierarchy:
    """The hierarchy at `path`. Raises NodeNotFoundError, and MetadataError if not even its generation is known."""
    keys = candidate_keys(path, zarr_format)
    values = _present(document_values(store, keys))
    documents, damaged = _parse(store, values, JSON)
    for key in damaged:
        documents[key] = None
    detection = detect(path, documents, read_options, zarr_format)
    note: str | None = None
    if isinstance(detection, PossibleNode):
        dialect = detection.dialect
        own = _present(document_values(store, detection.keys))
        documents, damaged = _parse(store, own, dialect.encoding)
        values = {**values, **own}
        confirmed = confirm_node(detection, path, documents)
        if isinstance(confirmed, DetectedNode):
            dialect, documents = confirmed.dialect, dict(confirmed.documents)
        else:
            parsed = _group_or_alternative(store, path, dialect)
            if parsed is None:
                raise not_found(store, path, zarr_format)
            dialect, documents, own = parsed
            values = {**values, **own}
    elif detection is None:
        raise _unknown(store, path, zarr_format, damaged)
    else:
        dialect, documents, note = detection.dialect, dict(detection.documents), detection.note
    own_keys = (*dialect.keys(path), *documents)
    own_values = {key: values[key] for key in own_keys if key in values}
    top = check_documents(
        dialect, path, documents, own_values, {key: damaged[key] for key in own_keys if key in damaged}
    )
    return Hierarchy(store, dialect, top, dialect.hierarchy_problems(), note)


def _unknown(store: Store, path: str, zarr_format: object, damaged: Mapping[str, str]) -> OmnizarrError:
    if damaged:
        key, reason = next(iter(damaged.items()))
        return MetadataError(f"the document `{key}` is damaged: {reason}", [Problem("$", reason)])
    return not_found(store, path, zarr_format)


def _group_or_alternative(
    store: Store, path: str, dialect: Dialect
) -> tuple[Dialect, dict[str, Json], dict[str, Buffer]] | None:
    """An implicit group, or the node in the keys of another variant of the same generation (A5)."""
    if not dialect.implicit_groups:
        return None
    for variant in (dialect, *dialect.alternatives()):
        values = _present(document_values(store, variant.keys(path)))
        documents, _ = _parse(store, values, variant.encoding)
        if documents:
            return variant, documents, values
        if store.listable and variant.children(path, store.list_dir(variant.listing_prefix(path))):
            return variant, {}, {}
    return (dialect, {}, {}) if not path and dialect.hierarchy_documents() else None


def nodes_below(hierarchy: Hierarchy) -> Iterator[CheckedNode]:
    """All nodes of a hierarchy, the top first, then level by level."""
    store, dialect = hierarchy.store, hierarchy.dialect
    yield hierarchy.top
    groups = [hierarchy.top.path] if hierarchy.top.kind != "array" else []
    if not store.listable:
        return
    for path in groups:  # it grows
        children = sorted(dialect.children(path, store.list_dir(dialect.listing_prefix(path))))
        for start in range(0, len(children), _BATCH):
            batch = children[start : start + _BATCH]
            keys = {child.name: child.keys or dialect.keys(join_path(path, child.name)) for child in batch}
            values = _values(store, [key for names in keys.values() for key in names])
            for child in batch:
                below = join_path(path, child.name)
                own = {key: values[key] for key in keys[child.name] if key in values}
                node = _child(store, dialect, below, own)
                if node is None:
                    continue
                yield node
                if node.kind != "array":
                    groups.append(below)


def _child(store: Store, dialect: Dialect, path: str, values: dict[str, Buffer]) -> CheckedNode | None:
    documents, damaged = _parse(store, values, dialect.encoding)
    identifying = dialect.identifying_keys(path)
    if not any(key in documents or key in damaged for key in identifying):
        if dialect.implicit_groups:
            return CheckedNode(path, "group", {}, dialect.new_group(implicit=True))
        return CheckedNode(path, "directory", {}, None)
    return check_documents(dialect, path, documents, values, damaged)


def check_documents(
    dialect: Dialect, path: str, documents: dict[str, Json], values: Mapping[str, Buffer], damaged: dict[str, str]
) -> CheckedNode:
    """The node that these documents describe; `damaged` says what is wrong with those that could not be parsed."""
    documents = {key: document for key, document in documents.items() if key not in damaged}
    node = CheckedNode(path, None, documents, None, values=values, damaged=damaged)
    if any(key in documents for key in dialect.identifying_keys(path)):
        node.kind = dialect.node_type(path, documents)
        try:
            node.model = dialect.parse(path, documents, node.problems)
        except (ExtensionError, MissingDependencyError) as error:
            node.missing_library = str(error)
        present = documents | {key: {} for key in damaged}  # a damaged document is not missing
        dialect.check_strictly(path, present, node.model, node.problems)
    elif not damaged:
        node.kind, node.model = "group", dialect.new_group(implicit=True)
    return node


def _values(store: Store, keys: Sequence[str]) -> dict[str, Buffer]:
    return _present(document_values(store, keys, each=True))


def _present(values: Mapping[str, Buffer | OmnizarrError | None]) -> dict[str, Buffer]:
    present: dict[str, Buffer] = {}
    for key, value in values.items():
        if isinstance(value, OmnizarrError):
            raise value
        if value is not None:
            present[key] = value
    return present


def _parse(store: Store, values: Mapping[str, Buffer], encoding: Encoding) -> tuple[dict[str, Json], dict[str, str]]:
    """The documents, and what is wrong with those that are not JSON."""
    documents: dict[str, Json] = {}
    damaged: dict[str, str] = {}
    for key, value in values.items():
        try:
            documents |= parse_documents(store, {key: value}, encoding)
        except MetadataError as error:
            damaged[key] = error.message.partition(f"{store!r} ")[2] or error.message
    return documents, damaged


def json_oddities(value: Buffer) -> Iterator[tuple[str, str]]:
    """What strict JSON does not allow but parsers accept: (`constant` | `duplicate` | `mark`, what was found)."""
    data = bytes(value)
    if data.startswith(b"\xef\xbb\xbf"):
        yield "mark", "a byte order mark"
    repeated: list[str] = []
    constants: list[str] = []

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        result = dict(items)
        if len(result) < len(items):
            names = [name for name, _ in items]
            repeated.extend(name for name in result if names.count(name) > 1)
        return result

    try:
        json.loads(utf8_text(data), object_pairs_hook=pairs, parse_constant=constants.append)
    except (ValueError, RecursionError):
        return
    yield from (("duplicate", name) for name in repeated)
    yield from (("constant", name) for name in dict.fromkeys(constants))
