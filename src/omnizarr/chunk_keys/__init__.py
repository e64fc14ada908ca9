"""Chunk key encodings: from a chunk's coordinates to its key and back. One module per registered name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr._extension import call_extension, find_registered, parse_extension
from omnizarr._json import Json, Problems
from omnizarr.chunk_keys.contract import ChunkKeys, chunk_key_encodings
from omnizarr.chunk_keys.default import DefaultKeys

if TYPE_CHECKING:
    from omnizarr.chunk_keys.draft import DraftKeys
    from omnizarr.chunk_keys.fanout import FanoutKeys
    from omnizarr.chunk_keys.v2 import V2Keys

__all__ = ["ChunkKeys", "DefaultKeys", "DraftKeys", "FanoutKeys", "V2Keys", "chunk_key_encodings", "parse_chunk_keys"]

# Lazy imports: few arrays of v3 have one of these.
chunk_key_encodings.offer("fanout", f"{__name__}.fanout:FanoutKeys")
chunk_key_encodings.offer("v2", f"{__name__}.v2:V2Keys")

_LAZY = {"DraftKeys": "draft", "FanoutKeys": "fanout", "V2Keys": "v2"}
_OLD_NAMES = {"Default": "DefaultKeys", "Draft": "DraftKeys", "V2": "V2Keys"}
"""Names that version 0.1 documented."""


def parse_chunk_keys(value: Json, path: str, problems: Problems) -> ChunkKeys | None:
    """The encoding of a `chunk_key_encoding` member, a name or an object (R14, R77); adds to `problems` if it is
    invalid."""
    extension = parse_extension(value, path, problems, kind="chunk key encoding", ignorable=False)
    encoding = extension and find_registered(extension, chunk_key_encodings, problems)
    if not extension or not encoding:
        return None
    return call_extension("chunk key encoding", extension.name, path, problems, encoding.parse, extension.configuration)


def __getattr__(name: str) -> Any:
    current = _OLD_NAMES.get(name, name)
    if current in globals():
        return globals()[current]
    if current not in _LAZY:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    value = globals()[current] = getattr(import_module(f"{__name__}.{_LAZY[current]}"), current)
    return value
