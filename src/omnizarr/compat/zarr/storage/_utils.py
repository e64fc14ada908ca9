"""Paths of nodes, and parts of values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from omnizarr.compat.zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

__all__ = ["byte_range_of", "join_paths", "normalize_path"]


def normalize_path(path: str | bytes | Path | None) -> str:
    """A path without a leading slash, empty parts and backslashes; `.` and `..` are errors."""
    if path is None:
        return ""
    if isinstance(path, bytes):
        result = str(path, "ascii")
    elif isinstance(path, Path):
        result = str(path)
    elif isinstance(path, str):
        result = path
    else:
        raise TypeError(f'Object {path} has an invalid type for "path": {type(path).__name__}')
    result = re.sub(r"//+", "/", result.replace("\\", "/").strip("/"))
    if {".", ".."} & set(result.split("/")):
        raise ValueError(
            f"The path {path!r} is invalid because its string representation contains '.' or '..' segments."
        )
    return result


def join_paths(paths: Any) -> str:
    """The non-empty paths, joined by slashes."""
    return "/".join(part for part in paths if part != "")


_join_paths = join_paths


def byte_range_of(request: Any) -> tuple[int, int | None] | None:
    """A byte request as the range of an omnizarr store."""
    if request is None:
        return None
    if isinstance(request, RangeByteRequest):
        return request.start, request.end - request.start
    if isinstance(request, OffsetByteRequest):
        return request.offset, None
    if isinstance(request, SuffixByteRequest):
        return -request.suffix, None
    raise ValueError(f"Unexpected byte_range, got {request}.")
