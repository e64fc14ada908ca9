"""New files, from when they are written until they are seen."""

from __future__ import annotations

import os
from typing import Self

from omnizarr.config import config
from omnizarr.native import kernel
from omnizarr.store.contract import Version
from omnizarr.store.local import files
from omnizarr.store.local.snapshot import FileVersion

__all__ = ["Batch", "publish"]


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


def publish(folder: str, paths: tuple[list[str], list[str]], expected: tuple[Version] | None, *, follow: bool) -> int:
    """Gives the first of `paths` the names of the second, all in `folder`: how many, from the first on. None, if it
    cannot be done at once, or if a version is expected and what lies there may not be of it."""
    loop = kernel() if config.current.native else None
    if loop is None:
        return 0
    state: tuple[int, ...] | None = None
    if expected is not None:
        version = expected[0]
        if version is not None and not isinstance(version, FileVersion):
            return 0
        state = () if version is None else version.state
    try:
        done: int = loop.publish(folder, *paths, state, follow)
    except (ValueError, OverflowError):  # a name that is no text, or a number that is too large
        return 0
    return max(0, done)
