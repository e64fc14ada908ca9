"""Where bytes are kept: the contract of a store, and the stores that need nothing but Python."""

from __future__ import annotations

from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_key, check_prefix, cut
from omnizarr.store.local import LocalStore
from omnizarr.store.memory import MemoryStore
from omnizarr.store.wrappers import PrefixStore, ReadOnlyStore, WrapperStore, as_read_only

__all__ = [
    "Buffer",
    "ByteRange",
    "LocalStore",
    "MemoryStore",
    "PrefixStore",
    "ReadOnlyStore",
    "Request",
    "Store",
    "WrapperStore",
    "as_read_only",
    "check_key",
    "check_prefix",
    "cut",
]
