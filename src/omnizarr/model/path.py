"""Paths of nodes: `a/b/c` without leading or trailing slash. The root has the empty path."""

from __future__ import annotations

import re

from omnizarr.errors import ArgumentError

__all__ = ["join_path", "normal_path", "parent_path"]


_PLAIN = re.compile(r"[A-Za-z0-9_-]+").fullmatch  # most paths: one name that needs no further check


def normal_path(path: str | None, argument: str = "path") -> str:
    """A user's path in normal form. ArgumentError for `.` and `..`."""
    if path is None:
        return ""
    if not isinstance(path, str):
        raise ArgumentError(f"`{argument}`: expected a string, found {type(path).__name__}", argument=argument)
    if _PLAIN(path):
        return path
    segments = [segment for segment in path.split("/") if segment]
    if any(segment in (".", "..") for segment in segments) or "\0" in path or not _is_text(path):
        raise ArgumentError(f"`{argument}`: {path!r} is not a path inside a hierarchy", argument=argument)
    return "/".join(segments)


def _is_text(path: str) -> bool:
    """Whether `path` can be encoded in UTF-8: a lone surrogate cannot (R50)."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def join_path(parent: str, child: str) -> str:
    """The path of `child` below `parent`."""
    return f"{parent}/{child}" if parent and child else parent or child


def parent_path(path: str) -> str:
    """The path of the group that contains `path`. The root is its own parent."""
    return path.rpartition("/")[0]
