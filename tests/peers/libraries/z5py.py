"""z5py, which reads and writes N5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import z5py

from tests.peers.libraries.n5_documents import write_n5_documents

__all__ = ["UNSUPPORTED", "read", "write"]

UNSUPPORTED = ("zero-dimensional shapes are not supported", "wrong compressor for n5 format")


def _open(path: Path, array_path: str, mode: str) -> Any:
    return z5py.File(str(path), use_zarr_format=False, mode=mode)[array_path]


def write(path: Path, array_path: str, data: npt.NDArray[Any], document: dict[str, Any]) -> None:
    write_n5_documents(path, array_path, document)
    _open(path, array_path, "r+")[...] = data


def read(path: Path, array_path: str) -> Any:
    return _open(path, array_path, "r")[...]
