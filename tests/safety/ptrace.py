"""Runs a child that stops before and after each system call, and kills it at one of them."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

from tests.safety.processes import forked

__all__ = ["kill_at", "reason_not_to"]

_TRACEME, _SYSCALL = 0, 24


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return libc


def kill_at(work: Callable[[], object], stop: int) -> bool:
    """Lets a child work until its system call number `stop // 2` begins, or ends if `stop` is odd, and kills it. False
    if the child finished before. Counting begins with the first call after `work` is called."""
    libc = _libc()

    def traced() -> None:
        if libc.ptrace(_TRACEME, 0, None, None):
            os._exit(77)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
        os._exit(0)

    child = forked(traced)
    for _ in range(stop + 1):
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, "the child failed by itself"
            return False
        assert os.WIFSTOPPED(status), status
        libc.ptrace(_SYSCALL, child, None, None)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def reason_not_to() -> str | None:
    """Why ptrace cannot be used here; None if it can."""
    if not hasattr(os, "fork") or os.uname().sysname != "Linux":
        return "only Linux stops a process at its system calls"
    try:
        return None if kill_at(lambda: os.getcwd(), 2) else "children cannot be stopped here"
    except (AssertionError, OSError, AttributeError):
        return "children may not be traced here"
