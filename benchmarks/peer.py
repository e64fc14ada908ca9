"""One library under test: a handle on its process, which starts with the first request and again after a crash."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.environment import THREAD_VARIABLES

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 600  # seconds for one request; the slowest known cell takes 20


class PeerError(Exception):
    """The library cannot do what a request asks for; the text says why."""


class Peer:
    """A library, and the interpreter that has it."""

    def __init__(
        self,
        library: str,
        python: str,
        variables: Mapping[str, str] | None = None,
        module: str = "benchmarks.peer_process",
    ) -> None:
        """`variables` are added to the environment variables of the process, which runs `module`."""
        self.library = library
        self.python = python
        self.variables = {**THREAD_VARIABLES, **(variables or {})}
        self._module = module
        self._process: subprocess.Popen[str] | None = None

    def ask(self, action: str, **arguments: Any) -> Any:
        """The answer of the process to one request; raises `PeerError` if it fails."""
        process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            raise PeerError("the process has no pipes")
        watchdog = threading.Timer(TIMEOUT, process.kill)
        watchdog.start()
        try:
            process.stdin.write(json.dumps({"action": action, **arguments}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            self.close()
            raise PeerError("its process ended")
        reply = json.loads(line)
        if "error" in reply:
            raise PeerError(reply["error"])
        return reply["answer"]

    def fresh(self) -> Peer:
        """A handle on a new process of the same library."""
        return Peer(self.library, self.python, self.variables, self._module)

    def _start(self) -> subprocess.Popen[str]:
        # -s: packages of the user site must not replace those of the environment
        command = [self.python, "-s", "-m", self._module, self.library]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **self.variables},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def close(self) -> None:
        """Ends the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
