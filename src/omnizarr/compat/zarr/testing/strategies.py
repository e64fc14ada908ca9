"""Strategies for hypothesis: chunks of different lengths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

__all__ = ["rectilinear_dim_edges"]


@st.composite
def rectilinear_dim_edges(draw: Any, *, extent: int, max_chunks: int = 10) -> list[int]:
    """The lengths of chunks that cover a dimension."""
    if extent == 0:
        return [draw(st.integers(1, 5))]
    ends = draw(st.sets(st.integers(1, extent), max_size=max_chunks - 1)) | {extent}
    edges = sorted({0, *ends})
    return [stop - start for start, stop in pairwise(edges)]


@st.composite
def _rectilinear_chunks(draw: Any, *, shape: tuple[int, ...]) -> list[int | list[int]]:
    """The argument `chunks` for chunks of different lengths in at least one dimension."""
    listed = draw(st.integers(0, len(shape) - 1))
    return [
        draw(rectilinear_dim_edges(extent=extent))
        if axis == listed or draw(st.booleans())
        else draw(st.integers(max(1, -(-extent // 10)), max(1, extent)))
        for axis, extent in enumerate(shape)
    ]
