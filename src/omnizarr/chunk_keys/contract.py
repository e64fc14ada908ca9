"""What a chunk key encoding is: a one-to-one map between the coordinates of chunks and the ends of their keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of

__all__ = ["ChunkKeys", "chunk_key_encodings"]


class ChunkKeys(ABC):
    """A chunk key encoding and its configuration: a value that compares equal, hashes, pickles and never changes."""

    __slots__ = ()
    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> ChunkKeys | None:
        """Reads the configuration of the encoding at `path`; adds to `problems` and gives None if it is wrong."""

    @abstractmethod
    def to_json(self) -> Json:
        """The `chunk_key_encoding` member of a v3 document: always an object, for readers of 3.0 (A32)."""

    @abstractmethod
    def join(self, parts: Sequence[str]) -> str:
        """The key of a chunk whose coordinates are text already. Called once per chunk: it must be quick."""

    def key(self, coordinates: Sequence[int]) -> str:
        """The key of a chunk, below the prefix of its array."""
        return self.join([str(int(coordinate)) for coordinate in coordinates])

    @abstractmethod
    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        """The coordinates for which `key` gives this very text, in an array of `ndim` dimensions; None if there are
        none."""

    def alternative(self) -> ChunkKeys | None:
        """The keys that may be there instead, where a document does not say which ones are."""
        return None

    def leading(self, prefix: str, ndim: int) -> tuple[int, ...] | None:
        """What is sure about all chunks whose keys start with `prefix`, which is empty or ends in `/`: their first
        coordinates. None if no chunk has such a key; nothing is sure unless an encoding says more."""
        return ()

    def directory(self, leading: Sequence[int], ndim: int) -> str:
        """A prefix, empty or ending in `/`, of the keys of all chunks that have these first coordinates."""
        return ""


chunk_key_encodings: Registry[type[ChunkKeys]] = Registry(
    "chunk key encoding", "omnizarr.chunk_key_encodings", subclass_of(ChunkKeys)
)
