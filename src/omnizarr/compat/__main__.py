"""`python -m omnizarr.compat script.py …` (or `-m module …`): runs a program with `zarr` replaced."""

from __future__ import annotations

import runpy
import sys

from omnizarr.compat.hook import install

USAGE = "usage: python -m omnizarr.compat (script.py | -m module) [arguments …]"


def main() -> None:
    """Runs the script or module that the command line names."""
    arguments = sys.argv[1:]
    as_module = arguments[:1] == ["-m"]
    if as_module:
        arguments = arguments[1:]
    if not arguments:
        sys.exit(USAGE)
    install()
    sys.argv = arguments
    if as_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
