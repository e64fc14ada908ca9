"""An array, as every generation can describe one: shaped like v3.1, with everything parsed and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from omnizarr._json import Json, Problems, same
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.codecs import Chain, ChunkSpec, Codec, Sharding, Skipped
from omnizarr.dtypes import DataType, Scalar, same_bits
from omnizarr.grids import Grid

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["MOST_DIMENSIONS", "ArrayModel", "ZarrFormat", "every_codec"]

MOST_DIMENSIONS = 63  # NumPy holds 64; rows of chunks and indexes of shards have one more than the array
"""What NumPy can hold."""

ZarrFormat: TypeAlias = Literal[1, 2, 3, "3-draft-2020", "3-draft-2022"]
"""The generations, as users name them."""


_MOST_CHAINS = 256  # chunk shapes whose bound codecs are kept; a grid may have very many
_JSON = ("attributes", "extra", "extensions", "fallback", "spelled")


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
    storage_transformers: tuple[StorageTransformer, ...] = ()
    """What stands between the array and its store; a leading sharding transformer is a codec here instead."""
    ignored_transformers: tuple[Json, ...] = ()
    """Entries that we do not know and may ignore (R123)."""
    zarr_format: ZarrFormat = 3
    extra: dict[str, Json] = field(default_factory=dict)
    """Members that we do not know and may ignore; they are written back as they were (R32)."""
    extensions: tuple[Json, ...] = ()
    """What a draft's document says it needs besides the core (S26)."""
    fallback: Json = None
    """The data type that readers may use who do not know this one, where a draft's document names one (S18)."""
    spelled: dict[str, Json] = field(default_factory=dict)
    """Members that the model says in its own way, as the document spelt them. They never change, so they are written
    back as they were: whoever wrote them so reads them so."""
    guessed_keys: bool = False
    """Whether the document does not say how chunk keys are separated, so that what is stored must tell (V28)."""

    _chains: dict[tuple[int, ...], Chain] = field(default_factory=dict, init=False, repr=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data_type.dtype

    @property
    def filler(self) -> Scalar:
        """What elements are that nobody wrote, even where the fill value is undefined: then it may be anything."""
        if self.fill is not None:
            return self.fill
        return np.zeros((), self.dtype) if self.data_type.fixed_size else self.data_type.default_fill()

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
        every = tuple(every_codec(self.codecs))
        if any(isinstance(codec, Skipped) for codec in every) or self.ignored_transformers:
            return "its metadata names codecs or storage transformers that are unknown here; it can only be read"
        if any(isinstance(codec, Sharding) and codec.index_codecs is None for codec in every):
            return "its metadata does not say how the index of a shard is encoded; it can only be read"
        return None

    def bound_before(self, chains: dict[tuple[int, ...], Chain]) -> None:
        """Takes, and adds to, what was bound for arrays of the same codecs, data type and fill value."""
        object.__setattr__(self, "_chains", chains)

    def chain(self, chunk_shape: tuple[int, ...], path: str, problems: Problems) -> Chain | None:
        """The codecs, bound to chunks of that shape, which are kept for the next chunk."""
        chain = self._chains.get(chunk_shape)
        if chain is None:
            spec = ChunkSpec(chunk_shape, self.dtype, self.filler)
            chain = Chain.bind(self.codecs, spec, path, problems)
            if chain is not None:
                if len(self._chains) >= _MOST_CHAINS:
                    self._chains.clear()
                self._chains[chunk_shape] = chain
        return chain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayModel):
            return NotImplemented
        if (self.fill is None) != (other.fill is None):
            return False
        if self.fill is not None and other.fill is not None and not same_bits(self.fill, other.fill):
            return False
        if not same([getattr(self, name) for name in _JSON], [getattr(other, name) for name in _JSON]):
            return False
        names = [name for name in self.__dataclass_fields__ if name not in (*_JSON, "fill", "_chains")]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]


def every_codec(codecs: Iterable[Codec]) -> Iterator[Codec]:
    """Codecs, and those within them."""
    for codec in codecs:
        yield codec
        if isinstance(codec, Sharding):
            yield from every_codec((*codec.codecs, *(codec.index_codecs or ())))
