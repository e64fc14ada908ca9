"""Checks that codecs and data types have in common: they are immutable values that compare, hash and pickle."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["check_value", "same_elements"]


def check_value(value: Any) -> None:
    """Assert that `value` compares, hashes, pickles and copies, and that its fields cannot be set."""
    assert value == value
    assert value != "something else"
    for duplicate in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert type(duplicate) is type(value)
        assert duplicate == value
        assert hash(duplicate) == hash(value)
    assert repr(value)
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _check_frozen(value, field.name)


def _check_frozen(value: Any, name: str) -> None:
    try:
        setattr(value, name, getattr(value, name))
    except (AttributeError, TypeError):  # some Python versions raise TypeError for frozen slotted classes
        return
    raise AssertionError(f"`{name}` of {value!r} can be set; expected an immutable value")


def same_elements(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Whether two arrays have the same shape, type and bits. Objects are compared by their `repr`."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.hasobject:
        return [*map(repr, a.reshape(-1).tolist())] == [*map(repr, b.reshape(-1).tolist())]
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
