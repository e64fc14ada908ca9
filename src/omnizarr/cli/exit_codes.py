"""Exit codes, and the messages for errors and warnings, on standard error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from omnizarr.display.texts import printable
from omnizarr.errors import (
    ArgumentError,
    LocationError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    OmnizarrWarning,
    SelectionError,
)

__all__ = ["CANNOT", "INTERRUPTED", "NO", "USAGE", "YES", "discard_output", "message", "report", "show_warnings"]

YES = 0
"""The command did what it was asked for, and the answer is yes."""
NO = 1
"""The answer is no: not found, invalid, or different."""
USAGE = 2
"""The command line is wrong."""
CANNOT = 3
"""The command has no answer: unreadable data, a refused request, a failed read or write."""
INTERRUPTED = 130
"""Ctrl-C, as shells report it."""
_BROKEN_PIPE = 141
"""The reader of a pipe ended first, as shells report it."""


def code_of(error: BaseException) -> int:
    """The exit code for an error."""
    if isinstance(error, NodeNotFoundError):
        return NO
    if isinstance(error, (ArgumentError, LocationError, SelectionError, NodeTypeError)):
        return USAGE
    return CANNOT


def report(error: Exception) -> int:
    """Prints the message for an error, and returns its exit code."""
    if isinstance(error, OmnizarrError):
        message("error", str(error))
    elif isinstance(error, OSError):
        place = f"`{error.filename}`: " if error.filename else ""
        message("error", f"{place}{error.strerror or error}")
    elif isinstance(error, MemoryError):
        message("error", "not enough memory")
    else:
        message(
            "error", f"{type(error).__name__}: {error}\n\nhint: this is a bug of omnizarr; --debug shows the traceback"
        )
    return code_of(error)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Prints warnings of the library as one line each, for the duration of the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", OmnizarrWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        yield


def _show_warning(warning: Warning | str, *_: Any, **__: Any) -> None:
    message("warning", str(warning))


def message(kind: str, text: str) -> None:
    """Prints a message to standard error, without the control characters that names in a dataset may contain."""
    try:
        click.echo(f"{kind}: " + "\n".join(printable(line) for line in text.split("\n")), err=True)
    except OSError:  # standard error is closed or full: the exit code remains
        pass


def discard_output() -> int:
    """Sends what is still buffered for standard output to nowhere, because Python would try to write it at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):  # standard output is no file
        pass
    return _BROKEN_PIPE
