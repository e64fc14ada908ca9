"""Names of files that are being written, and the removal of those whose writer died before it was done."""

from __future__ import annotations

import os
import re
import time
from functools import cache
from itertools import count

__all__ = ["is_temporary", "new_name", "sweep"]

_TEMPORARY = re.compile(r"\.omnizarr-([0-9a-f]+)-([0-9]+)-[0-9]+\.tmp")
_STALE = 86_400  # seconds; no write takes a day, and no two clocks that share a file system differ by that much
_numbers = count(time.time_ns())  # so that who gets a dead writer's process id does not meet its files


def is_temporary(name: str) -> bool:
    """Whether a file of this name is one that is being written, or was."""
    return name.startswith(".omnizarr-") and _TEMPORARY.fullmatch(name) is not None


def new_name() -> str:
    """A name for the next file to be written; it says who writes it."""
    return f".omnizarr-{_host()}-{os.getpid()}-{next(_numbers)}.tmp"


def sweep(entry: os.DirEntry[str]) -> None:
    """Removes the file if nobody is writing it any more."""
    try:
        if _is_abandoned(entry):
            os.unlink(entry.path)
    except OSError:
        pass  # somebody else swept it, or only its owner may


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    found = _TEMPORARY.fullmatch(entry.name)
    if found is not None and found[1] == _host() and not _is_alive(int(found[2])):
        return True
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # os.kill is not harmless there, so that age alone decides
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False  # no process has such a number
    except OSError:
        return True  # it is another user's
    return True


@cache
def _host() -> str:
    """A token of the world in which a process id means something: this boot of this machine, and on Linux this
    namespace of process ids, which containers of one machine do not share. The clones of one image, which may well
    share a file system, have the same host name and differ in this."""
    from hashlib import blake2b  # here, because most programs never write

    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            identity = f"{file.read()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        import platform
        import uuid

        identity = f"{platform.node()} {uuid.getnode()}"
    return blake2b(identity.encode(), digest_size=6).hexdigest()
