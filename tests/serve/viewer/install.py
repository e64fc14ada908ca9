"""Installs Chromium and the npm packages of `viewer/` for the tests of the page. If it cannot, it prints the reason and
the tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

VIEWER = Path(__file__).resolve().parents[3] / "viewer"


def run(*command: str, where: Path | None = None) -> bool:
    """Runs a command; False, and a line that says why, if it fails."""
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=900, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"== {command[0]}: {error}")
        return False
    if done.returncode:
        print(f"== {' '.join(command)} failed: {done.stderr.strip()[-300:]}")
    return not done.returncode


def main() -> None:
    if shutil.which("chromium") is None and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        print("== installing Chromium")
        _ = run("apt-get", "update", "-q") and run("apt-get", "install", "-y", "-q", "chromium")
    if shutil.which("npm") is None:
        print("== npm is not installed: the tests of the page in a browser are skipped")
    elif not (VIEWER / "node_modules" / "playwright-core").exists():
        print("== installing the npm packages of viewer/")
        run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", where=VIEWER)


if __name__ == "__main__":
    main()
