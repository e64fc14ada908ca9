"""References in a JSON document, as kerchunk defines them: version 0, a plain object, and version 1, with templates."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any

from omnizarr import _json
from omnizarr.errors import InvalidKeyError, MetadataError
from omnizarr.store.contract import check_key
from omnizarr.store.references.templates import MOST_REFERENCES, expand, fill, needs_filling

__all__ = ["Reference", "parse_references"]

Reference = bytes | tuple[str, int, int | None]
"""A value; or its target: a URL, an offset, and a length (None: up to the end)."""

_LARGEST = 2**63


def parse_references(document: Any, what: str) -> dict[str, Reference]:
    """The references of a document, checked; targets are checked when they are read."""
    if not isinstance(document, dict):
        raise MetadataError(f"{what}: expected an object, found {_json.describe(document)}")
    if "zarr_format" in document or "zarr_consolidated_format" in document:
        raise MetadataError(
            f"{what} is the metadata of a Zarr node and has no references", hint="open its folder instead"
        )
    version = document.get("version", 0)
    if "refs" not in document and "version" not in document:
        return _references(document, {}, what, "$")
    if version not in (0, 1) or isinstance(version, bool):
        raise MetadataError(f"{what}: version {_json.describe(version)} of references; known are 0 and 1")
    refs, templates, generators = (document.get(name) for name in ("refs", "templates", "gen"))
    if not isinstance(refs, dict | None) or not isinstance(templates, dict | None):
        raise MetadataError(f"{what}: expected `refs` and `templates` to be objects")
    if not isinstance(generators, list | None) or not all(isinstance(text, str) for text in (templates or {}).values()):
        raise MetadataError(f"{what}: expected `gen` to be a list, and each of the `templates` to be a text")
    templates = templates or {}
    items: dict[str, Any] = {}
    for number, item in enumerate(generators or []):
        items |= expand(item, templates, f"{what}: $.gen[{number}]")
        if len(items) > MOST_REFERENCES:
            raise MetadataError(f"{what}: generates more than {MOST_REFERENCES} references")
    items |= refs or {}
    return _references(items, templates, what, "$.refs")


def _references(items: dict[str, Any], templates: dict[str, str], what: str, path: str) -> dict[str, Reference]:
    references: dict[str, Reference] = {}
    for key, item in items.items():
        if templates and needs_filling(key):
            key = fill(key, {}, templates, f"{what}: {path}")
        try:
            check_key(key)
        except InvalidKeyError:
            raise MetadataError(f"{what}: {path} has {key!r}, which is not a valid key") from None
        try:
            references[key] = _reference(item, templates, f"{what}: {path}[{key!r}]")
        except (ValueError, binascii.Error) as error:
            if isinstance(error, MetadataError):
                raise
            raise MetadataError(f"{what}: {path}[{key!r}]: {error}") from None
    return references


def _reference(item: Any, templates: dict[str, str], what: str) -> Reference:
    if isinstance(item, str):
        if item.startswith("base64:"):
            return b64decode(item[7:], validate=True)
        return item.encode()
    if isinstance(item, dict):  # a document as an object instead of a text
        return _json.dump(item, allow_nan=True)
    if isinstance(item, list) and len(item) in (1, 3) and isinstance(item[0], str) and item[0]:
        url = fill(item[0], {}, templates, what) if templates and needs_filling(item[0]) else item[0]
        if len(item) == 1:
            return url, 0, None
        offset, length = item[1:]
        if all(_json.is_integer(number) and 0 <= number < _LARGEST for number in (offset, length)):
            return url, offset, length
    raise ValueError("expected a text, `[url]`, or `[url, offset, length]`")
