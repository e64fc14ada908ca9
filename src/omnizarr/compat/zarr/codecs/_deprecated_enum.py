"""Classes that were enumerations in earlier releases: their members are strings, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any

__all__ = ["DeprecatedEnum", "without_enum"]


class DeprecatedEnum(type):
    """The metaclass of classes whose `_members` were members of an enumeration."""

    _members: tuple[str, ...] = ()

    def __getattr__(cls, name: str) -> str:
        if name not in type.__getattribute__(cls, "_members"):
            raise AttributeError(name)
        warnings.warn(
            f"{cls.__name__}.{name} is deprecated; pass the string {name!r} instead.", DeprecationWarning, stacklevel=2
        )
        return name


def without_enum(value: Any, parameter: str, codec: str) -> Any:
    """The value of a member of an enumeration, with a DeprecationWarning; any other object itself."""
    if not isinstance(value, Enum):
        return value
    warnings.warn(
        f"Passing an enum to {codec}(..., {parameter}=...) is deprecated; pass the equivalent literal string instead.",
        DeprecationWarning,
        stacklevel=3,
    )
    return value.value
