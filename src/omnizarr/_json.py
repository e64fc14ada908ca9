"""JSON in and out: bounded, tolerant of what Python writers stored, strict in what is written; and the
collector that finds every problem of a document before anything is raised."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np

from omnizarr.errors import ArgumentError, MetadataError, Problem

__all__ = ["Json", "Problems", "describe", "dump", "from_base64", "is_integer", "nearest", "parse", "plain", "same"]

Json = Any  # a value as json.loads gives it; a precise recursive alias would make every reader of a document cast

_DEEPEST = 200  # levels; RFC 8259 lets a reader set such a limit, and real documents stay below 20


def parse(data: bytes | bytearray | memoryview, what: str, *, limit: int) -> Json:
    """The JSON value in `data`. Bare `NaN` and `Infinity` are accepted, as Python wrote them for years (A60);
    of repeated members the last one counts (R154). `what` names the document in errors."""
    if len(data) > limit:
        raise MetadataError(f"{what} is {len(data)} bytes long, more than the limit of {limit}")
    text = bytes(data)
    try:
        value = json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise MetadataError(f"{what} is not UTF-8 text: {error}") from None
    except RecursionError:
        raise MetadataError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise MetadataError(f"{what} is not valid JSON: {error}") from None
    # No value is deeper than it has brackets, and to count those takes less time than to look.
    if text.count(b"{") + text.count(b"[") > _DEEPEST and _too_deep(value):
        raise MetadataError(f"{what} is nested more than {_DEEPEST} levels deep")
    return value


def _too_deep(value: Json) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def dump(value: Json, *, allow_nan: bool = False, ascii: bool = False) -> bytes:
    """`value` as RFC 8259 JSON in UTF-8 (R153). NumPy scalars and arrays become numbers and lists. With `allow_nan` a
    number that is not finite is written as Python does, which is not JSON; with `ascii` all other letters are
    escaped."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=ascii, allow_nan=allow_nan, default=_plain)
        try:
            return text.encode()
        except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 does not have and an escape can spell
            return json.dumps(value, indent=2, allow_nan=allow_nan, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        plain(value, "$")  # raises with the place, if it finds one
        raise ArgumentError(f"cannot be written as JSON: {error}", argument="attributes") from None


def _plain(value: object) -> Json:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__}")


def plain(value: Any, path: str) -> Json:
    """A copy of a user's `value` as a document would give it back: lists for tuples and arrays, plain numbers and text.
    ArgumentError, with the place, if it cannot be stored, or could not be read back."""
    return _copied(value, path, _DEEPEST // 2)  # the other half is left for the documents around it


def _copied(value: Any, path: str, levels: int) -> Json:
    reason = None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if math.isfinite(value):
            return float(value)
        reason = f'{value} is not a number that JSON knows; write it as text such as "NaN"'
    elif isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "biufUO":
        return _copied(value.tolist(), path, levels)
    elif levels == 0:
        reason = f"it is nested more than {_DEEPEST // 2} levels deep"
    elif isinstance(value, (list, tuple)):
        return [_copied(item, f"{path}[{index}]", levels - 1) for index, item in enumerate(value)]
    elif isinstance(value, Mapping):
        others = [name for name in value if not isinstance(name, str)]
        if not others:
            return {str.__str__(name): _copied(item, f"{path}.{name}", levels - 1) for name, item in value.items()}
        reason = f"names are strings, and {others[0]!r} is not one"
    else:
        kind = f"NumPy array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        reason = f"JSON has nothing for a {kind}"
    raise ArgumentError(f"`{path}` cannot be written as JSON: {reason}", argument=path.partition(".")[0])


def same(a: Json, b: Json) -> bool:
    """Whether two values are equal; unlike Python's comparison it takes NaN for equal to NaN."""
    return bool(a == b) or json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def is_integer(value: Json) -> TypeGuard[int]:
    """Whether a JSON value is an integer; `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def describe(value: Json) -> str:
    """A found value as it stands in a message: short, and in JSON's spelling."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        try:
            text = repr(value)
        except (ValueError, RecursionError):  # Python spells no integers of more than 4300 digits
            text = f"a value of type {type(value).__name__} that is too long to show"
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the known word most like `name`, if one is like it."""
    import difflib  # needed only for mistakes

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{found[0]}`?" if found else None


_MOST_HINTS = 50


class Problems:
    """Collects what is wrong with a document: a parser adds problems and goes on, and all are raised at the end."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.warnings: list[Problem] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, path: str, message: str, *, hint: str | None = None) -> None:
        """Something that makes the document unusable."""
        self.found.append(Problem(path, message, hint))

    def expected(self, path: str, what: str, found: Json) -> None:
        """The commonest problem: one thing was expected and another found."""
        self.add(path, f"expected {what}, found {describe(found)}")

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """A hint as `nearest` gives it; none any more where there are very many problems, for each takes its time."""
        return nearest(name, known) if len(self.found) < _MOST_HINTS else None

    def unknown(self, path: str, kind: str, name: str, known: Iterable[str]) -> None:
        """A name that nobody registered; suggests the nearest one that somebody did."""
        self.add(path, f"unknown {kind} `{name}`", hint=self.nearest(name, known))

    def warn(self, path: str, message: str) -> None:
        """Something a strict writer would not have written, and a tolerant reader accepts."""
        self.warnings.append(Problem(path, message))


def from_base64(value: Json) -> bytes | None:
    """The bytes that a JSON value spells in base64; None if it is no such text."""
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
