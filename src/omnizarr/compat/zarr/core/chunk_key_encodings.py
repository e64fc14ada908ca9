"""Chunk key encodings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal, NotRequired, TypeAlias, TypedDict

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.chunk_keys import ChunkKeys, chunk_key_encodings
from omnizarr.compat.zarr.core.common import parse_name

__all__ = [
    "ChunkKeyEncoding",
    "DefaultChunkKeyEncoding",
    "V2ChunkKeyEncoding",
    "get_chunk_key_encoding_class",
    "parse_chunk_key_encoding",
    "register_chunk_key_encoding",
]

ChunkKeyEncodingLike: TypeAlias = Any


class ChunkKeyEncodingParams(TypedDict):
    """A name and a separator."""

    name: str
    separator: NotRequired[str]


def parse_separator(data: Any) -> Literal["/", "."]:
    """`data`, if it is a separator."""
    if data not in (".", "/"):
        raise ValueError(f"Expected an '.' or '/' separator. Got {data} instead.")
    return data  # type: ignore[no-any-return]


class ChunkKeyEncoding:
    """The key of a chunk from its coordinates. A subclass sets `name` and defines `encode_chunk_key`."""

    name: ClassVar[str] = ""

    @classmethod
    def from_dict(cls, data: Any) -> Any:
        """The encoding of a JSON object, of its name, or of `{"name", "separator"}`."""
        if isinstance(data, ChunkKeyEncoding):
            return data
        if isinstance(data, str):
            data = {"name": data}
        name = parse_name(data["name"])
        configuration = {"separator": data["separator"]} if "separator" in data else data.get("configuration") or {}
        kind = cls if cls is not ChunkKeyEncoding else _find(name)
        if kind is None:
            raise ValueError(f"Unknown chunk key encoding: {_unknown(name)!r}.")
        if cls is ChunkKeyEncoding and "from_dict" in vars(kind):
            return kind.from_dict(data)
        return kind(**configuration)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        configuration: dict[str, Any] = asdict(self) if is_dataclass(self) else {}
        return {"name": self.name, "configuration": configuration} if configuration else {"name": self.name}

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """The key of a chunk."""
        raise NotImplementedError

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """The coordinates of a chunk."""
        raise NotImplementedError(f"{type(self).__name__} does not implement decode_chunk_key.")


@dataclass(frozen=True)
class DefaultChunkKeyEncoding(ChunkKeyEncoding):
    name: ClassVar[str] = "default"
    separator: Any = "/"

    def __post_init__(self) -> None:
        parse_separator(self.separator)

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, ("c", *chunk_coords)))  # type: ignore[no-any-return]

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        return () if chunk_key == "c" else tuple(map(int, chunk_key[1:].split(self.separator)[1:]))


@dataclass(frozen=True)
class V2ChunkKeyEncoding(ChunkKeyEncoding):
    name: ClassVar[str] = "v2"
    separator: Any = "."

    def __post_init__(self) -> None:
        parse_separator(self.separator)

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, chunk_coords)) or "0"

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        return tuple(map(int, chunk_key.split(self.separator)))


def parse_chunk_key_encoding(data: Any) -> Any:
    """The encoding of what a user gives."""
    return ChunkKeyEncoding.from_dict(data)


# -- encodings of programs and of installed packages

_classes: dict[str, Any] = {"default": DefaultChunkKeyEncoding, "v2": V2ChunkKeyEncoding}


def register_chunk_key_encoding(key: str, cls: type) -> None:
    """Adds the class of the chunk key encoding `key`."""
    _classes[key] = cls
    Registry.changes += 1


def get_chunk_key_encoding_class(key: str) -> Any:
    """The class of the chunk key encoding `key`."""
    cls = _find(key)
    if cls is None:
        raise KeyError(_unknown(key))
    return cls


def _unknown(key: str) -> str:
    return f"Chunk key encoding '{key}' not found in registered chunk key encodings: {list(_classes)}."


def _find(key: str) -> Any:
    if key not in _classes:
        for point in entry_points(group="zarr.chunk_key_encoding", name=key):
            loaded = point.load()
            if isinstance(loaded, type) and issubclass(loaded, ChunkKeyEncoding):
                _classes[key] = loaded
    return _classes.get(key)


class _ForeignKeys(ChunkKeys):
    """The encoding of a class that was written for zarr-python, as one of omnizarr.

    Without a `decode_chunk_key`, omnizarr recognizes no key of a chunk, and so counts and removes none.
    """

    _foreign: ClassVar[Any]

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Any:
        try:
            return cls(ChunkKeyEncoding.from_dict({"name": cls.name, "configuration": configuration}))
        except Exception as error:
            problems.add(path, f"{type(error).__name__}: {error}")
            return None

    def to_json(self) -> Json:
        document: Json = self._encoding.to_dict()
        return document

    def join(self, parts: Sequence[str]) -> str:
        return str(self._encoding.encode_chunk_key(tuple(map(int, parts))))

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        try:
            coordinates = tuple(self._encoding.decode_chunk_key(key))
            same = len(coordinates) == ndim and self.key(coordinates) == key
        except Exception:  # the key of another file
            return None
        return coordinates if same else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ForeignKeys) and self._encoding == other._encoding

    def __hash__(self) -> int:
        return hash(repr(self.to_json()))

    def __reduce__(self) -> Any:
        return _restored, (self.name, type(self._encoding), self._encoding)


@lru_cache(256)
def _own_class(name: str, foreign: Any) -> Any:
    return type(foreign.__name__, (_ForeignKeys,), {"name": name, "_foreign": foreign, "__module__": __name__})


def _restored(name: str, foreign: Any, encoding: Any) -> Any:
    return _own_class(name, foreign)(encoding)


def _look_up(name: str) -> Any:
    foreign = _find(name)
    return None if foreign is None else _own_class(name, foreign)


chunk_key_encodings.further.append(_look_up)
