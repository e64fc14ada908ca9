"""Selections as text, as in `x.zarr/t2m[0, 100:103, ::360]`."""

from __future__ import annotations

import re
from types import EllipsisType
from typing import TypeAlias

from omnizarr.errors import ArgumentError

__all__ = ["Index", "parse_selection", "selection_text", "split_selection"]

Index: TypeAlias = tuple[int | slice | EllipsisType | list[int] | str, ...]
"""One item per dimension, as in `z[index]`; a text names a field."""

_INTEGER = re.compile(r"[+-]?\d+")
_LIST = re.compile(r"\[([^\[\]]*)\]")
_FIELD = re.compile(r"""(['"])([^'"]*)\1""")
_HINT = "write integers, slices and `...`, one per dimension: `[0, 100:103, ::360]`"


def split_selection(location: str) -> tuple[str, Index | None]:
    """A location without its selection, and the selection: `x.zarr/a[0, 2:5]` → `x.zarr/a` and `(0, slice(2, 5))`."""
    if not location.endswith("]"):
        return location, None
    depth = 0
    for position in range(len(location) - 1, -1, -1):
        depth += {"]": 1, "[": -1}.get(location[position], 0)
        if depth == 0:
            return location[:position], parse_selection(location[position + 1 : -1])
    raise ArgumentError(f"`{location}`: the selection has no opening bracket", argument="location", hint=_HINT)


def parse_selection(text: str) -> Index:
    """The selection in a text: `0, 100:103, ::360` → `(0, slice(100, 103), slice(None, None, 360))`."""
    items = _split(text)
    if items and not items[-1].strip():
        items.pop()  # one comma at the end, as in Python
    return tuple(_item(item.strip(), text) for item in items)


def _split(text: str) -> list[str]:
    """The items between the commas that are not inside brackets."""
    items, depth = [""], 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return items


def _item(item: str, text: str) -> int | slice | EllipsisType | list[int] | str:
    if item == "...":
        return ...
    if _INTEGER.fullmatch(item):
        return _integer(item, text)
    if match := _LIST.fullmatch(item):
        return [_integer(part.strip(), text) for part in match[1].split(",") if part.strip()]
    if match := _FIELD.fullmatch(item):
        return match[2]
    parts = item.split(":")
    if 2 <= len(parts) <= 3:
        start, stop, step = (_bound(part.strip(), text) for part in (*parts, "")[:3])
        if step == 0:
            raise ArgumentError(f"selection `[{text}]`: the step of a slice is 0", argument="selection", hint=_HINT)
        return slice(start, stop, step)
    raise _invalid(item, text)


def _bound(part: str, text: str) -> int | None:
    return _integer(part, text) if part else None


def _integer(part: str, text: str) -> int:
    if not _INTEGER.fullmatch(part) or len(part) > 20:  # no index is longer, and `int` is slow on very long texts
        raise _invalid(part, text)
    return int(part)


def _invalid(item: str, text: str) -> ArgumentError:
    return ArgumentError(
        f"selection `[{text}]`: expected an integer, a slice or `...`, found `{item}`", argument="selection", hint=_HINT
    )


def selection_text(index: Index) -> str:
    """A selection as text: the reverse of `parse_selection`."""
    return ", ".join(_item_text(item) for item in index)


def _item_text(item: object) -> str:
    if item is ...:
        return "..."
    if isinstance(item, slice):
        bounds = ["" if bound is None else str(bound) for bound in (item.start, item.stop, item.step)]
        return ":".join(bounds if item.step is not None else bounds[:2])
    return repr(item)
