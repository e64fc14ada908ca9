"""A fault: a hierarchy with one mistake, and the rule that it breaks.

A fault changes a sound document in one place. `store` is the content of a store, `rule` the number of the rule
that `validate` must name, and no other. `level` is the level of the finding, and `data` says that only the check of
data finds it."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

import omnizarr

__all__ = ["MISSING", "Fault", "changed", "dump", "stored"]

MISSING = object()


@dataclass(frozen=True)
class Fault:
    name: str
    rule: str
    store: dict[str, bytes]
    level: str = "error"
    data: bool = False
    zarr_format: Any = None

    def __str__(self) -> str:
        return f"{self.name} ({self.rule})"


def dump(document: Any) -> bytes:
    return json.dumps(document).encode()


def changed(document: Any, place: str, value: Any) -> Any:
    """A copy of a document with another value at a place such as `codecs.0.configuration.endian`."""
    result = deepcopy(document)
    *above, last = place.split(".") if place else [""]
    if not place:
        return value
    item = result
    for name in above:
        item = item[int(name)] if isinstance(item, list) else item[name]
    key: Any = int(last) if isinstance(item, list) else last
    if value is MISSING:
        del item[key]
    elif isinstance(item, list) and key == len(item):
        item.append(value)
    else:
        item[key] = value
    return result


def stored(zarr_format: Any, path: str = "", **options: Any) -> dict[str, bytes]:
    """The content of a store with one array that omnizarr wrote."""
    store: dict[str, bytes] = {}
    data = options.pop("data", np.arange(24, dtype="i4").reshape(4, 6))
    if path:
        group = omnizarr.create_group(store, zarr_format=zarr_format)
        group.create_array(path, data=data, chunks=(2, 3), **options)
    else:
        omnizarr.create_array(store, data=data, chunks=(2, 3), zarr_format=zarr_format, **options)
    return {key: bytes(value) for key, value in store.items()}
