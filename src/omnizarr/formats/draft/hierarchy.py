"""The drafts of v3, of October 2020 and of December 2022: an entry point at the root, documents below `meta`, chunks
below `data`. What the two have in common, and what tells one hierarchy from another (S1–S12, S38–S49, T1–T5,
T14–T24)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import ChunkKeys, DraftKeys, V2Keys
from omnizarr.codecs import Blosc, Bytes, BytesCodec, Codec, Serializer
from omnizarr.dtypes import DataType
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.formats.contract import Child, Dialect, Documents, Kind, NodeModel, key_below
from omnizarr.formats.document_encoding import JSON, LENIENT_JSON, Encoding, metadata_encodings
from omnizarr.formats.document_fields import (
    dimension_names_attribute,
    parse_attributes,
    unknown_members,
    with_dimension_names_attribute,
)
from omnizarr.formats.document_keys import CORE
from omnizarr.formats.draft.arrays import (
    dimensions_named,
    draft_losses,
    dump_draft_array,
    key_without_dimensions,
    parse_draft_array,
    with_given_fallback,
)
from omnizarr.formats.draft.extensions import parse_extensions
from omnizarr.formats.draft.transformers import given_transformers, with_leading_sharding
from omnizarr.formats.numpy_arrays import new_data_type, new_serializer, settled_objects
from omnizarr.formats.read_options import ReadOptions
from omnizarr.formats.v2 import parse_v2_consolidated
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat

__all__ = ["DraftDialect", "draft_2020", "draft_2022", "parse_entry_point"]

_CORE_2020 = "https://purl.org/zarr/spec/protocol/core/3.0"
_CORE_2022 = "https://purl.org/zarr/spec/core/3.0"

_NAME = re.compile(r"[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*")  # S3, T17: not of periods only
_NAMES = "consists of letters, digits, `-`, `_` and `.`, and not of periods only"
_LONGEST_NAME = 255  # T17; the draft of 2022 dropped it
_GATHERED = "consolidated"  # the group in which zarr-python 2 keeps consolidated metadata (§2.3.2)


@dataclass(frozen=True, slots=True)
class DraftDialect(Dialect):
    """The dialect of one hierarchy of a draft, as its entry point describes it."""

    year: Literal[2020, 2022] = 2020
    rooted: bool = True
    """Whether keys have `root` behind `meta` and `data`, as the draft of 2020 has it."""
    suffix: str = ".json"
    early: bool = False
    """Whether zarrita wrote it before September 2020, when chunks were `data/a/0.0` (§2.3.1)."""
    later: bool = False
    """Whether it is of a later minor version, in which there may be members that nobody knows (S7, T5)."""
    encoded: Encoding = JSON
    entry: tuple[tuple[str, Json], ...] = ()
    """The members of the entry point."""

    implicit_groups: ClassVar[bool] = True
    has_order_member: ClassVar[bool] = True
    index_codecs: ClassVar[tuple[Codec, ...] | None] = (Bytes("little"),)  # S68: no checksum

    def __hash__(self) -> int:
        return hash((self.year, self.rooted, self.suffix))

    @property
    def zarr_format(self) -> ZarrFormat:  # type: ignore[override]
        return "3-draft-2020" if self.year == 2020 else "3-draft-2022"

    @property
    def allows_undefined_fill(self) -> bool:  # type: ignore[override]
        return self.year == 2020  # T12, S24

    @property
    def allows_any_filter(self) -> bool:  # type: ignore[override]
        return self.year == 2020  # by a convention of zarr-python, whose filters are those of v2

    @property
    def encoding(self) -> Encoding:
        return LENIENT_JSON if self.encoded is JSON and self.year == 2020 else self.encoded

    def alternatives(self) -> Sequence[Dialect]:
        # An entry point does not say for certain where nodes lie (A5): the other draft's place, and that of zarrita
        # before October 2020, which put no suffix behind keys, nor any into the entry point.
        if self.early:
            return []
        other = replace(self, rooted=not self.rooted)
        said = self.year == 2022 or "metadata_key_suffix" in dict(self.entry)
        return [other] if said else [replace(self, suffix=""), other]

    # -- the entry point

    def hierarchy_documents(self) -> dict[str, Json]:
        return {"zarr.json": dict(self.entry)}

    def with_hierarchy_options(self, extensions: Any, metadata_encoding: Any) -> Dialect:
        entry = dict(self.entry)
        if extensions is not None:
            entry["extensions"] = list(extensions) if isinstance(extensions, (list, tuple)) else extensions
        if metadata_encoding is not None and metadata_encoding != "json":
            if self.year == 2020:
                raise ArgumentError(
                    "`metadata_encoding`: the draft of 2020 knows JSON only", argument="metadata_encoding"
                )
            entry["metadata_encoding"] = _named_encoding(metadata_encoding)
        problems = Problems()
        found = parse_entry_point(entry, self.read_options, problems)
        if found is not None and found.encoded is JSON and found.suffix != ".json":  # S8: we write nothing else
            problems.expected("$.metadata_encoding.metadata_key_suffix", '".json"', found.suffix)
            found = None
        if found is None:
            raise MetadataError("the hierarchy cannot be created", problems.found)
        return found

    # -- documents

    @property
    def _meta(self) -> str:
        return "meta/root" if self.rooted else "meta"

    @property
    def _data(self) -> str:
        return "data/root" if self.rooted and not self.early else "data"

    def keys(self, path: str) -> tuple[str, ...]:
        if path:
            start = f"{self._meta}/{path}."
        else:
            start = "meta/root." if self.rooted else "meta/"
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
            problems.expected("$", "an object", document)
            return None
        if array not in documents:
            node: NodeModel | None = self._parse_group(document, problems)
        else:
            if group in documents:
                problems.warn("$", "there is a group, too: the array counts")  # A18
            node = parse_draft_array(document, self.year, self.read_options, problems, later=self.later)
            if node is not None and self.early:
                node = replace(node, chunk_keys=V2Keys("."), guessed_keys=False)
        return node if len(problems.found) == before else None

    def _check_names(self, path: str, problems: Problems) -> None:
        """Nobody wrote the draft of 2022 with other names than it allows (S3); old data are not refused for theirs."""
        for name in path.split("/") if path else ():
            if not _NAME.fullmatch(name):
                report = problems.add if self.year == 2022 else problems.warn
                report("$", f"the node is called `{name}`, but a name {_NAMES}")

    def _parse_group(self, document: dict[str, Json], problems: Problems) -> GroupModel:
        if "attributes" not in document:
            problems.add("$.attributes", "is missing")
        extra = unknown_members(document, ("attributes",))
        for member in extra:
            if self.year == 2022 and not self.later and not (member == "extensions" and not extra[member]):  # S30, A8
                problems.add(f"$.{member}", "unknown member that must be understood")
        attributes = parse_attributes(document.get("attributes"), "$.attributes", problems)
        return GroupModel(attributes=attributes, zarr_format=self.zarr_format, extra=extra)

    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        array, group = self.keys(path)
        if isinstance(node, GroupModel):
            return {group: {"attributes": node.attributes} | node.extra}
        if not self.early:
            return {array: dump_draft_array(node, self.year)}
        document = dump_draft_array(replace(node, chunk_keys=DraftKeys(".")), self.year)
        del document["chunk_grid"]["separator"]
        return {array: document}

    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        if isinstance(node, GroupModel):
            return []
        if self.early and node.chunk_keys != V2Keys("."):
            return ["the chunks of this hierarchy, of before September 2020, lie under keys such as `0.0`"]
        return draft_losses(replace(node, chunk_keys=DraftKeys(".")) if self.early else node, self.year)

    # -- consolidated metadata, as zarr-python 2 keeps it

    def consolidated_key(self, path: str) -> str | None:
        return f"{self._meta}/{_GATHERED}/.zmetadata" if self.year == 2020 and not path else None

    def parse_consolidated(self, path: str, document: Json, problems: Problems) -> dict[str, Json] | None:
        return parse_v2_consolidated(document, problems)

    def dump_consolidated(self, path: str, documents: Documents) -> Json:
        everything = {**documents, **self.hierarchy_documents()}
        return {"zarr_consolidated_format": 1, "metadata": {key: everything[key] for key in sorted(everything)}}

    def consolidated_groups(self, path: str) -> Mapping[str, GroupModel]:
        return {_GATHERED: GroupModel(zarr_format=self.zarr_format)}

    # -- the hierarchy

    def check_path(self, path: str, kind: Kind) -> None:
        for name in path.split("/") if path else ():
            if not _NAME.fullmatch(name):
                reason = _NAMES
            elif self.year == 2020 and len(name) > _LONGEST_NAME:
                reason = f"has at most {_LONGEST_NAME} characters"
            else:
                continue
            raise ArgumentError(
                f"`{path}` cannot be created: in the drafts of v3 the name of a node {reason}", argument="path"
            )

    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        start = len(self.listing_prefix(path))
        # Prefixes are groups that are implied by what is below.
        found = {prefix[start:-1]: Child(prefix[start:-1], "group", ()) for prefix in listing[1]}
        endings: tuple[tuple[str, Kind], ...] = ((f".group{self.suffix}", "group"), (f".array{self.suffix}", "array"))
        for ending, kind in endings:  # arrays last: they count, if there is both (A18)
            for key in listing[0]:
                name = key[start:].removesuffix(ending)
                if name and len(name) < len(key) - start:
                    others = found[name].keys or () if name in found else ()
                    found[name] = Child(name, kind, (*others, key))
        return list(found.values())

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
            "zarr-python 2 forgets the shards of an array that it resizes, and some programs wrote other numbers of "
            "chunks than their shards have: `chunks_per_shard` says it when the array is opened"
        )

    # -- new arrays

    def data_type(self, dtype: Any) -> DataType:
        return new_data_type(dtype)

    def serializer(self, dtype: Any) -> Serializer | None:
        return new_serializer(dtype)

    def chunk_keys(self, value: Any) -> ChunkKeys:
        if self.early and value in (None, "."):
            return V2Keys(".")
        if value is None:
            return DraftKeys("/")
        if isinstance(value, dict):
            configuration = value.get("configuration", value)
            value = configuration.get("separator", "/") if isinstance(configuration, dict) else None
        if isinstance(value, DraftKeys):
            return value
        if isinstance(value, str) and value in ("/", "."):
            return DraftKeys(value)
        raise ArgumentError(
            f"`chunk_key_encoding`: the drafts know the separators `/` and `.`, found {value!r}",
            argument="chunk_key_encoding",
        )

    def default_compressors(self, data_type: DataType) -> tuple[BytesCodec, ...]:
        if self.year == 2020:
            return Dialect.default_compressors(self, data_type)
        size = data_type.dtype.itemsize  # and no plain zstd, which the draft does not know
        return (Blosc("zstd", 1, "shuffle" if size > 1 else "noshuffle", min(255, size)),)

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        transformers = given_transformers(model.storage_transformers, model.shape, self.year)
        model = with_leading_sharding(replace(model, storage_transformers=transformers))
        if not model.shape and not self.early:
            model = replace(model, chunk_keys=key_without_dimensions(model.chunk_keys, self.year))
        return with_given_fallback(with_dimension_names_attribute(settled_objects(model)), self.year)

    def dimension_names(self, model: ArrayModel) -> tuple[str | None, ...] | None:
        later = dimensions_named(model, model.extra.get("dimension_names"))
        return dimension_names_attribute(model) if later is None else later


def draft_2020() -> DraftDialect:
    """A new hierarchy of the draft of October 2020."""
    entry: dict[str, Json] = {
        "zarr_format": _CORE_2020,
        "metadata_encoding": _CORE_2020,
        "metadata_key_suffix": ".json",
        "extensions": [],
    }
    return DraftDialect(year=2020, entry=tuple(entry.items()))


def draft_2022() -> DraftDialect:
    """A new hierarchy of the draft of December 2022."""
    entry: dict[str, Json] = {
        "zarr_format": _CORE_2022,
        "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
        "extensions": [],
    }
    return DraftDialect(year=2022, rooted=False, entry=tuple(entry.items()))


def parse_entry_point(document: Json, read_options: ReadOptions, problems: Problems) -> DraftDialect | None:
    """The dialect of the hierarchy that has this entry point; None, and everything that is wrong, if there is none."""
    before = len(problems.found)
    version = CORE.sub("", document["zarr_format"]).rstrip("/")
    match = re.fullmatch(r"3\.(\d+)", version)
    if match is None:
        problems.expected("$.zarr_format", "version 3 of the core, such as 3.0", version)  # S7, T5
    later = match is not None and match[1].strip("0") != ""
    encoding = document.get("metadata_encoding")
    # The address alone does not tell: there are hierarchies of 2020 with that of 2022 (A5).
    year: Literal[2020, 2022] = 2022 if isinstance(encoding, dict) else 2020
    early = encoding == "application/json"
    encoded: Encoding = JSON
    if year == 2022:
        suffix, encoded = _parse_encoding(encoding, problems)
    else:
        suffix = document.get("metadata_key_suffix", ".json")  # T3
        if early:
            suffix = ""
        elif encoding not in (_CORE_2020, _CORE_2022, document["zarr_format"]):  # T2
            problems.expected("$.metadata_encoding", f'"{_CORE_2020}"', encoding)
        if not _is_suffix(suffix):
            problems.expected("$.metadata_key_suffix", "the end of a key", suffix)
    if "extensions" in document:
        parse_extensions(document["extensions"], "$.extensions", problems)
    elif year == 2022:
        problems.add("$.extensions", "is missing")
    for member in unknown_members(document, ("zarr_format", "metadata_encoding", "metadata_key_suffix", "extensions")):
        if not later and year == 2022:
            problems.warn(f"$.{member}", "unknown member")  # A8
    if len(problems.found) > before:
        return None
    return DraftDialect(
        read_options=read_options,
        year=year,
        rooted=year == 2020,
        suffix=suffix,
        early=early,
        later=later,
        encoded=encoded,
        entry=tuple(document.items()),
    )


def _is_suffix(found: Json) -> bool:
    return isinstance(found, str) and re.fullmatch(r"[A-Za-z0-9._-]*", found) is not None


def _parse_encoding(found: dict[str, Json], problems: Problems) -> tuple[Json, Encoding]:
    """The member `metadata_encoding` of the draft of 2022 (S8, S9)."""
    suffix = found.get("metadata_key_suffix", ".json" if found.get("type") == "json" else None)
    if not _is_suffix(suffix):
        problems.expected("$.metadata_encoding.metadata_key_suffix", "the end of a key", suffix)
    if "extension" not in found:
        if found.get("type") != "json":
            problems.expected("$.metadata_encoding.type", '"json"', found.get("type"))
        return suffix, JSON
    if not isinstance(found.get("type"), str):
        problems.expected("$.metadata_encoding.type", "text", found.get("type"))
    uri = found["extension"]
    encoding = metadata_encodings.get(uri) if isinstance(uri, str) else None
    if encoding is None:
        problems.unknown("$.metadata_encoding.extension", "metadata encoding", str(uri), metadata_encodings.names())
        return suffix, JSON
    return suffix, encoding


def _named_encoding(given: Any) -> Json:
    """The member for what a user gives: an encoding, its URI, or the member itself."""
    if isinstance(given, dict):
        return given
    encoding = given if isinstance(given, Encoding) else metadata_encodings.get(str(given))
    if encoding is None:
        raise ArgumentError(
            f"`metadata_encoding`: {given!r} is not registered",
            argument="metadata_encoding",
            hint="`omnizarr.register_metadata_encoding` registers one",
        )
    return {"extension": encoding.uri, "type": encoding.type, "metadata_key_suffix": encoding.suffix}
