"""Pointers and addresses: the digest of a value, the key of its object, and the small value that refers to it (Z14)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import NamedTuple

from omnizarr.errors import CodecError
from omnizarr.store import Buffer

__all__ = ["ALGORITHMS", "FOLDER", "POINTER_LIMIT", "Addresses", "Pointer", "damaged"]

ALGORITHMS = {"blake2b": 128, "sha256": 64, "sha512": 128}
"""The hash functions, and the number of hexadecimal digits of a digest."""
FOLDER = "content/"
"""Where objects lie, below the prefix of the array."""
POINTER_LIMIT = 200  # bytes; the longest pointer has 173

_CONDEMNED = "condemned/"
_POINTER = re.compile(rb"([a-z0-9]+):([0-9a-f]+) (0|[1-9][0-9]{0,18})(?: ([0-9a-f]{16}))?")


def damaged(key: str, reason: str) -> CodecError:
    """The error for a pointer or an object that cannot be used."""
    return CodecError("omnizarr.content_addressed", f"`{key}`: {reason}")


class Pointer(NamedTuple):
    """What the key of a chunk holds: `sha256:<digest> <size>`, followed by a space and a copy number if the object is
    not the usual one of that digest."""

    digest: str
    size: int
    copy: str = ""
    """16 hexadecimal digits: a writer made another object, because the usual one was about to be removed."""

    @property
    def name(self) -> str:
        """The name of the object."""
        return f"{self.digest}.{self.copy}" if self.copy else self.digest


@dataclass(frozen=True, slots=True)
class Addresses:
    """The keys of the objects of one array, and the text of its pointers."""

    prefix: str
    algorithm: str
    depth: int
    width: int

    def pointer(self, value: Buffer) -> Pointer:
        """The pointer to the usual object of a value."""
        return Pointer(self.digest(value), len(value))

    def digest(self, value: Buffer) -> str:
        """The digest in lower-case hexadecimal digits."""
        digest: str = getattr(hashlib, self.algorithm)(value, usedforsecurity=False).hexdigest()
        return digest

    def dump(self, pointer: Pointer) -> bytes:
        """The stored form of a pointer."""
        text = f"{self.algorithm}:{pointer.digest} {pointer.size}"
        return (f"{text} {pointer.copy}" if pointer.copy else text).encode()

    def parse(self, stored: Buffer, key: str) -> Pointer:
        """The pointer that `key` holds; CodecError if it is none. Only digits can get into the key of the object."""
        match = _POINTER.fullmatch(stored) if len(stored) <= POINTER_LIMIT else None
        if match is None:
            shown = bytes(stored[:40])
            raise damaged(key, f"expected a pointer such as `{self.algorithm}:<digest> <size>`, found {shown!r}")
        algorithm, digest, size, copy = (part.decode() for part in match.groups(b""))
        if algorithm != self.algorithm or len(digest) != ALGORITHMS[algorithm]:
            raise damaged(
                key,
                f"expected a digest of {self.algorithm} with {ALGORITHMS[self.algorithm]} digits, found one of "
                f"{algorithm} with {len(digest)}",
            )
        return Pointer(digest, int(size), copy)

    # -- keys

    def _path(self, name: str) -> str:
        end = self.depth * self.width
        levels = [name[start : start + self.width] for start in range(0, end, self.width)]
        return "/".join([*levels, name[end:]])

    @property
    def folder(self) -> str:
        """The prefix of all keys that are not shown."""
        return self.prefix + FOLDER

    @property
    def marks(self) -> str:
        """The prefix of the marks of condemned objects."""
        return self.folder + _CONDEMNED

    def object_key(self, name: str) -> str:
        """The key of the object with this name."""
        return self.folder + self._path(name)

    def mark_key(self, name: str) -> str:
        """The key that exists while the object is condemned."""
        return self.marks + self._path(name)

    def object_name(self, key: str) -> str | None:
        """The name of the object, or of the condemned object, under a key; None if it is another key."""
        path = key.removeprefix(self.marks).removeprefix(self.folder)
        name = path.replace("/", "")
        digits = ALGORITHMS[self.algorithm]
        if not re.fullmatch(rf"[0-9a-f]{{{digits}}}(?:\.[0-9a-f]{{16}})?", name) or self._path(name) != path:
            return None
        return name
