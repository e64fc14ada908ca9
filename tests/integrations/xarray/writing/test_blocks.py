"""Aligning the blocks of dask with the chunks of an array."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("xarray")

import omnizarr
from omnizarr.integrations.xarray.writing.blocks import aligned_blocks


@pytest.mark.parametrize(
    ("blocks", "start", "length", "chunk", "expected"),
    [
        ((3, 3, 3, 1), 0, 10, 5, (5, 5)),
        ((5, 5), 0, 10, 5, (5, 5)),
        ((1,) * 10, 0, 10, 5, (5, 5)),
        ((10,), 0, 10, 3, (10,)),
        ((4, 4, 2), 7, 17, 5, (3, 5, 2)),
        ((7, 7, 6), 0, 20, 5, (5, 10, 5)),
        ((2, 2), 0, 4, 100, (4,)),
        ((0,), 5, 5, 5, (0,)),
    ],
)
def test_blocks_are_aligned(blocks: Any, start: int, length: int, chunk: int, expected: Any) -> None:
    array = omnizarr.create_array(shape=(length,), chunks=(chunk,), dtype="i1")
    assert aligned_blocks([blocks], [start], array._layout.axes) == (expected,)
