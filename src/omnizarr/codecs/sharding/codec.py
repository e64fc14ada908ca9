"""The `sharding_indexed` codec: divides a chunk into inner chunks. It reads nothing from a store itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.bytes_to_bytes.crc32c import Crc32c
from omnizarr.codecs.chain import Chain
from omnizarr.codecs.contract import (
    ArrayCodec,
    BoundSerializer,
    Buffer,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    codecs,
)
from omnizarr.codecs.parsing import codec_of, parse_codecs
from omnizarr.codecs.sharding.shard import ShardBytes, index_spec
from omnizarr.dtypes import is_fill
from omnizarr.errors import ArgumentError

__all__ = ["INDEX_CODECS", "BoundSharding", "Sharding"]

INDEX_CODECS: tuple[Codec, ...] = (Bytes("little"), Crc32c())
"""The codecs that the specification recommends for the index (R98)."""

_MEMBERS = ("chunk_shape", "codecs", "index_codecs", "index_location")


@dataclass(frozen=True, slots=True)
class Sharding(Serializer):
    """Divides a chunk into inner chunks of `chunk_shape`, encoded by `codecs`. The index is encoded by `index_codecs`.

    `index_codecs` is None for documents from before July 2023, which do not contain it (§1.7). Their shards can be read
    whether or not the index has a checksum.
    """

    name: ClassVar[str] = "sharding_indexed"
    spec_rule: ClassVar[str | None] = "R95"
    chunk_shape: tuple[int, ...]
    codecs: tuple[Codec, ...] = (Bytes("little"),)
    index_codecs: tuple[Codec, ...] | None = INDEX_CODECS
    index_location: Literal["start", "end"] = "end"

    def __post_init__(self) -> None:
        shape = self.chunk_shape
        numbers = shape if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
        if not all(isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size > 0 for size in numbers):
            raise ArgumentError(
                f"`chunk_shape`: expected integers of at least 1, found {shape!r}", argument="chunk_shape"
            )
        object.__setattr__(self, "chunk_shape", tuple(int(size) for size in numbers))
        object.__setattr__(self, "codecs", _codecs(self.codecs, "codecs", len(numbers)))
        if self.index_codecs is not None:
            object.__setattr__(self, "index_codecs", _codecs(self.index_codecs, "index_codecs", len(numbers) + 1))
        if self.index_location not in ("start", "end"):
            raise ArgumentError(
                f'`index_location`: expected "start" or "end", found {self.index_location!r}', argument="index_location"
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Sharding | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        check_members(configuration, _MEMBERS, where, problems, rule="R95")
        for member in ("chunk_shape", "codecs"):
            if member not in configuration:
                problems.add(f"{where}.{member}", "is missing", rule="R96")
        shape = configuration.get("chunk_shape", [])
        if not isinstance(shape, list) or not all(is_integer(size) and 0 < size < 2**63 for size in shape):
            problems.expected(f"{where}.chunk_shape", "a list of integers of at least 1", shape, rule="R95")
        inner: tuple[Codec, ...] = ()
        if "codecs" in configuration:
            inner = parse_codecs(configuration["codecs"], f"{where}.codecs", problems)
        index = None
        if "index_codecs" in configuration:
            index = parse_codecs(configuration["index_codecs"], f"{where}.index_codecs", problems)
        else:
            problems.warn(f"{where}.index_codecs", "is missing: the index may have a checksum or not", rule="§1.7")
        location = configuration.get("index_location", "end")
        if location not in ("start", "end"):
            problems.expected(f"{where}.index_location", '"start" or "end"', location, rule="R99")
        return cls(tuple(shape), inner, index, location) if len(problems.found) == before else None

    def configuration(self) -> dict[str, Json]:
        members: dict[str, Json] = {
            "chunk_shape": list(self.chunk_shape),
            "codecs": [codec.to_json() for codec in self.codecs],
        }
        if self.index_codecs is not None:
            members["index_codecs"] = [codec.to_json() for codec in self.index_codecs]
        return {**members, "index_location": self.index_location}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundSharding | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        if len(self.chunk_shape) != len(spec.shape):
            problems.add(
                f"{where}.chunk_shape",
                f"expected {len(spec.shape)} lengths, one for each dimension of the shard, "
                f"found {len(self.chunk_shape)}",
                rule="R95",
            )
            return None
        for axis, (inner, outer) in enumerate(zip(self.chunk_shape, spec.shape, strict=True)):
            if outer % inner:
                problems.add(
                    f"{where}.chunk_shape[{axis}]", f"{inner} does not divide the shard length {outer}", rule="R95"
                )
        grid = tuple(outer // inner for inner, outer in zip(self.chunk_shape, spec.shape, strict=True))
        chain = Chain.bind(self.codecs, ChunkSpec(self.chunk_shape, spec.dtype, spec.fill), f"{where}.codecs", problems)
        entries = index_spec(grid)
        index_codecs = INDEX_CODECS if self.index_codecs is None else self.index_codecs
        index = Chain.bind(index_codecs, entries, f"{where}.index_codecs", problems)
        if index is not None and index.encoded.size is None:  # R97
            problems.add(
                f"{where}.index_codecs", "expected codecs with a fixed output size, found a compressor", rule="R97"
            )
        if len(problems.found) > before or chain is None or index is None:
            return None
        bare = Chain.bind(INDEX_CODECS[:1], entries, where, problems) if self.index_codecs is None else None
        return BoundSharding(spec, grid, chain, index, at_start=self.index_location == "start", bare_index=bare)


def _codecs(value: Any, argument: str, ndim: int) -> tuple[Codec, ...]:
    """The codecs of an argument, resolved for `ndim` dimensions."""
    if isinstance(value, (Codec, str, dict)) or not isinstance(value, Iterable):
        raise ArgumentError(f"`{argument}`: expected a list of codecs, found {value!r}", argument=argument)
    codecs = [codec_of(codec, argument) for codec in value]
    return tuple(codec.resolved(ndim) if isinstance(codec, ArrayCodec) else codec for codec in codecs)


class BoundSharding(ShardBytes, BoundSerializer):
    """A bound `Sharding`."""

    def __init__(
        self,
        spec: ChunkSpec,
        grid: tuple[int, ...],
        inner: Chain,
        index: Chain,
        *,
        at_start: bool,
        bare_index: Chain | None = None,
    ) -> None:
        super().__init__(prod(grid), index, at_start=at_start, largest=inner.encoded.limit, bare_index=bare_index)
        self.spec = spec
        self.grid = grid
        """The number of inner chunks along each dimension."""
        self.inner = inner
        self.peak = max(inner.peak, index.peak)
        # Gaps are allowed (R103), but those of a real writer are not longer than the uncompressed shard.
        longest = self.count * inner.encoded.limit + self.index_size
        self.encoded = ByteSpec(None, longest + spec.nbytes + self.index_size)

    def cells(self) -> Iterator[tuple[slice, ...]]:
        """The region of each inner chunk in the array of the shard, in C order."""
        shape = self.inner.spec.shape
        return product(
            *([slice(i * size, (i + 1) * size) for i in range(n)] for n, size in zip(self.grid, shape, strict=True))
        )

    def number(self, chunk: tuple[int, ...]) -> int:
        """The position in the index of the inner chunk at these coordinates."""
        number = 0
        for index, count in zip(chunk, self.grid, strict=True):
            number = number * count + index
        return number

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        fill = self.spec.fill
        parts = (array[cell] for cell in self.cells())
        return self.join([None if is_fill(part, fill) else self.inner.encode(part) for part in parts])

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        array = np.empty(self.spec.shape, self.spec.dtype)
        for cell, part in zip(self.cells(), self.split(data), strict=True):
            array[cell] = self.spec.fill if part is None else self.inner.decode(part)
        return array


codecs.register(Sharding.name, Sharding)
