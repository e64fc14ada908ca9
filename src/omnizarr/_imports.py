"""Imports of optional libraries, with an error that says what to install."""

from __future__ import annotations

from typing import Any

from omnizarr._fork import import_library
from omnizarr.errors import MissingDependencyError

__all__ = ["load_optional"]


def load_optional(feature: str, package: str, module: str | None = None) -> Any:
    """The module `module` (by default `package`); MissingDependencyError if it is not installed.

    `feature` is what needs it, and `package` what the user has to install.
    """
    try:
        return import_library(module or package)
    except ImportError:
        raise MissingDependencyError(feature, package) from None
