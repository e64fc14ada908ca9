"""Wrapping of text at the width of a terminal."""

from __future__ import annotations

__all__ = ["wrapped"]


def wrapped(text: str, width: int, indent: str = "") -> str:
    """`text` in lines of at most `width` characters, broken at spaces where possible; later lines begin with
    `indent`."""
    from textwrap import wrap

    return f"\n{indent}".join(wrap(text, max(20, width), break_on_hyphens=False) or [""])
