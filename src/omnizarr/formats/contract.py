"""What a dialect is: how one generation of Zarr spells the model, and where it keeps what in a hierarchy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from omnizarr._json import Json, Problems
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.codecs import Blosc, Zstd
from omnizarr.dtypes import DataType, data_type_of
from omnizarr.errors import ArgumentError
from omnizarr.formats.document_encoding import JSON, Encoding
from omnizarr.formats.read_options import DEFAULT_READ_OPTIONS, ReadOptions
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat

if TYPE_CHECKING:
    from omnizarr.codecs import BytesCodec, Codec, Serializer

__all__ = ["Child", "Dialect", "Documents", "Kind", "NodeModel", "ancestor_paths", "key_below"]

NodeModel: TypeAlias = ArrayModel | GroupModel
Kind: TypeAlias = Literal["array", "group"]

Documents: TypeAlias = Mapping[str, Json]
"""Parsed documents by the store key they lie under."""


class Child(NamedTuple):
    """What a listing shows of a member: its name, and if it tells the kind and the keys of the documents."""

    name: str
    kind: Kind | None = None
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Dialect(ABC):
    """One generation of the format, as a hierarchy speaks it. Pure: documents and listings in, models and keys out."""

    read_options: ReadOptions = DEFAULT_READ_OPTIONS
    """What whoever opened the hierarchy allows."""

    zarr_format: ClassVar[ZarrFormat]
    implicit_groups: ClassVar[bool] = False
    """Whether a group is there as soon as something lies below it, with a document of its own or without."""
    has_distinctive_keys: ClassVar[bool] = True
    """Whether its keys are so peculiar that what lies there must be a document."""
    allows_undefined_fill: ClassVar[bool] = False
    """Whether an array may leave open what elements are that nobody wrote."""
    allows_any_filter: ClassVar[bool] = False
    """Whether codecs of all kinds may stand among the filters, as in a generation that does not tell kinds apart."""
    has_order_member: ClassVar[bool] = False
    """Whether documents have a member for the order of elements, which then says F also where that changes nothing."""
    index_codecs: ClassVar[tuple[Codec, ...] | None] = None
    """How the index of a shard is encoded, if the generation leaves no choice."""

    def with_read_options(self, read_options: ReadOptions) -> Dialect:
        """The same dialect for somebody who allows something else."""
        return replace(self, read_options=read_options)

    @property
    def encoding(self) -> Encoding:
        """How the documents of nodes are written."""
        return JSON

    def alternatives(self) -> Sequence[Dialect]:
        """Where else the nodes of the same hierarchy may lie, if none lies where this dialect looks."""
        return ()

    def normalize_path(self, path: str) -> str:
        """A user's path, which is in its normal form already, with what else this generation makes alike."""
        return path

    # -- documents

    @abstractmethod
    def keys(self, path: str) -> tuple[str, ...]:
        """The keys under which the documents of the node at `path` may lie."""

    def identifying_keys(self, path: str) -> tuple[str, ...]:
        """Those of them that show that there is a node, in the order in which they count."""
        return self.keys(path)

    @abstractmethod
    def parse(self, path: str, documents: Documents, problems: Problems) -> NodeModel | None:
        """The node that the documents describe; None, and everything that is wrong, if they describe none."""

    @abstractmethod
    def node_type(self, path: str, documents: Documents) -> Kind | None:
        """What lies at `path`, as far as can be told even where the rest is wrong."""

    @abstractmethod
    def dump(self, path: str, node: NodeModel) -> dict[str, Json]:
        """The documents that describe `node`, by key."""

    def hierarchy_documents(self) -> dict[str, Json]:
        """The documents that a hierarchy has once, besides those of its nodes."""
        return {}

    def with_hierarchy_options(self, extensions: Any, metadata_encoding: Any) -> Dialect:
        """This dialect for a new hierarchy that has these; ArgumentError if it cannot have them."""
        if extensions is not None or metadata_encoding is not None:
            argument = "extensions" if extensions is not None else "metadata_encoding"
            raise ArgumentError(
                f"`{argument}`: only hierarchies of the drafts of v3 have one, and only their root says so",
                argument=argument,
            )
        return self

    @abstractmethod
    def losses(self, path: str, node: NodeModel) -> Sequence[str]:
        """What this generation cannot express of `node`, each as a sentence; writing is refused if there is any."""

    # -- consolidated metadata

    def can_consolidate(self, path: str) -> bool:
        """Whether the documents of all nodes below the group at `path` can be kept together."""
        return self.consolidated_key(path) is not None

    def consolidated_key(self, path: str) -> str | None:
        """Where the documents of all nodes below the group at `path` may lie together; None if that is in the group's
        own document, or nowhere."""
        return None

    def parse_consolidated(self, path: str, document: Json, problems: Problems) -> dict[str, Json] | None:
        """The documents that are gathered in the one under `consolidated_key(path)`, by their own keys."""
        return None

    def dump_consolidated(self, path: str, documents: Documents) -> Json:
        """The reverse."""
        raise AssertionError("this generation keeps consolidated metadata elsewhere")

    def consolidated_groups(self, path: str) -> Mapping[str, GroupModel]:
        """The groups that consolidated metadata needs to be found in, by path."""
        return {}

    # -- the hierarchy

    @abstractmethod
    def check_path(self, path: str, kind: Kind) -> None:
        """Raises ArgumentError if no such node may be created at `path`."""

    @abstractmethod
    def children(self, path: str, listing: tuple[Sequence[str], Sequence[str]]) -> list[Child]:
        """What may be nodes below the group at `path`, from the listing of `listing_prefix(path)`."""

    def listing_prefix(self, path: str) -> str:
        """The prefix whose listing shows the children of the group at `path`."""
        return key_below(path, "")

    def ancestors(self, path: str) -> list[str]:
        """The paths, from the root down, at which nothing but groups may lie if there is a node at `path`."""
        return ancestor_paths(path)

    def prefixes(self, path: str) -> list[str]:
        """The prefixes that hold what is stored of the node at `path` and of the nodes below it, apart from its own
        documents, which may lie there too: to erase or to move."""
        return [key_below(path, "")]

    def chunk_prefix(self, path: str) -> str:
        """What the keys of the chunks of the array at `path` begin with."""
        return key_below(path, "")

    def decode_hint(self) -> str | None:
        """What may help if a chunk cannot be decoded, since writers of this generation lost something."""
        return None

    # -- new arrays

    def data_type(self, dtype: Any) -> DataType:
        """The data type that stores what a user gives as dtype."""
        return data_type_of(dtype)

    def serializer(self, dtype: Any) -> Serializer | None:
        """The array → bytes codec that says what the user's dtype says; None leaves it to the usual rules."""
        return None

    @abstractmethod
    def chunk_keys(self, value: Any) -> ChunkKeys:
        """The keys of chunks that a user asks for; the usual ones of this generation, if `value` is None."""

    def default_compressors(self, data_type: DataType) -> tuple[BytesCodec, ...]:
        """The compressors of a new array if the user names none. They are fast, compress most data well, and every
        reader has them; docs/defaults.md has the measurements."""
        itemsize = data_type.dtype.itemsize
        if data_type.fixed_size and 2 <= itemsize <= 255:
            return (Blosc("zstd", 1, "shuffle", itemsize, min(2**17 * itemsize, 2**20)),)
        return (Zstd(level=1),)

    def adapt_new_array(self, model: ArrayModel) -> ArrayModel:
        """A new array as this generation says it: what it has no member for may have another place by convention."""
        return model

    def dimension_names(self, model: ArrayModel) -> tuple[str | None, ...] | None:
        """The names of an array's dimensions, wherever this generation keeps them."""
        return model.dimension_names


def key_below(path: str, name: str) -> str:
    """The key of something called `name` right below `path`."""
    return f"{path}/{name}" if path else name


def ancestor_paths(path: str) -> list[str]:
    """The paths above `path`, from the root down."""
    segments = path.split("/") if path else []
    return ["/".join(segments[:count]) for count in range(len(segments))]
