"""Classes of codecs and buffers by name."""

from __future__ import annotations

from typing import Any

from omnizarr.compat.zarr.codecs._classes import CODECS
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype

__all__ = ["get_buffer_class", "get_codec_class", "get_ndbuffer_class", "get_numcodec", "register_codec"]


def register_codec(key: str, codec_cls: type, *, qualname: str | None = None) -> None:
    """Adds a class for the codec `key`. omnizarr encodes and decodes; `omnizarr.register_codec` adds new codecs."""
    CODECS[key] = codec_cls


def get_codec_class(key: str, reload_config: bool = False) -> Any:
    """The class of the codec `key`."""
    return CODECS[key]


def get_numcodec(data: Any) -> Any:
    """The codec of numcodecs for a configuration."""
    import numcodecs

    return numcodecs.get_codec(data)


def get_buffer_class(reload_config: bool = False) -> Any:
    """The class of bytes."""
    return default_buffer_prototype().buffer


def get_ndbuffer_class(reload_config: bool = False) -> Any:
    """The class of arrays in memory."""
    return default_buffer_prototype().nd_buffer


def _collect_entrypoints() -> list[Any]:
    """No registries to load: omnizarr reads entry points of its own."""
    return []
