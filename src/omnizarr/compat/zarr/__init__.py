"""zarr-python 3's names and behaviour over omnizarr; `omnizarr.compat.install()` makes it `zarr`."""

from __future__ import annotations

import logging
import sys
from typing import Any

from omnizarr.compat.hook import VERSION as __version__
from omnizarr.compat.zarr import buffer, codecs, dtype, errors, registry, storage
from omnizarr.compat.zarr.api.synchronous import (
    array,
    consolidate_metadata,
    copy,
    copy_all,
    copy_store,
    create,
    create_array,
    create_group,
    create_hierarchy,
    empty,
    empty_like,
    from_array,
    full,
    full_like,
    group,
    load,
    ones,
    ones_like,
    open,
    open_array,
    open_consolidated,
    open_group,
    open_like,
    save,
    save_array,
    save_group,
    tree,
    zeros,
    zeros_like,
)
from omnizarr.compat.zarr.core.array import Array, AsyncArray
from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.core.group import AsyncGroup, Group

__all__ = [
    "Array",
    "AsyncArray",
    "AsyncGroup",
    "Group",
    "__version__",
    "array",
    "buffer",
    "codecs",
    "config",
    "consolidate_metadata",
    "copy",
    "copy_all",
    "copy_store",
    "create",
    "create_array",
    "create_group",
    "create_hierarchy",
    "dtype",
    "empty",
    "empty_like",
    "errors",
    "from_array",
    "full",
    "full_like",
    "group",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "open_like",
    "print_debug_info",
    "registry",
    "save",
    "save_array",
    "save_group",
    "set_format",
    "set_log_level",
    "storage",
    "tree",
    "zeros",
    "zeros_like",
]

_logger = logging.getLogger("zarr")


def print_debug_info() -> None:
    """Writes versions to standard output, for bug reports."""
    import platform

    import numpy

    import omnizarr

    for name, version in (
        ("platform", platform.platform()),
        ("python", platform.python_version()),
        ("zarr", f"{__version__} (omnizarr {omnizarr.__version__})"),
        ("numpy", numpy.__version__),
    ):
        sys.stdout.write(f"{name}: {version}\n")


def set_log_level(level: Any) -> None:
    """Sets the level of the logger `zarr`."""
    _logger.setLevel(level)


def set_format(log_format: str) -> None:
    """Sets the format of the logger `zarr`."""
    if not _logger.handlers:
        _logger.addHandler(logging.StreamHandler())
    for handler in _logger.handlers:
        handler.setFormatter(logging.Formatter(fmt=log_format))
