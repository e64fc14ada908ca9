"""Keys as files below a directory: from keys to paths, and what is remembered of the way.

Nothing here leaves the root: links below it are refused or skipped unless they are asked for.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path, PurePath
from stat import S_ISDIR
from typing import NoReturn

from omnizarr.errors import InvalidKeyError, LocationError, StoreError
from omnizarr.store.address.file_urls import check_native, key_to_path, path_to_url
from omnizarr.store.contract import Store, check_key
from omnizarr.store.local import files

__all__ = ["ABSENT", "LocalPaths", "absolute", "check_folder", "check_name", "is_plain"]

_WINDOWS = os.name == "nt"
ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})
_REMEMBERED = 16_384  # directories; a few megabytes at most, and enough for the chunks of one read

_HINTS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of this user is used up",
    errno.EACCES: "check the permissions of the file and of the directories above it",
    errno.EPERM: "check the permissions of the file and of the directories above it",
    errno.EROFS: "the file system is mounted for reading only",
    errno.EMFILE: "this process has too many files open",
    errno.ENOTDIR: "a file is where a directory is needed: no key can lie below another one",
    errno.EISDIR: "a directory is where a file is needed: other keys lie below this one",
    errno.ENAMETOOLONG: "the key is longer than the file system allows",
}


class LocalPaths(Store):
    """A store in a directory, as far as it knows where its files are."""

    _root: str
    _top: str
    """The root, with a separator at its end."""
    _follow: bool
    _flags: int
    """To open files with."""
    _folders: dict[str, str]
    """Prefixes whose every step was seen to be a directory and no link, and their native paths. That one has gone
    meanwhile shows when a file in it is opened."""

    @property
    def location(self) -> str:
        return self._root

    @property
    def url(self) -> str:
        """The root as a `file:` URL (R117)."""
        return path_to_url(PurePath(self._root))

    def path(self, key: str) -> Path:
        """The file that holds `key`, or would."""
        return key_to_path(key, Path(self._root))

    def _find(self, key: str) -> str:
        """The native path of `key`, every step but the last seen to be a directory."""
        cut = key.rfind("/") + 1
        folder = self._folders.get(key[:cut])
        if folder is None or not is_plain(key[cut:]):
            check_name(key)
            folder = self._enter(key[:cut])
        return folder + key[cut:]

    def _enter(self, directory: str, made: list[str] | None = None) -> str:
        """The native path of a checked prefix, after a look at each step that is not known. With `made`, a list, steps
        that are missing are made and added to it."""
        end = len(directory)
        while (folder := self._folders.get(directory[:end])) is None:
            end = directory.rfind("/", 0, end - 1) + 1
        while end < len(directory):
            start, end = end, directory.find("/", end) + 1
            path = folder + directory[start : end - 1]
            if made is not None and files.make_directory(path):
                made.append(path)
            else:
                status = os.stat(path, follow_symlinks=self._follow)
                if files.is_link(status):
                    self._refuse(directory, path)
                if not S_ISDIR(status.st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            folder = path + os.sep
            if len(self._folders) >= _REMEMBERED:
                self._folders = {"": self._top}
            self._folders[directory[:end]] = folder
        return folder

    def _bare(self, folder: str) -> str:
        """The path without the separator at its end, with which it may just be too long for the system."""
        return folder[:-1] if len(folder) > len(self._top) else folder

    def _forget(self, directory: str) -> None:
        while directory:
            self._folders.pop(directory, None)
            directory = directory[: directory.rfind("/", 0, -1) + 1]

    def _refuse(self, key: str, path: str) -> NoReturn:
        raise InvalidKeyError(
            f"`{key}` leads through a link in {self!r} ({path})",
            hint="a link may lead out of the store; `LocalStore(root, follow_symlinks=True)` follows it",
            store=repr(self),
            key=key,
            path=path,
        )

    def _fail(self, action: str, key: str, error: OSError) -> NoReturn:
        if isinstance(error, StoreError):
            raise error
        number = error.errno
        path = self._top + key.replace("/", os.sep)
        failure = StoreError(
            f"cannot {action} `{key}` in {self!r}: {error.strerror or error} ({path})",
            hint=None if number is None else _HINTS.get(number),
            store=repr(self),
            key=key,
            path=path,
            errno=number,
        )
        failure.errno = number
        raise failure from error


def absolute(root: str | os.PathLike[str]) -> str:
    given: object = os.fspath(root)
    if not isinstance(given, str) or not given or "\0" in given:
        raise LocationError(f"{root!r} is not a directory's path", location=root)
    if "://" in given:
        raise LocationError(
            f"`{given}` is a URL, not a path", hint="`LocalStore.from_url` takes URLs that start with `file:`"
        )
    joined = given if os.path.isabs(given) else os.path.join(os.getcwd(), given)
    plain = os.path.normpath(joined)
    # `link/..` is the parent of what the link points to, which only the system can tell.
    return plain if ".." not in given or os.path.realpath(plain) == os.path.realpath(joined) else joined


def check_name(key: str) -> None:
    """Refuses what is no key, or cannot be the name of a file here."""
    check_key(key)
    check_native(key, windows=_WINDOWS)


def check_folder(prefix: str) -> None:
    """Refuses a prefix that cannot be the name of a directory here."""
    check_native(prefix[:-1], windows=_WINDOWS)


def is_plain(name: str) -> bool:
    """Whether the last step of a key needs no closer look."""
    return name[:1] not in ("", ".") and name.isascii() and "\0" not in name and not _WINDOWS
