"""What codecs and data types have in common: they are values, which compare, hash, pickle and never change."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["check_value", "same_elements"]


def check_value(value: Any) -> None:
    """Asserts all that makes a value."""
    assert value == value
    assert value != "something else"
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert type(again) is type(value)
        assert again == value
        assert hash(again) == hash(value)
    assert repr(value)
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _check_frozen(value, field.name)


def _check_frozen(value: Any, name: str) -> None:
    try:
        setattr(value, name, getattr(value, name))
    except (AttributeError, TypeError):  # a class that is frozen and slotted gives the latter on some Pythons
        return
    raise AssertionError(f"`{name}` of {value!r} can be set, and a value never changes")


def same_elements(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Whether two arrays have the same shape and type, and elements of the same bits; or equal ones, if they are
    objects."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.hasobject:
        return [*map(repr, a.reshape(-1).tolist())] == [*map(repr, b.reshape(-1).tolist())]
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
