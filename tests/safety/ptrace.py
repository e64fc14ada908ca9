"""Runs a child that stops before and after each system call: kills it there, sends it a signal, or lets the call
fail."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable

from tests.safety.processes import forked

__all__ = ["CAN_FAIL_CALLS", "fail_at", "kill_at", "reason_not_to", "signal_at"]

_TRACEME, _GETREGS, _SETREGS, _DETACH, _SYSCALL = 0, 12, 13, 17, 24

CAN_FAIL_CALLS = platform.machine() == "x86_64"
"""Whether `fail_at` knows the registers of this processor."""

# Calls that need space on the disk: write, pwrite64, fsync, rename, mkdir, mkdirat, renameat, renameat2,
# copy_file_range; and openat (257) if it creates a file.
_NEED_SPACE = frozenset({1, 18, 74, 82, 83, 258, 264, 316, 326})
_OPENAT = 257
_NUMBER, _RESULT, _FLAGS, _DESCRIPTOR = 15, 10, 12, 14  # places in `user_regs_struct`: orig_rax, rax, rdx, rdi

_Registers = ctypes.c_ulonglong * 27


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return libc


def _traced(libc: ctypes.CDLL, work: Callable[[], object]) -> int:
    """A child that stops before and after each of its calls, from the first call after `work` is called."""

    def traced() -> None:
        if libc.ptrace(_TRACEME, 0, None, None):
            os._exit(77)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
        os._exit(0)

    return forked(traced)


def _next_stop(child: int) -> int | None:
    """The signal that the child stopped for; None if it has finished. A child that fails, fails the test."""
    _, status = os.waitpid(child, 0)
    if os.WIFSTOPPED(status):
        return os.WSTOPSIG(status)
    assert not os.WIFSIGNALED(status), f"the child was ended by signal {os.WTERMSIG(status)}"
    assert os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return None


def kill_at(work: Callable[[], object], stop: int) -> int | None:
    """Lets a child work until its system call number `stop // 2` begins, or ends if `stop` is odd, and kills it: None.
    If the child finished before, the number of its stops. Counting begins with the first call after `work` is
    called."""
    libc = _libc()
    child = _traced(libc, work)
    for count in range(stop + 1):
        if _next_stop(child) is None:
            return count
        libc.ptrace(_SYSCALL, child, None, None)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def signal_at(
    prepare: Callable[[], tuple[Callable[[], object], Callable[[], object]]], stop: int, number: int
) -> int | None:
    """Sends a child a signal at a stop, as `kill_at` counts them, and lets it finish: None. If it finished before, the
    number of its stops. `prepare` runs in the child and returns the work to interrupt and a check of the result. A
    child that hangs is to end itself, by an alarm."""
    libc = _libc()

    def traced() -> None:
        work, check = prepare()
        if libc.ptrace(_TRACEME, 0, None, None):
            os._exit(77)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
        os.kill(os.getpid(), signal.SIGSTOP)
        check()
        os._exit(0)

    child = forked(traced)
    _next_stop(child)  # SIGSTOP
    libc.ptrace(_SYSCALL, child, None, None)
    count, reason = 0, _next_stop(child)
    while reason == signal.SIGTRAP:
        if count == stop:
            os.kill(child, number)
        count += 1
        libc.ptrace(_SYSCALL, child, None, None)
        reason = _next_stop(child)
    libc.ptrace(_DETACH, child, None, reason if reason == number else None)
    while True:
        pid, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        os.kill(child, signal.SIGCONT)  # it stopped itself after the work
    assert pid == child
    assert status == 0, f"the child failed, or was ended by a signal: {os.waitstatus_to_exitcode(status)}"
    return None if reason == number else count


def fail_at(work: Callable[[], object], place: int, error: int) -> int | None:
    """Lets the call number `place` that needs space on the disk, and all later ones, fail with `error`: None. If the
    child makes fewer of them, their number. Writes to standard output and standard error do not count."""
    libc = _libc()
    child = _traced(libc, work)
    _next_stop(child)  # SIGSTOP
    libc.ptrace(_SYSCALL, child, None, None)
    count, failing, entering = 0, False, True
    while (reason := _next_stop(child)) is not None:
        if reason != signal.SIGTRAP:
            libc.ptrace(_SYSCALL, child, None, reason)
            continue
        registers = _Registers()
        libc.ptrace(_GETREGS, child, None, ctypes.addressof(registers))
        if entering and _needs_space(registers):
            failing = count >= place
            count += 1
            if failing:
                registers[_NUMBER] = 2**64 - 1  # no such call
                libc.ptrace(_SETREGS, child, None, ctypes.addressof(registers))
        elif failing and not entering:
            failing = False
            registers[_RESULT] = 2**64 - error
            libc.ptrace(_SETREGS, child, None, ctypes.addressof(registers))
        entering = not entering
        libc.ptrace(_SYSCALL, child, None, None)
    return None if count > place else count


def _needs_space(registers: ctypes.Array[ctypes.c_ulonglong]) -> bool:
    number = registers[_NUMBER]
    if number == _OPENAT:
        return bool(registers[_FLAGS] & os.O_CREAT)
    return number in _NEED_SPACE and not (number == 1 and registers[_DESCRIPTOR] <= 2)


def reason_not_to() -> str | None:
    """Why ptrace cannot be used here; None if it can."""
    if not hasattr(os, "fork") or os.uname().sysname != "Linux":
        return "only Linux stops a process at its system calls"
    try:
        return "children cannot be stopped here" if kill_at(lambda: os.getcwd(), 2) else None
    except (AssertionError, OSError, AttributeError):
        return "children may not be traced here"
