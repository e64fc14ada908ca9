"""Shared by the tests of versioned arrays."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.transformers import Versions

FORMATS: list[Any] = [3, "3-draft-2022"]


def create(store: Any, **options: Any) -> VersionedArray:
    given = {"shape": 20, "chunks": 5, "dtype": "i4", "storage_transformers": [Versions()], **options}
    array = omnizarr.create_array(store, **given)
    assert isinstance(array, VersionedArray)
    return array


def open_(store: Any, **options: Any) -> VersionedArray:
    array = omnizarr.open_array(store, **options)
    assert isinstance(array, VersionedArray)
    return array
