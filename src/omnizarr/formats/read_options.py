"""Options that relax or change how data is read. Each could do harm or give surprising values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from omnizarr.errors import ArgumentError

__all__ = ["DEFAULT_READ_OPTIONS", "ReadOptions"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of the functions that open nodes. They apply to every node that is reached through the opened one."""

    allow_pickle: bool = False
    """Whether to read pickled objects. Unpickling can run arbitrary code."""
    use_fallback: bool = True
    """Whether to read an array of an unknown data type as the fallback type that its document names."""
    v1_f_order: Literal["written", "document"] = "written"
    """The element order of a v1 array whose document says F and whose compressor is not blosc: "written" reads C order,
    in which zarr 1.x wrote such chunks; "document" reads F."""
    chunks_per_shard: tuple[int, ...] | None = None
    """The sharding of an array of a draft. It replaces the document's, which zarr-python 2 can lose, or in which some
    writers stored other numbers than chunks per shard."""

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
        """The names of the options."""
        return _NAMES


_NAMES = tuple(field.name for field in fields(ReadOptions))
DEFAULT_READ_OPTIONS = ReadOptions()
