"""What lies in a local store: its keys and prefixes, without what is being written; and what dead writers left."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from omnizarr.store.contract import check_prefix, is_text
from omnizarr.store.local import files, temp_names
from omnizarr.store.local.locking import LocalAgreement
from omnizarr.store.local.paths import ABSENT, check_folder

__all__ = ["LocalListing"]

_Trail: TypeAlias = tuple[tuple[int, int], ...]


class LocalListing(LocalAgreement):
    """A store in a directory, as far as it tells what it holds."""

    def sweep(self) -> None:
        """Removes what writers that died left behind."""
        self.check_writable()
        for _ in self.list():
            pass  # a listing does it on its way

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._walk(check_prefix(prefix))

    def _walk(self, prefix: str) -> Iterator[str]:
        try:
            top = self._enter_prefix(prefix)
            waiting: list[tuple[str, str, _Trail]] = [] if top is None else [(prefix, top, ())]
            while waiting:
                prefix, folder, above = waiting.pop()
                trail = self._trail(folder, above)
                if trail is None:
                    continue
                for entry in self._scan(folder):
                    if not self._is_listed(entry):
                        continue
                    if entry.is_file():
                        yield prefix + entry.name
                    elif entry.is_dir():
                        waiting.append((f"{prefix}{entry.name}/", entry.path + os.sep, trail))
        except OSError as error:
            self._fail("list", prefix, error)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)
        try:
            folder = self._enter_prefix(prefix)
            entries = [] if folder is None else [entry for entry in self._scan(folder) if self._is_listed(entry)]
            keys = [prefix + entry.name for entry in entries if entry.is_file()]
            prefixes = [f"{prefix}{entry.name}/" for entry in entries if entry.is_dir()]
        except OSError as error:
            self._fail("list", prefix, error)
        return sorted(keys), sorted(prefixes)

    def _enter_prefix(self, prefix: str) -> str | None:
        check_folder(prefix)
        try:
            return self._enter(prefix)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise

    def _scan(self, folder: str) -> list[os.DirEntry[str]]:
        """What lies in a directory, without what is being written; what dead writers left there is removed."""
        try:
            with os.scandir(self._bare(folder)) as found:
                entries = list(found)
        except OSError as error:
            if error.errno in ABSENT:  # also what is too deep to be reached, which `get` calls absent too
                return []
            raise
        temporary = [entry for entry in entries if temp_names.is_temporary(entry.name)]
        if not temporary:
            return entries
        if not self.read_only:
            for entry in temporary:
                temp_names.sweep(entry)
            if len(temporary) == len(entries):
                self._prune(folder)
        return [entry for entry in entries if entry not in temporary]

    def _is_listed(self, entry: os.DirEntry[str]) -> bool:
        if not (entry.name.isascii() or is_text(entry.name)):
            return False  # no key has such a name
        return not files.is_linked(entry) or (self._follow and os.path.exists(entry.path))

    def _trail(self, folder: str, above: _Trail) -> _Trail | None:
        """The directories that led to `folder`, and itself; None if it is one of them, which only links bring about."""
        if not self._follow:
            return above
        try:
            status = os.stat(self._bare(folder))
        except FileNotFoundError:
            return None
        here = (status.st_dev, status.st_ino)
        return None if here in above else (*above, here)
