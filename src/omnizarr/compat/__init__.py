"""omnizarr under the name `zarr`, for programs that were written for zarr-python 3.

    import omnizarr.compat
    omnizarr.compat.install()
    import zarr  # omnizarr.compat.zarr

`python -m omnizarr.compat script.py` runs a program that cannot be edited.
"""

from __future__ import annotations

from omnizarr.compat.hook import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]
