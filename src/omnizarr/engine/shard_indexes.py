"""The indexes of shards, kept between reads of parts of them."""

from __future__ import annotations

from omnizarr.codecs.sharding import ShardIndex

__all__ = ["Indexes"]

_INDEX_BYTES = 2**24  # of stored indexes; decoded they are as long


class Indexes:
    """The indexes of the shards that parts were read from last, each for the state of the shard that it was in."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, ShardIndex]] = {}

    def known(self, key: str, version: object) -> ShardIndex | None:
        """The index of a shard, if it is still of that version."""
        found = self._kept.get(key)
        return found[1] if found is not None and version is not None and found[0] == version else None

    def latest(self, key: str) -> tuple[object, ShardIndex] | None:
        """The index of a shard that was kept last, and the version it was of; it may be of another one by now."""
        return self._kept.get(key)

    def forget(self, key: str) -> None:
        """Lets go of an index that is about to be wrong, and of the shard in memory that its version may be."""
        self._kept.pop(key, None)

    def keep(self, key: str, version: object, index: ShardIndex, size: int) -> None:
        """Keeps an index of `size` bytes, instead of the oldest if there are many."""
        if version is None:
            return
        kept = self._kept
        kept.pop(key, None)
        while len(kept) >= max(1, _INDEX_BYTES // max(size, 256)):
            try:
                kept.pop(next(iter(kept)), None)
            except (StopIteration, RuntimeError):  # another thread did it
                break
        kept[key] = version, index
