"""What the one who opens something allows: each is a way of reading that could do harm or give surprising values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from omnizarr.errors import ArgumentError

__all__ = ["DEFAULT_READ_OPTIONS", "ReadOptions"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of the functions that open, for everything that is reached through them."""

    allow_pickle: bool = False
    """Whether objects that were pickled may be read. A pickle can run any program."""
    use_fallback: bool = True
    """Whether an array of an unknown data type is read as the type that its document names instead."""
    v1_f_order: Literal["written", "document"] = "written"
    """How chunks of a v1 array of order F are read that blosc does not compress: as zarr 1.x wrote them, which is in C
    order, or as the document says."""
    chunks_per_shard: tuple[int, ...] | None = None
    """The sharding of an array of a draft whose document lost it, as zarr-python 2 made them lose it, or says something
    else than chunks."""

    def __post_init__(self) -> None:
        for name in ("allow_pickle", "use_fallback"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"`{name}`: expected True or False", argument=name)
        if self.v1_f_order not in ("written", "document"):
            raise ArgumentError(
                f'`v1_f_order`: expected "written" or "document", found {self.v1_f_order!r}', argument="v1_f_order"
            )
        counts: Any = self.chunks_per_shard
        if counts is not None:
            counts = tuple(counts) if isinstance(counts, (tuple, list)) else (counts,)
            if not all(isinstance(count, int) and not isinstance(count, bool) and count > 0 for count in counts):
                raise ArgumentError(
                    "`chunks_per_shard`: expected an integer of at least 1 for each dimension",
                    argument="chunks_per_shard",
                )
            object.__setattr__(self, "chunks_per_shard", counts)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """What the options are called."""
        return tuple(field.name for field in fields(cls))


DEFAULT_READ_OPTIONS = ReadOptions()
"""What is allowed if nobody says anything."""
