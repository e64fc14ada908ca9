"""`write_chunk_manifest`: makes the chunks of an array parts of other files."""

from __future__ import annotations

from collections.abc import Mapping

from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array

__all__ = ["write_chunk_manifest"]


def write_chunk_manifest(array: Array, entries: Mapping[tuple[int, ...], tuple[str, int, int]]) -> None:
    """Writes the manifest of an array with the storage transformer `FileChunks`, in place of an older one.

    Example:
        >>> from omnizarr.transformers import AllowFiles, FileChunks
        >>> z = omnizarr.create_array("model.zarr", shape=500, dtype="f8", compressors=None,
        ...                           storage_transformers=[FileChunks()])
        >>> omnizarr.write_chunk_manifest(z, {(0,): ("/data/model.bin", 64, 4000)})
        >>> z = omnizarr.open("model.zarr", storage_transformers=[AllowFiles(["/data"])])

    Args:
        array: a handle of the array.
        entries: for the coordinates of each chunk a path or URL, an offset and a length in bytes. A path that is
            not absolute is relative to the array's folder.
    """
    from omnizarr.transformers.file_chunks import FileChunks, dump_manifest

    if not isinstance(array, Array):
        raise ArgumentError(f"`array`: expected an Array, found {array!r}", argument="array")
    stored = next((item for item in array.metadata.storage_transformers if isinstance(item, FileChunks)), None)
    if stored is None:
        raise ArgumentError(
            f"`array`: array `{array.name}` has no chunk manifest",
            argument="array",
            hint="create it with `storage_transformers=[omnizarr.transformers.FileChunks()]`",
        )
    array._check_writable()
    array.store.set(array._layout.prefix + stored.manifest.removeprefix("./"), dump_manifest(entries, array.ndim))
    array._reload_layout()
