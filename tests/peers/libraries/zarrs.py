"""zarr-python 3 with the codecs of zarrs (Rust), which may not fall back to those of zarr-python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import zarr
import zarrs  # noqa: F401  - only to learn at once whether it is there

from tests.peers.libraries import zarr as plain

__all__ = ["UNSUPPORTED", "read", "write"]

UNSUPPORTED = (*plain.UNSUPPORTED, "UnsupportedMetadataError", "UnsupportedDataTypeError", "FillValueNoneError")


def _pipeline() -> Any:
    return zarr.config.set({"codec_pipeline": {"path": "zarrs.ZarrsCodecPipeline", "strict": True}})


def write(path: Path, array_path: str, data: npt.NDArray[Any], document: dict[str, Any]) -> None:
    with _pipeline():
        plain.write(path, array_path, data, document)


def read(path: Path, array_path: str) -> Any:
    with _pipeline():
        return plain.read(path, array_path)
