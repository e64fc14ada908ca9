"""An SVG drawing of a chunk grid: the last three dimensions as a bar, a rectangle or a box, divided into chunks.

All lines and texts have the colour of the surrounding text, so that the drawing fits light and dark themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, TypeAlias

import numpy as np

from omnizarr.display.texts import digits

__all__ = ["chunk_drawing"]

_LONGEST, _SHORTEST = 130.0, 26.0  # pixels of a dimension
_MOST_LINES = 24  # per dimension; of more chunks only some are drawn
_SMALLEST_CELL = 4.0  # pixels of an inner chunk that is drawn
_LONGEST_NAME = 24  # characters of the name of a dimension
_DEPTH = (0.62, -0.42)  # the direction of the third dimension
_ACCENT = "#4c8fd6"  # visible on white and on black

_Point: TypeAlias = tuple[float, float]


def chunk_drawing(
    axes: Sequence[Any], inner: Sequence[int] | None = None, names: Sequence[str | None] | None = None
) -> str:
    """The drawing of a grid with these axes (`grids.Axis`); `inner` is the shape of the inner chunks of a shard.

    Empty for an array without dimensions or elements.
    """
    if not axes or any(axis.length == 0 for axis in axes):
        return ""
    shown = list(axes[-3:])
    labels = [_label(axis.length, names[position] if names else None) for position, axis in enumerate(axes)][-3:]
    sizes = _pixels([axis.length for axis in shown])
    lines = [_positions(axis, size) for axis, size in zip(shown, sizes, strict=True)]
    fine = [
        _inner_positions(axis, size, length)
        for axis, size, length in zip(shown, sizes, () if inner is None else inner[-3:], strict=False)
    ]
    drawing = _Drawing()
    if len(shown) == 1:
        _draw_bar(drawing, sizes, lines, fine, labels)
    elif len(shown) == 2:
        _draw_face(drawing, (0, 0), sizes, lines, fine)
        _label_face(drawing, sizes, labels)
    else:
        _draw_box(drawing, sizes, lines, fine, labels)
    if len(axes) > 3:
        drawing.note(" × ".join(_label(axis.length, names[i] if names else None) for i, axis in enumerate(axes[:-3])))
    return drawing.svg()


def _label(length: int, name: str | None) -> str:
    if name is None:
        return digits(length)
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    # A lone surrogate cannot be encoded.
    return f"{shown} {digits(length)}".encode("utf-8", "backslashreplace").decode()


def _pixels(lengths: Sequence[int]) -> list[float]:
    """The drawn lengths. A root keeps dimensions of very different lengths visible."""
    longest = max(lengths)
    return [max(_SHORTEST, _LONGEST * (length / longest) ** 0.4) for length in lengths]


def _positions(axis: Any, size: float) -> list[float]:
    """The inner chunk boundaries of an axis, in pixels."""
    count = axis.count
    chunks = np.arange(1, count) if count <= _MOST_LINES else np.linspace(1, count - 1, _MOST_LINES).astype(np.intp)
    return [float(start) / axis.length * size for start in axis.starts(np.asarray(chunks, np.intp))]


def _inner_positions(axis: Any, size: float, inner: int) -> list[float]:
    """The boundaries of the inner chunks in the first shard, and its end; only its end if they are too close."""
    length = min(axis.bounds(0)[1], axis.length)
    scale = size / axis.length
    close = inner * scale < _SMALLEST_CELL
    return [*([] if close else [start * scale for start in range(inner, length, inner)]), length * scale]


class _Drawing:
    """The elements of a drawing and the rectangle that they cover."""

    def __init__(self) -> None:
        self._elements: list[str] = []
        self._xs: list[float] = []
        self._ys: list[float] = []

    def polygon(self, points: Sequence[_Point], opacity: float) -> None:
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._cover(points)
        self._elements.append(
            f'<polygon points="{text}" fill="{_ACCENT}" fill-opacity="{opacity}" stroke="currentColor" '
            'stroke-opacity="0.8" stroke-width="1.2" stroke-linejoin="round"/>'
        )

    def line(self, start: _Point, end: _Point, *, fine: bool = False) -> None:
        self._elements.append(
            f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
            f'stroke="{_ACCENT if fine else "currentColor"}" stroke-opacity="{0.9 if fine else 0.4}" '
            f'stroke-width="{0.7 if fine else 0.9}"/>'
        )

    def text(self, at: _Point, text: str, anchor: str) -> None:
        width = 6.2 * len(text)
        left = at[0] - {"start": 0, "middle": width / 2, "end": width}[anchor]
        self._cover([(left, at[1] - 10), (left + width, at[1] + 3)])
        self._elements.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" font-size="11" fill="currentColor" '
            f'fill-opacity="0.85">{escape(text)}</text>'
        )

    def note(self, text: str) -> None:
        """A text above everything."""
        self.text((min(self._xs), min(self._ys) - 8), f"{text} ×", "start")

    def _cover(self, points: Sequence[_Point]) -> None:
        self._xs.extend(x for x, _ in points)
        self._ys.extend(y for _, y in points)

    def svg(self) -> str:
        left, top = min(self._xs) - 4, min(self._ys) - 4
        width, height = max(self._xs) + 4 - left, max(self._ys) + 4 - top
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="chunk grid" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
            f'font-family="sans-serif">{"".join(self._elements)}</svg>'
        )


def _draw_bar(
    drawing: _Drawing, sizes: list[float], lines: list[list[float]], fine: list[list[float]], labels: list[str]
) -> None:
    _draw_face(drawing, (0, 0), [_SHORTEST, *sizes], [[], *lines], [[_SHORTEST], *fine] if fine else [])
    drawing.text((sizes[0] / 2, _SHORTEST + 14), labels[0], "middle")


def _draw_face(
    drawing: _Drawing, at: _Point, sizes: Sequence[float], lines: list[list[float]], fine: list[list[float]]
) -> None:
    """A rectangle: the first dimension goes down, the second to the right."""
    x, y = at
    height, width = sizes
    drawing.polygon([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], 0.16)
    if fine:
        down, right = fine[0][-1], fine[1][-1]
        for position in fine[0]:
            drawing.line((x, y + position), (x + right, y + position), fine=True)
        for position in fine[1]:
            drawing.line((x + position, y), (x + position, y + down), fine=True)
    for position in lines[0]:
        drawing.line((x, y + position), (x + width, y + position))
    for position in lines[1]:
        drawing.line((x + position, y), (x + position, y + height))


def _label_face(drawing: _Drawing, sizes: Sequence[float], labels: Sequence[str]) -> None:
    height, width = sizes
    drawing.text((-6, height / 2 + 4), labels[0], "end")
    drawing.text((width / 2, height + 14), labels[1], "middle")


def _draw_box(
    drawing: _Drawing, sizes: list[float], lines: list[list[float]], fine: list[list[float]], labels: list[str]
) -> None:
    """A box: the first dimension goes back, the second down, the third to the right."""
    depth, height, width = sizes
    back = (depth * _DEPTH[0], depth * _DEPTH[1])
    _draw_face(drawing, (0, 0), sizes[1:], lines[1:], fine[1:])
    drawing.polygon([(0, 0), (width, 0), (width + back[0], back[1]), back], 0.26)
    drawing.polygon(
        [(width, 0), (width + back[0], back[1]), (width + back[0], height + back[1]), (width, height)], 0.36
    )
    for position in lines[0]:
        x, y = position * _DEPTH[0], position * _DEPTH[1]
        drawing.line((x, y), (width + x, y))
        drawing.line((width + x, y), (width + x, height + y))
    for position in lines[1]:
        drawing.line((width, position), (width + back[0], position + back[1]))
    for position in lines[2]:
        drawing.line((position, 0), (position + back[0], back[1]))
    _label_face(drawing, sizes[1:], labels[1:])
    drawing.text((width + back[0] / 2 + 6, height + back[1] / 2 + 10), labels[0], "start")
