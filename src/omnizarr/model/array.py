"""An array, as every generation can describe one: shaped like v3.1, with everything parsed and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from omnizarr._json import Json, Problems, same
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.codecs import Chain, ChunkSpec, Codec, Sharding, Skipped
from omnizarr.dtypes import DataType, Scalar, same_bits
from omnizarr.grids import Grid

__all__ = ["MOST_DIMENSIONS", "ArrayModel", "ZarrFormat"]

MOST_DIMENSIONS = 63  # NumPy holds 64; rows of chunks and indexes of shards have one more than the array
"""What NumPy can hold."""

ZarrFormat: TypeAlias = Literal[1, 2, 3, "3-draft-2020", "3-draft-2022"]
"""The generations, as users name them."""


@dataclass(frozen=True, eq=False)
class ArrayModel:
    """What an array is: everything that its document says, and nothing about where it lies."""

    shape: tuple[int, ...]
    data_type: DataType
    fill: Scalar | None
    """None is an undefined fill value, which v3 cannot express: a state of its own, not zero."""
    grid: Grid
    chunk_keys: ChunkKeys
    codecs: tuple[Codec, ...]
    attributes: dict[str, Json] = field(default_factory=dict)
    dimension_names: tuple[str | None, ...] | None = None
    storage_transformers: tuple[Json, ...] = ()
    """Entries that we do not know and may ignore (R123)."""
    zarr_format: ZarrFormat = 3
    extra: dict[str, Json] = field(default_factory=dict)
    """Members that we do not know and may ignore; they are written back as they were (R32)."""

    _chains: dict[tuple[int, ...], Chain] = field(default_factory=dict, init=False, repr=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data_type.dtype

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def sharding(self) -> Sharding | None:
        """The sharding codec, if chunks are shards."""
        return next((codec for codec in self.codecs if isinstance(codec, Sharding)), None)

    @property
    def read_only_reason(self) -> str | None:
        """Why the array can be read but not written, if that is so: parts of its metadata were ignored (R38)."""
        every = tuple(_every(self.codecs))
        if any(isinstance(codec, Skipped) for codec in every) or self.storage_transformers:
            return "its metadata names codecs or storage transformers that are unknown here; it can only be read"
        if any(isinstance(codec, Sharding) and codec.index_codecs is None for codec in every):
            return "its metadata does not say how the index of a shard is encoded; it can only be read"
        return None

    def chain(self, chunk_shape: tuple[int, ...], path: str, problems: Problems) -> Chain | None:
        """The codecs, bound to chunks of that shape; bound once."""
        chain = self._chains.get(chunk_shape)
        if chain is None:
            fill = np.zeros((), self.dtype) if self.fill is None else self.fill
            spec = ChunkSpec(chunk_shape, self.dtype, fill)
            chain = Chain.bind(self.codecs, spec, path, problems)
            if chain is not None:
                self._chains[chunk_shape] = chain
        return chain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayModel):
            return NotImplemented
        if (self.fill is None) != (other.fill is None):
            return False
        if self.fill is not None and other.fill is not None and not same_bits(self.fill, other.fill):
            return False
        if not same([self.attributes, self.extra], [other.attributes, other.extra]):
            return False
        names = [name for name in self.__dataclass_fields__ if name not in ("fill", "attributes", "extra", "_chains")]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]


def _every(codecs: Iterable[Codec]) -> Iterator[Codec]:
    """Codecs, and those within them."""
    for codec in codecs:
        yield codec
        if isinstance(codec, Sharding):
            yield from _every((*codec.codecs, *(codec.index_codecs or ())))
