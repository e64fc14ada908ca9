"""Paths of nodes: `a/b/c` without slashes at the ends, and the empty string for the root."""

from __future__ import annotations

from omnizarr.errors import ArgumentError

__all__ = ["join_path", "normal_path", "parent_path"]


def normal_path(path: str | None, argument: str = "path") -> str:
    """A user's spelling of a path in its one normal form; `.` and `..` are refused."""
    if path is None:
        return ""
    if not isinstance(path, str):
        raise ArgumentError(f"`{argument}`: expected a string, found {type(path).__name__}", argument=argument)
    segments = [segment for segment in path.split("/") if segment]
    if any(segment in (".", "..") for segment in segments) or "\0" in path or not _is_text(path):
        raise ArgumentError(f"`{argument}`: {path!r} is not a path inside a hierarchy", argument=argument)
    return "/".join(segments)


def _is_text(path: str) -> bool:
    """Whether keys can hold it: half a surrogate pair has no bytes in UTF-8 (R50)."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def join_path(parent: str, child: str) -> str:
    """The path of `child` below `parent`."""
    return f"{parent}/{child}" if parent and child else parent or child


def parent_path(path: str) -> str:
    """The path of the group that holds `path`; the root is its own parent."""
    return path.rpartition("/")[0]
