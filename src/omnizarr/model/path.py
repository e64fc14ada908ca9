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
    for segment in segments:
        if segment in (".", "..") or "\0" in segment:
            raise ArgumentError(f"`{argument}`: `{path}` is not a path inside a hierarchy", argument=argument)
    return "/".join(segments)


def join_path(parent: str, child: str) -> str:
    """The path of `child` below `parent`."""
    return f"{parent}/{child}" if parent and child else parent or child


def parent_path(path: str) -> str:
    """The path of the group that holds `path`; the root is its own parent."""
    return path.rpartition("/")[0]
