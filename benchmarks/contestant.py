"""A library that takes part: its worker process, started when it is first asked and again after a crash."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

from benchmarks.environment import THREADS_OF

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 600  # seconds; the slowest cell known takes 20


class Failed(Exception):
    """The library could not do what it was asked; the text says why."""


class Contestant:
    """A library, and the interpreter that has it."""

    def __init__(self, name: str, python: str) -> None:
        self.name = name
        self.python = python
        self._process: subprocess.Popen[str] | None = None

    def ask(self, action: str, **arguments: Any) -> Any:
        """The worker's answer; `Failed` with its reason if it has none."""
        process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            raise Failed("the worker has no pipes")
        watchdog = threading.Timer(PATIENCE, process.kill)
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
            raise Failed("its process ended")
        reply = json.loads(line)
        if "error" in reply:
            raise Failed(reply["error"])
        return reply["answer"]

    def _start(self) -> subprocess.Popen[str]:
        # -s: nothing that the user installed beside the environment may stand in for what is in it
        command = [self.python, "-s", "-m", "benchmarks.worker", self.name]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **THREADS_OF},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
