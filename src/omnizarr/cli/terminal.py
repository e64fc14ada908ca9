"""Text on its way to a terminal, a pipe or a file: colours only where a person sees them, and nothing that a terminal
would take for a command."""

from __future__ import annotations

import os
import sys

__all__ = ["coloured", "echo", "printable", "row"]

_ASCII = str.maketrans("│├└─→×…", "||`->x.")


def coloured() -> bool:
    """Whether colours are wanted: on a terminal, unless the user says `NO_COLOR` (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """`text` with control characters spelled out: names and attributes may come from anybody, and must not be able to
    steer the terminal. Half a surrogate pair, which a file name may hold, cannot be printed either."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def echo(text: str) -> None:
    """Prints one line; where the output cannot hold its characters, as near to it as ASCII comes."""
    line = printable(text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = line.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    print(line)


def row(title: str, text: str) -> None:
    """Prints a title and what belongs to it, the title dimmer where there are colours."""
    if not coloured():
        echo(f"{title} : {text}".rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text.assemble((printable(title), "cyan"), (" : ", "dim"), printable(text)), soft_wrap=True)
