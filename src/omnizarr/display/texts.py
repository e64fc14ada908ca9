"""Short texts for numbers, shapes and nodes."""

from __future__ import annotations

from typing import Any

__all__ = [
    "MOST_ATTRIBUTES",
    "by_path",
    "digits",
    "human_bytes",
    "label",
    "printable",
    "shape_text",
    "shortened",
    "type_text",
]

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


def printable(text: str) -> str:
    """`text` with escapes for control characters and lone surrogates.

    Names and attributes in a file are untrusted: control characters in them could change the state of the terminal. A
    file name can contain a lone surrogate, which cannot be encoded.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


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
    """The line of a node in a tree, without control characters."""
    if hasattr(node, "shape"):
        return printable(f"{name} {node.shape} {type_text(node.data_type)}")
    if hasattr(node, "reason"):
        return printable(f"{name} (unreadable: {node.reason})")
    return printable(name)


def type_text(data_type: Any) -> str:
    """A data type as people write it: its name, with the unit of times and the length of texts: `datetime64[ns]`."""
    dtype = data_type.dtype
    if dtype.kind in "mM" and data_type.name.startswith("numpy."):
        return str(dtype)
    configuration = data_type.to_json()
    configuration = configuration.get("configuration") if isinstance(configuration, dict) else None
    if isinstance(configuration, dict) and len(configuration) == 1:
        (value,) = configuration.values()
        if isinstance(value, (int, str)):
            return f"{data_type.name}({value})"
    if dtype.names is not None:
        return f"{data_type.name}({', '.join(dtype.names)})"
    return str(data_type.name)


def by_path(member: tuple[str, Any]) -> list[str]:
    """The order of a tree, for `sorted`: each group before its members."""
    return member[0].split("/")
