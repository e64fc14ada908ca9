"""Which elements are meant, and in which chunks they lie: from a user's key to a `Selection`, and from a selection and
a grid to a `Projection`."""

from omnizarr.indexing.keys import (
    block_selection,
    coordinate_selection,
    numpy_selection,
    orthogonal_selection,
    plain_selection,
    split_fields,
)
from omnizarr.indexing.projection import Cell, Piece, Projection, Row, only_chunk, rows_from
from omnizarr.indexing.selection import Pick, Selection, pick_first, pick_length

__all__ = [
    "Cell",
    "Pick",
    "Piece",
    "Projection",
    "Row",
    "Selection",
    "block_selection",
    "coordinate_selection",
    "numpy_selection",
    "only_chunk",
    "orthogonal_selection",
    "pick_first",
    "pick_length",
    "plain_selection",
    "rows_from",
    "split_fields",
]
