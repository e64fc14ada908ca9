"""From keys to native paths below a root directory, and to open files.

No path leaves the root: links below it are rejected or skipped unless the store follows links.
"""

from __future__ import annotations

import errno
import os
import re
from stat import S_ISDIR
from typing import Any, NoReturn

from omnizarr._cached_property import cached_property
from omnizarr.errors import InvalidKeyError, LocationError, StoreError
from omnizarr.native import kernel
from omnizarr.store.address.file_urls import check_native
from omnizarr.store.contract import check_key, is_text
from omnizarr.store.local import files
from omnizarr.store.values import is_path, reject_key_type

__all__ = ["ABSENT", "NativePaths", "absolute", "check_folder", "check_name", "is_plain", "is_usual"]

_WINDOWS = os.name == "nt"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
# O_NONBLOCK: opening a pipe must not wait for its other end.
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})
_LINK = frozenset({errno.ELOOP, errno.EMLINK})  # what O_NOFOLLOW answers: the first of them, on FreeBSD the second
_REMEMBERED = 16_384  # directories; a few megabytes at most, and enough for the chunks of one read

_HINTS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota of this user is used up",
    errno.EACCES: "check the permissions of the file and of the directories above it",
    errno.EPERM: "check the permissions of the file and of the directories above it",
    errno.EROFS: "the file system is mounted for reading only",
    errno.EMFILE: "this process has too many files open",
    errno.EDEADLK: "a signal handler ran while its own thread wrote; let it set a flag, and write later",
    errno.ETIMEDOUT: "let fewer processes write into one directory at once",
    errno.ENOTDIR: "a file is where a directory is needed: no key can lie below another one",
    errno.EISDIR: "a directory is where a file is needed: other keys lie below this one",
    errno.ENAMETOOLONG: "the key is longer than the file system allows",
}


class NativePaths:
    """The native paths of keys, and which directories are known to exist.

    Reading a key in a known directory costs one open, one fstat, one read and one close.
    """

    def __init__(self, root: str, *, follow_links: bool, label: str) -> None:
        self.root = root
        self.top = root if root.endswith(os.sep) else root + os.sep
        self.follow_links = follow_links
        self.label = label
        """The store in error messages."""
        self.flags = _READ if follow_links else _READ | _NOFOLLOW
        """For `os.open`, to read a file."""
        self.rejects_links = follow_links or bool(_NOFOLLOW)
        """Whether `os.open` with `flags` rejects a link itself, or none needs to be rejected."""
        self.for_kernel = bool(_NOFOLLOW) and is_text(root)
        """Whether the kernel can open the files: it relies on O_NOFOLLOW and cannot open a path that is no UTF-8."""
        self.folders = {"": self.top}
        """Prefixes whose every part was a directory and no link when it was checked, and their native paths. If a
        directory is removed, opening a file in it fails."""

    @cached_property
    def real_root(self) -> str:
        """The same for all paths that lead to the root."""
        return os.path.realpath(self.root)

    @cached_property
    def opens_unlinked(self) -> bool:
        """Whether the system can check, while it opens a file, that no part of the path below the root is a link."""
        module = kernel() if self.for_kernel and not self.follow_links else None
        return module is not None and module.is_unlinked(self.root)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "folders": {"": self.top}}

    def find(self, key: str) -> str:
        """The native path of `key`, after a check that every part but the last is a directory."""
        if not isinstance(key, str):
            reject_key_type(key)
        cut = key.rfind("/") + 1
        folder = self.folders.get(key[:cut])
        if folder is None or not is_plain(key[cut:]):
            check_name(key)
            folder = self.enter(key[:cut])
        return folder + key[cut:]

    def open(self, key: str) -> int | None:
        """An open file, which the caller closes; None if there is no such key."""
        file = self.open_known(key)
        if file == -1:
            return None
        return self.open_checked(key) if file is None else file

    def open_known(self, key: str) -> int | None:
        """An open file, if `key` is a plain name in a known directory, as nearly every chunk is: one system call.

        -1 if there is no such file; None if `open_checked` must find out more.
        """
        try:
            cut = key.rfind("/") + 1
        except (AttributeError, TypeError):
            reject_key_type(key)
        name = key[cut:]
        folder = self.folders.get(key[:cut])
        if folder is None or not is_plain(name) or not self.rejects_links:
            return None
        try:
            return os.open(folder + name, self.flags)
        except FileNotFoundError:
            return -1
        except OSError:
            return None

    def open_checked(self, key: str) -> int | None:
        """An open file, after all checks; None if there is no such key."""
        path = ""
        try:
            path = self.find(key)
            if not self.rejects_links and os.path.islink(path):
                self.reject_link(key, path)
            return self._open_file(path)
        except OSError as error:
            if error.errno in ABSENT or os.path.isdir(path):
                return None
            if error.errno in _LINK and not self.follow_links:
                self.reject_link(key, path)
            self.fail("read", key, error)

    def _open_file(self, path: str) -> int:
        try:
            return os.open(path, self.flags)
        except PermissionError:
            if not files.WINDOWS or os.path.isdir(path):
                raise
            return files.retried(os.open, path, self.flags)

    def enter(self, directory: str, created: list[str] | None = None) -> str:
        """The native path of a valid prefix, after a check of each part that is not known.

        With `created`, missing directories are created and added to that list.
        """
        end = len(directory)
        while (folder := self.folders.get(directory[:end])) is None:
            end = directory.rfind("/", 0, end - 1) + 1
        while end < len(directory):
            start, end = end, directory.find("/", end) + 1
            path = folder + directory[start : end - 1]
            if created is not None and files.make_directory(path):
                created.append(path)
            else:
                status = os.stat(path, follow_symlinks=self.follow_links)
                if files.is_link(status):
                    self.reject_link(directory, path)
                if not S_ISDIR(status.st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            folder = self.remember(directory[:end])
        return folder

    def remember(self, directory: str) -> str:
        """Note that every part of a prefix is a directory and no link, and return its native path."""
        if len(self.folders) >= _REMEMBERED:
            self.forget_all()
        folder = self.folders[directory] = self.top + directory.replace("/", os.sep)
        return folder

    def enter_or_create(self, key: str, created: list[str]) -> str:
        """The native path of the directory of `key`; missing directories are created, the root included."""
        check_name(key)
        directory = key[: key.rfind("/") + 1]
        try:
            return self.enter(directory, created)
        except FileNotFoundError:
            self.create_root(directory)
            return self.enter(directory, created)

    def create_root(self, directory: str) -> None:
        """Create the root directory, and forget that `directory` was there."""
        self.forget(directory)
        os.makedirs(self.root, exist_ok=True)

    def without_separator(self, folder: str) -> str:
        """The path without the separator at its end, because the separator may exceed the system's limit for the length
        of a path."""
        return folder[:-1] if len(folder) > len(self.top) else folder

    def forget(self, directory: str) -> None:
        """Forget a prefix and all above it."""
        while directory:
            self.folders.pop(directory, None)
            directory = directory[: directory.rfind("/", 0, -1) + 1]

    def forget_all(self) -> None:
        """Forget all prefixes."""
        self.folders = {"": self.top}

    def reject_link(self, key: str, path: str) -> NoReturn:
        raise InvalidKeyError(
            f"`{key}` leads through a link in {self.label} ({path})",
            hint="a link may lead out of the store; `LocalStore(root, follow_symlinks=True)` follows it",
            store=self.label,
            key=key,
            path=path,
        )

    def fail(self, action: str, key: str, error: OSError) -> NoReturn:
        """Raise `error` as a StoreError that names the key."""
        if isinstance(error, StoreError):
            raise error
        number = error.errno
        path = self.top + key.replace("/", os.sep)
        failure = StoreError(
            f"cannot {action} `{key}` in {self.label}: {error.strerror or error} ({path})",
            hint=None if number is None else _HINTS.get(number),
            store=self.label,
            key=key,
            path=path,
            errno=number,
        )
        failure.errno = number
        raise failure from error


def absolute(root: str | os.PathLike[str]) -> str:
    """The absolute path of a root directory that a user gives."""
    path: object = os.fspath(root)
    if not isinstance(path, str) or not is_path(path):
        raise LocationError(f"{root!r} is not a directory's path", location=root)
    if "://" in path:
        raise LocationError(
            f"`{path}` is a URL, not a path", hint="`LocalStore.from_url` takes URLs that start with `file:`"
        )
    joined = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    plain = os.path.normpath(joined)
    # `link/..` is the parent of what the link points to, which only the system can tell.
    return plain if ".." not in path or os.path.realpath(plain) == os.path.realpath(joined) else joined


def check_name(key: str) -> None:
    """Reject what is no key, or cannot be the name of a file on this system."""
    check_key(key)
    check_native(key, windows=_WINDOWS)


def check_folder(prefix: str) -> None:
    """Reject a prefix that cannot be the name of a directory on this system."""
    check_native(prefix[:-1], windows=_WINDOWS)


is_usual = re.compile(r"(?:[ -\-0-~][ -.0-~]*/)*[ -\-0-~][ -.0-~]*" if not _WINDOWS else r"(?!)").fullmatch
"""Whether a key needs no further check: it is printable, and no part of it is empty or begins with a dot."""


def is_plain(name: str) -> bool:
    """Whether the last part of a key is a file name that needs no further check."""
    return name[:1] not in ("", ".") and name.isascii() and "\0" not in name and not _WINDOWS
