"""What the results of all tools have in common: their form in JSON, and the type of progress functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from omnizarr._json import Json

__all__ = ["Progress", "as_json"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the amount done so far and the total amount, such as bytes or chunks."""


def as_json(result: Any) -> Json:
    """A result as values of RFC 8259 JSON: dataclasses become objects, and NaN and infinity become strings."""
    if result is None or isinstance(result, (bool, str)):
        return result
    if isinstance(result, float):
        return result if math.isfinite(result) else _constant(result)
    if isinstance(result, int):
        return result
    if is_dataclass(result) and not isinstance(result, type):
        return {field.name: as_json(getattr(result, field.name)) for field in fields(result)}
    if isinstance(result, Mapping):
        return {str(name): as_json(value) for name, value in result.items()}
    if isinstance(result, (list, tuple, set, frozenset)):
        return [as_json(value) for value in result]
    if hasattr(result, "tolist"):  # a scalar or an array of NumPy
        return as_json(result.tolist())
    if isinstance(result, (bytes, bytearray, memoryview)):
        from base64 import b64encode  # lazy import: few results contain bytes

        return b64encode(bytes(result)).decode()
    if isinstance(result, complex):
        return [as_json(result.real), as_json(result.imag)]
    return str(result)


def _constant(number: float) -> str:
    """The name that v3 documents give to a number that JSON lacks."""
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"
