"""Short texts for shapes, codecs, fill values and sizes, as the commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnizarr.display.texts import human_bytes, shape_text

__all__ = [
    "codec_names",
    "codec_text",
    "duration_text",
    "fill_text",
    "human_ratio",
    "lengths_text",
    "number_text",
    "shape_with_names",
    "share_text",
    "short_reason",
    "size_text",
    "statistics_rows",
]

_LONGEST_FILL = 24  # characters in a table
_LONGEST_NUMBER = 32  # characters; times with nanoseconds have 29
_LONGEST_REASON = 100  # characters; `info` of the node itself shows the whole reason
_OBVIOUS = ("bytes", "vlen-utf8", "vlen-bytes")
"""Serializers that a table leaves out, because nearly every array of their types has them."""


def size_text(count: int) -> str:
    """1536 → `1.5 KiB (1,536 bytes)`; below 1 KiB, only the bytes."""
    return human_bytes(count) if count < 1024 else f"{human_bytes(count)} ({count:,} bytes)"


def lengths_text(lengths: Any) -> str:
    """A shape or a chunk shape: `24 × 180 × 360`; `scalar` for one without dimensions."""
    if not lengths:
        return "scalar"
    if all(isinstance(length, int) for length in lengths):
        return " × ".join(map(str, lengths))
    return " × ".join(str(shape_text((length,)))[1:-2] for length in map(_hashable, lengths))


def _hashable(lengths: Any) -> Any:
    return lengths if isinstance(lengths, int) else tuple(map(_hashable, lengths))


def shape_with_names(names: Sequence[str | None], shape: Sequence[int]) -> str:
    """`time 24 × lat 180 × lon 360`"""
    return " × ".join(f"{name or '–'} {length}" for name, length in zip(names, shape, strict=True)) or "none"


def codec_text(codec: Any) -> str:
    """A codec of a document: `zstd(level=1, checksum=false)`."""
    if isinstance(codec, str):
        return codec
    import json

    options = codec.get("configuration") or {}
    texts = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in options.items()]
    return f"{codec['name']}({', '.join(texts)})" if texts else str(codec["name"])


def codec_names(names: Sequence[str]) -> str:
    """The names of the codecs of a chunk, without obvious ones."""
    return ", ".join(name.removeprefix("numcodecs.") for name in names if name not in _OBVIOUS) or "none"


def fill_text(fill: Any) -> str:
    """A fill value of a document, cut if it is long."""
    if fill is None:
        return "undefined"
    import json

    text = fill if isinstance(fill, str) and fill else json.dumps(fill)
    return text if len(text) <= _LONGEST_FILL else f"{text[: _LONGEST_FILL - 1]}…"


def human_ratio(logical: int, stored: int) -> str:
    """`, ratio 3.2`; nothing if nothing is stored."""
    return f", ratio {logical / stored:,.1f}" if stored else ""


def number_text(value: Any) -> str:
    """A number in at most six digits; other values as short text."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= _LONGEST_NUMBER else f"{text[: _LONGEST_NUMBER - 1]}…"


def duration_text(seconds: float) -> str:
    """`12 µs`, `3.4 ms`, `1.2 s`"""
    for unit, length in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def share_text(share: float | None) -> str:
    """A share as percents: `0 %`, `12.5 %`, `<0.1 %`."""
    if share is None:
        return ""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.3g} %" if share < 0.9995 or share == 1 else ">99.9 %"


def statistics_rows(statistics: Any) -> list[tuple[str, str | None]]:
    """The statistics of an array as titles and texts."""
    rows = [("Minimum", statistics.min), ("Maximum", statistics.max), ("Mean", statistics.mean)]
    shares = [("Not a number", statistics.nan), ("Equal to fill", statistics.fill)]
    return [
        *((title, number_text(value) or None) for title, value in rows),
        *((title, share_text(share) or None) for title, share in shares),
    ]


def short_reason(reason: str) -> str:
    """Why a node cannot be read, in at most 100 characters."""
    lines = [line.strip() for line in reason.replace("; ", "\n").splitlines() if line.strip()]
    text = lines[0] if lines else reason
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return (text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…") + more
