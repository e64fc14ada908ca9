"""Byte ranges of HTTP (RFC 9110, section 14): which parts of a value a `Range` header selects."""

from __future__ import annotations

import re
from typing import TypeAlias

__all__ = ["ByteParts", "first_part", "parse_range"]

ByteParts: TypeAlias = list[tuple[int, int]]
"""The start and the length of each part, none of them empty."""

_MOST_RANGES = 64
"""More ranges than a reader of chunks sends together. A request with more gets the whole value (RFC 9110, 17.15)."""
_SPEC = re.compile(r"[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*", re.ASCII)
_MOST_DIGITS = 19  # a larger number exceeds every size; `int` is slow on very long texts


def parse_range(header: str | None, size: int) -> ByteParts | None:
    """The parts of a value of `size` bytes that a `Range` header selects.

    None if the header is to be ignored: it is absent, malformed, of another unit, or asks for too much. An empty list
    if it is valid but selects no byte, for which the answer is 416.
    """
    specs = _specs(header)
    if specs is None:
        return None
    parts: ByteParts = []
    for first, last, suffix in specs:
        if suffix is not None:
            start = max(0, size - suffix)
            length = size - start
        else:
            start = first
            length = (size if last is None else min(last + 1, size)) - start
        if length > 0:
            parts.append((start, length))
    if len(parts) > 1 and sum(length for _, length in parts) > size:
        return None  # overlapping ranges would multiply what is sent
    return parts


def first_part(header: str | None) -> tuple[int, int | None] | None:
    """The range of a store that a header with a single range asks for, without knowing the size; otherwise None."""
    specs = _specs(header)
    if specs is None or len(specs) != 1:
        return None
    first, last, suffix = specs[0]
    if suffix is not None:
        return (-suffix, None) if suffix else None
    return first, None if last is None else last + 1 - first


def _specs(header: str | None) -> list[tuple[int, int | None, int | None]] | None:
    """The ranges of a header: first and last byte, or the length of a suffix."""
    if header is None:
        return None
    unit, equals, text = header.partition("=")
    if not equals or unit.strip().lower() != "bytes" or text.count(",") > 2 * _MOST_RANGES:
        return None
    specs: list[tuple[int, int | None, int | None]] = []
    for item in text.split(","):
        if not item.strip(" \t"):
            continue  # lists may have empty elements (RFC 9110, 5.6.1)
        match = _SPEC.fullmatch(item)
        if match is None:
            return None
        first, last, suffix = (None if digits in (None, "") else _number(digits) for digits in match.groups())
        if first is None:
            specs.append((0, None, suffix))
        elif last is not None and last < first:
            return None  # an invalid range makes the whole header invalid
        else:
            specs.append((first, last, None))
    return specs if 0 < len(specs) <= _MOST_RANGES else None


def _number(digits: str) -> int:
    digits = digits.lstrip("0") or "0"
    return 10**_MOST_DIGITS if len(digits) > _MOST_DIGITS else int(digits)
