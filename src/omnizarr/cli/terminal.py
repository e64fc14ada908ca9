"""Printing text to a terminal, a pipe or a file: colours on terminals only, and no control characters."""

from __future__ import annotations

import os
import sys

from omnizarr.display.terminal import printable

__all__ = ["coloured", "echo", "row"]

_ASCII = str.maketrans("│├└─→×…", "||`->x.")


def coloured() -> bool:
    """Whether to print colours: on a terminal, unless `NO_COLOR` is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def echo(text: str) -> None:
    """Prints one line, with ASCII replacements for characters that the encoding of the output lacks."""
    line = printable(text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = line.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    print(line)


def row(title: str, text: str) -> None:
    """Prints a title and a text; the title is coloured if colours are on."""
    if not coloured():
        echo(f"{title} : {text}".rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    Console().print(Text.assemble((printable(title), "cyan"), (" : ", "dim"), printable(text)), soft_wrap=True)
