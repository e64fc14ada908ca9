"""`GroupMetadata` and `ConsolidatedMetadata`: what the documents of groups say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from omnizarr.compat.zarr.abc.metadata import Metadata
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype
from omnizarr.compat.zarr.core.common import ZARR_JSON, ZARRAY_JSON, ZATTRS_JSON, ZGROUP_JSON, ZMETADATA_V2_JSON
from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.core.metadata.v2 import ArrayV2Metadata
from omnizarr.compat.zarr.core.metadata.v3 import ArrayV3Metadata
from omnizarr.compat.zarr.errors import MetadataValidationError, NodeTypeValidationError

__all__ = ["ConsolidatedMetadata", "GroupMetadata", "is_extra_field"]


def is_extra_field(value: object) -> bool:
    """Whether a member of a document may be ignored by readers that do not know it."""
    return isinstance(value, Mapping) and value.get("must_understand") is False


@dataclass(frozen=True)
class ConsolidatedMetadata:
    """The metadata of the members of a group, by name. Those of its groups hold the metadata of their own members."""

    metadata: dict[str, Any] = field(default_factory=dict)
    kind: Literal["inline"] = "inline"
    must_understand: Literal[False] = False

    @classmethod
    def from_flat(cls, nodes: Mapping[str, Any]) -> Self:
        """Of the metadata of all nodes below a group, by path."""
        groups: dict[str, dict[str, Any]] = {"": {}}
        for path, metadata in sorted(nodes.items(), key=lambda item: item[0].count("/")):
            if isinstance(metadata, GroupMetadata):
                groups[path] = {}
                metadata = replace(metadata, consolidated_metadata=cls(groups[path]))
            above, _, name = path.rpartition("/")
            if above in groups:
                groups[above][name] = metadata
        return cls(groups[""])

    @property
    def flattened_metadata(self) -> dict[str, Any]:
        """The metadata of all nodes below the group, by path."""
        return dict(self._flat(""))

    def _flat(self, prefix: str) -> Iterator[tuple[str, Any]]:
        for name, metadata in self.metadata.items():
            path = prefix + name
            if isinstance(metadata, GroupMetadata):
                below = metadata.consolidated_metadata
                yield path, replace(metadata, consolidated_metadata=ConsolidatedMetadata())
                if below is not None:
                    yield from below._flat(f"{path}/")
            else:
                yield path, metadata

    def to_dict(self) -> dict[str, Any]:
        """The member `consolidated_metadata` of a document: all nodes below the group, by path."""
        nodes = sorted(self.flattened_metadata.items(), key=lambda item: (item[0].count("/"), item[0].casefold()))
        return {
            "kind": self.kind,
            "must_understand": self.must_understand,
            "metadata": {path: metadata.to_dict() for path, metadata in nodes},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, path: str | None = None) -> Self:
        """Of the member `consolidated_metadata` of a document."""
        if data.get("kind") != "inline":
            raise ValueError(f"Consolidated metadata kind='{data.get('kind')}' is not supported.")
        documents = data.get("metadata")
        if not isinstance(documents, dict):
            raise TypeError(f"Unexpected type for 'metadata': {type(documents)}")
        nodes = {}
        for name, document in documents.items():
            if not isinstance(document, dict):
                raise TypeError(f"Invalid value for metadata items. key='{name}', type='{type(document).__name__}'")
            kind: Any = GroupMetadata
            if document["zarr_format"] == 2:
                kind = ArrayV2Metadata if "shape" in document else GroupMetadata
            elif document.get("node_type") == "array":
                kind = ArrayV3Metadata
            nodes[name] = kind.from_dict(document)
        return cls.from_flat(nodes)


@dataclass(frozen=True)
class GroupMetadata(Metadata):
    """What the document of a group says."""

    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: Any = 3
    consolidated_metadata: ConsolidatedMetadata | None = None
    extra_fields: dict[str, Any] = field(default_factory=dict)
    node_type: ClassVar[Literal["group"]] = "group"

    def __post_init__(self) -> None:
        if self.attributes is None:
            object.__setattr__(self, "attributes", {})
        if self.zarr_format == 2 and self.extra_fields:
            raise ValueError("Invalid extra fields. Zarr format 2 group metadata does not support extra fields.")
        reserved = sorted({"attributes", "consolidated_metadata", "node_type", "zarr_format"} & set(self.extra_fields))
        if reserved:
            raise ValueError(
                f"Invalid extra fields. The following keys: {reserved} are invalid because they collide with keys "
                "reserved for use by the group metadata document."
            )
        invalid = [name for name, value in self.extra_fields.items() if not is_extra_field(value)]
        if invalid:
            raise MetadataValidationError(
                f"Got a Zarr V3 metadata document with the following disallowed extra fields: {sorted(invalid)}. "
                'Extra fields are not allowed unless they are objects with `"must_understand": false`.'
            )

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, path: str | None = None) -> Self:
        """What a document says. v2 documents have no other members; those of v3 are kept."""
        document = dict(data)
        node_type = document.pop("node_type", None)
        if node_type not in ("group", None):
            raise NodeTypeValidationError(
                f"Invalid value for 'node_type'. Expected 'group' or None. Got {node_type!r}."
            )
        consolidated = document.pop("consolidated_metadata", None)
        known = {name: document.pop(name) for name in ("attributes", "zarr_format") if name in document}
        return cls(
            **known,
            consolidated_metadata=ConsolidatedMetadata.from_dict(consolidated) if consolidated else None,
            extra_fields=document if known.get("zarr_format") == 3 else {},
        )

    def to_dict(self) -> dict[str, Any]:
        document = {"attributes": self.attributes, "zarr_format": self.zarr_format, "node_type": "group"}
        document |= self.extra_fields
        if self.consolidated_metadata is not None:
            document["consolidated_metadata"] = self.consolidated_metadata.to_dict()
        return document

    def to_buffer_dict(self, prototype: Any = None) -> dict[str, Any]:
        """The documents as buffers, by file name."""
        make = (prototype or default_buffer_prototype()).buffer.from_bytes

        def text(document: Any, indent: Any) -> Any:
            return make(json.dumps(document, indent=indent).encode())

        indent = config.get("json_indent")
        if self.zarr_format == 3:
            return {ZARR_JSON: text(self.to_dict(), indent)}
        group: dict[str, Any] = {"zarr_format": self.zarr_format}
        documents = {ZGROUP_JSON: text(group, indent), ZATTRS_JSON: text(self.attributes, indent)}
        if self.consolidated_metadata is not None:
            all_documents: dict[str, Any] = {ZGROUP_JSON: group, ZATTRS_JSON: self.attributes}
            for path, metadata in self.consolidated_metadata.flattened_metadata.items():
                document = metadata.to_dict()
                all_documents[f"{path}/{ZATTRS_JSON}"] = document.pop("attributes", {})
                if isinstance(metadata, GroupMetadata):
                    all_documents[f"{path}/{ZGROUP_JSON}"] = group
                else:
                    all_documents[f"{path}/{ZARRAY_JSON}"] = document
            consolidated = {"metadata": all_documents, "zarr_consolidated_format": 1}
            documents[ZMETADATA_V2_JSON] = text(consolidated, None)
        return documents
