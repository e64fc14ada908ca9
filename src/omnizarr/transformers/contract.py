"""What a storage transformer is: something between an array and its store that offers a store upwards and uses one
downwards, so that it may change under which keys and in which form the array's chunks are kept (S63, R122)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.errors import ArgumentError
from omnizarr.store import Store, check_prefix

__all__ = ["ArrayPlace", "StorageTransformer", "find_transformer", "storage_transformers"]


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """What a transformer may know of the array that it serves."""

    prefix: str
    """What the keys of the array's chunks start with: empty, or ending in `/`. Other keys are not the array's (S66)."""
    shape: tuple[int, ...]
    chunk_shape: tuple[int, ...]
    """Of the chunks as they come from above: an array's own, or what another transformer made of them."""
    chunk_keys: ChunkKeys

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", check_prefix(self.prefix))
        if len(self.chunk_shape) != self.rank:
            raise ArgumentError(
                f"chunks of {len(self.chunk_shape)} dimensions do not fit an array of {self.rank}",
                argument="chunk_shape",
            )

    @property
    def rank(self) -> int:
        """How many dimensions the array has."""
        return len(self.shape)


class StorageTransformer(ABC):
    """A storage transformer and its configuration: a value that compares equal, hashes, pickles and never changes.
    Whatever it keeps in memory belongs to the store that `wrap` gives; what it keeps for good, it gives to the store
    below."""

    name: ClassVar[str]
    """What documents call it: a URI, as the drafts want it, or the name of an extension of version 3."""
    type: ClassVar[str | None] = None
    """What the drafts write beside the URI; None if anything may stand there."""
    layout: ClassVar[bool] = True
    """Whether it changes what is stored. One that does not, such as a cache, is for those who open the array and never
    stands in a document."""

    @classmethod
    @abstractmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> StorageTransformer | None:
        """Reads the `configuration` of the transformer at `path`; adds to `problems` and gives None if it is wrong."""

    @abstractmethod
    def configuration(self) -> dict[str, Json]:
        """The `configuration` member; empty if there is none to write."""

    def check(self, shape: tuple[int, ...], path: str, problems: Problems) -> None:
        """Adds to `problems` if it cannot serve an array of this shape; `path` is its own."""
        return

    def below(self, place: ArrayPlace) -> ArrayPlace:
        """The array as the next transformer sees it, if what this one passes on as chunks differs from `place`."""
        return place

    @abstractmethod
    def wrap(self, store: Store, place: ArrayPlace) -> Store:
        """A store for the array at `place`, which keeps everything in `store`. Keys that are no chunks of the array
        must mean there what they mean in `store`."""


storage_transformers: Registry[type[StorageTransformer]] = Registry(
    "storage transformer", "omnizarr.storage_transformers", subclass_of(StorageTransformer)
)

# The drafts' own transformers are met with and without `extensions`, with either dash, and of any minor version (A3).
_OF_THE_DRAFTS = re.compile(r"(?:[a-z]+://[^?#]*/)?storage[-_]transformers/([a-z][a-z0-9_-]*)(?:/1\.\d+)?/?")


def find_transformer(extension: str, type: str | None = None) -> type[StorageTransformer] | None:
    """The transformer that a document means by the URI, or the name, and the `type` beside it; None if nobody
    registered it. ExtensionError if the package that offers it cannot be loaded."""
    found = storage_transformers.get(extension)
    if found is None and (match := _OF_THE_DRAFTS.fullmatch(extension)):
        found = storage_transformers.get(f"https://purl.org/zarr/spec/extensions/storage-transformers/{match[1]}/1.0")
    return found if found is None or found.type is None or found.type == type else None
