"""The system calls of Windows that omnizarr uses, made of those of Linux. Import it before omnizarr.

`LockFileEx` locks a range of bytes for one open file, as OFD locks do, and Windows removes no lock file that another
process has locked. Everything else behaves as on Linux.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

_LOCK_VIOLATION, _INVALID_PARAMETER, _STILL_ACTIVE, _EXCLUSIVE = 33, 87, 259, 2
_BEYOND = 1 << 62
_last_error = 0
_fcntl, _unlink = fcntl.fcntl, os.unlink
_SET, _WRITE, _READ, _UNLOCK = fcntl.F_OFD_SETLK, fcntl.F_WRLCK, fcntl.F_RDLCK, fcntl.F_UNLCK


def _set(file: int, kind: int, position: int) -> bool:
    try:
        _fcntl(file, _SET, struct.pack("hhqqi0q", kind, os.SEEK_SET, position, 1, 0))
    except BlockingIOError:
        return False
    return True


def _position(reference: Any) -> int:
    overlapped = reference._obj
    return overlapped.offset | overlapped.offset_high << 32


def lock_file_ex(handle: Any, flags: int, _: int, low: int, high: int, at: Any) -> int:
    global _last_error
    assert (low, high) == (1, 0)
    done = _set(handle.value, _WRITE if flags & _EXCLUSIVE else _READ, _position(at))
    _last_error = 0 if done else _LOCK_VIOLATION
    return done


def unlock_file_ex(handle: Any, _: int, low: int, high: int, at: Any) -> int:
    return _set(handle.value, _UNLOCK, _position(at))


def open_process(access: int, inherit: int, process: int) -> int | None:
    global _last_error
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        _last_error = _INVALID_PARAMETER
        return None
    return process


def exit_code_of(handle: Any, code: Any) -> int:
    code._obj.value = _STILL_ACTIVE
    return 1


def unlink(path: str) -> None:
    if not str(path).endswith(".turn"):
        return _unlink(path)
    file = os.open(path, os.O_RDWR)
    try:
        if not _set(file, _WRITE, _BEYOND):
            raise PermissionError(13, "another process uses the file", path)
        _unlink(path)
    finally:
        os.close(file)


def install() -> None:
    """Remove what Windows lacks, and add what it has."""
    kernel32 = SimpleNamespace(
        LockFileEx=lock_file_ex,
        UnlockFileEx=unlock_file_ex,
        OpenProcess=open_process,
        GetExitCodeProcess=exit_code_of,
        CloseHandle=lambda handle: 1,
        GetDriveTypeW=lambda path: 3,
    )
    ctypes.WinDLL = lambda name, use_last_error: kernel32  # type: ignore[attr-defined]
    ctypes.get_last_error = lambda: _last_error  # type: ignore[attr-defined]
    msvcrt: Any = ModuleType("msvcrt")
    msvcrt.get_osfhandle = lambda file: file
    sys.modules["msvcrt"] = msvcrt
    os.unlink = unlink  # type: ignore[assignment]
    os.environ["OMNIZARR_NATIVE"] = "0"
    modules: dict[str, Any] = sys.modules
    for module in ("fcntl", "pwd", "grp", "resource", "termios"):
        modules[module] = None
    for name in (
        *("fork", "register_at_fork", "pread", "preadv", "sched_getaffinity", "sysconf", "O_DIRECTORY", "O_NOFOLLOW"),
        *("O_CLOEXEC", "O_TMPFILE", "posix_fadvise", "copy_file_range", "sendfile", "getuid", "geteuid", "fchmod"),
    ):
        if hasattr(os, name):
            delattr(os, name)
