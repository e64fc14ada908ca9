"""Writes elements to standard output block by block: as text, CSV, JSON, a file of NumPy, or bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr.cli.output import write
from omnizarr.display.texts import printable

if TYPE_CHECKING:
    from omnizarr.tools import Progress
    from omnizarr.tools.elements import Elements

__all__ = ["write_csv", "write_json", "write_npy", "write_raw", "write_text"]

_TEXT_BLOCK = 2**20  # bytes of elements per block; as text, they take many times that


def _blocks(
    elements: Elements, report: Progress | None, block_bytes: int | None = None
) -> Iterator[tuple[tuple[slice, ...], npt.NDArray[Any]]]:
    """The blocks in C order."""
    done, total = 0, elements.nbytes
    regions = elements.in_order() if block_bytes is None else elements.in_order(block_bytes)
    for region in regions:
        block = elements.read(region)
        yield region, block
        done += block.nbytes
        if report is not None:
            report(done, total)


def write_text(elements: Elements, report: Progress | None) -> None:
    """One line per row of the last dimension, and an empty line after each plane."""
    from omnizarr.tools.first_elements import element_text

    shape = elements.shape
    if len(shape) < 2:
        for _, block in _blocks(elements, report, _TEXT_BLOCK):
            for element in block.reshape(-1):
                write(printable(element_text(element, None)))
        return
    width, height = shape[-1], shape[-2]
    rows = int(np.prod(shape[:-1], dtype=object))
    column = row = 0
    for _, block in _blocks(elements, report, _TEXT_BLOCK):
        for line in block.reshape(-1, block.shape[-1]):
            texts = " ".join(printable(element_text(element, None)) for element in line)
            column += len(line)
            if column < width:  # the row continues in the next block
                sys.stdout.write(f"{texts} ")
                continue
            write(texts)
            column = 0
            row += 1
            if row % height == 0 and row < rows:
                write("")


def write_csv(elements: Elements, names: Sequence[str | None] | None, report: Progress | None) -> None:
    """A header, and one line per element: its indices and its value, or the values of its fields."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    fields = elements.dtype.names
    titles = [name or f"dim_{axis}" for axis, name in enumerate(names or [None] * len(elements.shape))]
    writer.writerow([printable(text) for text in (*titles, *(fields or ("value",)))])
    for region, block in _blocks(elements, report, _TEXT_BLOCK):
        starts = [part.start for part in region]
        for index in np.ndindex(block.shape):
            place = [start + offset for start, offset in zip(starts, index, strict=True)]
            element = block[index]
            values = [element[name] for name in fields] if fields else [element]
            writer.writerow([*place, *(_csv_text(value) for value in values)])


def _csv_text(value: Any) -> str:
    from omnizarr.tools.first_elements import element_text

    return printable(element_text(value, None))


def write_json(elements: Elements, report: Progress | None) -> None:
    """Nested lists, as `tolist` gives them, written row by row."""
    import json

    from omnizarr.tools import as_json

    shape = elements.shape
    if not shape:
        write(json.dumps(as_json(_json_values(elements.read(())))))
        return
    if not all(shape):
        write(json.dumps(np.empty(shape).tolist()))
        return
    totals = [int(np.prod(shape[axis:], dtype=object)) for axis in range(len(shape))]
    count = 0
    for _, block in _blocks(elements, report, _TEXT_BLOCK):
        for value in as_json(_json_values(block.reshape(-1))):
            opened = sum(count % total == 0 for total in totals)
            sys.stdout.write((", " if count else "") + "[" * opened + json.dumps(value, ensure_ascii=False))
            count += 1
            sys.stdout.write("]" * sum(count % total == 0 for total in totals))
    write("")


def _json_values(block: npt.NDArray[Any]) -> Any:
    if block.dtype.kind in "mM":
        return block.astype(str).tolist()
    if block.dtype.kind == "S" or block.dtype.hasobject:
        decode = [
            v.decode("utf-8", "backslashreplace") if isinstance(v, bytes) else v for v in block.reshape(-1).tolist()
        ]
        return decode if block.ndim else decode[0]
    return block.tolist()


def write_npy(elements: Elements, report: Progress | None) -> None:
    """A file of NumPy, version 1 or later, in C order."""
    header = {
        "descr": np.lib.format.dtype_to_descr(elements.dtype),
        "fortran_order": False,
        "shape": tuple(elements.shape),
    }
    stream = sys.stdout.buffer
    np.lib.format.write_array_header_2_0(stream, header)
    for _, block in _blocks(elements, report):
        stream.write(np.ascontiguousarray(block).tobytes())
    stream.flush()


def write_raw(elements: Elements, report: Progress | None) -> None:
    """The elements in C order, little-endian."""
    dtype = elements.dtype.newbyteorder("<")
    stream = sys.stdout.buffer
    for _, block in _blocks(elements, report):
        stream.write(np.ascontiguousarray(block, dtype).tobytes())
    stream.flush()
