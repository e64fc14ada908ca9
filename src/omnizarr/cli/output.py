"""`Output`: prints the result of a command as text for a terminal, as plain text for a pipe, or as JSON.

On a terminal, titles are coloured, and long values and listings are cut to what fits. A pipe gets plain text with
nothing cut. Neither gets control characters from names and values, which could change the state of a terminal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import Any, Literal, TypeAlias

from omnizarr.cli.styles import Column, Style, on_terminal, styled
from omnizarr.display.texts import printable

__all__ = ["Column", "Form", "Output", "Style", "shortened", "write"]

_ASCII = str.maketrans("│├└─→×…", "||`->x.")
_CONTROLS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # beyond ASCII: C1, separators, directions of text
_MOST_ROWS = 100  # of a table on a terminal
_MOST_FIELDS = 40  # of one mapping on a terminal
_MOST_LINES = 3  # of one value on a terminal

Form: TypeAlias = Literal["text", "json", "jsonl"]


def write(line: str) -> None:
    """Prints a line, with ASCII replacements for characters that the encoding of the output lacks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = line.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(f"{line}\n")


class Output:
    """Where and how a command prints its result."""

    def __init__(self, form: Form = "text", *, full: bool = False) -> None:
        self.form = form
        self.full = full
        self.terminal = on_terminal()

    @property
    def cuts(self) -> bool:
        """Whether long values and listings are cut."""
        return self.terminal and not self.full

    @property
    def width(self) -> int:
        """The number of columns of the terminal."""
        return get_terminal_size().columns

    def line(self, text: str = "", style: Style = "plain") -> None:
        """Prints one line of text."""
        write(styled(printable(text), style))

    def paragraph(self, title: str, text: str, style: Style = "plain") -> None:
        """Prints a title and a text. On a terminal, the text is wrapped beside the title."""
        title, text = printable(title), printable(text)
        if self.cuts and len(title) + len(text) > self.width:
            from omnizarr.cli.wrapping import wrapped

            text = wrapped(text, self.width - len(title), " " * len(title))
        write(f"{styled(title, style)}{text}")

    def json(self, result: Any) -> None:
        """Prints a result as one JSON value."""
        write(_dump(result, indent=2))

    def jsonl(self, result: Any) -> None:
        """Prints a result as one line of JSON."""
        write(_dump(result, indent=None))

    def value(self, value: Any) -> None:
        """Prints a value alone: a number or text as Python prints it, other values as JSON."""
        write(printable(_value_text(value)))

    def fields(self, rows: Iterable[tuple[str, Any]], *, indent: int = 0, keep_none: bool = False) -> None:
        """Prints titles and values, one per line. A mapping of titles is printed as its members, indented. None is left
        out, unless `keep_none`."""
        pairs = rows if keep_none else ((title, value) for title, value in rows if value is not None and value != {})
        shown = [(printable(str(title)), value) for title, value in pairs]
        hidden = 0
        if self.cuts and indent and len(shown) > _MOST_FIELDS:
            hidden = len(shown) - _MOST_FIELDS
            del shown[_MOST_FIELDS:]
        nested = not indent and not keep_none
        widest = max((len(title) for title, value in shown if not (nested and isinstance(value, dict))), default=0)
        width = min(widest, self.width // 3) if self.cuts else widest
        start = " " * indent
        for title, value in shown:
            if nested and isinstance(value, dict):
                write(f"{start}{styled(title, 'title')}")
                self.fields(value.items(), indent=indent + 2, keep_none=True)
                continue
            text = printable(value if isinstance(value, str) else _value_text(value))
            if self.cuts:
                title = shortened(title, width)
                text = self._cut(text, self.width - indent - width - 2)
            write(f"{start}{styled(title.ljust(width), 'title')}  {text}")
        if hidden:
            write(f"{start}{styled(f'… and {hidden} more (--full shows all)', 'dim')}")

    def _cut(self, text: str, width: int) -> str:
        """A value in at most three lines of the terminal, the later ones indented like the first."""
        width = max(width, 20)
        most = width * _MOST_LINES
        if len(text) > most:
            note = f"… ({len(text):,} characters)"
            text = text[: most - len(note)] + note
        from omnizarr.cli.wrapping import wrapped

        return text if len(text) <= width else wrapped(text, width, " " * (self.width - width))

    def table(
        self, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, noun: str = "rows", keep_empty: bool = False
    ) -> None:
        """Prints a table: with rich on a terminal, and in a pipe as aligned text. Empty columns are left out, unless
        `keep_empty`."""
        indexes = [index for index in range(len(columns)) if keep_empty or any(row[index] for row in rows)]
        columns = [columns[index] for index in indexes]
        hidden = len(rows) - _MOST_ROWS if self.cuts and len(rows) > _MOST_ROWS else 0
        rows = [[printable(row[index]) for index in indexes] for row in (rows[:_MOST_ROWS] if hidden else rows)]
        if not columns:
            return
        if self.terminal:
            from omnizarr.cli.rich_table import print_table  # lazy import: rich takes 30 ms

            print_table(columns, rows, cut=not self.full)
        else:
            self._plain_table(columns, rows)
        if hidden:
            self.line(f"… and {hidden:,} more {noun} (--full shows all)", "dim")

    def _plain_table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        lines = [[column.title for column in columns], *rows]
        widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
        for line in lines:
            cells = [
                text.rjust(width) if column.right else text.ljust(width)
                for text, width, column in zip(line, widths, columns, strict=True)
            ]
            write("  ".join(cells).rstrip())


def shortened(text: str, width: int) -> str:
    """The text, or its beginning and `…`, in at most `width` characters."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


def _value_text(value: Any) -> str:
    """A value as one line: a number or text as Python prints it, other values as JSON."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return _dump(value, indent=None)


def _dump(result: Any, *, indent: int | None) -> str:
    import json

    from omnizarr.tools import as_json

    text = json.dumps(as_json(result), indent=indent, ensure_ascii=False)  # escapes the control characters of ASCII
    return _CONTROLS.sub(lambda match: json.dumps(match[0])[1:-1], text)
