"""`first_elements`: the first rows and columns of an array as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from omnizarr.display.texts import type_text
from omnizarr.nodes import Array
from omnizarr.tools.elements import Elements
from omnizarr.tools.selections import Index, selection_text

__all__ = ["FirstElements", "element_text", "first_elements"]

_COLUMNS = 8  # to show of the last dimension
_LONGEST = 60  # characters of an element


@dataclass(frozen=True, slots=True)
class FirstElements:
    """The first elements of an array."""

    name: str
    type: str
    size: str
    """The shape of the array or of the selection, as text."""
    selection: str
    """What is shown, as a selection of the array or of the selection."""
    columns: tuple[str, ...]
    """The index of each column; one empty text if there is only one dimension."""
    rows: tuple[str, ...]
    """The index of each row."""
    values: tuple[tuple[str, ...], ...]
    """The elements as text, row by row."""


def first_elements(array: Array, selection: Index | None = None, *, rows: int = 8) -> FirstElements:
    """The first rows and columns: the last two dimensions, and index 0 of the others."""
    elements = Elements(array, selection)
    shape = elements.shape
    shown = shape[-2:] if len(shape) > 1 else shape
    limits = (rows, _COLUMNS) if len(shape) > 1 else (rows if selection is not None or rows > 1 else _COLUMNS,)
    counts = [min(length, limit) for length, limit in zip(shown, limits, strict=False)]
    leading = (slice(0, 1),) * (len(shape) - len(shown))
    region = (*leading, *(slice(0, count) for count in counts))
    block = elements.read(region) if all(shape) else np.empty((0,) * len(shape), elements.dtype)
    table = _rows_of(block, len(shown), one_row=rows == 1)
    more = len(shown) == 2 and counts[1] < shown[1]
    if more:
        table = [(*row, "…") for row in table]
    has_columns = len(shown) == 2
    columns = tuple(map(str, range(counts[1]))) + (("…",) if more else ()) if has_columns else ("",)
    text = selection_text((*(0 for _ in leading), *(slice(None, count) for count in counts)))
    return FirstElements(
        name=array.basename or "/",
        type=type_text(array.data_type),
        size=" × ".join(map(str, shape)) or "scalar",
        selection=text,
        columns=columns,
        rows=tuple(map(str, range(len(table)))),
        values=tuple(table),
    )


def _rows_of(block: Any, dimensions: int, *, one_row: bool) -> list[tuple[str, ...]]:
    if not block.size:
        return []
    flat = block.reshape(block.shape[len(block.shape) - dimensions :])
    if dimensions == 0:
        return [(element_text(flat[()]),)]
    if dimensions == 1:
        texts = [element_text(item) for item in flat]
        return [tuple(texts)] if one_row else [(text,) for text in texts]
    return [tuple(element_text(item) for item in row) for row in flat]


def element_text(element: Any, longest: int | None = _LONGEST) -> str:
    """An element as short text: numbers as NumPy prints them, text without quotes."""
    if isinstance(element, bytes):
        text = element.decode("utf-8", "backslashreplace")
    elif isinstance(element, (np.void, np.ndarray)):
        text = str(element.tolist())
    else:
        text = str(element)
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
