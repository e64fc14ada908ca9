"""File chunks: a storage transformer for chunks that are parts of other files, as a manifest lists them (Z21)."""

from __future__ import annotations

from omnizarr.transformers.file_chunks.manifest import FilePart, Manifest, dump_manifest, parse_manifest
from omnizarr.transformers.file_chunks.store import FileChunkStore
from omnizarr.transformers.file_chunks.transformer import AllowFiles, FileChunks

__all__ = [
    "AllowFiles",
    "FileChunkStore",
    "FileChunks",
    "FilePart",
    "Manifest",
    "dump_manifest",
    "parse_manifest",
]
