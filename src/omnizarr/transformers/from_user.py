"""The storage transformers of a new array, as a user gives them: objects, names or JSON objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnizarr._extension import call_extension, parse_extension
from omnizarr._json import Problems, describe
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.transformers.contract import StorageTransformer, find_transformer, storage_transformers

__all__ = ["transformers_from_user"]


def transformers_from_user(option: Any, shape: tuple[int, ...]) -> tuple[StorageTransformer, ...]:
    """The argument `storage_transformers` of a new array of this shape.

    An item is a transformer, its name or URI, or a JSON object as in a document: with `name`, or with `extension` and
    `type` as in the drafts. Raises ArgumentError, or MetadataError if a configuration is wrong.
    """
    single = isinstance(option, (StorageTransformer, str, dict))
    if not single and not isinstance(option, (list, tuple)):
        raise ArgumentError(
            f"`storage_transformers`: expected a list, found {describe(option)}", argument="storage_transformers"
        )
    items: Sequence[Any] = [option] if single else option
    problems = Problems()
    transformers = []
    for index, item in enumerate(items):
        path = f"storage_transformers[{index}]"
        transformer = item if isinstance(item, StorageTransformer) else _parse(item, path, problems)
        if transformer is not None:
            transformer.check(shape, path, problems)
            transformers.append(transformer)
    if problems:
        raise MetadataError("the storage transformers do not fit the array", problems.found)
    return tuple(transformers)


def _parse(item: Any, path: str, problems: Problems) -> StorageTransformer | None:
    kind = None
    if isinstance(item, dict) and "extension" in item:
        kind = item.get("type")
        item = {"name": item["extension"], **{name: item[name] for name in item.keys() - {"extension", "type"}}}
    if not isinstance(item, (str, dict)):
        raise ArgumentError(
            "`storage_transformers`: expected objects such as `omnizarr.transformers.HashedDirectories()`, names, or "
            f"the JSON objects of documents, found {item!r}",
            argument="storage_transformers",
        )
    extension = parse_extension(item, path, problems, kind="storage transformer", ignorable=False)
    if extension is None:
        return None
    known = find_transformer(extension.name, kind if isinstance(kind, str) else None)
    if known is None and kind is None:  # a name without a type stands for the only transformer of that name
        known = storage_transformers.get(extension.name)
    if known is None:
        name = extension.name if kind is None else f"{extension.name} {kind}"
        problems.unknown(extension.name_path, "storage transformer", name, storage_transformers.names())
        return None
    return call_extension("storage transformer", known.name, path, problems, known.parse, extension.configuration)
