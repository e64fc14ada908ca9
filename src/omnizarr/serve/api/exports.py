"""Exports: the elements of a selection as a file."""

from __future__ import annotations

import io
import re
from math import prod
from typing import Any

import numpy as np

from omnizarr.errors import ArgumentError, TooLargeError
from omnizarr.indexing import numpy_selection
from omnizarr.nodes import Array
from omnizarr.serve.messages import BytesBody, HttpResponse
from omnizarr.tools.selections import Index

__all__ = ["check_export", "export_response"]

_LARGEST_EXPORT = 2**28  # bytes in memory
_LARGEST_CSV = 2**22  # elements, whose text is larger than they are
_ROWS = 2**12  # that are made text at a time


def check_export(array: Array, selection: Index, form: str) -> None:
    """Raises an error if a selection has too many elements for a file of this form, or if there is no such form."""
    count = prod(numpy_selection(selection, array.shape).shape)
    size = count * array.itemsize
    if form == "csv" and count > _LARGEST_CSV:
        raise TooLargeError(f"the selection has {count:,} elements, more than {_LARGEST_CSV:,}: export it as npy")
    if size > _LARGEST_EXPORT:
        raise TooLargeError(f"the selection has {size:,} bytes, more than {_LARGEST_EXPORT:,}: use `omnizarr cat`")
    if form not in ("npy", "csv"):
        raise ArgumentError(f"`format`: expected npy or csv, found `{form}`", argument="format")


def export_response(array: Array, selection: Index, form: str) -> HttpResponse:
    """The elements as a file of NumPy (`npy`) or as lines with commas (`csv`)."""
    block: Any = np.asarray(array.get_basic_selection(selection))
    data = _npy(block) if form == "npy" else _csv(block)
    name = re.sub(r"[^\w.-]", "_", array.basename or "array", flags=re.ASCII)
    kind = "application/octet-stream" if form == "npy" else "text/csv; charset=utf-8"
    headers = {"Content-Type": kind, "Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return HttpResponse(200, headers | {"Cache-Control": "no-store"}, BytesBody(data))


def _npy(block: Any) -> bytes:
    if block.dtype.hasobject or block.dtype.kind == "T":
        block = block.astype(str)  # a file of objects would be a pickle
    file = io.BytesIO()
    np.save(file, block, allow_pickle=False)
    return file.getvalue()


def _csv(block: Any) -> bytes:
    import csv  # lazy import: few windows are exported

    file = io.StringIO(newline="")
    writer = csv.writer(file)
    if block.dtype.names is not None:
        writer.writerow(block.dtype.names)
        rows = block.reshape(-1)
    else:
        rows = block.reshape(-1, block.shape[-1]) if block.ndim > 1 else block.reshape(-1, 1)
    for start in range(0, len(rows), _ROWS):
        writer.writerows(rows[start : start + _ROWS].tolist())
    return file.getvalue().encode("utf-8", "replace")
