"""The public interface for extensions: base classes, the types of their arguments, and the `register_…` functions.

    from omnizarr.extending import BoundBytesCodec, BytesCodec, members, register_codec

Each name is imported on first use, so that a package with a codec does not load data types.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnizarr._extension import check_members
    from omnizarr._json import Json, Problems
    from omnizarr.chunk_keys import ChunkKeys
    from omnizarr.codecs import config_members as members
    from omnizarr.codecs.contract import (
        ArrayCodec,
        BoundArrayCodec,
        BoundBytesCodec,
        BoundSerializer,
        BytesCodec,
        ByteSpec,
        ChunkSpec,
        Codec,
        Serializer,
        check_size,
        compressed,
    )
    from omnizarr.dtypes import DataType, Scalar
    from omnizarr.extending.register import (
        register_chunk_grid,
        register_chunk_key_encoding,
        register_chunk_memory_layout,
        register_codec,
        register_data_type,
        register_extension,
        register_metadata_encoding,
        register_storage_transformer,
        register_store,
    )
    from omnizarr.formats.document_encoding import Encoding
    from omnizarr.grids import Axis, Grid
    from omnizarr.store import Buffer, ByteRange, Store, check_key, check_prefix, cut
    from omnizarr.transformers import ArrayPlace, StorageTransformer

__all__ = [
    "ArrayCodec",
    "ArrayPlace",
    "Axis",
    "BoundArrayCodec",
    "BoundBytesCodec",
    "BoundSerializer",
    "Buffer",
    "ByteRange",
    "ByteSpec",
    "BytesCodec",
    "ChunkKeys",
    "ChunkSpec",
    "Codec",
    "DataType",
    "Encoding",
    "Grid",
    "Json",
    "Problems",
    "Scalar",
    "Serializer",
    "StorageTransformer",
    "Store",
    "check_key",
    "check_members",
    "check_prefix",
    "check_size",
    "compressed",
    "cut",
    "members",
    "register_chunk_grid",
    "register_chunk_key_encoding",
    "register_chunk_memory_layout",
    "register_codec",
    "register_data_type",
    "register_extension",
    "register_metadata_encoding",
    "register_storage_transformer",
    "register_store",
]

_MODULES = {
    "_extension": ("check_members",),
    "_json": ("Json", "Problems"),
    "chunk_keys": ("ChunkKeys",),
    "codecs.contract": (
        "ArrayCodec",
        "BoundArrayCodec",
        "BoundBytesCodec",
        "BoundSerializer",
        "ByteSpec",
        "BytesCodec",
        "ChunkSpec",
        "Codec",
        "Serializer",
        "check_size",
        "compressed",
    ),
    "dtypes": ("DataType", "Scalar"),
    "formats.document_encoding": ("Encoding",),
    "grids": ("Axis", "Grid"),
    "store": ("Buffer", "ByteRange", "Store", "check_key", "check_prefix", "cut"),
    "transformers": ("ArrayPlace", "StorageTransformer"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    if name == "members":
        return import_module("omnizarr.codecs.config_members")
    module = next((module for module, names in _MODULES.items() if name in names), "extending.register")
    value = globals()[name] = getattr(import_module(f"omnizarr.{module}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
