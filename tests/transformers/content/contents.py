"""Shared by the tests of content-addressed storage."""

from __future__ import annotations

from typing import Any

from tests.transformers.places import place

from omnizarr.chunk_keys import DefaultKeys
from omnizarr.store import Store
from omnizarr.transformers import ContentAddressed
from omnizarr.transformers.content import ContentStore

__all__ = ["content", "objects"]


def content(inner: Store, algorithm: str = "sha256", depth: int = 1, width: int = 3, **options: Any) -> ContentStore:
    """The store of the array `a`, of one dimension unless `rank` says otherwise."""
    at = place(options.pop("rank", 1), **{"prefix": "a/", "keys": DefaultKeys(), **options})
    return ContentAddressed(algorithm, depth, width).wrap(inner, at)


def objects(inner: Store) -> list[str]:
    """The keys of all objects of the array `a`, without marks."""
    return sorted(key for key in inner.list_prefix("a/content/") if not key.startswith("a/content/condemned/"))
