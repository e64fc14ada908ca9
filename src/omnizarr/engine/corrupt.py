"""What to do with chunks that cannot be decoded, as users say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from omnizarr.errors import ArgumentError, ChunkError

__all__ = ["OnCorrupt", "check_on_corrupt"]

OnCorrupt: TypeAlias = Literal["raise", "fill"] | Callable[[ChunkError], Any]
"""What to do with a chunk that cannot be decoded: raise the error; take the fill value; or ask a function, which gets
the error and gives what stands for the chunk's elements, or None for the fill value."""


def check_on_corrupt(given: object) -> OnCorrupt:
    """`given`, if it is one of these."""
    if given == "raise" or given == "fill" or callable(given):
        return given
    raise ArgumentError(f'`on_corrupt`: expected "raise", "fill" or a function, found {given!r}', argument="on_corrupt")
