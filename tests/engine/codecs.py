"""Compressors of the tests of the engine, by name."""

from __future__ import annotations

from typing import Any

from omnizarr.codecs import Blosc, Gzip, Zstd

CODECS: dict[str, Any] = {"raw": None, "zstd": Zstd(1), "blosc": Blosc("lz4"), "gzip": Gzip(1)}
