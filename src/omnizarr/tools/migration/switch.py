"""The switch of a hierarchy from one generation to another in its own store.

The documents of both generations lie side by side while tasks write. Readers see the old hierarchy until one write, or
one erasure, at the root makes them see the new one. A crash before it leaves the old hierarchy, a crash after it the
new one; running the plan again completes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnizarr.formats import Dialect
from omnizarr.model import ZarrFormat
from omnizarr.store import Store

__all__ = ["Switch", "documents_hide"]

_RANKS: dict[ZarrFormat, int] = {3: 4, 2: 3, "3-draft-2020": 2, "3-draft-2022": 2, 1: 1, "n5": 0}
"""Which documents readers prefer where several generations lie at one path."""


def documents_hide(old: ZarrFormat, new: ZarrFormat) -> bool:
    """Whether readers still open the nodes of the old generation, or treat its keys as groups."""
    return _RANKS[old] >= _RANKS[new]


@dataclass(frozen=True)
class Switch:
    """The documents of the new hierarchy, and how readers come to see it. `documents` are those of the nodes below the
    root, `root` those of the root and of the hierarchy; None erases a key that an earlier migration left."""

    store: Store
    old: Dialect
    new: Dialect
    documents: tuple[tuple[str, bytes | None], ...]
    root: tuple[tuple[str, bytes | None], ...]

    def run(self) -> None:
        """Writes everything in an order in which readers never see half of it. It can be repeated."""
        last = self._last_key()
        for key, value in (*self.documents, *(pair for pair in self.root if pair[0] != last)):
            self._put(key, value)
        self._put(last, dict(self.root)[last])
        if self._hides_root():
            for key in self._old_root_keys():
                self.store.erase(key)

    def _put(self, key: str, value: bytes | None) -> None:
        if value is not None:
            self.store.set(key, value)
        elif self.store.exists(key):
            self.store.erase(key)

    def _last_key(self) -> str:
        """The key whose write makes readers see the new hierarchy, unless an old document hides it."""
        hierarchy = list(self.new.hierarchy_documents())
        if hierarchy:
            return hierarchy[0]
        written = {key for key, value in self.root if value is not None}
        return next(key for key in self.new.identifying_keys("") if key in written)

    def _hides_root(self) -> bool:
        return documents_hide(self.old.zarr_format, self.new.zarr_format) or bool(self.old.hierarchy_documents())

    def _old_root_keys(self) -> list[str]:
        """The old documents at the root that readers prefer to the new ones."""
        written = {key for key, value in self.root if value is not None}
        keys = [*self.old.hierarchy_documents(), *reversed(self.old.identifying_keys(""))]
        return [key for key in keys if key not in written]
