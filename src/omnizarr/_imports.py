"""Imports of optional libraries, with an error that names the package to install."""

from __future__ import annotations

from typing import Any

from omnizarr._fork import import_library
from omnizarr.errors import MissingDependencyError

__all__ = ["load_optional"]


def load_optional(feature: str, package: str, module: str | None = None) -> Any:
    """The module `module` (by default `package`), which `feature` needs. MissingDependencyError if `package` is not
    installed."""
    try:
        return import_library(module or package)
    except ImportError:
        raise MissingDependencyError(feature, package) from None
