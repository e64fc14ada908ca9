"""Libraries that some codecs need, and that not everybody has installed."""

from __future__ import annotations

from typing import Any

from omnizarr._forking import load
from omnizarr.codecs.contract import Codec
from omnizarr.errors import MissingDependencyError

__all__ = ["needed"]


def needed(codec: type[Codec], module: str | None = None) -> Any:
    """The library that a codec `needs`, or a module of it; MissingDependencyError if it is not installed."""
    assert codec.needs is not None
    try:
        return load(module or codec.needs)
    except ImportError:
        raise MissingDependencyError(f"codec `{codec.name}`", codec.needs) from None
