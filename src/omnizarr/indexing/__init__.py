"""Indexing: a user's key becomes a `Selection`; a selection laid over a chunk grid becomes a `Projection`.

One module parses each kind of key: `numpy_key` (`z[...]`), `orthogonal_key` (`z.oindex`), `coordinate_key`
(`z.vindex`), `block_key` (`z.blocks`), `mask_key` (one boolean mask) and `field_names` (`z["field"]`). They share the
items of `key_items`.
"""

from omnizarr.indexing.block_key import block_selection
from omnizarr.indexing.coordinate_key import coordinate_selection
from omnizarr.indexing.field_names import split_fields
from omnizarr.indexing.numpy_key import numpy_selection, plain_selection
from omnizarr.indexing.orthogonal_key import orthogonal_selection
from omnizarr.indexing.pieces import Piece
from omnizarr.indexing.projection import Cell, Projection, Row, only_chunk, rows_from
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
