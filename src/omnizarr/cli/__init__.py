"""The command line program `omnizarr`: one module per subcommand, in `commands`, imported when the command runs.

The commands call the library, mostly `omnizarr.tools`, and print its results. No other package imports this one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program with these arguments, or with those of the process, and exits with its exit code."""
    # NumPy starts a pool of threads for linear algebra, which no command uses: 50 of 180 ms of `omnizarr info`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from omnizarr.cli.program import program  # lazy import: `import omnizarr` must not load click

        program(arguments, prog_name="omnizarr")
    except KeyboardInterrupt:  # during the import
        raise SystemExit(130) from None
