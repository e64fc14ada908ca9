"""Names of temporary files and task lock files, and cleanup after crashed writers."""

from __future__ import annotations

import os
import re
import time
from functools import cache
from itertools import count

__all__ = ["is_temporary", "new_name", "sweep", "task_lock_name", "task_of"]

_TEMPORARY = re.compile(r"\.omnizarr-([0-9a-f]+)-([0-9]+)-[0-9]+\.tmp")
_STALE = 86_400  # seconds; no write takes a day, and no two clocks that share a file system differ by that much
_TASK_LOCK = ".turn"
_numbers = count(time.time_ns())  # a writer that gets the process id of a crashed one must not meet its files


def is_temporary(name: str) -> bool:
    """Whether a file of this name is no value: a temporary file, or a task lock."""
    return name.startswith(".omnizarr-") and (_TEMPORARY.fullmatch(name) is not None or name.endswith(_TASK_LOCK))


def task_lock_name(name: str) -> str:
    """The name of the task lock file beside the file `name`."""
    return f".omnizarr-{name}{_TASK_LOCK}"


def task_of(name: str) -> str | None:
    """The name of the file that a task lock file is about; None if `name` is no task lock."""
    return name.removeprefix(".omnizarr-").removesuffix(_TASK_LOCK) if name.endswith(_TASK_LOCK) else None


def new_name() -> str:
    """A name for the next temporary file; it contains the host and the process that write it."""
    return f"{_writer()}{next(_numbers)}.tmp"


@cache
def _writer() -> str:
    return f".omnizarr-{_host()}-{os.getpid()}-"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_writer.cache_clear)


def sweep(entry: os.DirEntry[str]) -> None:
    """Remove a temporary file if its writer does not exist any more."""
    try:
        if _is_abandoned(entry):
            os.unlink(entry.path)
    except OSError:
        pass  # another process removed it, or only its owner may


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    match = _TEMPORARY.fullmatch(entry.name)
    if match is None:
        return False
    if match[1] == _host() and not _is_alive(int(match[2])):
        return True
    return _is_old(entry)


def _is_old(entry: os.DirEntry[str]) -> bool:
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # `os.kill` is not harmless there, so that age alone decides
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False  # no process has such a number
    except OSError:
        return True  # it belongs to another user
    return True


@cache
def _host() -> str:
    """A token for the scope of process ids: this boot of this machine, and on Linux this PID namespace, which the
    containers of one machine do not share. Clones of one machine image have the same host name and differ in this."""
    from hashlib import blake2b  # lazy import: only for writers

    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            identity = f"{file.read()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        import platform
        import uuid

        identity = f"{platform.node()} {uuid.getnode()}"
    return blake2b(identity.encode(), digest_size=6).hexdigest()
