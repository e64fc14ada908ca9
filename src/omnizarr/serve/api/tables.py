"""Elements as text: for strings, records, objects, single values, and the values under the mouse."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from omnizarr.errors import TooLargeError
from omnizarr.indexing import numpy_selection
from omnizarr.nodes import Array
from omnizarr.serve.api.windows import window_cost
from omnizarr.tools.selections import Index

__all__ = ["TextTable", "check_table", "table"]

_MOST_CELLS = 20_000
_LONGEST_CELL = 300  # characters


@dataclass(frozen=True, slots=True)
class TextTable:
    """Elements as text, in C order."""

    shape: tuple[int, ...]
    fields: tuple[str, ...] | None
    """The names of the fields of records; each element is then a list of texts."""
    cells: list[Any]
    chunks: int
    bytes_read: int


def check_table(array: Array, selection: Index) -> None:
    """TooLargeError if a selection has too many elements to show."""
    count = prod(numpy_selection(selection, array.shape).shape)
    if count > _MOST_CELLS:
        raise TooLargeError(f"the selection has {count:,} elements, more than {_MOST_CELLS:,}")


def table(array: Array, selection: Index) -> TextTable:
    """The elements of a selection as text."""
    cost = window_cost(array, selection)
    block: Any = np.asarray(array.get_basic_selection(selection))
    names = block.dtype.names
    cells = []
    for element in block.reshape(-1):
        cells.append([_text(element[name]) for name in names] if names else _text(element))
    return TextTable(cost.shape, names, cells, cost.chunks, cost.stored_bytes)


def _text(element: Any) -> str:
    if isinstance(element, (float, np.floating)) and not isinstance(element, np.longdouble):
        text = str(element)
    elif isinstance(element, (bytes, np.bytes_)):
        text = repr(bytes(element))
    elif isinstance(element, np.void) and element.dtype.names is None:
        text = element.tobytes().hex() if element.dtype.name.startswith("void") else str(element)
    else:
        text = str(element)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"
