"""The kinds of files, and what an import or an export did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from omnizarr.errors import ArgumentError

__all__ = ["BLOCK_ELEMENTS", "FileResult", "kind_of"]

BLOCK_ELEMENTS = 2**22  # that are in memory at once

_SUFFIXES = {
    ".npy": "npy",
    ".raw": "raw",
    ".bin": "raw",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".he5": "hdf5",
    ".nc": "netcdf",
    ".nc4": "netcdf",
    ".tif": "tiff",
    ".tiff": "tiff",
}


@dataclass(frozen=True, slots=True)
class FileResult:
    """What an import or an export copied, or would copy."""

    file: str
    kind: str
    arrays: dict[str, str]
    """The shape and type of each array, by its path."""
    bytes: int
    dry_run: bool


def kind_of(file: str, kind: str | None) -> str:
    """The kind of a file: what is given, or what the end of its name says."""
    known = kind or _SUFFIXES.get(Path(file).suffix.lower())
    if known not in _SUFFIXES.values():
        raise ArgumentError(
            f"`{file}`: the end of the name does not tell the kind of file",
            argument="kind",
            hint=f"give `kind` (--kind): {', '.join(dict.fromkeys(_SUFFIXES.values()))}",
        )
    return str(known)
