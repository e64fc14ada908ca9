"""Indexing of text, with and without the workaround for NumPy before 2.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr.engine import numpy_index
from omnizarr.engine.numpy_index import assign, take

TEXT = np.dtypes.StringDType()
A, B = np.array([2, 0, 1, 2]), np.array([3, 1, 0, 0])
INDICES: list[Any] = [
    ...,
    (slice(1, 3), slice(0, 4, 2), slice(None)),
    (A, slice(None), slice(0, 1)),
    (A, slice(1, 2), slice(0, 1)),
    (slice(0, 2), B, slice(None)),
    (slice(0, 1), B, slice(2, 3)),
    (slice(0, 2), slice(None), A),
    (slice(0, 1), slice(3, 4), A),
    (A, B, A),
    (A, B, slice(0, 1)),
    (A, B, slice(1, 3)),
    np.ix_(A, B, [0]),
    np.ix_(A[:3], B[:3], A[:3]),
    (np.array([True, False, True]), slice(None), slice(0, 1)),
    (slice(0, 2), slice(1, 3), np.array([False, False, True])),
    (slice(None), np.zeros(4, bool), slice(None)),
]


def words(shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    lengths = np.random.default_rng(seed).integers(0, 60, shape)
    found = np.empty(shape, object)
    for place in np.ndindex(shape):
        found[place] = "né"[lengths[place] % 2] * int(lengths[place])
    return found


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_text_is_indexed_like_objects(index: Any, careful: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if careful:  # the workaround is right with every NumPy
        monkeypatch.setattr(numpy_index, "_CORRUPTS_TEXT", True)
    elif numpy_index._CORRUPTS_TEXT:
        pytest.skip("this NumPy corrupts text")
    model = words((3, 4, 3))
    for array in (model.astype(TEXT), model.transpose(2, 1, 0).astype(TEXT).transpose(2, 1, 0)):
        expected = model[index]
        assert take(array, index).tolist() == expected.tolist()
        for value in (words(expected.shape, 1), words((), 2)):
            changed = model.copy()
            changed[index] = value
            assign(array, index, value.astype(TEXT))
            assert array.tolist() == changed.tolist()
            array[...] = model.astype(TEXT)
    line, few = model[:, 0, 0], (B[:3] % 3,)
    array = line.astype(TEXT)
    assert take(array, few).tolist() == line[few].tolist()
    line[few] = "é" * 50
    assign(array, few, np.broadcast_to(np.array("é" * 50, TEXT), (3,)))
    assert array.tolist() == line.tolist()
    numbers = np.arange(36).reshape(3, 4, 3)
    assert take(numbers, index).tolist() == numbers[index].tolist()
