"""Styles of text on a terminal, and whether standard output is one."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["Column", "Style", "coloured", "on_terminal", "styled"]

Style: TypeAlias = Literal["title", "name", "dim", "good", "bad", "warning", "plain"]

_CODES: dict[Style, str] = {
    "title": "36",
    "name": "1",
    "dim": "2",
    "good": "32",
    "bad": "31",
    "warning": "33",
    "plain": "",
}
"""The codes of the 16 basic colours, which every theme keeps readable."""


class Column(NamedTuple):
    """A column of a table."""

    title: str
    style: Style = "plain"
    right: bool = False
    """Whether to align its values to the right, as numbers are."""
    rank: int = 0
    """If a terminal is too narrow, columns of the highest rank are left out first; those of rank 0 never."""


def on_terminal(stream: Any = None) -> bool:
    """Whether a stream, by default standard output, is a terminal that can show more than plain lines."""
    stream = sys.stdout if stream is None else stream
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def coloured() -> bool:
    """Whether to print colours: on a terminal, unless `NO_COLOR` is set (https://no-color.org)."""
    return on_terminal() and not os.environ.get("NO_COLOR")


def styled(text: str, style: Style) -> str:
    """`text` in a style, if colours are on."""
    code = _CODES[style]
    return f"\x1b[{code}m{text}\x1b[0m" if code and coloured() else text
