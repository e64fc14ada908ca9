"""Where the measurements run: the interpreters, the machine, and the variables that give every library two threads.

Only the standard library is imported here: the program that keeps the time needs nothing else.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

THREADS = 2
# Read by the libraries when they are loaded, so the worker's process has them from the start.
THREADS_OF = {
    "OMNIZARR_THREADS": str(THREADS),
    "RAYON_NUM_THREADS": str(THREADS),  # zarrs and zarrista
    "OMP_NUM_THREADS": "1",
}


def own_python() -> str:
    """The interpreter that has omnizarr: the project's environment, or whatever runs this."""
    return _first(ROOT / ".venv") or sys.executable


def peer_python() -> str | None:
    """The interpreter that has the peers, where `make peers` put it."""
    return _first(Path(os.environ.get("OMNIZARR_PEERS", ROOT / ".peers")) / "zarr3")


def _first(environment: Path) -> str | None:
    for place in ("bin/python", "Scripts/python.exe"):
        if (environment / place).exists():
            return str(environment / place)
    return None


def machine() -> dict[str, str]:
    """The machine, as far as it matters to a reader."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        return found.group(1).strip() if found else platform.machine()
    except OSError:
        return platform.processor() or platform.machine()


def compile_limit(folder: Path) -> tuple[Path | None, str]:
    """The native limit program, compiled into a folder; or None, and why not."""
    program = folder / "limit"
    source = str(Path(__file__).with_name("limit.c"))
    command = ["cc", "-O3", "-march=native", source, "-o", str(program), "-lblosc", "-lzstd", "-ldeflate", "-lpthread"]
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        return None, f"no C compiler: {error.strerror}"
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        return None, (errors or ["it cannot be compiled"])[0].rpartition("error: ")[2]
    return program, ""
