"""Runs the program in a pseudo-terminal, as a person would."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import subprocess
import sys
from dataclasses import dataclass

__all__ = ["TerminalRun", "run_in_terminal", "run_python_in_terminal"]

_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@dataclass(frozen=True)
class TerminalRun:
    """What a terminal received, and the exit code."""

    raw: str
    code: int

    @property
    def text(self) -> str:
        """Without the codes of colours and of the cursor."""
        return _CODES.sub("", self.raw)

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def run_in_terminal(*arguments: object, columns: int = 80, **variables: str) -> TerminalRun:
    """Runs the program with standard output and standard error on a terminal with so many columns."""
    return _run(["-m", "omnizarr", *map(str, arguments)], columns, variables)


def run_python_in_terminal(code: str) -> TerminalRun:
    """Runs a Python program in the same way."""
    return _run(["-c", code], 80, {})


def _run(arguments: list[str], columns: int, variables: dict[str, str]) -> TerminalRun:
    import fcntl  # not on Windows
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    environment |= {"TERM": "xterm-256color", **variables}
    with subprocess.Popen(
        [sys.executable, *arguments], stdin=follower, stdout=follower, stderr=follower, env=environment
    ) as process:
        os.close(follower)
        received = b""
        with contextlib.suppress(OSError):  # EIO: the program has closed the terminal
            while data := os.read(leader, 65536):
                received += data
        code = process.wait(60)
    os.close(leader)
    return TerminalRun(received.decode("utf-8", "replace").replace("\r\n", "\n"), code)
