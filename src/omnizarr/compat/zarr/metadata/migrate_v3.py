"""Adds v3 documents to a v2 hierarchy, whose chunks they describe, and removes the documents of one generation."""

from __future__ import annotations

import logging
from typing import Any

from omnizarr.compat.zarr.api.synchronous import open
from omnizarr.compat.zarr.codecs import BloscCodec, BytesCodec, GzipCodec, TransposeCodec, ZstdCodec
from omnizarr.compat.zarr.codecs._classes import BLOSC_SHUFFLE
from omnizarr.compat.zarr.core.array import Array
from omnizarr.compat.zarr.core.chunk_key_encodings import V2ChunkKeyEncoding
from omnizarr.compat.zarr.core.common import ZARR_JSON, ZARRAY_JSON, ZATTRS_JSON, ZGROUP_JSON, ZMETADATA_V2_JSON
from omnizarr.compat.zarr.core.dtype.common import HasEndianness
from omnizarr.compat.zarr.core.group import Group
from omnizarr.compat.zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from omnizarr.compat.zarr.core.metadata.group import GroupMetadata
from omnizarr.compat.zarr.core.metadata.v3 import RegularChunkGridMetadata
from omnizarr.compat.zarr.core.sync import sync
from omnizarr.compat.zarr.errors import UnknownCodecError
from omnizarr.compat.zarr.registry import get_codec_class
from omnizarr.compat.zarr.storage._common import StorePath

__all__ = ["migrate_to_v3", "migrate_v2_to_v3", "remove_metadata"]

_logger = logging.getLogger(__name__)

_DOCUMENTS = {2: (ZARRAY_JSON, ZGROUP_JSON, ZATTRS_JSON, ZMETADATA_V2_JSON), 3: (ZARR_JSON,)}
_NODES = {2: (ZARRAY_JSON, ZGROUP_JSON), 3: (ZARR_JSON,)}


def migrate_v2_to_v3(*, input_store: Any, output_store: Any = None, dry_run: bool = False) -> None:
    """Stores a v3 document for each node of a v2 hierarchy, in the same store or in another one.

    The v2 documents stay. With `dry_run`, the new ones are only logged.
    """
    node = open(store=input_store, mode="r+")
    place = node.store_path if output_store is None else sync(StorePath.open(output_store, path="", mode="w-"))
    migrate_to_v3(node, place, dry_run=dry_run)


def migrate_to_v3(zarr_v2: Array | Group, output_path: StorePath, dry_run: bool = False) -> None:
    """Stores a v3 document for a v2 node, and for all nodes below it."""
    if zarr_v2.metadata.zarr_format != 2:
        raise TypeError("Only arrays / groups with zarr v2 metadata can be converted")
    if isinstance(zarr_v2, Array):
        _save(_array(zarr_v2.metadata), output_path, dry_run)
        return
    if zarr_v2.metadata.consolidated_metadata is not None:
        raise NotImplementedError("Migration of consolidated metadata isn't supported.")
    for name in zarr_v2:
        migrate_to_v3(zarr_v2[name], output_path / name, dry_run)
    _save(GroupMetadata(zarr_v2.metadata.attributes, 3), output_path, dry_run)


def _save(metadata: Any, output_path: StorePath, dry_run: bool) -> None:
    place = output_path / ZARR_JSON
    if sync(place.exists()):
        raise ValueError(f"{ZARR_JSON} already exists at {place}")
    _logger.info("Saving metadata to %s", place)
    document = metadata.to_buffer_dict()[ZARR_JSON]
    if not dry_run:
        sync(place.set_if_not_exists(document))


def _array(metadata: ArrayV2Metadata) -> ArrayV3Metadata:
    codecs: list[Any] = []
    if metadata.order == "F":
        codecs.append(TransposeCodec(order=tuple(reversed(range(metadata.ndim)))))
    codecs += [_numcodecs_codec(item) for item in metadata.filters or ()]
    endian = metadata.dtype.endianness if isinstance(metadata.dtype, HasEndianness) else None
    codecs.append(BytesCodec(endian=endian))
    if metadata.compressor is not None:
        codecs.append(_compressor(metadata.compressor, metadata.dtype.to_native_dtype().itemsize))
    return ArrayV3Metadata(
        shape=metadata.shape,
        data_type=metadata.dtype,
        chunk_grid=RegularChunkGridMetadata(chunk_shape=metadata.chunks),
        chunk_key_encoding=V2ChunkKeyEncoding(separator=metadata.dimension_separator),
        fill_value=metadata.dtype.default_scalar() if metadata.fill_value is None else metadata.fill_value,
        codecs=codecs,
        attributes=metadata.attributes,
    )


def _compressor(codec: Any, itemsize: int) -> Any:
    options = codec.get_config()
    if codec.codec_id == "blosc":
        shuffle = options["shuffle"]
        if shuffle < 0:  # chosen by the size of the elements
            shuffle = 2 if itemsize == 1 else 1
        return BloscCodec(
            typesize=itemsize,
            cname=options["cname"],
            clevel=options["clevel"],
            shuffle=BLOSC_SHUFFLE[shuffle],
            blocksize=options["blocksize"],
        )
    if codec.codec_id == "zstd":
        return ZstdCodec(level=options["level"], checksum=options.get("checksum", False))
    if codec.codec_id == "gzip":
        return GzipCodec(level=options["level"])
    return _numcodecs_codec(codec)


def _numcodecs_codec(codec: Any) -> Any:
    try:
        cls = get_codec_class(f"numcodecs.{codec.codec_id}")
    except UnknownCodecError as error:
        raise ValueError(f"Couldn't find corresponding zarr.codecs.numcodecs codec for {codec.codec_id}") from error
    return cls(**codec.get_config())


async def remove_metadata(store: Any, zarr_format: Any, force: bool = False, dry_run: bool = False) -> None:
    """Removes all documents of one generation. Without `force`, each node must have a document of the other one."""
    if not store.supports_deletes:
        raise ValueError("Store must support deletes to remove metadata")
    root = await StorePath.open(store, path="", mode="r+")
    other = 5 - zarr_format
    keys = {key async for key in store.list()}
    documents = [key for key in sorted(keys) if key.rpartition("/")[2] in _DOCUMENTS[zarr_format]]
    for key in documents:
        folder = key[: key.rfind("/") + 1]
        if not force and not any(folder + name in keys for name in _NODES[other]):
            raise ValueError(
                f"Cannot remove v{zarr_format} metadata at {root / key} - no v{other} metadata exists. "
                "To delete anyway, use the 'force' option."
            )
    for key in documents:
        _logger.info("Deleting metadata at %s", root / key)
        if not dry_run:
            await store.delete(key)
