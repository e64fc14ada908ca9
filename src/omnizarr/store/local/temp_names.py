"""Names of files that are no values: those that are being written, and those that mark somebody's turn; and the removal
of what the dead left behind."""

from __future__ import annotations

import os
import re
import time
from functools import cache
from itertools import count

__all__ = ["is_temporary", "new_name", "sweep", "task_lock_name"]

_TEMPORARY = re.compile(r"\.omnizarr-([0-9a-f]+)-([0-9]+)-[0-9]+\.tmp")
_STALE = 86_400  # seconds; no write takes a day, and no two clocks that share a file system differ by that much
_TURN = ".turn"
_numbers = count(time.time_ns())  # so that who gets a dead writer's process id does not meet its files


def is_temporary(name: str) -> bool:
    """Whether a file of this name is no value: it is being written, or marks a turn; or it was and did."""
    return name.startswith(".omnizarr-") and (_TEMPORARY.fullmatch(name) is not None or name.endswith(_TURN))


def task_lock_name(name: str) -> str:
    """The name of the file that marks somebody's turn at what the file `name` is about."""
    return f".omnizarr-{name}{_TURN}"


def new_name() -> str:
    """A name for the next file to be written; it says who writes it."""
    return f"{_writer()}{next(_numbers)}.tmp"


@cache
def _writer() -> str:
    return f".omnizarr-{_host()}-{os.getpid()}-"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_writer.cache_clear)


def sweep(entry: os.DirEntry[str]) -> None:
    """Removes the file if nobody is writing it any more."""
    try:
        if _is_abandoned(entry):
            os.unlink(entry.path)
    except OSError:
        pass  # somebody else swept it, or only its owner may


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    found = _TEMPORARY.fullmatch(entry.name)
    if found is None:  # a turn, at what does not exist any more; else whoever has the next one must learn of it
        about = entry.name.removeprefix(".omnizarr-").removesuffix(_TURN)
        return not os.path.lexists(entry.path[: -len(entry.name)] + about)
    if found[1] == _host() and not _is_alive(int(found[2])):
        return True
    return _is_old(entry)


def _is_old(entry: os.DirEntry[str]) -> bool:
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
