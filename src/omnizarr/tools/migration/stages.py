"""Stages of a migration: encoded chunks in other objects, elements encoded again, and the comparison of both arrays."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs import BoundSharding, Chain
from omnizarr.engine.layout import sharding_of
from omnizarr.errors import StoreError
from omnizarr.nodes import Array
from omnizarr.store import Buffer
from omnizarr.tools.casts import TypeCast, possible_casts
from omnizarr.tools.migration.deflate import gzip_to_zlib, zlib_to_gzip
from omnizarr.tools.migration.forms import Repacking
from omnizarr.tools.migration.same_decoding import same_elements
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.objects import Page, read_page
from omnizarr.tools.plans.regions import CopyRegions
from omnizarr.tools.plans.stage import PlanCost, Stage

__all__ = ["CompareRegions", "EncodeRegions", "RepackObjects"]


@dataclass(frozen=True)
class RepackObjects(Stage):
    """Task i stores the encoded chunks in the objects of page i as other objects, which no other task writes."""

    name: ClassVar[str] = "repack"
    source: Array
    target: Array
    repacking: Repacking
    journal: PlanJournal
    tag: str
    """The name of its pages in the journal."""
    count: int
    bytes: int = 0
    files: int = 0
    pages: tuple[Page, ...] | None = None

    @property
    def array(self) -> str:
        return self.target.path

    @property
    def cost(self) -> PlanCost:
        return PlanCost(self.bytes, self.bytes, 0, self.files, 2 * self.bytes // max(1, self.files))

    def run(self, index: int) -> int:
        page = self.pages[index] if self.pages is not None else read_page(self.journal, index, self.tag)
        return sum(self._repack(page.source + name, name) for name in page.names)

    def _repack(self, key: str, name: str) -> int:
        chunk = self.source.metadata.chunk_keys.coordinates(name, self.source.ndim)
        value = self.source.store.get(key)
        if chunk is None or value is None:  # erased since the plan was made
            return 0
        written = 0
        prefix, keys = self.target._layout.prefix, self.target.metadata.chunk_keys
        for at, part in self._parts(chunk, value):
            self.target.store.set(prefix + keys.key(at), part)
            written += len(part)
        return written

    def _parts(self, chunk: tuple[int, ...], value: Buffer) -> Iterator[tuple[tuple[int, ...], Buffer]]:
        """The new objects, by the coordinates of their chunks."""
        if self.repacking == "strip header":
            yield chunk, self._block_content(chunk, value)
        elif self.repacking == "add header":
            lengths = self.target.metadata.grid.chunks[::-1]
            yield chunk, struct.pack(f">HH{len(lengths)}I", 0, len(lengths), *lengths) + bytes(value)
        elif self.repacking == "strip checksum":
            sharding = self._sharding(chunk)
            size = sharding.index_size
            sharding.decode_index(memoryview(value)[-size:], len(value))  # raises if the checksum is wrong
            yield chunk, memoryview(value)[:-4]
        elif self.repacking == "zlib to gzip":
            yield chunk, zlib_to_gzip(value) or self._encoded_again(chunk, value)
        elif self.repacking == "gzip to zlib":
            yield chunk, gzip_to_zlib(value) or self._encoded_again(chunk, value)
        else:
            sharding = self._sharding(chunk)
            counts = [
                outer // inner
                for outer, inner in zip(self.source._layout.model.grid.chunks, sharding.inner.spec.shape, strict=True)
            ]
            for number, part in enumerate(sharding.split(value)):
                inner = np.unravel_index(number, counts) if counts else ()
                at = tuple(first * count + int(step) for first, count, step in zip(chunk, counts, inner, strict=True))
                if part is not None and all(
                    position * length < size
                    for position, length, size in zip(at, sharding.inner.spec.shape, self.source.shape, strict=True)
                ):
                    yield at, part

    def _sharding(self, chunk: tuple[int, ...]) -> BoundSharding:
        sharding = sharding_of(self.source._layout.chain(chunk))
        assert sharding is not None, "its model has only the sharding codec"
        return sharding

    def _block_content(self, chunk: tuple[int, ...], value: Buffer) -> Buffer:
        """What follows the header of a block of N5, if the block is a whole chunk; shorter ones are encoded again."""
        model = self.target.metadata
        shape = tuple(model.grid.chunks)
        header = struct.pack(f">HH{len(shape)}I", 0, len(shape), *shape[::-1])
        if bytes(memoryview(value)[: len(header)]) == header:
            return memoryview(value)[len(header) :]
        return self._encoded_again(chunk, value)

    def _encoded_again(self, chunk: tuple[int, ...], value: Buffer) -> Buffer:
        """A chunk that is stored in an unusual way, such as several members of gzip; raises if it is damaged."""
        elements = self.source._layout.chain(chunk).decode(value)
        model = self.target.metadata
        chain = model.chain(tuple(model.grid.chunks), "$", Problems())
        assert isinstance(chain, Chain)
        return chain.encode(np.ascontiguousarray(elements))


@dataclass(frozen=True)
class EncodeRegions(CopyRegions):
    """`CopyRegions` whose elements may get another type."""

    name: ClassVar[str] = "re-encode"

    def run(self, index: int) -> int:
        region = self.region(index) or ...
        values = _cast(self.source, self.target, self.source.read(region))
        self.target[region] = values
        if self.verify:
            _compare(self.source, values, self.target, region)
        return int(values.size) * self.target.itemsize


@dataclass(frozen=True)
class CompareRegions(CopyRegions):
    """Task i compares a region of both arrays, and writes nothing."""

    name: ClassVar[str] = "compare"

    @property
    def cost(self) -> PlanCost:
        return replace(super().cost, written=0, files=0)

    def run(self, index: int) -> int:
        region = self.region(index) or ...
        _compare(self.source, _cast(self.source, self.target, self.source.read(region)), self.target, region)
        return 0


def _cast(source: Array, target: Array, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The elements of the source as the target holds them."""
    cast = _cast_of(source, target)
    return values if cast is None else cast.convert(values)


def _cast_of(source: Array, target: Array) -> TypeCast | None:
    if source.dtype == target.dtype:
        return None
    casts = [cast for cast in possible_casts(source.dtype) if cast.data_type.dtype == target.dtype]
    return casts[0] if casts else None


def _compare(source: Array, expected: npt.NDArray[np.generic], target: Array, region: object) -> None:
    stored = target.read(region)
    if stored.dtype != expected.dtype:
        expected = expected.astype(stored.dtype)
    if not same_elements(np.ascontiguousarray(expected), np.ascontiguousarray(stored)):
        raise StoreError(f"the elements of `{source.name}` differ in {region}", store=repr(target.store))
