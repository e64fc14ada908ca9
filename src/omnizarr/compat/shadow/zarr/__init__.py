"""What a child process imports as `zarr`: it installs the hook of its parent, which replaces this module.

`multiprocessing` and dask start processes that share the `sys.path` of their parent, and nothing else.
"""

from __future__ import annotations

import sys
from importlib import import_module

from omnizarr.compat.hook import install

del sys.modules["zarr"]
install()
import_module("zarr")  # importlib returns this one, because it is what `sys.modules` holds
