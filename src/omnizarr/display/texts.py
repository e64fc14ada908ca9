"""Short texts for numbers, shapes and nodes."""

from __future__ import annotations

from typing import Any

__all__ = ["MOST_ATTRIBUTES", "by_path", "digits", "human_bytes", "label", "shape_text", "shortened"]

MOST_ATTRIBUTES = 200  # to show of a node

_MOST_LENGTHS = 12  # listed chunk lengths to show per dimension
_LONGEST_TEXT = 2000  # characters of an attribute
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_bytes(count: int) -> str:
    """1536 → `1.5 KiB`"""
    unit = min(max(0, count.bit_length() - 1) // 10, len(_UNITS) - 1)
    if unit == 0:
        return f"{count} B"
    # Integer arithmetic, because sizes in metadata can exceed the range of floats.
    tenths = (10 * count + 2 ** (10 * unit - 1)) >> 10 * unit
    return f"{tenths // 10}.{tenths % 10} {_UNITS[unit]}"


def digits(number: int) -> str:
    """1234567 → `1 234 567`, with thin spaces."""
    return f"{number:,}".replace(",", "\u2009")


def shortened(text: str) -> str:
    """The text, or the beginning of a long one: an attribute may have megabytes."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def shape_text(chunks: tuple[Any, ...]) -> Any:
    """The chunk lengths, with `3×10` for three chunks of length 10, and `…` after the first 12 of a dimension."""
    if all(isinstance(lengths, int) for lengths in chunks):
        return chunks
    return f"({', '.join(map(_lengths_text, chunks))}{',' * (len(chunks) == 1)})"


def _lengths_text(lengths: int | tuple[Any, ...]) -> str:
    if isinstance(lengths, int):
        return str(lengths)
    shown = [str(item) if isinstance(item, int) else f"{item[1]}×{item[0]}" for item in lengths[:_MOST_LENGTHS]]
    rest = ["…"] * (len(lengths) > _MOST_LENGTHS)
    return f"({', '.join([*shown, *rest])})"


def label(name: str, node: Any) -> str:
    """The line of a node in a tree."""
    if hasattr(node, "shape"):
        return f"{name} {node.shape} {node.data_type.name}"
    if hasattr(node, "reason"):
        return f"{name} (unreadable: {node.reason})"
    return name


def by_path(member: tuple[str, Any]) -> list[str]:
    """The order of a tree, for `sorted`: each group before its members."""
    return member[0].split("/")
