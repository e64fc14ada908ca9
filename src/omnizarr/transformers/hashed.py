"""Hashed directories: a storage transformer that spreads the chunks of an array over many directories (Z12).

A chunk lies under `h/`, `depth` directories of `width` hexadecimal digits, and its coordinates joined by dots:
`h/3f0/c.12.7`. The digits are the first ones of the SHA-256 digest of that last segment, so that any program can find
a chunk by its coordinates. Documents and other keys stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.chunk_keys import ChunkKeys, DefaultKeys
from omnizarr.errors import ArgumentError
from omnizarr.store import MappedStore, Store, check_prefix
from omnizarr.transformers.contract import ArrayPlace, StorageTransformer

__all__ = ["HashedDirectories", "HashedKeys", "HashedStore", "check_levels", "parse_levels"]

_FOLDER = "h/"
_MOST_LEVELS, _MOST_DIGITS = 8, 4
_NAMES = DefaultKeys(".")


def check_levels(depth: object, width: object) -> None:
    """Raise ArgumentError unless `depth` levels of directories with `width` hexadecimal digits are allowed."""
    for name, value, most in (("depth", depth, _MOST_LEVELS), ("width", width, _MOST_DIGITS)):
        if not is_integer(value) or not 1 <= value <= most:
            raise ArgumentError(f"`{name}`: expected an integer from 1 to {most}, found {value!r}", argument=name)


def parse_levels(configuration: dict[str, Json], where: str, problems: Problems) -> tuple[int, int]:
    """The members `depth` and `width` of a configuration at `where`; adds to `problems` if they are invalid."""
    numbers = []
    for name, value, most in (("depth", 1, _MOST_LEVELS), ("width", 3, _MOST_DIGITS)):
        value = configuration.get(name, value)
        if not is_integer(value) or not 1 <= value <= most:
            problems.expected(f"{where}.{name}", f"an integer from 1 to {most}", value, rule="Z12")
        numbers.append(value)
    return numbers[0], numbers[1]


@dataclass(frozen=True, slots=True)
class HashedKeys(ChunkKeys):
    """The keys below the prefix of the array. They are not registered: documents name the transformer."""

    name: ClassVar[str] = "hashed"

    depth: int
    width: int

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> HashedKeys | None:
        depth, width = parse_levels(configuration, f"{path}.configuration", problems)
        return None if problems.found else cls(depth, width)

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"depth": self.depth, "width": self.width}}

    def join(self, parts: Sequence[str]) -> str:
        name = ".".join(("c", *parts))
        digits = sha256(name.encode()).hexdigest()
        width = self.width
        if self.depth == 1:
            return f"{_FOLDER}{digits[:width]}/{name}"
        levels = [digits[start : start + width] for start in range(0, self.depth * width, width)]
        return f"{_FOLDER}{'/'.join(levels)}/{name}"

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        if not key.startswith(_FOLDER):
            return None
        coordinates = _NAMES.coordinates(key[key.rfind("/") + 1 :], ndim)
        return coordinates if coordinates is not None and self.key(coordinates) == key else None

    def leading(self, prefix: str, ndim: int) -> tuple[int, ...] | None:
        return () if _FOLDER.startswith(prefix) or prefix.startswith(_FOLDER) else None

    def directory(self, leading: Sequence[int], ndim: int) -> str:
        return _FOLDER


class HashedStore(MappedStore, keeps_capabilities=True):
    """Shows the chunks of one array under their own keys, and stores them in `inner` under hashed keys."""

    def __init__(self, inner: Store, place: ArrayPlace, stored_keys: HashedKeys) -> None:
        super().__init__(inner)
        self.place = place
        self.stored_keys = stored_keys
        self._prefix = place.prefix
        self._rank = place.rank

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedStore) and (other.inner, other.place, other.stored_keys) == (
            self.inner,
            self.place,
            self.stored_keys,
        )

    def __hash__(self) -> int:
        return hash((self.inner, self.place, self.stored_keys))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self.place, self.stored_keys)

    def inner_key(self, key: str) -> str:
        if not key.startswith(self._prefix):
            return key
        chunk = self.place.chunk_keys.coordinates(key[len(self._prefix) :], self._rank)
        return key if chunk is None else self._prefix + self.stored_keys.key(chunk)

    def own_key(self, inner_key: str) -> str | None:
        # A chunk that another program stored under its own key does not belong to this array.
        if not inner_key.startswith(self._prefix):
            return inner_key
        name = inner_key[len(self._prefix) :]
        chunk = self.stored_keys.coordinates(name, self._rank)
        if chunk is not None:
            return self._prefix + self.place.chunk_keys.key(chunk)
        return inner_key if self.place.chunk_keys.coordinates(name, self._rank) is None else None

    def inner_prefixes(self, prefix: str) -> Iterable[str]:
        chunks = self._prefix + _FOLDER
        # No chunk has an own key below the folder of the hashed ones.
        return (prefix, chunks) if self._divides(prefix) and not prefix.startswith(chunks) else (prefix,)

    def _divides(self, prefix: str) -> bool:
        """Whether some keys of the array may be below `prefix`, and others not."""
        return prefix.startswith(self._prefix) and prefix != self._prefix

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)
        if not prefix.startswith(self._prefix):
            return self.inner.list_dir(prefix)
        return Store.list_dir(self, prefix)

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        prefix = check_prefix(prefix)
        if self._divides(prefix):
            self.erase_values(list(self.list_prefix(prefix)))
        else:
            self.inner.erase_prefix(prefix)


@dataclass(frozen=True, slots=True)
class HashedDirectories(StorageTransformer):
    """Stores the chunks in `16 ** (depth * width)` directories; `depth` levels of `16 ** width` entries lead to them.

    The defaults suit up to some ten million chunks: 4096 directories, which then have a few thousand entries each.
    """

    name: ClassVar[str] = "omnizarr.hashed_directories"
    uri: ClassVar[str | None] = "urn:omnizarr:storage-transformers:hashed-directories:1"

    depth: int = 1
    width: int = 3

    def __post_init__(self) -> None:
        check_levels(self.depth, self.width)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> HashedDirectories | None:
        where = f"{path}.configuration"
        before = len(problems.found)
        check_members(configuration, ("depth", "width"), where, problems, rule="Z12")
        depth, width = parse_levels(configuration, where, problems)
        return cls(depth, width) if len(problems.found) == before else None

    def configuration(self) -> dict[str, Json]:
        return {"depth": self.depth, "width": self.width}

    def below(self, place: ArrayPlace) -> ArrayPlace:
        return replace(place, chunk_keys=HashedKeys(self.depth, self.width))

    def wrap(self, store: Store, place: ArrayPlace) -> HashedStore:
        return HashedStore(store, place, HashedKeys(self.depth, self.width))
