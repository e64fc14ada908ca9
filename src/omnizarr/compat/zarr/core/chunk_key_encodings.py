"""Chunk key encodings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from omnizarr.compat.zarr.core.common import parse_name

__all__ = ["ChunkKeyEncoding", "DefaultChunkKeyEncoding", "V2ChunkKeyEncoding", "parse_chunk_key_encoding"]

ChunkKeyEncodingLike: TypeAlias = Any
ChunkKeyEncodingParams: TypeAlias = Any


def parse_separator(data: Any) -> Literal["/", "."]:
    """`data`, if it is a separator."""
    if data not in (".", "/"):
        raise ValueError(f"Expected an '.' or '/' separator. Got {data} instead.")
    return data  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ChunkKeyEncoding:
    """The key of a chunk from its coordinates."""

    name: ClassVar[str] = ""
    separator: Any = "/"

    def __post_init__(self) -> None:
        parse_separator(self.separator)

    @classmethod
    def from_dict(cls, data: Any) -> Any:
        """The encoding of a JSON object, of its name, or of `{"name", "separator"}`."""
        if isinstance(data, ChunkKeyEncoding):
            return data
        if isinstance(data, str):
            data = {"name": data}
        name = parse_name(data["name"])
        configuration = {"separator": data["separator"]} if "separator" in data else data.get("configuration") or {}
        if name not in ("default", "v2"):
            raise ValueError(f"Unknown chunk key encoding: {name}")
        return (DefaultChunkKeyEncoding if name == "default" else V2ChunkKeyEncoding)(**configuration)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": self.name, "configuration": {"separator": self.separator}}

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """The key of a chunk."""
        raise NotImplementedError


@dataclass(frozen=True)
class DefaultChunkKeyEncoding(ChunkKeyEncoding):
    name: ClassVar[str] = "default"
    separator: Any = "/"

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, ("c", *chunk_coords)))  # type: ignore[no-any-return]

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """The coordinates of a chunk."""
        return () if chunk_key == "c" else tuple(map(int, chunk_key[1:].split(self.separator)[1:]))


@dataclass(frozen=True)
class V2ChunkKeyEncoding(ChunkKeyEncoding):
    name: ClassVar[str] = "v2"
    separator: Any = "."

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, chunk_coords)) or "0"

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """The coordinates of a chunk."""
        return tuple(map(int, chunk_key.split(self.separator)))


def parse_chunk_key_encoding(data: Any) -> Any:
    """The encoding of what a user gives."""
    return ChunkKeyEncoding.from_dict(data)
