"""`python -m benchmarks`: see run.py."""

from __future__ import annotations

from benchmarks.run import main

main()
