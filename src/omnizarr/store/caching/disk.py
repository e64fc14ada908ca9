"""Storage of cached answers in a directory, one file each, which later programs find again.

A file names its key, range and version, and has a checksum: a file that is damaged or belongs to another answer is not
used. Nothing in it is ever executed.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections import OrderedDict
from hashlib import blake2b
from typing import Any, NamedTuple
from zlib import crc32

from omnizarr.store.caching.memory import CachedAnswer
from omnizarr.store.contract import ByteRange, Version
from omnizarr.store.local import files, temp_names
from omnizarr.store.values import reject_key_type

__all__ = ["DiskStorage"]

_SUFFIX = ".kept"
_LONGEST_HEAD = 2**16


class _Prepared(NamedTuple):
    name: str
    temporary: str
    size: int


class DiskStorage:
    """Stores up to `most` bytes in a subdirectory of `folder` for the store at `location`. Programs that use it at the
    same time share the files; each keeps the bound for the files that it knows."""

    def __init__(self, folder: str, location: str, most: int) -> None:
        self._folder = os.path.join(folder, _digest(location)) + os.sep
        self._most = most
        self._files: OrderedDict[str, int] = OrderedDict()
        self.size = 0
        os.makedirs(self._folder, exist_ok=True)
        self._scan()

    def _scan(self) -> None:
        files = []
        sweeper = temp_names.Sweeper(by_lock=False)
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if temp_names.is_temporary(entry.name):
                    sweeper.sweep(self._folder, entry.name)
                elif entry.name.endswith(_SUFFIX):
                    try:
                        status = entry.stat()
                        files.append((status.st_mtime_ns, entry.name, status.st_size))
                    except OSError:
                        pass  # another program removed it
        for _, name, size in sorted(files):
            self._files[name] = size
            self.size += size
        self._shrink()

    def _name(self, key: str, range: ByteRange | None) -> str:
        return f"{_digest(key)}-{_digest(repr(range))}{_SUFFIX}"

    def find(self, key: str, range: ByteRange | None) -> CachedAnswer | None:
        path = self._folder + self._name(key, range)
        try:
            with open(path, "rb") as file:
                head = json.loads(file.readline(_LONGEST_HEAD))
                data = file.read()
            expected_range = None if range is None else list(range)
            if head["key"] != key or head["range"] != expected_range or head["crc32"] != crc32(data):
                return None
            version = None if head["version"] is None else _version(head["version"])
            os.utime(path)  # it was used now
            return CachedAnswer(None if head["absent"] else data, version, float(head["at"]))
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None

    def prepare(self, key: str, range: ByteRange | None, answer: CachedAnswer) -> object | None:
        try:
            version = None if answer.version is None else _plain(answer.version)
        except TypeError:
            return None  # a later program could not compare it
        data = answer.value or b""
        head = {
            "key": key,
            "range": range,
            "version": version,
            "absent": answer.value is None,
            "at": answer.at,
            "crc32": crc32(data),
        }
        line = json.dumps(head).encode() + b"\n"
        if len(line) + len(data) > self._most or len(line) > _LONGEST_HEAD:
            return None
        descriptors: list[int] = []
        temporary: str | None = None
        try:
            try:
                temporary = files.create_temporary(self._folder, line + data, descriptors, guarded=False)
            finally:
                while descriptors:
                    files.close_last(descriptors)
        except OSError:  # the disk may be full, which some file systems report only when a file is closed
            if temporary is not None:
                files.discard(temporary, os.getpid())
            return None
        return _Prepared(self._name(key, range), temporary, len(line) + len(data))

    def keep(self, key: str, range: ByteRange | None, prepared: object) -> None:
        assert isinstance(prepared, _Prepared)
        try:
            files.replace(prepared.temporary, self._folder + prepared.name)
        except OSError:
            return
        self.size += prepared.size - self._files.pop(prepared.name, 0)
        self._files[prepared.name] = prepared.size
        self._shrink()

    def discard(self, prepared: object) -> None:
        assert isinstance(prepared, _Prepared)
        files.discard(prepared.temporary, os.getpid())

    def checked(self, key: str, range: ByteRange | None, at: float) -> None:
        name = self._name(key, range)
        if name in self._files:
            self._files.move_to_end(name)

    def _remove(self, name: str) -> None:
        try:
            files.remove(self._folder + name)
        except OSError:
            pass  # another program reads it; the next scan tries again

    def _shrink(self) -> None:
        while self.size > self._most and self._files:
            name, size = self._files.popitem(last=False)
            self.size -= size
            self._remove(name)

    def drop(self, key: str) -> None:
        beginning = _digest(key) + "-"
        for name in [name for name in self._files if name.startswith(beginning)]:
            self.size -= self._files.pop(name)
            self._remove(name)
        # Another program may have stored the whole value meanwhile; parts are detected by their version.
        self._remove(self._name(key, None))

    def clear(self) -> None:
        for name in list(self._files):
            self.size -= self._files.pop(name)
            self._remove(name)


def _digest(text: str) -> str:
    if not isinstance(text, str):
        reject_key_type(text)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _plain(version: Version) -> Any:
    """A version as JSON; TypeError if it has no meaning in another program."""
    if version is None or isinstance(version, (str, int, float)):
        return version
    if isinstance(version, bytes):
        return {"bytes": b64encode(version).decode()}
    if type(version) is tuple:
        return [_plain(part) for part in version]
    raise TypeError


def _version(plain: Any) -> Version:
    if isinstance(plain, list):
        return tuple(_version(part) for part in plain)
    if isinstance(plain, dict):
        return b64decode(plain["bytes"])
    version: Version = plain
    return version
