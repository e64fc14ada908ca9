"""`find_true` counts and finds the true elements of a mask, with and without the kernel."""

from __future__ import annotations

import numpy as np
import pytest

import omnizarr
from omnizarr.native import masks


@pytest.mark.parametrize("native", [0, 1])
@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 300])
@pytest.mark.parametrize("step", [1, 2])
def test_it_agrees_with_numpy(monkeypatch: pytest.MonkeyPatch, native: int, length: int, step: int) -> None:
    monkeypatch.setattr(masks, "_LONG", 1)
    mask = (np.random.default_rng(length).random(length * step) < 0.3)[::step]
    expected = np.flatnonzero(mask)
    with omnizarr.config(native=native):
        count, indices = masks.find_true(mask, length)
        assert count == len(expected)
        assert indices is not None
        assert indices.dtype == np.intp
        assert indices.tolist() == expected.tolist()
        if count:
            assert masks.find_true(mask, count - 1) == (count, None)
