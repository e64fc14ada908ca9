"""Temporary files like those of crashed writers, and the files below a directory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from omnizarr.store.local import temp_names


def all_paths(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def leave_temp_file(folder: Path, *, host: str | None = None, process: int | None = None, age: float = 0) -> Path:
    """Create a temporary file like one of a crashed writer. `age` is in seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".omnizarr-{host or temp_names._host()}-{process or dead_process()}-7.tmp"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid
