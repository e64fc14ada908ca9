"""The model of an array for all generations: the structure of v3.1, parsed and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from omnizarr._json import Json, Problems, same
from omnizarr.chunk_keys import ChunkKeys
from omnizarr.codecs import Chain, ChunkSpec, Codec, Sharding, Skipped
from omnizarr.config import config
from omnizarr.dtypes import DataType, Scalar, same_bits
from omnizarr.grids import Grid

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["MOST_DIMENSIONS", "UNFINISHED_RESIZE", "ArrayModel", "ZarrFormat", "every_codec"]

MOST_DIMENSIONS = 63
"""NumPy supports 64, and rows of chunks and shard indexes need one more dimension than the array."""

ZarrFormat: TypeAlias = Literal[1, 2, 3, "3-draft-2020", "3-draft-2022", "n5"]
"""The generations as users name them."""

UNFINISHED_RESIZE = "omnizarr_unfinished_resize"
"""The member of `extra` that marks an array whose elements outside a smaller shape are not all erased yet."""

_MOST_CHAINS = 256  # chunk shapes whose bound codecs are kept; a grid may have very many
_MOST_SHARED = 64  # groups of arrays that share bound codecs; few hierarchies need more than ten
_shared_chains: dict[tuple[Any, ...], dict[tuple[int, ...], Chain]] = {}  # by what `ArrayModel._sharing_key` returns
_JSON = ("attributes", "extra", "extensions", "fallback", "verbatim")


@dataclass(frozen=True, eq=False)
class ArrayModel:
    """Everything that an array's document says, and nothing about its location."""

    shape: tuple[int, ...]
    data_type: DataType
    fill: Scalar | None
    """None means an undefined fill value, which differs from zero and which v3 cannot express."""
    grid: Grid
    chunk_keys: ChunkKeys
    codecs: tuple[Codec, ...]
    attributes: dict[str, Json] = field(default_factory=dict)
    dimension_names: tuple[str | None, ...] | None = None
    storage_transformers: tuple[StorageTransformer, ...] = ()
    """The transformers between the array and its store. A leading sharding transformer is in `codecs` instead."""
    ignored_transformers: tuple[Json, ...] = ()
    """Unknown entries that may be ignored (R123)."""
    zarr_format: ZarrFormat = 3
    extra: dict[str, Json] = field(default_factory=dict)
    """Unknown members that may be ignored. They are written back unchanged (R32)."""
    extensions: tuple[Json, ...] = ()
    """The extensions that a draft's document requires (S26)."""
    fallback: Json = None
    """The fallback data type of a draft's document, for readers that do not know `data_type` (S18)."""
    verbatim: dict[str, Json] = field(default_factory=dict)
    """Members in the document's own notation, where the model's differs. They never change and are written back as they
    were, so that the original writer can still read them."""
    guessed_keys: bool = False
    """Whether the document does not name the chunk key separator, so that stored keys must show it (V28)."""

    _chains: dict[tuple[int, ...], Chain] = field(default_factory=dict, init=False, repr=False)
    shared: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What other modules derive from shape, grid, data type, fill value, codecs and chunk keys, by names of their own.
    Models in which these are equal share it, so it refers to no store."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "shared": {}}

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data_type.dtype

    @property
    def filler(self) -> Scalar:
        """The value of unwritten elements: the fill value or, if that is undefined, a default."""
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
        """Why the array cannot be written although it can be read: parts of its metadata were ignored (R38). None if it
        can be written."""
        every = tuple(every_codec(self.codecs))
        if any(isinstance(codec, Skipped) for codec in every) or self.ignored_transformers:
            return "its metadata names unknown codecs or storage transformers; it can only be read"
        if any(isinstance(codec, Sharding) and codec.index_codecs is None for codec in every):
            return "its metadata does not say how the index of a shard is encoded; it can only be read"
        return None

    def share(self, chains: dict[tuple[int, ...], Chain], shared: dict[str, Any]) -> None:
        """Use and extend `chains`, the chains of arrays with the same codecs, data type and fill value, and `shared`,
        for those that also have the same shape, grid and chunk keys."""
        object.__setattr__(self, "_chains", chains)
        object.__setattr__(self, "shared", shared)

    def chain(self, chunk_shape: tuple[int, ...], path: str, problems: Problems) -> Chain | None:
        """The codecs bound to chunks of that shape. Cached."""
        chain = self._chains.get(chunk_shape)
        if chain is None:
            key = self._sharing_key()
            shared = {} if key is None else _shared_chains.get(key, {})
            chain = shared.get(chunk_shape)
            if chain is None:
                warnings = len(problems.warnings)
                chain = Chain.bind(self.codecs, ChunkSpec(chunk_shape, self.dtype, self.filler), path, problems)
                if chain is None:
                    return None
                if key is not None and len(problems.warnings) == warnings:  # another array would not get the warnings
                    if len(_shared_chains) >= _MOST_SHARED:
                        _shared_chains.clear()
                    _keep(chain, _shared_chains.setdefault(key, shared))
            _keep(chain, self._chains)
        return chain

    def _sharing_key(self) -> tuple[Any, ...] | None:
        """What the bound codecs depend on. None if they cannot be shared: a codec forbids it, or the fill value can be
        changed in place."""
        if self.dtype.kind not in "biufc" or not all(vars(type(codec)).get("shares_bound") for codec in self.codecs):
            return None
        settings = config.current
        return self.codecs, self.dtype, self.filler.tobytes(), settings.max_chunk_bytes, settings.max_codecs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayModel):
            return NotImplemented
        if (self.fill is None) != (other.fill is None):
            return False
        if self.fill is not None and other.fill is not None and not same_bits(self.fill, other.fill):
            return False
        if not same([getattr(self, name) for name in _JSON], [getattr(other, name) for name in _JSON]):
            return False
        names = [name for name in self.__dataclass_fields__ if name not in (*_JSON, "fill", "_chains", "shared")]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]


def _keep(chain: Chain, chains: dict[tuple[int, ...], Chain]) -> None:
    if len(chains) >= _MOST_CHAINS:
        chains.clear()
    chains[chain.spec.shape] = chain


def every_codec(codecs: Iterable[Codec]) -> Iterator[Codec]:
    """`codecs` and the codecs inside them."""
    for codec in codecs:
        yield codec
        if isinstance(codec, Sharding):
            yield from every_codec((*codec.codecs, *(codec.index_codecs or ())))
