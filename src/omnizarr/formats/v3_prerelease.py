"""Documents of February 2023, between the drafts and version 3 (§1.7): they lie where those of version 3 lie, and say
what the draft of 2022 says. A document that is changed becomes one of version 3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import DefaultKeys, DraftKeys
from omnizarr.formats.contract import Documents, Kind, NodeModel
from omnizarr.formats.document_fields import parse_attributes
from omnizarr.formats.document_keys import prerelease_kind
from omnizarr.formats.draft.arrays import dimensions_named, parse_draft_array
from omnizarr.formats.draft.extensions import parse_extensions
from omnizarr.formats.v3 import V3Dialect
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.transformers import ShardingTransformer

__all__ = ["V3PrereleaseDialect"]


@dataclass(frozen=True, slots=True)
class V3PrereleaseDialect(V3Dialect):
    """The dialect of a hierarchy in which some documents, at least, are of that time."""

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        kind: Any = prerelease_kind(documents.get(self.keys(path)[0]))
        return kind or V3Dialect.node_type(self, path, documents)

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        document = documents[self.keys(path)[0]]
        kind = prerelease_kind(document)
        if kind is None:
            return V3Dialect.parse(self, path, documents, problems)
        before = len(problems.found)
        problems.warn("$", "a draft of February 2023, which becomes a document of version 3 when anything is changed")
        if kind == "array":
            return self._parse_array(document, problems)
        parse_extensions(document.get("extensions", []), "$.extensions", problems)
        group = GroupModel(attributes=parse_attributes(document.get("attributes"), "$.attributes", problems))
        return group if len(problems.found) == before else None

    def _parse_array(self, document: dict[str, Json], problems: Problems) -> ArrayModel | None:
        own = ("zarr_format", "node_type", "dimension_names")
        as_before = {"chunk_memory_layout": "C", "extensions": [], "attributes": {}} | {
            name: value for name, value in document.items() if name not in own
        }
        grid = document.get("chunk_grid")
        if isinstance(grid, dict) and isinstance(grid.get("configuration"), dict):
            as_before["chunk_grid"] = {"type": grid.get("name"), **grid["configuration"]}
        as_before["codecs"] = _each(document.get("codecs", []), _codec)
        as_before["storage_transformers"] = _each(document.get("storage_transformers", []), _transformer)
        model = parse_draft_array(as_before, 2022, self.read_options, problems)
        if model is None:
            return None
        assert isinstance(model.chunk_keys, DraftKeys)
        return replace(
            model,
            chunk_keys=DefaultKeys(model.chunk_keys.separator),
            dimension_names=dimensions_named(model, document.get("dimension_names")),
            zarr_format=3,
            extensions=(),
            fallback=None,
            spelled={},
        )


def _each(found: Json, spelled: Any) -> Json:
    return [spelled(item) if isinstance(item, dict) else item for item in found] if isinstance(found, list) else found


def _codec(item: dict[str, Json]) -> dict[str, Json]:
    return {"type": item["name"], **item} if "name" in item else item


def _transformer(item: dict[str, Json]) -> dict[str, Json]:
    """At last they had names, too."""
    known = {"extension": ShardingTransformer.name, "type": ShardingTransformer.type}
    return known | item if item.get("name") == "sharding" else item
