"""Reads and writes over a network: `python -m benchmarks.remote`, or `make bench-remote`."""
