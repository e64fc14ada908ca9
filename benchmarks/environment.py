"""The environment of the measurements: interpreters, the machine, and variables that give every library two threads."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

THREADS = 2
THREAD_VARIABLES = {  # the libraries read them when they are loaded
    "OMNIZARR_THREADS": str(THREADS),
    "RAYON_NUM_THREADS": str(THREADS),  # zarrs and zarrista
    "OMP_NUM_THREADS": "1",
}
CLOCK_VARIABLE = "OMNIZARR_BENCHMARK_CLOCK"
"""The function of `time` that the processes of libraries measure with; `perf_counter` if it is not set."""


def clock_name() -> str:
    return os.environ.get(CLOCK_VARIABLE, "perf_counter")


def own_python() -> str:
    """The interpreter that has omnizarr: the one of the project's environment, or the current one."""
    return _python_of(ROOT / ".venv") or sys.executable


def peer_python() -> str | None:
    """The interpreter of the environment that `make peers` creates; None if there is none."""
    return _python_of(Path(os.environ.get("OMNIZARR_PEERS", ROOT / ".peers")) / "zarr3")


def _python_of(environment: Path) -> str | None:
    for place in ("bin/python", "Scripts/python.exe"):
        if (environment / place).exists():
            return str(environment / place)
    return None


def machine() -> dict[str, str]:
    """The processor, the number of cores and the system, for the report."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        return match.group(1).strip() if match else platform.machine()
    except OSError:
        return platform.processor() or platform.machine()


def compile_limit(folder: Path) -> tuple[Path | None, str]:
    """Compiles limit.c into a folder. Returns the program, or None and the reason."""
    program = folder / "limit"
    source = str(Path(__file__).with_name("limit.c"))
    command = ["cc", "-O3", "-march=native", source, "-o", str(program), "-lblosc", "-lzstd", "-ldeflate", "-lpthread"]
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        return None, f"no C compiler: {error.strerror}"
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        return None, (errors or ["limit.c does not compile"])[0].rpartition("error: ")[2]
    return program, ""
