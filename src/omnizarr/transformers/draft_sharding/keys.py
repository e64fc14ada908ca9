"""Maps between keys of chunks and keys of the shards that contain them (S65–S67)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from omnizarr.transformers.contract import ArrayPlace

__all__ = ["ShardKeys"]

_MOST_PREFIXES = 10_000  # generated prefixes per shard; beyond that, reading its index is cheaper


class ShardKeys:
    """The shard of each chunk, and the chunks that a shard or a prefix of shards may contain."""

    def __init__(self, place: ArrayPlace, chunks_per_shard: Sequence[int]) -> None:
        self._prefix = place.prefix
        self._encoding = place.chunk_keys
        self._rank = place.rank
        self._grid = tuple(chunks_per_shard)

    # -- keys

    def _coordinates(self, key: str) -> tuple[int, ...] | None:
        """The coordinates of the chunk or shard with this key; None if it is no such key (S66)."""
        if not key.startswith(self._prefix):
            return None
        return self._encoding.coordinates(key[len(self._prefix) :], self._rank)

    def is_shard(self, key: str) -> bool:
        """Whether `key` is the key of a shard."""
        return self._coordinates(key) is not None

    def locate(self, key: str) -> tuple[str, int] | None:
        """The key of the chunk's shard, and the chunk's number in it; None if `key` is not the key of a chunk."""
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
        """The keys of the chunks with these numbers in a shard."""
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
        """Whether `prefix` does not divide the chunks: all of them are below it, or none."""
        if not prefix.startswith(self._prefix):
            return True
        return self._leading(prefix) is None or prefix == self._prefix

    def _leading(self, prefix: str) -> tuple[int, ...] | None:
        return self._encoding.leading(prefix[len(self._prefix) :], self._rank)

    def _directory(self, leading: Sequence[int]) -> str:
        return self._prefix + self._encoding.directory(leading, self._rank)

    def shards_below(self, prefix: str) -> str:
        """A prefix of all shards that may contain chunks with keys below `prefix`."""
        leading = self._leading(prefix) or ()
        return self._directory([index // count for index, count in zip(leading, self._grid, strict=False)])

    def is_exact(self, prefix: str) -> bool:
        """Whether `prefix` selects exactly the chunks with certain first coordinates."""
        leading = self._leading(prefix)
        return leading is not None and self._directory(leading) == prefix

    def cuts(self, prefix: str) -> bool:
        """Whether some shards may have only some of their chunks below `prefix`."""
        leading = self._leading(prefix)
        if leading is None:
            return False
        return not self.is_exact(prefix) or any(count > 1 for count in self._grid[: len(leading)])

    def chunk_prefixes(self, prefix: str, below: str) -> list[str] | None:
        """The prefixes, directly under `prefix`, of all chunks that the shards below `below` may contain (S76). `below`
        is a prefix of shards directly under `shards_below(prefix)`. None if the prefixes cannot be determined."""
        leading = self._leading(below)
        if leading is None:
            return [below] if below.startswith(prefix) else []
        if not self.is_exact(below):
            return None
        known = self._leading(prefix) or ()
        if len(leading) <= len(known):
            return [below]  # all chunks share this directory
        count = self._grid[len(known)]
        if count > _MOST_PREFIXES:
            return None
        first = leading[len(known)] * count
        return [self._directory([*known, index]) for index in range(first, first + count)]
