"""The dialect of the drafts of v3: an entry point at the root, documents below `meta`, chunks below `data` (S1–S12,
S38–S49, T1–T5, T14–T24)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from omnizarr._json import Json, Problems, describe
from omnizarr.chunk_keys import ChunkKeys, DraftKeys, V2Keys
from omnizarr.codecs import Blosc, Bytes, BytesCodec, Codec, Serializer
from omnizarr.dtypes import DataType, same_bits
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel, key_below
from omnizarr.formats.document_encoding import JSON, LENIENT_JSON, Encoding
from omnizarr.formats.document_members import (
    dimension_names_attribute,
    parse_attributes,
    unknown_members,
    with_dimension_names_attribute,
)
from omnizarr.formats.draft.arrays import (
    MEMBERS,
    draft_losses,
    dump_draft_array,
    normalize_draft_codecs,
    parse_dimension_names,
    parse_draft_array,
    scalar_chunk_key,
    with_fallback_member,
)
from omnizarr.formats.draft.codecs import codec_on_bytes
from omnizarr.formats.draft.conventions import ZARR_PYTHON_2, uses_conventions
from omnizarr.formats.draft.entry_point import new_entry_point, read_entry_point, with_metadata_encoding
from omnizarr.formats.draft.rules import RULES_2020, RULES_2022
from omnizarr.formats.draft.transformers import with_leading_sharding
from omnizarr.formats.read_options import ReadOptions
from omnizarr.formats.rule_table import RuleTable
from omnizarr.formats.v1_v2_dump import new_data_type, new_serializer, normalize_objects
from omnizarr.formats.v2 import parse_v2_consolidated
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat

__all__ = ["DraftDialect", "draft_2020", "draft_2022", "parse_entry_point"]

_NAME = re.compile(r"[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*")  # S3, T17: not of periods only
_NAME_RULE = "consists of letters, digits, `-`, `_` and `.`, and not of periods only"
_MAX_NAME_LENGTH = 255  # T17; the draft of 2022 dropped it
_CONSOLIDATED_GROUP = "consolidated"  # the group of zarr-python 2 for consolidated metadata (§2.3.2)
_COMPARED = ("shape", "grid", "data_type", "codecs", "storage_transformers")
"""The members of the model that determine the elements, besides the fill value."""


@dataclass(frozen=True, slots=True)
class DraftDialect(Dialect):
    """Dialect of one hierarchy of a draft, as its entry point describes it."""

    year: Literal[2020, 2022] = 2020
    has_root_prefix: bool = True
    """Whether keys begin with `meta/root` and `data/root`, as in the draft of 2020."""
    suffix: str = ".json"
    early_zarrita: bool = False
    """Whether zarrita wrote it before September 2020, with chunk keys such as `data/a/0.0` (§2.3.1)."""
    later_version: bool = False
    """Whether it has a later minor version, which may have unknown members (S7, T5)."""
    zarr_python: bool = False
    """Whether new arrays of the draft of 2020 may follow the conventions of zarr-python 2."""
    document_encoding: Encoding = JSON
    entry_point: tuple[tuple[str, Json], ...] = ()
    """The members of the entry point."""

    implicit_groups: ClassVar[bool] = True
    separates_documents: ClassVar[bool] = True
    has_order_member: ClassVar[bool] = True
    index_codecs: ClassVar[tuple[Codec, ...] | None] = (Bytes("little"),)  # S68: no checksum

    def __hash__(self) -> int:
        return hash((self.year, self.has_root_prefix, self.suffix))

    @property
    def zarr_format(self) -> ZarrFormat:  # type: ignore[override]
        return "3-draft-2020" if self.year == 2020 else "3-draft-2022"

    @property
    def rules(self) -> RuleTable:  # type: ignore[override]
        return RULES_2020 if self.year == 2020 else RULES_2022

    @property
    def allows_undefined_fill(self) -> bool:  # type: ignore[override]
        return self.year == 2020  # T12, S24

    @property
    def allows_any_filter(self) -> bool:  # type: ignore[override]
        return self.year == 2020  # zarr-python 2 stores the filters of v2

    @property
    def encoding(self) -> Encoding:
        return LENIENT_JSON if self.document_encoding is JSON and self.year == 2020 else self.document_encoding

    def with_options_of(self, other: Dialect) -> Dialect:
        zarr_python = self.zarr_python or (isinstance(other, DraftDialect) and other.zarr_python)
        return replace(self, read_options=other.read_options, zarr_python=zarr_python)

    def with_conventions(self, conventions: str) -> Dialect:
        if self.year == 2022 or not isinstance(conventions, str) or conventions != ZARR_PYTHON_2:
            expected = "has no conventions" if self.year == 2022 else f"has the conventions {ZARR_PYTHON_2!r}"
            raise ArgumentError(
                f"`conventions`: {self.format_name} {expected}, found {conventions!r}", argument="conventions"
            )
        return replace(self, zarr_python=True)

    def conventions_of(self, node: NodeModel) -> str | None:
        if self.year == 2022 or self.early_zarrita or not isinstance(node, ArrayModel):
            return None
        keys = scalar_chunk_key(DraftKeys(), zarr_python=True).scalar
        follows = not node.shape and isinstance(node.chunk_keys, DraftKeys) and node.chunk_keys.scalar == keys
        needs = draft_losses(replace(node, verbatim={}), 2020) and not draft_losses(node, 2020, zarr_python=True)
        return ZARR_PYTHON_2 if follows or needs else None

    def conventions_for(self, node: NodeModel) -> str | None:
        has_other_key = self.year == 2020 and not self.early_zarrita and isinstance(node, ArrayModel) and not node.shape
        return ZARR_PYTHON_2 if has_other_key else self.conventions_of(node)

    def uses_conventions(self, document: Json) -> bool:
        return self.year == 2020 and uses_conventions(document)

    def alternatives(self) -> Sequence[Dialect]:
        # An entry point does not determine the keys of nodes (A5): writers also used those of the other draft. Before
        # October 2020, zarrita wrote no key suffix, neither in keys nor in the entry point.
        if self.early_zarrita:
            return []
        other = replace(self, has_root_prefix=not self.has_root_prefix)
        has_suffix = self.year == 2022 or "metadata_key_suffix" in dict(self.entry_point)
        return [other] if has_suffix else [replace(self, suffix=""), other]

    # -- the entry point

    def hierarchy_documents(self) -> dict[str, Json]:
        return {"zarr.json": dict(self.entry_point)}

    def hierarchy_problems(self) -> Problems:
        from omnizarr.formats.strictness.drafts_n5 import check_draft_entry_point  # lazy import: only to validate

        problems, document = Problems(), dict(self.entry_point)
        if read_entry_point(document, problems) is not None:
            check_draft_entry_point(document, self.year, problems)
        return problems

    def with_hierarchy_options(self, extensions: Any, metadata_encoding: Any) -> Dialect:
        entry = dict(self.entry_point)
        if extensions is not None:
            entry["extensions"] = list(extensions) if isinstance(extensions, (list, tuple)) else extensions
        if metadata_encoding is not None and metadata_encoding != "json":
            entry = with_metadata_encoding(entry, metadata_encoding, self.year)
        problems = Problems()
        dialect = parse_entry_point(entry, self.read_options, problems)
        if dialect is not None and dialect.document_encoding is JSON and dialect.suffix != ".json":  # S8
            problems.expected("$.metadata_encoding.metadata_key_suffix", '".json"', dialect.suffix, rule="S8")
            dialect = None
        if dialect is None:
            raise MetadataError("the hierarchy cannot be created", problems.found)
        return dialect

    # -- documents

    @property
    def _meta(self) -> str:
        return "meta/root" if self.has_root_prefix else "meta"

    @property
    def _data(self) -> str:
        return "data/root" if self.has_root_prefix and not self.early_zarrita else "data"

    def keys(self, path: str) -> tuple[str, ...]:
        if path:
            start = f"{self._meta}/{path}."
        else:
            start = "meta/root." if self.has_root_prefix else "meta/"
        return f"{start}array{self.suffix}", f"{start}group{self.suffix}"

    def node_type(self, path: str, documents: Documents) -> Kind | None:
        array, group = self.keys(path)
        return "array" if array in documents else "group" if group in documents else None

    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        before = len(problems.found)
        array, group = self.keys(path)
        document = documents.get(array, documents.get(group))
        self._check_names(path, problems)
        if not isinstance(document, dict):
            problems.expected("$", "an object", document, rule="S13")
            return None
        if array not in documents:
            node: NodeModel | None = self._parse_group(document, problems)
        else:
            if group in documents:
                problems.warn("$", "there is also a group document, which is ignored", rule="A18")
            node = parse_draft_array(document, self.year, self.read_options, problems, allow_unknown=self.later_version)
            if node is not None and self.early_zarrita:
                node = replace(node, chunk_keys=V2Keys("."), guessed_keys=False)
        return node if len(problems.found) == before else None

    def ignores_path(self, path: str) -> bool:
        return not path or all(_NAME.fullmatch(name) for name in path.split("/"))

    def check_strictly(self, path: str, documents: Documents, node: NodeModel | None, problems: Problems) -> None:
        from omnizarr.formats.strictness import drafts_n5 as strictness  # lazy import: only to validate

        array, group = (documents.get(key) for key in self.keys(path))
        if path:
            strictness.check_draft_name(path.rpartition("/")[2], self.year, problems)
        if isinstance(array, dict):
            strictness.check_draft_array(array, MEMBERS[self.year], self.year, problems)
        elif isinstance(group, dict):
            strictness.check_draft_group(group, self.year, problems)

    def _check_names(self, path: str, problems: Problems) -> None:
        """Reports invalid names: as problems in the draft of 2022, which has no such data (S3), as warnings in 2020."""
        for name in path.split("/") if path else ():
            if not _NAME.fullmatch(name):
                report = problems.add if self.year == 2022 else problems.warn
                report("$", f"the node has the name `{name}`, but a name {_NAME_RULE}", rule="S3")

    def _parse_group(self, document: dict[str, Json], problems: Problems) -> GroupModel:
        if "attributes" not in document:
            problems.add("$.attributes", "is missing", rule="S30")
        extra = unknown_members(document, ("attributes",))
        for member in extra:
            if (
                self.year == 2022 and not self.later_version and not (member == "extensions" and not extra[member])
            ):  # S30, A8
                problems.add(f"$.{member}", "unknown member that must be understood", rule="S30")
        attributes = parse_attributes(document.get("attributes"), "$.attributes", problems)
        return GroupModel(attributes=attributes, zarr_format=self.zarr_format, extra=extra)

    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        array, group = self.keys(path)
        if isinstance(node, GroupModel):
            return {group: {"attributes": node.attributes} | node.extra}
        if not self.early_zarrita:
            return {array: dump_draft_array(node, self.year)}
        document = dump_draft_array(replace(node, chunk_keys=DraftKeys(".")), self.year)
        del document["chunk_grid"]["separator"]
        return {array: document}

    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        if isinstance(node, GroupModel):
            return []
        if self.early_zarrita and node.chunk_keys != V2Keys("."):
            return ["this hierarchy, from before September 2020, has only chunk keys such as `0.0`"]
        model = replace(node, chunk_keys=DraftKeys(".")) if self.early_zarrita else node
        losses = draft_losses(model, self.year, zarr_python=self.zarr_python)
        return losses or self._misreadings(path, node)

    def _misreadings(self, path: str, node: ArrayModel) -> Sequence[str]:
        """What readers would misunderstand in the document of an array: parses it and compares the result. Protects
        stored arrays from mistakes of extensions, whose documents could not be opened or would be read wrongly."""
        problems = Problems()
        reparsed = self.parse(path, self.dump(path, node), problems)
        if not isinstance(reparsed, ArrayModel):
            return [
                f"its document could not be opened: {problem.path}: {problem.message}" for problem in problems.found
            ]
        members = [name for name in _COMPARED if getattr(reparsed, name) != getattr(node, name)]
        if (reparsed.fill is None) != (node.fill is None) or not same_bits(reparsed.filler, node.filler):
            members.append("fill")
        return [f"readers of its document would find other {name.replace('_', ' ')}" for name in members]

    # -- consolidated metadata, by the convention of zarr-python 2

    def consolidated_key(self, path: str) -> str | None:
        return f"{self._meta}/{_CONSOLIDATED_GROUP}/.zmetadata" if self.year == 2020 and not path else None

    def parse_consolidated(self, path: str, document: Json, problems: Problems) -> dict[str, Json] | None:
        return parse_v2_consolidated(document, problems)

    def dump_consolidated(self, path: str, documents: Documents) -> Json:
        everything = {**documents, **self.hierarchy_documents()}
        return {"zarr_consolidated_format": 1, "metadata": {key: everything[key] for key in sorted(everything)}}

    def consolidated_groups(self, path: str) -> Mapping[str, GroupModel]:
        return {_CONSOLIDATED_GROUP: GroupModel(zarr_format=self.zarr_format)}

    # -- the hierarchy

    def check_path(self, path: str, kind: Kind) -> None:
        for name in path.split("/") if path else ():
            if not _NAME.fullmatch(name):
                reason = _NAME_RULE
            elif self.year == 2020 and len(name) > _MAX_NAME_LENGTH:
                reason = f"has at most {_MAX_NAME_LENGTH} characters"
            else:
                continue
            raise ArgumentError(
                f"`{path}` cannot be created: in the drafts of v3 the name of a node {reason}", argument="path"
            )

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        start = len(self.listing_prefix(path))
        # A prefix is an implicit group.
        children = {prefix[start:-1]: Child(prefix[start:-1], "group", ()) for prefix in listing[1]}
        endings: tuple[tuple[str, Kind], ...] = ((f".group{self.suffix}", "group"), (f".array{self.suffix}", "array"))
        for ending, kind in endings:  # arrays last: an array takes precedence over a group (A18)
            for key in listing[0]:
                name = key[start:].removesuffix(ending)
                if name and len(name) < len(key) - start:
                    keys = children[name].keys or () if name in children else ()
                    children[name] = Child(name, kind, (*keys, key))
        return list(children.values())

    def listing_prefix(self, path: str) -> str:
        return f"{self._meta}/{key_below(path, '')}"

    def prefixes(self, path: str) -> list[str]:
        return [self.listing_prefix(path), self.chunk_prefix(path)]

    def chunk_prefix(self, path: str) -> str:
        return f"{self._data}/{key_below(path, '')}"

    def decode_hint(self) -> str | None:
        if self.year == 2022 or self.read_options.chunks_per_shard is not None:
            return None
        return (
            "zarr-python 2 drops the sharding of an array that it resizes, and some writers store wrong numbers of "
            "chunks per shard: open the array with `chunks_per_shard`"
        )

    # -- new arrays

    def data_type(self, dtype: Any) -> DataType:
        return new_data_type(dtype)

    def serializer(self, dtype: Any) -> Serializer | None:
        return new_serializer(dtype)

    def chunk_keys(self, value: Any) -> ChunkKeys:
        if self.early_zarrita and value in (None, "."):
            return V2Keys(".")
        if value is None:
            return DraftKeys("/")
        if isinstance(value, dict) and value.get("name", DraftKeys.name) == DraftKeys.name:
            configuration = value.get("configuration", value)
            value = configuration.get("separator", "/") if isinstance(configuration, dict) else value
        if isinstance(value, DraftKeys):
            return value
        if isinstance(value, str) and value in ("/", "."):
            return DraftKeys(value)
        raise ArgumentError(
            f"`chunk_key_encoding`: expected `/` or `.`, the separators of chunk keys such as `c0/0`, found "
            f"{value if isinstance(value, ChunkKeys) else describe(value)}",
            argument="chunk_key_encoding",
        )

    def codec_on_bytes(self, codec: Codec) -> BytesCodec | None:
        return codec_on_bytes(codec) if self.year == 2022 else None

    def default_compressors(self, data_type: DataType) -> tuple[BytesCodec, ...]:
        if self.year == 2020:
            return Dialect.default_compressors(self, data_type)
        size = data_type.dtype.itemsize  # not zstd alone, which the draft does not have
        return (Blosc("zstd", 1, "shuffle" if size > 1 else "noshuffle", min(255, size)),)

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        model = with_leading_sharding(model)
        if not model.shape and isinstance(model.chunk_keys, DraftKeys):
            model = replace(model, chunk_keys=scalar_chunk_key(model.chunk_keys, zarr_python=self.zarr_python))
        model = normalize_draft_codecs(with_dimension_names_attribute(normalize_objects(model)), self.year)
        return with_fallback_member(model, self.year)

    def dimension_names(self, model: ArrayModel) -> tuple[str | None, ...] | None:
        names = parse_dimension_names(model, model.extra.get("dimension_names"))
        return dimension_names_attribute(model) if names is None else names


def draft_2020() -> DraftDialect:
    """The dialect of a new hierarchy of the draft of October 2020."""
    return DraftDialect(year=2020, entry_point=tuple(new_entry_point(2020).items()))


def draft_2022() -> DraftDialect:
    """The dialect of a new hierarchy of the draft of December 2022."""
    return DraftDialect(year=2022, has_root_prefix=False, entry_point=tuple(new_entry_point(2022).items()))


def parse_entry_point(document: Json, read_options: ReadOptions, problems: Problems) -> DraftDialect | None:
    """The dialect of the hierarchy with this entry point. If it is invalid, adds all problems and returns None."""
    entry_point = read_entry_point(document, problems)
    if entry_point is None:
        return None
    return DraftDialect(
        read_options=read_options,
        year=entry_point.year,
        has_root_prefix=entry_point.year == 2020,
        suffix=entry_point.suffix,
        early_zarrita=entry_point.early_zarrita,
        later_version=entry_point.later_version,
        document_encoding=entry_point.document_encoding,
        entry_point=tuple(document.items()),
    )
