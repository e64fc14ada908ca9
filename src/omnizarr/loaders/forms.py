"""The form of a batch: like that of the arrays, a single one, a list or a dictionary."""

from __future__ import annotations

from typing import Any

__all__ = ["as_form"]


class _Single:
    def __call__(self, parts: list[Any]) -> Any:
        return parts[0]


class _List:
    def __call__(self, parts: list[Any]) -> Any:
        return parts


class _Named:
    def __init__(self, names: list[Any]) -> None:
        self._names = names

    def __call__(self, parts: list[Any]) -> Any:
        return dict(zip(self._names, parts, strict=True))


def as_form(names: list[Any] | None, *, single: bool) -> Any:
    """A function, which can be pickled, from a list of parts to a batch."""
    if single:
        return _Single()
    return _List() if names is None else _Named(names)
