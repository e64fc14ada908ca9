"""Imports of optional libraries, with an error that names the package to install."""

from __future__ import annotations

import sys
from typing import Any

from omnizarr._fork import import_library
from omnizarr.errors import MissingDependencyError, StoreError

__all__ = ["load_optional"]


def load_optional(feature: str, package: str, module: str | None = None) -> Any:
    """The module `module` (by default `package`), which `feature` needs. MissingDependencyError if `package` is not
    installed."""
    try:
        return import_library(module or package)
    except ImportError:
        if is_unfinished(module or package):
            raise StoreError(
                f"{feature} needs `{module or package}`, which this thread is still importing",
                hint="a signal handler interrupted the first use of it; import it when the program starts",
            ) from None
        raise MissingDependencyError(feature, package) from None


def is_unfinished(module: str) -> bool:
    """Whether an import of `module`, or of a package that it is in, has begun and not ended."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return any(getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False) for name in names)
