"""Install packages into an environment: `python packaging/install.py PYTHON [--only-binary=NAMES] REQUIREMENT…`.

uv takes a tenth of the CPU time of pip. It is used if it is installed beside the interpreter that runs this file. It
does not read the configuration of pip (a package index of one's own, for example), so pip installs what uv cannot. The
environment needs no pip of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ONLY_BINARY = "--only-binary="


def uv_options(arguments: list[str]) -> list[str]:
    """The arguments in the form of uv, which takes one name per `--only-binary`."""
    options: list[str] = []
    for argument in arguments:
        if argument.startswith(ONLY_BINARY):
            options += [f"{ONLY_BINARY}{name}" for name in argument.removeprefix(ONLY_BINARY).split(",")]
        else:
            options.append(argument)
    return options


def main() -> int:
    python, *arguments = sys.argv[1:]
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is not None:
        command = [uv, "pip", "install", "-q", "--python", python, *uv_options(arguments)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return 0
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--prefer-binary", *arguments]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
