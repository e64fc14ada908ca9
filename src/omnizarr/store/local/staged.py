"""New files, from when they are written until they are seen."""

from __future__ import annotations

import os
from typing import Self

from omnizarr.store.local import files

__all__ = ["Batch"]


class Batch:
    """New files of one directory, until they become visible, or are dropped."""

    def __init__(self, durable: bool) -> None:
        self.folder = ""
        self.made: list[str] = []
        """Directories that did not exist before."""
        self.staged: list[tuple[str, str]] = []
        """Where they are, and what they will be called."""
        self.unsynced: list[int] | None = [] if durable else None

    def paths(self) -> tuple[list[str], list[str]]:
        """Where they are, and where they will be."""
        return [old for old, _ in self.staged], [self.folder + name for _, name in self.staged]

    def sync(self) -> None:
        """Has what was written reach the disk: written first and synced then, they get there together."""
        for file in self.unsynced or ():
            os.fsync(file)
        self._close()

    def _close(self) -> None:
        while self.unsynced:
            os.close(self.unsynced.pop())

    def drop(self) -> None:
        """Removes what did not become visible."""
        self._close()
        while self.staged:
            files.discard(self.staged.pop()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.drop()
