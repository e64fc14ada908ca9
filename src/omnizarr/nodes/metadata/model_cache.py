"""Cache of models by the stored bytes of their documents, because the arrays of a hierarchy often have equal documents.

A model is kept only if parsing its documents gave no problem and no warning, and depends on nothing but the key of its
entry: the documents, the settings, the registered extensions and the dialect.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from omnizarr._registry import Registry
from omnizarr.codecs import Sharding
from omnizarr.config import Settings, config
from omnizarr.formats import Dialect, NodeModel
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel, every_codec
from omnizarr.store import Buffer

__all__ = [
    "CachedNode",
    "DocumentsKey",
    "cache_key",
    "cached_node",
    "keep_model",
    "scope_of_detection",
    "scope_of_dialect",
]

DocumentsKey: TypeAlias = tuple[object, ...]

_MOST_ENTRIES = 512  # with the longest documents, about 4 MB
_LONGEST = 4096  # bytes of all documents of a node; longer ones rarely repeat
_JSON = ("attributes", "extra", "verbatim")
"""The members of a model that programs could change in place."""


class CachedNode(NamedTuple):
    """A model of the caller's own, and its dialect."""

    dialect: Dialect
    model: NodeModel


class _Entry(NamedTuple):
    dialect: Dialect
    settings: Settings
    """Kept because its identity is a part of the key, as is that of the dialect."""
    model: NodeModel
    json: bytes
    """The members `_JSON`."""


_entries: dict[DocumentsKey, _Entry] = {}


def scope_of_dialect(dialect: Dialect) -> DocumentsKey:
    """The part of keys that is the same for all nodes of one dialect."""
    return id(dialect), id(config.current), Registry.changes


def scope_of_detection(zarr_format: object) -> DocumentsKey:
    """The part of keys of nodes whose dialect follows from their documents; `zarr_format` is what the caller wants."""
    return ("any", zarr_format), id(config.current), Registry.changes


def cache_key(scope: DocumentsKey, values: Iterable[Buffer | Exception | None]) -> DocumentsKey | None:
    """The key for the stored values of documents; None if they are too long, or not all could be fetched."""
    stored = tuple(values)
    length = 0
    for value in stored:
        if value is not None:
            if type(value) is not bytes:
                return None
            length += len(value)
    return (*scope, stored) if 0 < length <= _LONGEST else None


def cached_node(key: DocumentsKey, path: str) -> CachedNode | None:
    """The node at `path` whose documents gave `key`, if an earlier node had the same documents."""
    entry = _entries.get(key)
    if entry is None or not entry.dialect.ignores_path(path):
        return None
    model: Any = object.__new__(entry.model.__class__)
    members = model.__dict__
    members.update(entry.model.__dict__)
    members.update(marshal.loads(entry.json))
    return CachedNode(entry.dialect, model)


def keep_model(key: DocumentsKey, path: str, dialect: Dialect, model: NodeModel) -> None:
    """Keep a model that was parsed without problems and warnings, if it may be shared."""
    settings = config.current
    if id(settings) != key[1] or not dialect.ignores_path(path) or not _is_shareable(model):
        return
    members = vars(model)
    try:
        json = marshal.dumps({name: members[name] for name in _JSON if name in members})
    except ValueError:  # the document has a value that JSON has not
        return
    if len(_entries) >= _MOST_ENTRIES:
        _entries.clear()
    _entries[key] = _Entry(dialect, settings, model, json)


def _is_shareable(model: NodeModel) -> bool:
    """Whether all parts but the members `_JSON` are values that never change and come from omnizarr."""
    if not isinstance(model, ArrayModel):
        return model.consolidated is None and not model.implicit
    shareable: bool | None = model.shared.get("shareable")
    if model.storage_transformers or model.ignored_transformers or model.extensions or model.fallback is not None:
        return False
    if shareable is None:
        shareable = model.shared["shareable"] = _has_shareable_parts(model)
    return shareable


def _has_shareable_parts(model: ArrayModel) -> bool:
    if model.dtype.kind not in "biufc" or type(model.grid) is not Regular:
        return False
    return all(vars(type(codec)).get("shares_bound") or type(codec) is Sharding for codec in every_codec(model.codecs))
