"""The contract of a chunk key encoding: a one-to-one map between coordinates of chunks and keys below the array's
prefix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of

__all__ = ["ChunkKeys", "chunk_key_encodings"]


class ChunkKeys(ABC):
    """A chunk key encoding and its configuration: an immutable value with equality and a hash, which can be pickled."""

    __slots__ = ()
    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> ChunkKeys | None:
        """The encoding with the configuration at `path`; adds to `problems` and returns None if that is invalid."""

    @abstractmethod
    def to_json(self) -> Json:
        """The `chunk_key_encoding` member of a v3 document: always an object, for readers of 3.0 (A32)."""

    @abstractmethod
    def join(self, parts: Sequence[str]) -> str:
        """The key of a chunk from its coordinates as text. Called once per chunk, so it must be fast."""

    def key(self, coordinates: Sequence[int]) -> str:
        """The key of a chunk, below the prefix of its array."""
        return self.join([str(int(coordinate)) for coordinate in coordinates])

    @abstractmethod
    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        """The inverse of `key()` for an array of `ndim` dimensions; None if `key` is not exactly the key of a chunk."""

    def alternative(self) -> ChunkKeys | None:
        """The other encoding that may have been used, if the document does not say which."""
        return None

    def leading(self, prefix: str, ndim: int) -> tuple[int, ...] | None:
        """The first coordinates that all chunks with keys below `prefix` share. `prefix` is empty or ends in `/`. None
        if no chunk has such a key. The fallback, (), is always correct."""
        return ()

    def directory(self, leading: Sequence[int], ndim: int) -> str:
        """A prefix, empty or ending in `/`, of the keys of all chunks with these first coordinates."""
        return ""


chunk_key_encodings: Registry[type[ChunkKeys]] = Registry(
    "chunk key encoding", "omnizarr.chunk_key_encodings", subclass_of(ChunkKeys)
)
