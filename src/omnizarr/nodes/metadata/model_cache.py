"""Cache of models by the stored bytes of their documents, because the arrays of a hierarchy often have equal documents.

A model is kept only if parsing its documents gave no problem and no warning, and depends on nothing but the key of its
entry: the documents, the settings, the registered extensions and the dialect.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from omnizarr._registry import Registry
from omnizarr.codecs import Sharding
from omnizarr.config import Settings, config
from omnizarr.formats import Dialect, NodeModel
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel, every_codec
from omnizarr.store import Buffer

__all__ = [
    "DocumentsKey",
    "cache_key",
    "cached_model",
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


class _Entry(NamedTuple):
    dialect: Dialect
    settings: Settings
    """Kept because its identity is a part of the key, as is that of the dialect."""
    model: NodeModel
    json: bytes | None
    """The members `_JSON` of the model; None if all of them are empty."""
    json_names: tuple[str, ...]
    """The names of these members."""


_entries: dict[DocumentsKey, _Entry] = {}


def scope_of_dialect(dialect: Dialect) -> DocumentsKey:
    """The part of keys that is the same for all nodes of one dialect."""
    return id(dialect), id(config.current), Registry.changes


def scope_of_detection(zarr_format: object) -> DocumentsKey:
    """The part of keys of nodes whose dialect follows from their documents; `zarr_format` is what the caller wants."""
    return ("any", zarr_format), id(config.current), Registry.changes


def cache_key(scope: DocumentsKey, values: Iterable[Buffer | Exception | None]) -> DocumentsKey | None:
    """The key for the stored values of documents; None if they are too long, or not all could be fetched."""
    stored = values if type(values) is tuple else tuple(values)
    length = 0
    for value in stored:
        if value is not None:
            if type(value) is not bytes:
                return None
            length += len(value)
    return (*scope, stored) if 0 < length <= _LONGEST else None


def cached_model(
    dialect: Dialect, settings: Settings, stored: tuple[Buffer | None, ...], path: str
) -> NodeModel | None:
    """The model, for the caller alone, of the node at `path` whose documents have these stored values; None if no
    earlier node of this dialect had the same documents with the same settings."""
    try:
        entry = _entries.get((id(dialect), id(settings), Registry.changes, stored))
    except (TypeError, ValueError):  # a value that may change cannot be hashed
        return None
    return None if entry is None or not entry.dialect.ignores_path(path) else _copy(entry)


def cached_node(key: DocumentsKey, path: str) -> tuple[Dialect, NodeModel] | None:
    """The dialect and the model, for the caller alone, of the node at `path` whose documents gave `key`; None if no
    earlier node had the same documents."""
    entry = _entries.get(key)
    if entry is None or not entry.dialect.ignores_path(path):
        return None
    return entry.dialect, _copy(entry)


def _copy(entry: _Entry) -> NodeModel:
    """The model, with members `_JSON` of its own."""
    model = object.__new__(entry.model.__class__)
    members = entry.model.__dict__.copy()
    if entry.json is not None:
        members.update(marshal.loads(entry.json))
    else:
        for name in entry.json_names:
            members[name] = {}
    object.__setattr__(model, "__dict__", members)  # with all members at once, which is faster
    return model


def keep_model(key: DocumentsKey, path: str, dialect: Dialect, model: NodeModel) -> None:
    """Keep a model that was parsed without problems and warnings, if it may be shared."""
    settings = config.current
    if id(settings) != key[1] or not dialect.ignores_path(path) or not _is_shareable(model):
        return
    members = vars(model)
    try:
        present = {name: members[name] for name in _JSON if name in members}
        json = marshal.dumps(present) if any(present.values()) else None
    except ValueError:  # the document has a value that JSON has not
        return
    if len(_entries) >= _MOST_ENTRIES:
        _entries.clear()
    _entries[key] = _Entry(dialect, settings, model, json, tuple(present))


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
