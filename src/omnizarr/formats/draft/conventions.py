"""Conventions of zarr-python 2 for what the text of the draft of 2020 lacks (§2.3.2). Readers that know only the text
misread arrays that use them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from omnizarr._json import Json
from omnizarr.codecs import Codec
from omnizarr.formats.draft.codecs import filters_and_compressor, is_filters
from omnizarr.model import ArrayModel

__all__ = ["ZARR_PYTHON_2", "text_losses", "uses_conventions"]

ZARR_PYTHON_2 = "zarr-python-2"
"""The name of the conventions, as users give it."""

_PLACEHOLDER = re.compile(r"TODO: .* array protocol URL|https://zarr-specs\.readthedocs\.io/.*")
"""What zarr-python 2 writes as the URIs of extension types."""


def uses_conventions(document: Json) -> bool:
    """Whether an array document shows that its writer followed the conventions."""
    if not isinstance(document, dict):
        return False
    attributes, data_type = document.get("attributes"), document.get("data_type")
    extension = data_type.get("extension") if isinstance(data_type, dict) else None
    return (
        (isinstance(attributes, dict) and is_filters(attributes.get("filters")))
        or (isinstance(extension, str) and _PLACEHOLDER.fullmatch(extension) is not None)
        or bool(document.get("storage_transformers"))
    )


def text_losses(inner: ArrayModel, codecs: Sequence[Codec]) -> list[str]:
    """What only the conventions can express of a new array. `inner` has the grid of its inner chunks, and `codecs` are
    those without the element order."""
    missing = []
    if inner.dtype.hasobject:
        missing.append("data types of variable size")
    elif filters_and_compressor(codecs)[0]:  # the codec of objects is one of them
        missing.append("filters, nor more than one compressor")
    if inner.storage_transformers:
        missing.append("shards or other storage transformers")
    hint = f'`conventions="{ZARR_PYTHON_2}"` stores them as zarr-python 2 does'
    return [f"the draft of 2020 has no {what}; {hint}" for what in missing]
