"""Classes of codecs, chunk key encodings, pipelines and buffers by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from omnizarr._registry import Registry as OwnRegistry
from omnizarr.compat.zarr.abc.codec import BaseCodec
from omnizarr.compat.zarr.codecs._applied import Applied
from omnizarr.compat.zarr.codecs._classes import CODECS
from omnizarr.compat.zarr.codecs._foreign import register_lookup
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype
from omnizarr.compat.zarr.core.chunk_key_encodings import (
    get_chunk_key_encoding_class,
    register_chunk_key_encoding,
)
from omnizarr.compat.zarr.core.codec_pipeline import BatchedCodecPipeline, FusedCodecPipeline
from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.errors import UnknownCodecError

__all__ = [
    "Registry",
    "get_buffer_class",
    "get_chunk_key_encoding_class",
    "get_codec_class",
    "get_ndbuffer_class",
    "get_numcodec",
    "get_pipeline_class",
    "register_buffer",
    "register_chunk_key_encoding",
    "register_codec",
    "register_ndbuffer",
    "register_pipeline",
]


class Registry(dict[str, Any]):
    """Classes by their qualified names."""

    def register(self, cls: type, qualname: str | None = None) -> None:
        """Adds a class."""
        self[qualname or f"{cls.__module__}.{cls.__qualname__}"] = cls


_pipelines, _buffers, _ndbuffers = Registry(), Registry(), Registry()
_offers: dict[str, EntryPoint] = {}


def register_codec(key: str, codec_cls: type, *, qualname: str | None = None) -> None:
    """Adds a class for the codec `key`. It encodes and decodes, unless omnizarr has a codec of this name."""
    CODECS[key] = codec_cls
    OwnRegistry.changes += 1


def _find(key: str) -> Any:
    """The class of a codec: a registered one, or that of an installed package."""
    cls = CODECS.get(key)
    if cls is None and key in _offers:
        loaded = _offers[key].load()
        if isinstance(loaded, type) and issubclass(loaded, BaseCodec):  # of this package, not of a real zarr-python
            cls = CODECS[key] = loaded
    return cls


def _find_foreign(key: str) -> Any:
    cls = _find(key)
    return None if cls is None or issubclass(cls, Applied) else cls


def get_codec_class(key: str, reload_config: bool = False) -> Any:
    """The class of the codec `key`."""
    cls = _find(key)
    if cls is None:
        raise UnknownCodecError(f"No implementation of the codec {key!r} is registered.")
    return cls


def get_numcodec(data: Any) -> Any:
    """The codec of numcodecs for a configuration."""
    import numcodecs

    return numcodecs.get_codec(data)


def register_pipeline(pipe_cls: type) -> None:
    """Adds a codec pipeline, which is not used: the engine of omnizarr reads and writes."""
    _pipelines.register(pipe_cls)


def get_pipeline_class(reload_config: bool = False) -> Any:
    """The class of codec pipelines that the setting `codec_pipeline.path` names."""
    path = config.get("codec_pipeline.path")
    own = {cls.__name__: cls for cls in (BatchedCodecPipeline, FusedCodecPipeline)}
    return _pipelines.get(path) or own.get(path.rpartition(".")[2], BatchedCodecPipeline)


def register_buffer(cls: type, qualname: str | None = None) -> None:
    """Adds a class of bytes, which is not used: the engine returns bytes in the memory of the machine."""
    _buffers.register(cls, qualname)


def register_ndbuffer(cls: type, qualname: str | None = None) -> None:
    """Adds a class of arrays in memory, which is not used: the engine returns arrays of NumPy."""
    _ndbuffers.register(cls, qualname)


def get_buffer_class(reload_config: bool = False) -> Any:
    """The class of bytes."""
    return default_buffer_prototype().buffer


def get_ndbuffer_class(reload_config: bool = False) -> Any:
    """The class of arrays in memory."""
    return default_buffer_prototype().nd_buffer


def _collect_entrypoints() -> list[Registry]:
    """Finds the codecs and chunk key encodings of installed packages. They are loaded when a document names them."""
    _offers.update((point.name, point) for point in entry_points(group="zarr.codecs"))
    return [_pipelines, _buffers, _ndbuffers]


_collect_entrypoints()
register_lookup(_find_foreign)
