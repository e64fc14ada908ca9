"""The encoding `fanout`: it splits each coordinate into groups of digits, so that no directory has many entries (Z13).

The name is proposed for the registry of extensions (zarr-extensions, pull request 31); this is the form of version 0.3
of the author's implementation, Zarr-Fanout-CKE. Earlier texts of the proposal made other keys from the same document,
and nothing in the document tells them apart; they are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.chunk_keys.contract import ChunkKeys
from omnizarr.errors import ArgumentError

__all__ = ["FanoutKeys"]

_LEAST, _MOST = 100, 10**18  # above that, one group holds every coordinate
_DIGITS = 19  # of a coordinate of 64 bits


@dataclass(frozen=True, slots=True)
class FanoutKeys(ChunkKeys):
    """`c`, and for each coordinate the number of its groups minus one and the groups, all joined by `/`. With at most
    1000 children, the chunk (1234, 5) has the key `c/1/001/234/0/005`. Keys sort like coordinates."""

    name: ClassVar[str] = "fanout"

    max_children: int = 1000
    """A power of ten of at least 100: the greatest number of entries of a directory."""

    def __post_init__(self) -> None:
        limit = self.max_children
        if not is_integer(limit) or not _LEAST <= limit <= _MOST or limit != _power_of_ten(limit):
            raise ArgumentError(
                f"`max_children`: expected a power of ten from {_LEAST} to 10**18, found {limit!r}",
                argument="max_children",
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> FanoutKeys | None:
        where = f"{path}.configuration"
        before = len(problems.found)
        check_members(configuration, ("max_children",), where, problems, rule="Z13")
        limit = configuration.get("max_children", 1000)
        if not is_integer(limit) or not _LEAST <= limit <= _MOST:
            problems.expected(f"{where}.max_children", f"an integer from {_LEAST} to 10**18", limit, rule="Z13")
        if len(problems.found) > before or not is_integer(limit):
            return None
        effective = _power_of_ten(limit)
        if effective != limit:
            problems.warn(f"{where}.max_children", f"{limit} is no power of ten and is read as {effective}", rule="Z13")
        return cls(effective)

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"max_children": self.max_children}}

    @property
    def _width(self) -> int:
        """The number of digits of a group."""
        return len(str(self.max_children)) - 1

    def join(self, parts: Sequence[str]) -> str:
        width = self._width
        segments = ["c"]
        for part in parts:
            if len(part) <= width:  # nearly always
                segments += ("0", part.zfill(width))
            else:
                padded = part.zfill(-(-len(part) // width) * width)
                groups = [padded[start : start + width] for start in range(0, len(padded), width)]
                segments += (str(len(groups) - 1), *groups)
        return "/".join(segments)

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        decoded = self._decode(key, ndim)
        return decoded[0] if decoded is not None and len(decoded[0]) == ndim and not decoded[1] else None

    def _decode(self, key: str, ndim: int) -> tuple[tuple[int, ...], list[str]] | None:
        """The complete coordinates at the start of a key of up to `ndim` of them, and the segments of an incomplete one
        after them; None if no key starts like this."""
        width = self._width
        first, *segments = key.split("/", 1 + ndim * (2 + _DIGITS))
        if first != "c":
            return None
        coordinates: list[int] = []
        position = 0
        while position < len(segments):
            marker = segments[position]
            if len(coordinates) == ndim or not _is_decimal(marker) or len(marker) > 1:
                return None
            groups = segments[position + 1 : position + 2 + int(marker)]
            if not all(len(group) == width and _is_decimal(group) for group in groups):
                return None
            digits = "".join(groups)
            # A coordinate has one spelling: no group of zeros in front, and no more digits than 64 bits can have.
            if groups and marker != "0" and not groups[0].strip("0"):
                return None
            if len(digits.lstrip("0")) > _DIGITS or int(marker) * width >= _DIGITS:
                return None
            if len(groups) <= int(marker):
                return tuple(coordinates), segments[position:]
            coordinates.append(int(digits))
            position += 1 + len(groups)
        return tuple(coordinates), []

    def leading(self, prefix: str, ndim: int) -> tuple[int, ...] | None:
        if not prefix:
            return ()
        decoded = self._decode(prefix[:-1], ndim)
        # A complete key is no directory.
        return None if decoded is None or len(decoded[0]) == ndim else decoded[0]

    def directory(self, leading: Sequence[int], ndim: int) -> str:
        key = self.key(leading)
        return key + "/" if len(leading) < ndim else key[: key.rfind("/") + 1]


def _power_of_ten(limit: int) -> int:
    return int("1" + "0" * (len(str(limit)) - 1))


def _is_decimal(text: str) -> bool:
    return text.isascii() and text.isdigit()
