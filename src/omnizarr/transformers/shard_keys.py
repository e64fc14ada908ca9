"""Between the keys of chunks and those of the shards that hold them (S65–S67): no bytes, only names and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from omnizarr.transformers.contract import ArrayPlace

__all__ = ["ShardKeys"]

_MOST_PREFIXES = 10_000  # that are made up for a shard: beyond that it is cheaper to look into it


class ShardKeys:
    """Where chunks go, and what a shard or a prefix of shards may hold."""

    def __init__(self, place: ArrayPlace, chunks_per_shard: Sequence[int]) -> None:
        self._prefix = place.prefix
        self._encoding = place.chunk_keys
        self._rank = place.rank
        self._grid = tuple(chunks_per_shard)

    # -- keys

    def _coordinates(self, key: str) -> tuple[int, ...] | None:
        """Those of the chunk, or of the shard, that has this key; None if it is neither's (S66)."""
        if not key.startswith(self._prefix):
            return None
        return self._encoding.coordinates(key[len(self._prefix) :], self._rank)

    def is_shard(self, key: str) -> bool:
        """Whether what is stored under `key` is a shard."""
        return self._coordinates(key) is not None

    def locate(self, key: str) -> tuple[str, int] | None:
        """The key of the shard that holds the chunk, and the chunk's number in it; None if `key` is no chunk's."""
        coordinates = self._coordinates(key)
        if coordinates is None:
            return None
        number, shard = 0, []
        for coordinate, count in zip(coordinates, self._grid, strict=True):
            whole, rest = divmod(coordinate, count)
            shard.append(str(whole))
            number = number * count + rest
        return self._prefix + self._encoding.join(shard), number

    def chunks(self, shard: str, numbers: Iterable[int]) -> Iterator[str]:
        """The keys of the chunks that have these numbers in a shard."""
        coordinates = self._coordinates(shard)
        assert coordinates is not None
        first = [index * count for index, count in zip(coordinates, self._grid, strict=True)]
        for number in numbers:
            at = []
            for start, count in zip(reversed(first), reversed(self._grid), strict=True):
                number, rest = divmod(number, count)
                at.append(str(start + rest))
            yield self._prefix + self._encoding.join(at[::-1])

    # -- prefixes

    def outside(self, prefix: str) -> bool:
        """Whether `prefix` says nothing about chunks: all of them lie below it, or none does."""
        if not prefix.startswith(self._prefix):
            return True
        return self._leading(prefix) is None or prefix == self._prefix

    def _leading(self, prefix: str) -> tuple[int, ...] | None:
        return self._encoding.leading(prefix[len(self._prefix) :], self._rank)

    def _directory(self, leading: Sequence[int]) -> str:
        return self._prefix + self._encoding.directory(leading, self._rank)

    def shards_below(self, prefix: str) -> str:
        """A prefix under which all shards lie whose chunks may have keys that start with `prefix`."""
        leading = self._leading(prefix) or ()
        return self._directory([index // count for index, count in zip(leading, self._grid, strict=False)])

    def is_exact(self, prefix: str) -> bool:
        """Whether `prefix` picks chunks by their first coordinates and by nothing else."""
        leading = self._leading(prefix)
        return leading is not None and self._directory(leading) == prefix

    def cuts(self, prefix: str) -> bool:
        """Whether there may be shards of which only some chunks lie below `prefix`."""
        leading = self._leading(prefix)
        if leading is None:
            return False
        return not self.is_exact(prefix) or any(count > 1 for count in self._grid[: len(leading)])

    def chunk_prefixes(self, prefix: str, below: str) -> list[str] | None:
        """What `below`, a prefix of shards that was found directly under `shards_below(prefix)`, is for chunks directly
        under `prefix`: the prefixes of all chunks that these shards may hold (S76). None if that cannot be said."""
        leading = self._leading(below)
        if leading is None:
            return [below] if below.startswith(prefix) else []
        if not self.is_exact(below):
            return None
        known = self._leading(prefix) or ()
        if len(leading) <= len(known):
            return [below]  # a directory that all chunks share
        count = self._grid[len(known)]
        if count > _MOST_PREFIXES:
            return None
        first = leading[len(known)] * count
        return [self._directory([*known, index]) for index in range(first, first + count)]
