"""Former names of the capabilities of a store, for callers that still use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from omnizarr.errors import StoreError

if TYPE_CHECKING:
    from omnizarr.store.capabilities import LocalFiles
    from omnizarr.store.contract import Buffer, ByteRange, State, Store, Version
    from omnizarr.store.snapshot import Snapshot

__all__ = ["OldNames"]


class OldNames:
    """Each member delegates to a capability object, or falls back to the verbs of the store under its lock."""

    @property
    def conditional(self) -> bool:
        return cast(Any, self).updates is not None

    @property
    def erases_if(self) -> bool:
        updates = cast(Any, self).updates
        return updates is not None and updates.erases

    @property
    def holds(self) -> bool:
        return cast(Any, self).snapshots is not None

    @property
    def states(self) -> bool:
        return cast(Any, self).versioned_reads is not None

    @property
    def splices(self) -> bool:
        return cast(Any, self).splicing is not None

    @property
    def files(self) -> bool:
        return cast(Any, self).local_files is not None

    takes_files = files

    def hold(self, key: str) -> Snapshot | None:
        snapshots = cast("Store", self).snapshots
        return None if snapshots is None else snapshots.open(key)

    def path_of(self, key: str) -> tuple[str, int]:
        return cast("LocalFiles", self.local_files).path(key)  # type: ignore[attr-defined]

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        return cast("LocalFiles", self.local_files).paths(rows)  # type: ignore[attr-defined]

    def set_files(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        files = cast("Store", self).local_files
        return None if files is None else files.publish(keys, write)

    def get_state(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        from omnizarr.store.contract import State

        store = cast("Store", self)
        if store.versioned_reads is not None:
            return store.versioned_reads.get(key, range, version)
        value = store.get(key, range)
        return None if value is None else State(value, None, len(value) if range is None else None)

    def recall(self, key: str) -> tuple[Buffer | None, Version] | None:
        updates = cast("Store", self).updates
        return None if updates is None else updates.last_known(key)

    def get_versioned(self, key: str) -> tuple[Buffer | None, Version]:
        store = cast("Store", self)
        if store.updates is not None:
            found = store.updates.read(key)
            assert found is not None
            return found
        value = store.get(key)
        return value, None if value is None else bytes(value)

    def get_limited(self, key: str, limit: int) -> tuple[Buffer | None, Version] | None:
        store = cast("Store", self)
        if store.updates is not None:
            return store.updates.read(key, limit)
        if not (store.in_memory or store.remote) and (store.size(key) or 0) > limit:
            return None
        return self.get_versioned(key)

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        store = cast("Store", self)
        if store.updates is not None:
            return store.updates.write(key, value, version)
        store.check_writable()
        with store.lock([key]):
            if self.get_versioned(key)[1] != version:
                return False
            store.set(key, value)
            return True

    def erase_if(self, key: str, version: Version) -> bool:
        store = cast("Store", self)
        if store.updates is not None and store.updates.erases:
            return store.updates.erase(key, version)
        store.check_writable()
        with store.lock([key]):
            if self.get_versioned(key)[1] != version:
                return False
            store.erase(key)
            return True

    def splice(self, key: str, pieces: Sequence[Buffer | tuple[int, int]], held: Snapshot) -> bool:
        splicing = cast("Store", self).splicing
        if splicing is None:
            raise StoreError(f"{self!r} cannot splice values", store=repr(self), key=key)
        return splicing.splice(key, pieces, held)
