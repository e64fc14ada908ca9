"""New arrays and their documents, for the tests of this folder."""

from __future__ import annotations

import json
from typing import Any

import omnizarr


def create(**options: Any) -> omnizarr.Array:
    return omnizarr.create_array(None, **{"shape": (100, 60), "dtype": "int16", **options})


def document(z: omnizarr.Array) -> Any:
    return json.loads(bytes(z.store.get(f"{z.path}/zarr.json" if z.path else "zarr.json") or b""))
