"""Processes for tests: many at once, and some that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["forked", "killed_after", "run_all", "wait_for"]


def forked(work: Callable[[], object]) -> int:
    """The id of a child process that runs the work and exits with 1 if it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # Python warns about a fork with threads, which is intended here
        child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait_for(child: int) -> int:
    """The exit code of a child; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_after(work: Callable[[], object], seconds: float) -> int:
    """Lets a child work, and kills it after `seconds` if it still runs; returns its exit code."""
    child = forked(work)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return wait_for(child)


def run_all(function: Callable[..., object], arguments: Iterable[tuple[Any, ...]]) -> None:
    """Calls a function in one process per set of arguments, all at once."""
    ready, go = os.pipe()

    def work(given: tuple[Any, ...]) -> None:
        os.close(go)
        os.read(ready, 1)  # reading ends when the parent closes its end: all start together
        function(*given)

    children = [forked(lambda given=given: work(given)) for given in arguments]  # type: ignore[misc]
    os.close(go)
    os.close(ready)
    assert [wait_for(child) for child in children] == [0] * len(children)


def program(text: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Starts a Python program."""
    return subprocess.Popen([sys.executable, "-c", text, *map(str, arguments)], **options)
