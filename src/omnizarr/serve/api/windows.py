"""Windows: a selection of an array as raw values that a browser can draw, with what reading them cost."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.errors import ArgumentError, TooLargeError
from omnizarr.indexing import numpy_selection
from omnizarr.nodes import Array
from omnizarr.nodes.group import handle
from omnizarr.serve.api.counting import CountingStore
from omnizarr.serve.memory import MemoryLimit
from omnizarr.serve.messages import BytesBody, HttpResponse, json_response
from omnizarr.tools.results import as_json
from omnizarr.tools.selections import Index

__all__ = ["ASKS_FROM", "Cost", "WindowRequest", "as_numbers", "memory_of", "read_window", "window_cost"]

ASKS_FROM = 100_000_000
"""Bytes: a window that reads more is read only if the user confirms it."""
_LARGEST_WINDOW = 2**24  # elements: 64 MiB of float32, more than any screen has pixels
_MOST_SORTED = 2**15  # elements of a window that count for its limits
_SQUARES_OVERFLOW = 1e140  # the sum of squares of a window of larger numbers could exceed float64
_TYPES = {"f4": "<f4", "f8": "<f8", "u1": "|u1", "u4": "<u4"}


class WindowRequest(NamedTuple):
    """What is to be read, and the type in which it is sent."""

    array: Array
    selection: Index
    type: str = "f4"
    part: str = ""
    """Of complex numbers: `magnitude`, `phase`, `real` or `imaginary`. Of records: the name of a field."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a window costs."""

    shape: tuple[int, ...]
    stored_bytes: int
    """The bytes that are read from the store; an upper bound for remote stores, which are not asked for sizes."""
    decoded_bytes: int
    selected_bytes: int
    chunks: int
    absent: int
    requests: int
    estimated: bool
    needs_confirmation: bool
    advice: tuple[str, ...] = ()


def window_cost(array: Array, selection: Index) -> Cost:
    """What reading a selection costs, without reading it."""
    picks = numpy_selection(selection, array.shape)
    selected = prod(picks.shape) * array.itemsize
    if array.store.remote:
        chunks, decoded = _bounds(array, selection)
        asks = min(decoded, array.nbytes) > ASKS_FROM
        return Cost(picks.shape, decoded, decoded, selected, chunks, 0, chunks, True, asks)
    cost = array.explain[selection]
    return Cost(
        shape=cost.shape,
        stored_bytes=cost.stored_bytes,
        decoded_bytes=cost.decoded_bytes,
        selected_bytes=cost.selected_bytes,
        chunks=cost.chunks,
        absent=cost.absent,
        requests=cost.requests,
        estimated=cost.estimated,
        needs_confirmation=cost.stored_bytes > ASKS_FROM,
        advice=cost.advice,
    )


def _bounds(array: Array, selection: Index) -> tuple[int, int]:
    """The number of chunks that a selection touches, and their decoded size."""
    from omnizarr.indexing import Projection

    picks = numpy_selection(selection, array.shape)
    if picks.empty:
        return 0, 0
    count = len(Projection(picks.picks, picks.points, array._layout.axes))
    largest = array._layout.largest
    return count, count * (largest.spec.nbytes if largest is not None else 0)


def memory_of(array: Array, cost: Cost) -> int:
    """About the memory that reading a selection and making numbers of it takes: its elements as they are stored, as
    float64, and as they are sent; and a decoded chunk for each thread."""
    largest = array._layout.largest
    chunk = 0 if largest is None else largest.spec.nbytes
    return prod(cost.shape) * (array.itemsize + 24) + min(config.threads, cost.chunks) * chunk


def read_window(window: WindowRequest, memory: MemoryLimit, *, confirmed: bool = False) -> HttpResponse:
    """The response with a window: the length of a JSON object in 4 bytes, the object, and the raw values.

    If reading costs much and the user has not confirmed it, the response is 409 with the cost instead.
    """
    if window.type not in _TYPES:
        raise ArgumentError(f"`type`: expected one of {', '.join(_TYPES)}, found `{window.type}`", argument="type")
    cost = window_cost(window.array, window.selection)
    if prod(cost.shape) > _LARGEST_WINDOW:
        raise TooLargeError(f"the window has {prod(cost.shape):,} elements, more than {_LARGEST_WINDOW:,}: use a step")
    if cost.needs_confirmation and not confirmed:
        return json_response({"needs_confirmation": True, "cost": as_json(cost)}, 409)
    return memory.make(memory_of(window.array, cost), lambda: _window_response(window, cost))


def _window_response(window: WindowRequest, cost: Cost) -> HttpResponse:
    array, selection = window.array, window.selection
    began = time.perf_counter()
    counting = CountingStore(array.store) if array.store.remote else None
    reader = array if counting is None else handle(array._context._replace(store=counting), array.metadata)
    assert isinstance(reader, Array)
    block = np.asarray(reader.get_basic_selection(selection))
    read = cost.stored_bytes if counting is None else counting.bytes_read
    numbers = as_numbers(block, window.part)
    facts = {
        "shape": list(numbers.shape),
        "type": window.type,
        "bytes_read": read,
        "chunks": cost.chunks,
        "absent": cost.absent,
        "requests": cost.requests if counting is None else counting.requests,
        "decoded_bytes": cost.decoded_bytes,
        "shown_bytes": block.nbytes,
        "advice": list(cost.advice),
        "seconds": round(time.perf_counter() - began, 4),
        **_range(numbers),
    }
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.ascontiguousarray(numbers, dtype=_TYPES[window.type])
    head = json.dumps(as_json(facts)).encode()
    head += b" " * (-(len(head) + 4) % 8)  # so that the browser can view the values without a copy
    raw: Any = values.reshape(-1).view("u1")
    body = b"".join((len(head).to_bytes(4, "little"), head, raw))
    return HttpResponse(200, {"Content-Type": "application/octet-stream", "Cache-Control": "no-store"}, BytesBody(body))


def _range(numbers: npt.NDArray[Any]) -> dict[str, Any]:
    """The smallest and the largest finite value, and how many are NaN or infinite."""
    if not numbers.size:
        return {"min": None, "max": None, "mean": None, "nan": 0, "count": 0}
    if numbers.dtype.kind == "f":
        finite = np.isfinite(numbers)
        missing = int(numbers.size - np.count_nonzero(finite))
        present = numbers[finite] if missing else numbers
    else:
        missing, present = 0, numbers
    if not present.size:
        return {"min": None, "max": None, "mean": None, "nan": missing, "count": numbers.size}
    least, most = float(present.min()), float(present.max())
    few = present.reshape(-1)[:: -(-present.size // _MOST_SORTED) | 1].astype("f8") / 2  # odd: rows have even lengths
    low, high = np.percentile(few, (2, 98)) * 2  # the difference of two halves never overflows
    peak = max(abs(least), abs(most))
    scale = peak if peak > _SQUARES_OVERFLOW else 1.0
    scaled = present / scale if scale > 1 else present
    return {
        "min": least,
        "max": most,
        "low": float(low),
        "high": float(high),
        "mean": float(scaled.mean(dtype="f8")) * scale,
        "std": float(scaled.std(dtype="f8")) * scale,
        "nan": missing,
        "count": numbers.size,
    }


def as_numbers(block: npt.NDArray[Any], part: str = "") -> npt.NDArray[Any]:
    """Elements as numbers to draw: integers, or floats with NaN for what is missing."""
    if block.dtype.names is not None:
        field = part or block.dtype.names[0]
        if field not in block.dtype.names:
            raise ArgumentError(f"`part`: there is no field `{field}`", argument="part")
        block, part = block[field], ""
    kind = block.dtype.kind
    if kind == "c":
        parts: dict[str, Any] = {
            "": np.abs,
            "magnitude": np.abs,
            "phase": np.angle,
            "real": np.real,
            "imaginary": np.imag,
        }
        if part not in parts:
            raise ArgumentError(f"`part`: expected one of {', '.join(filter(None, parts))}", argument="part")
        numbers: npt.NDArray[Any] = np.asarray(parts[part](block))
        return numbers
    if kind in "mM":
        numbers = block.astype("i8").astype("f8")
        numbers[np.isnat(block)] = np.nan
        return numbers
    if kind in "iuf":
        return block
    if kind == "b":
        return block.astype("u1")
    if kind == "V" and block.dtype.names is None and any(word in block.dtype.name for word in ("float", "int")):
        return block.astype("f4")  # numbers of `ml_dtypes`
    raise ArgumentError(f"elements of type {block.dtype} are no numbers", argument="path", hint="ask for a table")
