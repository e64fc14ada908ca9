"""Documents of February 2023, between the drafts and v3 (§1.7): under the keys of v3, with the content of the draft of
2022. A change of such a document converts it to v3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import DefaultKeys, DraftKeys
from omnizarr.formats.contract import Documents, Kind, NodeModel
from omnizarr.formats.document_keys import prerelease_kind
from omnizarr.formats.document_members import parse_attributes
from omnizarr.formats.draft.arrays import parse_dimension_names, parse_draft_array
from omnizarr.formats.draft.extensions import parse_extensions
from omnizarr.formats.v3 import V3Dialect
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.transformers import ShardingTransformer

__all__ = ["V3PrereleaseDialect"]


@dataclass(frozen=True, slots=True)
class V3PrereleaseDialect(V3Dialect):
    """Dialect of a v3 hierarchy in which at least one document is of that time."""

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        kind: Any = prerelease_kind(documents.get(self.keys(path)[0]))
        return kind or V3Dialect.node_type(self, path, documents)

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        document = documents[self.keys(path)[0]]
        kind = prerelease_kind(document)
        if kind is None:
            return V3Dialect.parse(self, path, documents, problems)
        before = len(problems.found)
        problems.warn("$", "a draft of February 2023, which any change converts to Zarr v3", rule="§1.7")
        if kind == "array":
            return self._parse_array(document, problems)
        parse_extensions(document.get("extensions", []), "$.extensions", problems)
        group = GroupModel(attributes=parse_attributes(document.get("attributes"), "$.attributes", problems))
        return group if len(problems.found) == before else None

    def _parse_array(self, document: dict[str, Json], problems: Problems) -> ArrayModel | None:
        not_in_draft = ("zarr_format", "node_type", "dimension_names")
        draft = {"chunk_memory_layout": "C", "extensions": [], "attributes": {}} | {
            name: value for name, value in document.items() if name not in not_in_draft
        }
        grid = document.get("chunk_grid")
        if isinstance(grid, dict) and isinstance(grid.get("configuration"), dict):
            draft["chunk_grid"] = {"type": grid.get("name"), **grid["configuration"]}
        draft["codecs"] = _map_objects(_draft_codec, document.get("codecs", []))
        draft["storage_transformers"] = _map_objects(_draft_transformer, document.get("storage_transformers", []))
        model = parse_draft_array(draft, 2022, self.read_options, problems)
        if model is None:
            return None
        assert isinstance(model.chunk_keys, DraftKeys)
        return replace(
            model,
            chunk_keys=DefaultKeys(model.chunk_keys.separator),
            dimension_names=parse_dimension_names(model, document.get("dimension_names")),
            zarr_format=3,
            extensions=(),
            fallback=None,
            verbatim={},
        )


def _map_objects(convert: Any, items: Json) -> Json:
    return [convert(item) if isinstance(item, dict) else item for item in items] if isinstance(items, list) else items


def _draft_codec(item: dict[str, Json]) -> dict[str, Json]:
    return {"type": item["name"], **item} if "name" in item else item


def _draft_transformer(item: dict[str, Json]) -> dict[str, Json]:
    """The last of these documents name storage transformers as v3 does."""
    known = {"extension": ShardingTransformer.name, "type": ShardingTransformer.type}
    return known | item if item.get("name") == "sharding" else item
