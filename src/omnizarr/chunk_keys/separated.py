"""The base class of encodings with decimal coordinates and a separator between them (R73–R77)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.chunk_keys.contract import ChunkKeys
from omnizarr.errors import ArgumentError

__all__ = ["SeparatedKeys", "decimal_key"]

T = TypeVar("T", bound="SeparatedKeys")


@dataclass(frozen=True, slots=True)
class SeparatedKeys(ChunkKeys):
    """Coordinates joined by `/`, which creates directories in a file system, or by `.`, which does not."""

    default_separator: ClassVar[str]
    ends_with_coordinates: ClassVar[bool] = False
    """Whether a key ends with the coordinates and a separator between each two. Subclasses do not inherit it."""

    separator: str

    def __post_init__(self) -> None:
        if self.separator not in ("/", "."):
            raise ArgumentError(
                f"chunk key separator: expected `/` or `.`, found {self.separator!r}", argument="separator"
            )

    @classmethod
    def parse(cls: type[T], configuration: dict[str, Json], path: str, problems: Problems) -> T | None:
        check_members(configuration, ("separator",), f"{path}.configuration", problems, rule="R76")
        separator = configuration.get("separator", cls.default_separator)
        if not isinstance(separator, str) or separator not in ("/", "."):
            problems.expected(f"{path}.configuration.separator", '"/" or "."', separator, rule="R76")
            return None
        return cls(separator) if configuration.keys() <= {"separator"} else None

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"separator": self.separator}}

    def leading(self, prefix: str, ndim: int) -> tuple[int, ...] | None:
        if self.separator == "/":
            for more in range(1, ndim + 1):
                coordinates = self.coordinates(prefix + self.separator.join(["0"] * more), ndim)
                if coordinates is not None:
                    return coordinates[: ndim - more]
        return () if self.join(["0"] * ndim).startswith(prefix) else None

    def directory(self, leading: Sequence[int], ndim: int) -> str:
        more = ["0"] * (ndim - len(leading))
        key = self.join([*map(str, leading), *more])
        if self.separator == "/":
            key = key.removesuffix(self.separator.join(more))
        return key[: key.rfind("/") + 1]


@lru_cache(maxsize=64)
def decimal_key(start: str, separator: str, ndim: int) -> re.Pattern[str]:
    """A pattern for `start` and `ndim` decimal numbers: no sign, no leading zero, at most 19 digits (64 bits)."""
    return re.compile(re.escape(start) + re.escape(separator).join(["(?:0|[1-9][0-9]{0,18})"] * ndim))
