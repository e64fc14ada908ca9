"""The contract of a dialect: how one generation of Zarr writes the model, and where it keeps what in a hierarchy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.dtypes import DataType, Scalar, data_type_of
from omnizarr.errors import ArgumentError
from omnizarr.formats.document_encoding import JSON, Encoding
from omnizarr.formats.read_options import DEFAULT_READ_OPTIONS, ReadOptions
from omnizarr.formats.rule_table import RuleTable
from omnizarr.model import UNFINISHED_RESIZE, ArrayModel, GroupModel, ZarrFormat

if TYPE_CHECKING:
    from omnizarr.codecs import BytesCodec, Codec, Serializer

__all__ = ["Child", "Dialect", "Documents", "Kind", "NodeModel", "ancestor_paths", "key_below"]

NodeModel: TypeAlias = ArrayModel | GroupModel
Kind: TypeAlias = Literal["array", "group"]

Documents: TypeAlias = Mapping[str, Json]
"""Parsed documents by store key."""


class Child(NamedTuple):
    """A possible child of a group, as a listing shows it. `kind` and `keys` are None if the listing does not tell."""

    name: str
    kind: Kind | None = None
    keys: tuple[str, ...] | None = None
    """The keys of its documents."""


@dataclass(frozen=True, slots=True)
class Dialect(ABC):
    """One generation of the format, for one hierarchy. It does no I/O: documents and listings in, models and keys
    out."""

    read_options: ReadOptions = DEFAULT_READ_OPTIONS
    """The options with which the caller opened the hierarchy."""

    zarr_format: ClassVar[ZarrFormat]
    rules: ClassVar[RuleTable]
    """The numbers of the rules that documents of this generation can break."""
    implicit_groups: ClassVar[bool] = False
    """Whether a group exists as soon as a key lies below it, even without a document."""
    separates_documents: ClassVar[bool] = False
    """Whether documents lie below another prefix than chunks, so that one listing shows all nodes and no chunk."""
    has_distinctive_keys: ClassVar[bool] = True
    """Whether a value under the keys of this generation can only be a Zarr document."""
    allows_undefined_fill: ClassVar[bool] = False
    """Whether an array may leave the value of unwritten elements undefined."""
    has_fill_value: ClassVar[bool] = True
    """Whether an array may choose the value of unwritten elements; otherwise it is zero."""
    allows_any_filter: ClassVar[bool] = False
    """Whether `filters` may hold codecs of every kind, because the generation does not distinguish kinds."""
    has_order_member: ClassVar[bool] = False
    """Whether array documents have a member for the element order. It then records F even where C means the same."""
    index_codecs: ClassVar[tuple[Codec, ...] | None] = None
    """The codecs of shard indexes, if the generation prescribes them."""
    dimension_names_attributes: ClassVar[tuple[str, ...]] = ("_ARRAY_DIMENSIONS",)
    """The attributes that hold the names of dimensions, if documents have no member for them."""
    has_lowercase_writers: ClassVar[bool] = False
    """Whether some writers of this generation stored all names in lower case."""

    @property
    def format_name(self) -> str:
        """The generation as error messages name it."""
        if isinstance(self.zarr_format, int):
            return f"Zarr v{self.zarr_format}"
        return f"the {self.zarr_format.removeprefix('3-draft-')} draft of Zarr v3"

    def with_read_options(self, read_options: ReadOptions) -> Dialect:
        """The same dialect with other read options."""
        return replace(self, read_options=read_options)

    def with_options_of(self, other: Dialect) -> Dialect:
        """The same dialect with the options of another one of the same generation."""
        return self.with_read_options(other.read_options)

    def with_conventions(self, conventions: str) -> Dialect:
        """The dialect that follows the conventions of another program, by name, for what the generation lacks."""
        raise ArgumentError(
            f"`conventions`: {self.format_name} has no conventions, found {conventions!r}", argument="conventions"
        )

    def conventions_of(self, node: NodeModel) -> str | None:
        """The name of the conventions that a node follows, or that a new node needs; None if it needs none."""
        return None

    def conventions_for(self, node: NodeModel) -> str | None:
        """The name of the conventions that would change how a new node is stored; None if there are none."""
        return self.conventions_of(node)

    def uses_conventions(self, document: Json) -> bool:
        """Whether the document of a node shows that its writer followed conventions that this dialect knows."""
        return False

    @property
    def encoding(self) -> Encoding:
        """The encoding of the documents of nodes."""
        return JSON

    def alternatives(self) -> Sequence[Dialect]:
        """Dialects to try, in order, if this one finds no node under its keys."""
        return ()

    def normalize_path(self, path: str) -> str:
        """`path`, which is in the common normal form, in the normal form of this generation."""
        return path

    # -- documents

    @abstractmethod
    def keys(self, path: str) -> tuple[str, ...]:
        """All keys at which documents of the node at `path` can lie."""

    def identifying_keys(self, path: str) -> tuple[str, ...]:
        """The subset of `keys(path)` that proves that a node exists, in order of precedence."""
        return self.keys(path)

    def ignores_path(self, path: str) -> bool:
        """Whether `parse` gives the same for documents at `path` as for these documents elsewhere."""
        return False

    @abstractmethod
    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        """The node that the documents describe. If they are invalid, adds all problems and returns None."""

    @abstractmethod
    def check_strictly(self, path: str, documents: Documents, node: NodeModel | None, problems: Problems) -> None:
        """Adds a warning or advice for each form that `parse` accepts in silence although a strict writer does not
        write it. `node` is the result of `parse`, and `problems` holds its problems."""

    @abstractmethod
    def node_type(self, path: str, documents: Documents) -> Kind | None:
        """The kind of the node at `path`, even if its documents are otherwise invalid; None if they do not tell."""

    @abstractmethod
    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        """The documents that describe `node`, by key."""

    def hierarchy_documents(self) -> dict[str, Json]:
        """The documents of the hierarchy itself, by key."""
        return {}

    def hierarchy_problems(self) -> Problems:
        """The problems of `hierarchy_documents`, and the forms in them that a strict writer does not write."""
        return Problems()

    def with_hierarchy_options(self, extensions: Any, metadata_encoding: Any) -> Dialect:
        """The dialect of a new hierarchy with these options; ArgumentError if this generation does not have them."""
        if extensions is not None or metadata_encoding is not None:
            argument = "extensions" if extensions is not None else "metadata_encoding"
            raise ArgumentError(
                f"`{argument}`: only the root of a hierarchy of a draft of v3 accepts this argument", argument=argument
            )
        return self

    @abstractmethod
    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        """What this generation cannot express of `node`, one sentence each. If there are any, writing is rejected."""

    def unknown_members(self, model: ArrayModel) -> list[str]:
        """The names of members of the document that have no meaning here, and are only written back."""
        return [name for name in model.extra if name != UNFINISHED_RESIZE]

    # -- consolidated metadata

    def can_consolidate(self, path: str) -> bool:
        """Whether the group at `path` can hold consolidated metadata."""
        return self.consolidated_key(path) is not None

    def consolidated_key(self, path: str) -> str | None:
        """The key of the consolidated metadata of the group at `path`; None if it is part of the group's own document,
        or not supported."""
        return None

    def parse_consolidated(self, path: str, document: Json, problems: Problems) -> dict[str, Json] | None:
        """The documents in consolidated metadata, by their own keys."""
        return None

    def dump_consolidated(self, path: str, documents: Documents) -> Json:
        """The consolidated metadata that holds `documents`."""
        raise AssertionError("this generation has no separate document for consolidated metadata")

    def consolidated_groups(self, path: str) -> Mapping[str, GroupModel]:
        """Groups, by path, that must exist so that readers find the consolidated metadata of the group at `path`."""
        return {}

    # -- the hierarchy

    @abstractmethod
    def check_path(self, path: str, kind: Kind) -> None:
        """Raises ArgumentError if no new node of that kind may have this path."""

    @abstractmethod
    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        """The possible children of the group at `path`, from the listing of `listing_prefix(path)`."""

    def listing_prefix(self, path: str) -> str:
        """The prefix whose listing shows the children of the group at `path`."""
        return key_below(path, "")

    def ancestors(self, path: str) -> list[str]:
        """The paths, from the root down, that must be groups if there is a node at `path`."""
        return ancestor_paths(path)

    def groups_to_create(self, missing: Sequence[str]) -> Sequence[str]:
        """Those of the groups above a new node that need a document; `missing` are those that have none."""
        return () if self.implicit_groups else missing

    def prefixes(self, path: str) -> list[str]:
        """The prefixes of everything that belongs to the node at `path` or lies below it, to erase or to move. Its own
        documents may lie outside of them."""
        return [key_below(path, "")]

    def chunk_prefix(self, path: str) -> str:
        """The prefix of the chunk keys of the array at `path`."""
        return f"{path}/" if path else ""

    def decode_hint(self) -> str | None:
        """A hint for errors in decoding a chunk, about known mistakes in the metadata of this generation."""
        return None

    # -- new nodes

    def new_group(self, attributes: dict[str, Json] | None = None, *, implicit: bool = False) -> GroupModel:
        """The model of a group of this generation; an `implicit` one exists without a document."""
        return GroupModel(attributes=attributes or {}, zarr_format=self.zarr_format, implicit=implicit)

    def check_extensions(self, model: ArrayModel) -> None:
        """Raises ArgumentError if a new array has extensions, or a fallback type, and this generation has none."""
        for argument, present in (("extensions", bool(model.extensions)), ("fallback", model.fallback is not None)):
            if present and not self.hierarchy_documents():
                raise ArgumentError(
                    f"`{argument}`: only the drafts of v3 have extensions, {self.format_name} has none",
                    argument=argument,
                )

    def data_type(self, dtype: Any) -> DataType:
        """The data type for a dtype that the user gives."""
        return data_type_of(dtype)

    def serializer(self, dtype: Any) -> Serializer | None:
        """The array → bytes codec that the user's dtype requires; None if the default fits."""
        return None

    @abstractmethod
    def chunk_keys(self, value: Any) -> ChunkKeys:
        """The chunk keys that the user gives; the default of this generation if `value` is None."""

    def codec_on_bytes(self, codec: Codec) -> BytesCodec | None:
        """An array codec in a form that may follow a codec on bytes; None if the generation does not allow that."""
        return None

    def default_compressors(self, data_type: DataType) -> tuple[BytesCodec, ...]:
        """The compressors of a new array if the user names none. They are fast, compress most data well, and every
        reader has them; docs/defaults.md has the measurements."""
        from omnizarr.codecs import Blosc, Zstd  # lazy import: only for new arrays

        itemsize = data_type.dtype.itemsize
        if data_type.fixed_size and 2 <= itemsize <= 255:
            return (Blosc("zstd", 1, "shuffle", itemsize, min(2**17 * itemsize, 2**20)),)
        return (Zstd(level=1),)

    def default_fill(self, data_type: DataType) -> Scalar | None:
        """The fill value of a new array if the user gives none; None if it is undefined."""
        return data_type.default_fill()

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        """A new array as this generation expresses it, using conventions for what it has no member for."""
        return model

    def codec_json(self, codec: Codec) -> dict[str, Json]:
        """A codec as a JSON object in the notation of this generation; the options of a new array accept it."""
        if self.allows_any_filter:
            from omnizarr.codecs.numcodecs_.v2_ids import config_of  # lazy import: it loads several codecs

            config = config_of(codec)
            if config is not None:
                return config
        return codec.to_json()

    def dimension_names(self, model: ArrayModel) -> tuple[str | None, ...] | None:
        """The names of the dimensions, from the member or attribute in which this generation keeps them."""
        return model.dimension_names


def key_below(path: str, name: str) -> str:
    """The key `name` directly below `path`; with an empty name, the prefix of all keys below it."""
    return f"{path}/{name}" if path else name


def ancestor_paths(path: str) -> list[str]:
    """The paths above `path`, from the root down."""
    segments = path.split("/") if path else []
    return ["/".join(segments[:count]) for count in range(len(segments))]
