"""The keys and prefixes of a local store; a listing also removes the temporary files of crashed writers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from omnizarr.store.contract import is_text
from omnizarr.store.local import files, temp_names
from omnizarr.store.local.locking import DirectoryLocks
from omnizarr.store.local.paths import ABSENT, NativePaths, check_folder
from omnizarr.store.local.temp_names import Sweeper

__all__ = ["Listing"]

_Trail: TypeAlias = tuple[tuple[int, int], ...]  # the identities of directories, from the first one down


class Listing:
    """Lists directories below a root. A `sweeper` removes files of crashed writers meanwhile."""

    def __init__(self, paths: NativePaths, locks: DirectoryLocks) -> None:
        self._paths = paths
        self._locks = locks

    def sweeper(self, older_than: float | None = None) -> Sweeper:
        """Removes files of crashed writers."""
        return Sweeper(by_lock=self._locks.guards_files(), older_than=older_than)

    def sweep(self, older_than: float | None = None) -> int:
        """Remove the files of crashed writers in all directories; returns how many temporary files there were."""
        sweeper = self.sweeper(older_than)
        for _ in self.keys("", sweeper=sweeper):
            pass
        return sweeper.removed

    def keys(self, prefix: str, *, sweeper: Sweeper | None) -> Iterator[str]:
        """Every key that starts with `prefix`."""
        return (key for key, _ in self.files(prefix, sweeper=sweeper))

    def sizes(self, prefix: str, *, sweeper: Sweeper | None) -> Iterator[tuple[str, int]]:
        """Every key that starts with `prefix`, with the length of its file."""
        for key, entry in self.files(prefix, sweeper=sweeper):
            try:
                yield key, entry.stat(follow_symlinks=self._paths.follow_links).st_size
            except FileNotFoundError:  # erased since its directory was listed
                continue
            except OSError as error:
                self._paths.fail("look at", key, error)

    def files(self, prefix: str, *, sweeper: Sweeper | None) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Every key that starts with `prefix`, with the entry of its directory."""
        try:
            top = self.folder(prefix)
            waiting: list[tuple[str, str, _Trail]] = [] if top is None else [(prefix, top, ())]
            while waiting:
                prefix, folder, above = waiting.pop()
                trail = self._trail(folder, above)
                if trail is None:
                    continue
                for entry in self.entries(folder, sweeper=sweeper):
                    if not self._is_listed(entry):
                        continue
                    if entry.is_file():
                        yield prefix + entry.name, entry
                    elif entry.is_dir():
                        waiting.append((f"{prefix}{entry.name}/", entry.path + os.sep, trail))
        except OSError as error:
            self._paths.fail("list", prefix, error)

    def children(self, prefix: str, *, sweeper: Sweeper | None) -> tuple[Sequence[str], Sequence[str]]:
        """The keys and the prefixes directly under `prefix`, sorted."""
        try:
            folder = self.folder(prefix)
            all_entries = [] if folder is None else self.entries(folder, sweeper=sweeper)
            entries = [entry for entry in all_entries if self._is_listed(entry)]
            keys = [prefix + entry.name for entry in entries if entry.is_file()]
            prefixes = [f"{prefix}{entry.name}/" for entry in entries if entry.is_dir()]
        except OSError as error:
            self._paths.fail("list", prefix, error)
        return sorted(keys), sorted(prefixes)

    def folder(self, prefix: str) -> str | None:
        """The native path of a prefix; None if there is no such directory."""
        check_folder(prefix)
        try:
            return self._paths.enter(prefix)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise

    def entries(self, folder: str, *, sweeper: Sweeper | None) -> list[os.DirEntry[str]]:
        """The entries of a directory without temporary files; none if it is gone."""
        try:
            with files.retried(os.scandir, self._paths.without_separator(folder)) as scan:
                entries = list(scan)
        except OSError as error:
            if error.errno in ABSENT:  # also a path that is too long, which `get` treats as absent, too
                return []
            raise
        temporary = [entry for entry in entries if temp_names.is_temporary(entry.name)]
        if not temporary:
            return entries
        if sweeper is not None:
            for entry in temporary:
                task = temp_names.task_of(entry.name)
                if task is None:
                    sweeper.sweep(folder, entry.name)
                else:
                    from omnizarr.store.local.task_lock import remove_abandoned  # lazy import: rare

                    remove_abandoned(entry.path, folder + task)
            if len(temporary) == len(entries):
                self._locks.remove_empty(folder)
        return [entry for entry in entries if entry not in temporary]

    def _is_listed(self, entry: os.DirEntry[str]) -> bool:
        if not (entry.name.isascii() or is_text(entry.name)):
            return False  # no key has such a name
        return not files.is_linked(entry) or (self._paths.follow_links and os.path.exists(entry.path))

    def _trail(self, folder: str, above: _Trail) -> _Trail | None:
        """The directories from the first one down to `folder`; None if `folder` is one of those above it, as links can
        make it."""
        if not self._paths.follow_links:
            return above
        try:
            status = os.stat(self._paths.without_separator(folder))
        except FileNotFoundError:
            return None
        here = (status.st_dev, status.st_ino)
        return None if here in above else (*above, here)
