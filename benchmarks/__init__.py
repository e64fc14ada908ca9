"""Benchmarks of omnizarr and its peers, and the study behind its defaults.

`python -m benchmarks` measures the subjects (`subjects/`), one table each. `python -m benchmarks.compare A B` compares
two source trees of omnizarr. `archives`, `remote` and `defaults` are programs of their own.
"""
