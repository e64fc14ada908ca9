"""`Preview`: a small picture or line plot of a whole array, from few of its chunks.

A large array is not read as a whole. Along each shown dimension a few chunks are chosen at equal distances, and a few
elements in each. So a preview of an array of any size reads at most 64 chunks, or 1024 small ones of 32 MiB together.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import isqrt, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError

__all__ = ["Preview", "preview"]

_FEWEST_CHUNKS, _MOST_CHUNKS = 64, 1024  # that may be read; how many depends on their size
_MOST_BYTES = 2**25
_LONGEST_LINE = 1024  # elements of a line plot
_LONGEST_SIDE = 256  # elements along a side of a picture
_SHADES = " ░▒▓█"
_LINE_COLOUR = "#4c8fd6"


class Preview:
    """A sample of an array: `data`, and for each of its dimensions the `indices` that were read.

    In a notebook it shows a picture of two dimensions or a plot of one, made by matplotlib if that is installed. `save`
    writes a PNG file.
    """

    def __init__(
        self,
        name: str,
        data: npt.NDArray[Any],
        indices: Sequence[npt.NDArray[np.intp]],
        labels: Sequence[str],
        fixed: str,
        *,
        coloured: bool,
    ) -> None:
        self.name = name
        self.data = data
        self.indices = tuple(indices)
        self._labels = labels
        self._fixed = fixed
        self._coloured = coloured

    @property
    def title(self) -> str:
        """The name of the array, and the indices of the dimensions that are not shown."""
        return f"{self.name}[{self._fixed}]" if self._fixed else self.name

    def figure(self) -> Any:
        """A figure of matplotlib, with axes in indices of the array."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ArgumentError(
                "a figure needs matplotlib, which is not installed", hint="pip install matplotlib"
            ) from error
        figure = Figure(figsize=(6, 3 if self.data.ndim == 1 else 4.5), layout="constrained")
        axes = figure.subplots()
        if self.data.ndim == 1:
            axes.plot(self.indices[0], _numbers(self.data), linewidth=1)
            axes.margins(x=0)
        else:
            image = axes.imshow(
                self.data if self._coloured else _numbers(self.data),
                extent=(*_range(self.indices[1]), *reversed(_range(self.indices[0]))),
                aspect="auto",
                interpolation="nearest",
            )
            axes.set_ylabel(self._labels[0])
            if not self._coloured:
                figure.colorbar(image, ax=axes)
        axes.set_xlabel(self._labels[-1])
        axes.set_title(self.title, fontsize=10)
        return figure

    def png(self) -> bytes:
        """A PNG file: the figure of matplotlib or, without it, the bare picture; a plot needs matplotlib."""
        if self.data.ndim > 1 and not _has_matplotlib():
            return _png(_as_pixels(self.data, self._coloured))
        from io import BytesIO

        output = BytesIO()
        self.figure().savefig(output, format="png", dpi=100)
        return output.getvalue()

    def save(self, path: Any) -> None:
        """Writes a PNG file."""
        data = self.png()
        with open(path, "wb") as file:
            file.write(data)

    def _repr_html_(self) -> str:
        if self.data.ndim == 1 and not _has_matplotlib():
            picture = _line_drawing(self.indices[0], _numbers(self.data))
        else:
            picture = f'<img alt="{escape(self.title)}" src="data:image/png;base64,{b64encode(self.png()).decode()}">'
        title = ""  # a figure has a title and axes of its own
        if not _has_matplotlib():
            values = "" if self._coloured else f' <span style="opacity:.6">{escape(_range_text(self.data))}</span>'
            title = f"<div>{escape(self.title)}{values}</div>"
        return f'<div style="font-family:sans-serif;font-size:12px">{title}{picture}</div>'

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.data.shape[: len(self.indices)]))
        return f"<Preview of {self.title}: {shape} elements>"

    def __str__(self) -> str:
        """A sketch in characters."""
        return _sketch(self.data if not self._coloured else self.data[..., :3].mean(-1))


def _has_matplotlib() -> bool:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def preview(array: Any, fixed: Sequence[int] | None = None) -> Preview:
    """A preview of the last two dimensions of `array`, or of its only one.

    `fixed` gives the indices of the other dimensions; the default is the middle of each. Three or four elements of type
    uint8 in the last dimension count as colours.
    """
    if array.dtype.kind not in "biufcmM":
        raise ArgumentError(
            f"cannot preview an array of data type {array.data_type.name}: expected numbers, dates or truth values",
            argument="array",
        )
    if array.ndim == 0 or array.size == 0:
        raise ArgumentError("cannot preview an array without dimensions or elements", argument="array")
    coloured = array.ndim >= 3 and array.shape[-1] in (3, 4) and array.dtype == np.uint8
    last = array.ndim - int(coloured)
    shown = range(max(0, last - 2), last)
    others = shown.start
    if fixed is None:
        fixed = [length // 2 for length in array.shape[:others]]
    if len(fixed) != others:
        raise ArgumentError(
            f"`fixed`: expected {others} indices, one for each dimension that is not shown, found {len(fixed)}",
            argument="fixed",
        )
    axes = _axes(array)
    longest = _LONGEST_LINE if len(shown) == 1 else _LONGEST_SIDE
    counts = _chunk_counts([axes[dimension].count for dimension in shown], _chunk_limit(array, axes))
    indices = [_sample(axes[dimension], count, longest) for dimension, count in zip(shown, counts, strict=True)]
    selection = (*fixed, *indices, *([slice(None)] if coloured else []))
    data = np.asarray(array.oindex[selection])
    names = array.dimension_names or [None] * array.ndim
    labels = [names[dimension] or f"dimension {dimension}" for dimension in shown]
    parts = [*map(str, fixed), *[":"] * (array.ndim - others)]
    return Preview(array.name, data, indices, labels, ", ".join(parts) if others else "", coloured=coloured)


def _axes(array: Any) -> list[Any]:
    """The axes of the chunks that are decoded on their own: inner chunks if the array is sharded."""
    from omnizarr.grids import Regular  # lazy import: sharded arrays only

    model = array.metadata
    if model.sharding is None:
        return list(model.grid.axes(model.shape))
    return list(Regular(array.chunks).axes(model.shape))


def _chunk_limit(array: Any, axes: Sequence[Any]) -> int:
    """How many chunks to read."""
    chunk_bytes: int = prod(axis.bounds(0)[1] for axis in axes) * array.itemsize
    return min(_MOST_CHUNKS, max(_FEWEST_CHUNKS, _MOST_BYTES // max(1, chunk_bytes)))


def _chunk_counts(counts: Sequence[int], limit: int) -> list[int]:
    """How many chunks to read along each dimension: equally many, and more where the other has fewer."""
    if len(counts) == 1:
        return [min(counts[0], limit)]
    first = min(counts[0], max(isqrt(limit), limit // counts[1]))
    return [first, min(counts[1], limit // first)]


def _sample(axis: Any, chunks: int, elements: int) -> npt.NDArray[np.intp]:
    """Indices at about equal distances, at most `elements` of them, in at most `chunks` chunks."""
    if axis.count <= chunks:
        return np.unique(np.linspace(0, axis.length - 1, min(axis.length, elements)).astype(np.intp))
    each = max(1, elements // chunks)
    chosen = np.unique(np.linspace(0, axis.count - 1, chunks).astype(np.intp))
    indices = []
    for chunk in chosen.tolist():
        start, length = axis.bounds(chunk)
        length = min(length, axis.length - start)
        indices.append(np.linspace(start, start + length - 1, min(length, each)).astype(np.intp))
    return np.unique(np.concatenate(indices))


def _range(indices: npt.NDArray[np.intp]) -> tuple[float, float]:
    return float(indices[0]), float(indices[-1]) + 1


def _numbers(data: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The values as floats: the magnitude of complex numbers, dates as numbers, NaN for missing dates."""
    if data.dtype.kind in "mM":
        numbers = data.view(np.int64).astype(np.float64)
        numbers[np.isnat(data)] = np.nan
        return numbers
    return np.abs(data).astype(np.float64) if data.dtype.kind == "c" else data.astype(np.float64)


def _scaled(data: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The values between 0 and 1; not-a-number and infinity become 0."""
    numbers = _numbers(data)
    finite = np.isfinite(numbers)
    if not finite.any():
        return np.zeros(numbers.shape)
    low, high = numbers[finite].min(), numbers[finite].max()
    half = high / 2 - low / 2  # half of the range, because the whole may exceed the largest float
    scaled = (numbers / 2 - low / 2) / half if half > 0 else np.full(numbers.shape, 0.5)
    return np.where(finite, scaled, 0.0)


def _range_text(data: npt.NDArray[Any]) -> str:
    """The least and the greatest value, such as `0 … 365`; empty if all are missing."""
    values = np.abs(data) if data.dtype.kind == "c" else data
    values = values[np.isfinite(_numbers(data))]
    if not values.size:
        return ""
    ends = [values.min(), values.max()]
    return " … ".join(f"{end:.6g}" if data.dtype.kind in "fc" else str(end) for end in ends)


def _as_pixels(data: npt.NDArray[Any], coloured: bool) -> npt.NDArray[np.uint8]:
    if coloured:
        return data[..., :3]
    return np.rint(_scaled(data) * 255).astype(np.uint8)


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """A PNG file of grey or coloured pixels."""
    height, width = pixels.shape[:2]
    colour_type = 2 if pixels.ndim == 3 else 0
    rows = np.ascontiguousarray(pixels).reshape(height, -1)
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()

    def block(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + block(b"IHDR", header) + block(b"IDAT", zlib.compress(filtered)) + block(b"IEND", b"")


def _line_drawing(indices: npt.NDArray[np.intp], numbers: npt.NDArray[np.float64]) -> str:
    """A plot as SVG; gaps where a number is missing."""
    width, height = 480, 140
    xs = (indices - indices[0]) / max(1, indices[-1] - indices[0]) * width
    ys = height - _scaled(numbers) * height
    commands = []
    pen_down = False
    for x, y, finite in zip(xs.tolist(), ys.tolist(), np.isfinite(numbers).tolist(), strict=True):
        if finite:
            commands.append(f"{'L' if pen_down else 'M'}{x:.1f} {y:.1f}")
        pen_down = finite
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 8}" height="{height + 8}" '
        f'viewBox="-4 -4 {width + 8} {height + 8}"><path d="{"".join(commands)}" fill="none" '
        f'stroke="{_LINE_COLOUR}" stroke-width="1.2"/></svg>'
    )


def _sketch(data: npt.NDArray[Any]) -> str:
    """At most 24 lines of 64 characters."""
    if data.ndim == 1:
        bars = "▁▂▃▄▅▆▇█"
        columns = data[np.linspace(0, len(data) - 1, min(len(data), 64)).astype(np.intp)]
        return "".join(bars[min(7, int(value * 8))] for value in _scaled(columns))
    rows = np.linspace(0, data.shape[0] - 1, min(data.shape[0], 24)).astype(np.intp)
    columns = np.linspace(0, data.shape[1] - 1, min(data.shape[1], 64)).astype(np.intp)
    scaled = _scaled(data[np.ix_(rows, columns)])
    return "\n".join("".join(_SHADES[min(4, int(value * 5))] for value in row) for row in scaled)
