"""Shared by the tests of storage transformers: chunk key encodings, array places, and shards as bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from omnizarr.chunk_keys import ChunkKeys, DefaultKeys, DraftKeys, FanoutKeys, V2Keys
from omnizarr.transformers import ArrayPlace

NONE = 2**64 - 1


@dataclass(frozen=True, slots=True)
class BackwardKeys(ChunkKeys):
    """A minimal third-party encoding: the last dimension comes first."""

    name: ClassVar[str] = "backward"

    @classmethod
    def parse(cls, configuration: object, path: object, problems: object) -> BackwardKeys:
        return cls()

    def to_json(self) -> str:
        return self.name

    def join(self, parts: Sequence[str]) -> str:
        return "/".join(["k", *reversed(parts)])

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        coordinates = DefaultKeys("/").coordinates("c" + key[1:], ndim) if key[:1] == "k" else None
        return None if coordinates is None else coordinates[::-1]


@dataclass(frozen=True, slots=True)
class ShortKeys(ChunkKeys):
    """Every valid key of up to seven letters is the key of a chunk, and its letters are the only coordinate."""

    name: ClassVar[str] = "short"

    @classmethod
    def parse(cls, configuration: object, path: object, problems: object) -> ShortKeys:
        return cls()

    def to_json(self) -> str:
        return self.name

    def join(self, parts: Sequence[str]) -> str:
        number = int(parts[0])
        return number.to_bytes((number.bit_length() + 7) // 8, "big").decode()

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        if ndim != 1 or not re.fullmatch(r"[a-z0-9]+(/[a-z0-9]+)*", key) or len(key) > 7:
            return None
        return (int.from_bytes(key.encode(), "big"),)


ENCODINGS: tuple[ChunkKeys, ...] = (
    DraftKeys("/"),
    DraftKeys("."),
    DefaultKeys("/"),
    DefaultKeys("."),
    V2Keys("/"),
    V2Keys("."),
    BackwardKeys(),
    FanoutKeys(100),
)


def place(rank: int = 2, prefix: str = "data/root/foo/baz/", keys: ChunkKeys = ENCODINGS[0]) -> ArrayPlace:
    """An array of 100 × … chunks of 10 × … elements."""
    return ArrayPlace(prefix, (1000,) * rank, (10,) * rank, keys)


def index_of(shard: bytes, count: int) -> list[tuple[int, int]]:
    """The entries of a shard's index."""
    numbers = struct.unpack(f"<{2 * count}Q", shard[len(shard) - 16 * count :])
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def shard_of(*entries: tuple[int, int], data: bytes = b"") -> bytes:
    """A shard from the bytes of its chunks and the entries of its index."""
    return data + b"".join(struct.pack("<QQ", *entry) for entry in entries)
