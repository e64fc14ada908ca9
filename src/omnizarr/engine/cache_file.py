"""A file in which processes share cached values: an index and a ring of bytes, read and written without mapping it.

The file has a fixed size. A header says how it is divided and how many bytes were ever reserved in the ring; buckets of
entries say which value lies where. A new value is written over the oldest ones. The rules that keep a reader from a
wrong value, whatever other processes do, and whenever they are killed:

- A writer holds the lock. The system releases it when the process ends. It first reserves the bytes, which makes the
  entries of the values that lay there invalid, then writes them, and then the entry.
- A reader takes no lock. It reads the entry, then the value, and then checks that no writer has reserved these
  bytes meanwhile. An entry that is half written has a wrong checksum.
- A file that remains from before the last start of the system is emptied: the system may have stored some of its pages
  and not others.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from omnizarr._fork import import_library
from omnizarr.errors import ArgumentError, StoreError, warn
from omnizarr.store.finalizers import close_on_deletion, closing
from omnizarr.store.local import flock

__all__ = ["CacheFile", "Place", "open_cache_file"]

_MAGIC = b"omnizarr-cache\x01\n"  # with the version of the form
_DIVISION = struct.Struct("<16s16s16sQQ")  # magic, start of the system, identity, bytes of the ring, buckets
_STATE = struct.Struct("<QQ16s")  # bytes ever reserved, their complement, identity, which changes when it is emptied
_STATE_AT = 1024
_PAGE = 4096
_ENTRY = struct.Struct("<16s16sQQI")  # key, state, position, length, checksum of the rest
_SLOT = 64  # bytes of an entry
_ENTRIES = _PAGE // _SLOT  # of a bucket
_ALL_BITS = 2**64 - 1
_VALUE_BYTES = 2**14  # there is an entry for each 16 KiB of the file; smaller values use fewer bytes
_LEAST = 2**20
_UNNAMED = "omnizarr-cache"  # in the address of memory
_PATIENCE = 2.0  # seconds that a writer waits for the lock; then it does not store the value
_RETRY = 10.0  # seconds without another attempt after that: the holder may be a stopped process
_PAUSE = 0.0005
_ADMISSION = 8  # a full ring takes one of 8 new values: a loop over more than it holds would otherwise find nothing


class _Division(NamedTuple):
    """How the file is divided. It changes, with the identity, when a process empties the file."""

    identity: bytes
    ring: int
    """The number of bytes for values."""
    buckets: int

    @property
    def data(self) -> int:
        """Where the ring begins."""
        return _PAGE * (1 + self.buckets)

    @property
    def size(self) -> int:
        """The size of the file."""
        return self.data + self.ring

    def bucket(self, key: bytes) -> int:
        """Where the bucket of a key begins."""
        return _PAGE * (1 + int.from_bytes(key[:8], "little") % self.buckets)

    def holds(self, position: int, reserved: int) -> bool:
        """Whether no later value was written over the one at a position."""
        return position + self.ring >= reserved


class Place(NamedTuple):
    """Where a value lies."""

    position: int
    length: int
    division: _Division


class CacheFile:
    """An open cache file. Many threads, and forked children, may use it."""

    def __init__(self, path: str, descriptor: int, size: int) -> None:
        self.path = path
        self._file = descriptor
        self._thread_lock = threading.Lock()
        self._offered = 0
        self._pause_until = 0.0
        close_on_deletion(self, closing([descriptor]))
        with self._locked(wait=True):
            self._prepare(size)

    def _prepare(self, size: int) -> None:
        """Divide a new file; empty one of another size, or from before the last start of the system."""
        if os.fstat(self._file).st_size and not self._read(len(_MAGIC), 0).startswith(_MAGIC[:14]):
            raise ArgumentError(f"`file`: {self.path} exists and is not a cache", argument="file")
        division = self._division()
        if division is None or division.size != size or self._state() is None:
            buckets = max(1, size // (_VALUE_BYTES * _ENTRIES))
            division = self._reset(_Division(b"", size - _PAGE * (1 + buckets), buckets))
        self._current = division

    def _reset(self, division: _Division) -> _Division:
        """Empty the file, and divide it in this way. The caller holds the lock."""
        identity = os.urandom(16)
        os.ftruncate(self._file, 0)
        self._write(_MAGIC, 0)  # first, so that a file of another program is never taken for a cache
        os.ftruncate(self._file, division.size)
        self._write(_STATE.pack(0, _ALL_BITS, identity), _STATE_AT)
        self._write(_DIVISION.pack(_MAGIC, _system_start(), identity, division.ring, division.buckets), 0)
        return division._replace(identity=identity)

    def _division(self) -> _Division | None:
        """The stored division; None if there is none that is valid."""
        magic, start, identity, ring, buckets = _DIVISION.unpack(self._read(_DIVISION.size, 0))
        division = _Division(identity, ring, buckets)
        fits = magic == _MAGIC and start == _system_start() and buckets and ring
        return division if fits and os.fstat(self._file).st_size == division.size else None

    def _state(self) -> tuple[int, bytes] | None:
        """The bytes that were ever reserved, and the identity; None if they are damaged."""
        for _ in range(100):  # a reader without the lock may meet a write
            reserved, complement, identity = _STATE.unpack(self._read(_STATE.size, _STATE_AT))
            if reserved ^ complement == _ALL_BITS:
                return reserved, identity
        return None

    # -- reading and writing bytes

    def _read(self, size: int, start: int) -> bytes:
        return os.pread(self._file, size, start).ljust(size, b"\0")

    def _write(self, data: bytes | memoryview, start: int) -> None:
        view = memoryview(data).cast("B")
        while view:
            count = os.pwrite(self._file, view, start)
            view, start = view[count:], start + count

    @contextmanager
    def _locked(self, *, wait: bool = False) -> Iterator[bool]:
        """Hold the lock between threads and processes; False if another thread or process holds it for more than
        2 s."""
        fcntl = import_library("fcntl")
        end = time.monotonic() + _PATIENCE
        if not self._thread_lock.acquire(timeout=-1 if wait else _PATIENCE):
            yield False
            return
        try:
            while True:
                try:
                    fcntl.lockf(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, 0)
                    break
                except (BlockingIOError, PermissionError):
                    if time.monotonic() > end:
                        yield False
                        return
                    time.sleep(_PAUSE)
            try:
                yield True
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, 0)
        finally:
            self._thread_lock.release()

    def after_fork(self) -> None:
        """In a child: a thread that it does not have may hold the lock. Locks of files are not inherited."""
        self._thread_lock = threading.Lock()

    # -- values

    def find(self, key: bytes, state: bytes) -> Place | None:
        """Where the value with this key lies, if it is cached in this state."""
        division = self._current
        try:
            page = self._read(_PAGE, division.bucket(key))
        except OSError:  # as if it were not cached: the elements are in the store
            return None
        offset = page.find(key)
        while offset >= 0:
            if not offset % _SLOT:
                entry = page[offset : offset + _ENTRY.size]
                _, stored, position, length, checksum = _ENTRY.unpack(entry)
                if crc32(entry[:-4]) == checksum:
                    return Place(position, length, division) if stored == state else None
            offset = page.find(key, offset + 1)
        return None

    def read_into(self, place: Place, targets: list[memoryview]) -> bool:
        """Fill `targets`, one after the other, with the value at a place; False if it was overwritten, or cannot be
        read."""
        try:
            return self._read_into(place, targets)
        except OSError:
            return False

    def _read_into(self, place: Place, targets: list[memoryview]) -> bool:
        division = place.division
        start = division.data + place.position % division.ring
        missing = place.length
        while count := os.preadv(self._file, targets, start):
            start, missing = start + count, missing - count
            if not missing:
                break
            while count >= len(targets[0]):
                count -= len(targets.pop(0))
            targets[0] = targets[0][count:]  # the system reads at most 2 GiB at once
        if missing:
            return False
        state = self._state()
        if state is None or state[1] != division.identity:  # another process emptied the file
            self._current = self._division() or self._current
            return False
        return division.holds(place.position, state[0])

    def store(self, key: bytes, state: bytes, value: memoryview) -> None:
        """Store a value over the oldest ones, unless other processes keep the lock. Errors, such as that of a full
        disk, only mean that the value is not cached."""
        size = len(value)
        if time.monotonic() < self._pause_until:
            return
        with suppress(OSError), self._locked() as locked:
            if not locked:
                self._pause_until = time.monotonic() + _RETRY
                return
            division, stored = self._division(), self._state()
            if division is None or stored is None or division.identity != stored[1]:
                division, stored = self._reset(division or self._current), (0, b"")
            self._current = division
            if not 0 < size <= division.ring // 4:
                return
            place = self._slot(division, key, state, stored[0])
            if place is None:
                return
            position = stored[0]
            if position % division.ring + size > division.ring:
                position += division.ring - position % division.ring
            end = position + size
            self._write(_STATE.pack(end, ~end & _ALL_BITS, division.identity), _STATE_AT)
            self._write(value, division.data + position % division.ring)
            entry = _ENTRY.pack(key, state, position, size, 0)[:-4]
            self._write(entry + crc32(entry).to_bytes(4, "little"), place)

    def _slot(self, division: _Division, key: bytes, state: bytes, reserved: int) -> int | None:
        """Where the entry of a value belongs; None if the value is not admitted, or is there."""
        start = division.bucket(key)
        used: dict[int, int] = {}
        own = None
        for place, other, known, position, _ in self._entries(start):
            current = division.holds(position, reserved)
            if current and other == key:
                return None if known == state else place
            if current:
                used[place] = position
            elif other == key:
                own = place
        self._offered += 1
        if reserved >= division.ring and self._offered % _ADMISSION:
            return None
        if own is not None:
            return own
        free = next((place for place in range(start, start + _PAGE, _SLOT) if place not in used), None)
        return min(used, key=lambda place: used[place]) if free is None else free

    def _entries(self, start: int) -> Iterator[tuple[int, bytes, bytes, int, int]]:
        """The valid entries of a bucket: where, key, state, position and length."""
        page = self._read(_PAGE, start)
        for offset in range(0, _PAGE, _SLOT):
            entry = page[offset : offset + _ENTRY.size]
            key, state, position, length, checksum = _ENTRY.unpack(entry)
            if length and crc32(entry[:-4]) == checksum:
                yield start + offset, key, state, position, length

    def clear(self) -> None:
        """Drop everything, for all processes."""
        with self._locked(wait=True):
            self._current = self._reset(self._division() or self._current)

    def count(self) -> tuple[int, int]:
        """How many values the file holds, and how many bytes they have."""
        division, state = self._division(), self._state()
        if division is None or state is None:
            return 0, 0
        lengths = [
            length
            for bucket in range(division.buckets)
            for _, _, _, position, length in self._entries(_PAGE * (1 + bucket))
            if division.holds(position, state[0])
        ]
        return len(lengths), sum(lengths)

    @property
    def address(self) -> str:
        """A path by which other processes open it: its own, or that of memory without a name."""
        return self.path or f"/proc/{os.getpid()}/fd/{self._file}"


_open_files: dict[tuple[int, int], weakref.ref[CacheFile]] = {}  # a WeakValueDictionary would run Python code
"""By device and inode: a process must open a file once, because closing any descriptor releases all its locks."""


def open_cache_file(path: str | None, size: int) -> CacheFile:
    """The file at a path, made if it does not exist; without a path, memory that forked children share."""
    if not hasattr(os, "preadv"):
        raise ArgumentError("a shared cache needs a system with `preadv`, such as Linux or macOS", argument="cache")
    if size < _LEAST:
        raise ArgumentError(f"`max_bytes`: expected at least {_LEAST} bytes, found {size}", argument="max_bytes")
    try:
        if path is None:
            descriptor = _unnamed()
            cache_file = CacheFile("", descriptor, size)
        else:
            if path.startswith("/proc/"):
                _check_memory(path)
            known = _known(path)
            if known is not None:
                return known
            kind = flock.file_system(os.path.dirname(path))
            if flock.is_network(kind):  # other machines empty the file, and may keep old pages of it in memory
                warn(f"the cache file {path} is on `{kind}`: let the programs of one machine only use it")
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            cache_file = CacheFile("" if path.startswith("/proc/") else path, descriptor, size)
    except OSError as error:
        raise StoreError(f"cannot open the cache file {path}: {error.strerror}", store=path or "memory") from error
    status = os.fstat(descriptor)
    for identity in [identity for identity, reference in list(_open_files.items()) if reference() is None]:
        _open_files.pop(identity, None)
    _open_files[status.st_dev, status.st_ino] = weakref.ref(cache_file)
    return cache_file


def _check_memory(address: str) -> None:
    """Raise OSError unless the address leads to the memory of a cache. After the end of the process that made it, the
    address may lead to a file of another process, or of this one, which must not be changed."""
    target = os.readlink(address)
    if _UNNAMED not in target or not target.endswith(" (deleted)"):
        raise FileNotFoundError(errno.ENOENT, "its memory is gone")


def _known(path: str) -> CacheFile | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    reference = _open_files.get((status.st_dev, status.st_ino))
    return None if reference is None else reference()


def _unnamed() -> int:
    """Memory that is released with the last process that uses it; without `memfd_create`, a file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(_UNNAMED)
    import tempfile  # lazy import: only for systems without `memfd_create`

    descriptor, path = tempfile.mkstemp(prefix=_UNNAMED)
    os.unlink(path)
    return descriptor


def _system_start() -> bytes:
    """What identifies the time since the system started."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()[:36].replace(b"-", b"")[:16]
    except OSError:
        return f"{int(time.time() - time.monotonic()) // 600:016d}".encode()


def _reset_in_child() -> None:
    for cache_file in [reference() for reference in list(_open_files.values())]:
        if cache_file is not None:
            cache_file.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
