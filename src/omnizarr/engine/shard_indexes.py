"""A cache of shard indexes, for repeated reads from the same shards."""

from __future__ import annotations

from omnizarr.codecs.sharding import ShardIndex

__all__ = ["ShardIndexes"]

_MAX_BYTES = 2**24  # of stored indexes; a decoded index has the same size


class ShardIndexes:
    """The most recently decoded shard indexes, each with the version of the shard that it belongs to."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[object, ShardIndex]] = {}

    def get(self, key: str, version: object) -> ShardIndex | None:
        """The index of the shard under `key`, if it is known for this version."""
        entry = self._entries.get(key)
        return entry[1] if entry is not None and version is not None and entry[0] == version else None

    def latest(self, key: str) -> tuple[object, ShardIndex] | None:
        """The version and index that were stored last. The shard may have changed since."""
        return self._entries.get(key)

    def forget(self, key: str) -> None:
        """Drop an index before its shard changes, and with it the shard in memory that its version may refer to."""
        self._entries.pop(key, None)

    def put(self, key: str, version: object, index: ShardIndex, size: int) -> None:
        """Store an index of `size` bytes, and drop the oldest if there are many."""
        if version is None:
            return
        entries = self._entries
        entries.pop(key, None)
        while len(entries) >= max(1, _MAX_BYTES // max(size, 256)):
            try:
                entries.pop(next(iter(entries)), None)
            except (StopIteration, RuntimeError):  # another thread dropped one
                break
        entries[key] = version, index
