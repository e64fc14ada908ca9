"""Locks of Windows: one byte of a file, which the system unlocks when the process ends.

Windows cannot lock a directory. A process that locks one locks a byte of the lock file of the machine instead, at a
position that is the file id of the directory: all paths of a directory agree, and the data contain no lock files. The
lock file stays empty, because a locked byte need not exist. This module exists only on Windows.
"""

from __future__ import annotations

import ctypes
import errno
import os
from importlib import import_module
from typing import Any

__all__ = ["BEYOND", "is_alive", "is_remote", "lock", "open_lock_file", "unlock"]

BEYOND = 1 << 62
"""The byte that is locked in a file of its own: beyond the end of every file, because locked bytes cannot be read."""

_FAIL_IMMEDIATELY, _EXCLUSIVE = 1, 2
_LOCK_VIOLATION, _IO_PENDING, _INVALID_PARAMETER = 33, 997, 87
_NO_LOCKS = frozenset({1, 50, 87})  # invalid function, not supported, invalid parameter
_QUERY, _STILL_ACTIVE = 0x1000, 259
_REMOTE_DRIVE = 4
_OPEN = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)

_msvcrt: Any = import_module("msvcrt")
_kernel32: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
_kernel32.OpenProcess.restype = ctypes.c_void_p
_last_error: Any = ctypes.get_last_error  # type: ignore[attr-defined,unused-ignore]


class _Overlapped(ctypes.Structure):
    """The structure OVERLAPPED: where the locked byte is."""

    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", ctypes.c_uint32),
        ("offset_high", ctypes.c_uint32),
        ("event", ctypes.c_void_p),
    )


def open_lock_file() -> int:
    """Open the lock file of this machine, which all its users share."""
    folder = os.path.join(os.environ.get("PROGRAMDATA", "C:\\ProgramData"), "omnizarr")
    path = os.path.join(folder, "locks")
    try:
        os.makedirs(folder, exist_ok=True)
        try:
            return os.open(path, _OPEN | os.O_RDWR | os.O_CREAT, 0o666)
        except PermissionError:  # another user created it; reading is enough for a lock
            return os.open(path, _OPEN | os.O_RDONLY)
    except OSError as error:
        raise OSError(errno.ENOLCK, f"cannot open the lock file of this machine: {error.strerror}", path) from error


def lock(file: int, position: int, *, shared: bool) -> None:
    """Lock one byte of an open file until it is closed; BlockingIOError if another holder has locked it."""
    flags = _FAIL_IMMEDIATELY | (0 if shared else _EXCLUSIVE)
    if not _kernel32.LockFileEx(_handle(file), flags, 0, 1, 0, ctypes.byref(_at(position))):
        number = _last_error()
        if number in (_LOCK_VIOLATION, _IO_PENDING):
            raise BlockingIOError(errno.EAGAIN, "another holder has locked it")
        raise OSError(errno.ENOLCK if number in _NO_LOCKS else errno.EIO, f"LockFileEx failed with error {number}")


def unlock(file: int, position: int) -> None:
    """Unlock a byte at once: the system unlocks those of a closed file, but some time later."""
    _kernel32.UnlockFileEx(_handle(file), 0, 1, 0, ctypes.byref(_at(position)))


def is_alive(process: int) -> bool:
    """Whether a process with this number exists."""
    handle = ctypes.c_void_p(_kernel32.OpenProcess(_QUERY, 0, process & 0xFFFFFFFF))
    if not handle:
        return bool(_last_error() != _INVALID_PARAMETER)  # another number: the process belongs to another user
    try:
        code = ctypes.c_uint32()
        return not _kernel32.GetExitCodeProcess(handle, ctypes.byref(code)) or code.value == _STILL_ACTIVE
    finally:
        _kernel32.CloseHandle(handle)


def is_remote(path: str) -> bool:
    """Whether a directory is on another machine."""
    drive = os.path.splitdrive(os.path.abspath(path))[0]
    return drive.startswith("\\\\") or _kernel32.GetDriveTypeW(ctypes.c_wchar_p(drive + "\\")) == _REMOTE_DRIVE


def _handle(file: int) -> Any:
    return ctypes.c_void_p(_msvcrt.get_osfhandle(file))


def _at(position: int) -> _Overlapped:
    position &= (1 << 63) - 1
    return _Overlapped(None, None, position & 0xFFFFFFFF, position >> 32, None)
