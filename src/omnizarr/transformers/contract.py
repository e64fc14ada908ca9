"""The contract of a storage transformer: it wraps the store of an array in another store, which may change the keys and
the form in which chunks are stored (S63, R122)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.errors import ArgumentError
from omnizarr.store import Store, check_prefix

__all__ = ["AllowedFiles", "ArrayPlace", "StorageTransformer", "find_transformer", "storage_transformers"]


@dataclass(frozen=True, slots=True)
class AllowedFiles:
    """The files outside the array that its transformers may read, as the user allows it."""

    locations: tuple[str, ...]
    """Paths and URLs of folders and files."""
    options: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The storage options for them."""


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """What a transformer knows about its array."""

    prefix: str
    """The prefix of the array's chunk keys: empty, or ending in `/`. Other keys do not belong to the array (S66)."""
    shape: tuple[int, ...]
    chunk_shape: tuple[int, ...]
    """The shape of the chunks that the transformer receives: those of the array, or of the transformer above."""
    chunk_keys: ChunkKeys
    document: str | None = None
    """The key of the array's metadata document; None if the caller does not know it."""
    files: AllowedFiles | None = None
    """The files that the user allows to read; None if the user allows none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", check_prefix(self.prefix))
        if len(self.chunk_shape) != self.rank:
            raise ArgumentError(
                f"`chunk_shape` has {len(self.chunk_shape)} dimensions, but the array has {self.rank}",
                argument="chunk_shape",
            )

    @property
    def rank(self) -> int:
        """The number of dimensions of the array."""
        return len(self.shape)


class StorageTransformer(ABC):
    """A storage transformer and its configuration: an immutable value with equality and a hash, which can be pickled.

    State in memory belongs to the store that `wrap` returns; persistent state belongs to the wrapped store."""

    name: ClassVar[str]
    """The name in documents: an extension name in v3, or a URI, which drafts need."""
    uri: ClassVar[str | None] = None
    """The URI that drafts write if `name` is not one; an alias of `name`."""
    type: ClassVar[str | None] = None
    """The `type` that drafts write beside the URI; None accepts any."""
    layout: ClassVar[bool] = True
    """Whether it changes what is stored. One that does not, such as a cache, is given when an array is opened and is
    never written to a document."""
    last: ClassVar[bool] = False
    """Whether no transformer that changes what is stored may follow: it stores chunks under other keys, so that a
    transformer below it would not recognise them."""
    keeps_document: ClassVar[bool] = False
    """Whether it stores the array's document, too. The one at the document's own key then only names the transformers
    of the array; handles read and write the other one through `wrap`."""

    @classmethod
    @abstractmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> StorageTransformer | None:
        """The transformer with the configuration at `path`; adds to `problems` and returns None if it is invalid."""

    @abstractmethod
    def configuration(self) -> dict[str, Json]:
        """The `configuration` member; empty if there is none."""

    def check(self, shape: tuple[int, ...], path: str, problems: Problems) -> None:
        """Add to `problems` if it does not support an array of this shape. `path` is the transformer's JSON path."""
        return

    def below(self, place: ArrayPlace) -> ArrayPlace:
        """The array as the next transformer sees it. It differs from `place` if this one changes the chunks."""
        return place

    @abstractmethod
    def wrap(self, store: Store, place: ArrayPlace) -> Store:
        """A store for the array at `place` that stores everything in `store`. Keys that are not chunks of the array
        must have the same values as in `store`."""


storage_transformers: Registry[type[StorageTransformer]] = Registry(
    "storage transformer", "omnizarr.storage_transformers", subclass_of(StorageTransformer)
)

# Documents write the drafts' own transformers with and without `extensions`, with `-` or `_`, and with any minor
# version (A3).
_DRAFT_URI = re.compile(r"(?:[a-z]+://[^?#]*/)?storage[-_]transformers/([a-z][a-z0-9_-]*)(?:/1\.\d+)?/?")


def find_transformer(extension: str, type: str | None = None) -> type[StorageTransformer] | None:
    """The transformer registered for a URI or name and the `type` beside it; None if there is none. ExtensionError if
    the package that offers it cannot be loaded."""
    transformer = storage_transformers.get(extension)
    if transformer is None and (match := _DRAFT_URI.fullmatch(extension)):
        uri = f"https://purl.org/zarr/spec/extensions/storage-transformers/{match[1]}/1.0"
        transformer = storage_transformers.get(uri)
    return transformer if transformer is None or transformer.type in (None, type) else None
