"""JSON: parsing with limits and tolerance for documents of Python writers, strict writing, and `Problems`, which
collects all problems of a document before an error is raised."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, TypeGuard

import numpy as np

from omnizarr.errors import ArgumentError, MetadataError, Problem

__all__ = [
    "Json",
    "Problems",
    "as_document",
    "describe",
    "dump",
    "from_base64",
    "is_integer",
    "nearest",
    "parse",
    "plain",
    "same",
    "utf8_text",
]

Json = Any  # a value from json.loads; with a precise recursive alias every reader of a document would need casts

_CONTAINERS = frozenset((dict, list))  # the exact types that `json.loads` returns
_DEEPEST = 200  # levels; RFC 8259 permits such a limit, and real documents stay below 20


def parse(data: bytes | bytearray | memoryview, what: str, *, limit: int) -> Json:
    """The JSON value in `data`. Bare `NaN` and `Infinity` are accepted, because Python wrote them for years (A60). The
    last of repeated members counts (R154). `what` names the document in errors."""
    if len(data) > limit:
        raise MetadataError(f"{what} is {len(data)} bytes long, more than the limit of {limit}")
    text = bytes(data)
    try:
        value = json.loads(utf8_text(text))
    except UnicodeDecodeError as error:
        raise MetadataError(f"{what} is not UTF-8 text: {error}") from None
    except RecursionError:
        raise MetadataError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise MetadataError(f"{what} is not valid JSON: {error}") from None
    # The number of brackets limits the depth, and counting them is faster than walking the value.
    if text.count(b"{") + text.count(b"[") > _DEEPEST and _too_deep(value):
        raise MetadataError(f"{what} is nested more than {_DEEPEST} levels deep")
    return value


def utf8_text(data: bytes) -> str:
    """The text in `data`, without a byte order mark. The codec `utf-8-sig` does the same, but Python imports it at its
    first use: a signal handler in the middle of that would find no such codec."""
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")


def _too_deep(value: Json) -> bool:
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(_DEEPEST):
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) in _CONTAINERS
        ]
        if not level:
            return False
    return True


def dump(value: Json, *, allow_nan: bool = False, ascii: bool = False, indent: int | None = 2) -> bytes:
    """`value` as RFC 8259 JSON in UTF-8 (R153). NumPy scalars and arrays become numbers and lists. `allow_nan` writes
    `NaN` and `Infinity` as Python does, which is not valid JSON. `ascii` escapes all other characters. Without an
    `indent`, the value is one line, which takes less space and time."""
    try:
        try:
            return _text(value, allow_nan, ascii, indent).encode()
        except UnicodeEncodeError:  # a lone surrogate: JSON can escape it, UTF-8 cannot encode it
            return _text(value, allow_nan, True, indent).encode()
    except (TypeError, ValueError, RecursionError) as error:
        plain(value, "$")  # raises an error with the JSON path, if it finds the value
        raise ArgumentError(f"cannot be written as JSON: {error}", argument="attributes") from None


def _text(value: Json, allow_nan: bool, ascii: bool, indent: int | None) -> str:
    if indent == 2:
        try:
            return _indented(value, encode_basestring_ascii if ascii else encode_basestring, "\n")
        except (TypeError, ValueError, RecursionError):
            pass  # `json.dumps` writes the value, or raises the error
    return json.dumps(value, indent=indent, ensure_ascii=ascii, allow_nan=allow_nan, default=_plain)


def _indented(value: Json, quote: Callable[[str], str], line: str) -> str:
    """What `json.dumps` writes for a value of ordinary types with an indentation of two, but faster, because
    `json.dumps` indents in Python. `line` is a line break and the indentation of `value`. Raises TypeError, ValueError
    or RecursionError for every other value."""
    kind = type(value)
    if kind is dict:
        if not value:
            return "{}"
        inner = line + "  "
        if len(inner) > 2 * _DEEPEST:
            raise RecursionError
        items = [
            f"{quote(name)}: {quote(item) if type(item) is str else _indented(item, quote, inner)}"
            for name, item in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(items)}{line}}}"
    if kind is int:
        return repr(value)
    if kind is list:
        if not value:
            return "[]"
        inner = line + "  "
        if len(inner) > 2 * _DEEPEST:
            raise RecursionError
        return f"[{inner}{f',{inner}'.join([_indented(item, quote, inner) for item in value])}{line}]"
    if kind is str:
        return quote(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is float and math.isfinite(value):
        return repr(value)
    raise TypeError


def _plain(value: object) -> Json:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__}")


def plain(value: Any, path: str) -> Json:
    """A copy of a user's `value` as a document returns it: lists for tuples and arrays, Python numbers and strings.
    ArgumentError with the JSON path if it cannot be stored and read back."""
    return _copy(value, path, _DEEPEST // 2)  # the document around it may use the other half of the levels


def _copy(value: Any, path: str, levels: int) -> Json:
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
        reason = f'JSON has no number {value}; write it as text such as "NaN"'
    elif isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "biufUO":
        return _copy(value.tolist(), path, levels)
    elif levels == 0:
        reason = f"it is nested more than {_DEEPEST // 2} levels deep"
    elif isinstance(value, (list, tuple)):
        return [_copy(item, f"{path}[{index}]", levels - 1) for index, item in enumerate(value)]
    elif isinstance(value, Mapping):
        others = [name for name in value if not isinstance(name, str)]
        if not others:
            return {str.__str__(name): _copy(item, f"{path}.{name}", levels - 1) for name, item in value.items()}
        reason = f"member names must be strings, found {others[0]!r}"
    else:
        kind = f"NumPy array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        reason = f"JSON cannot represent a {kind}"
    raise ArgumentError(f"`{path}` cannot be written as JSON: {reason}", argument=path.partition(".")[0])


def as_document(value: Any, levels: int = _DEEPEST // 2) -> Any:
    """A user's JSON value in the types of a parsed document, for parsers: lists for tuples and arrays, Python numbers
    for those of NumPy. Unlike `plain`, it keeps what is not JSON, so that the parser names it in its error."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if levels and isinstance(value, (list, tuple)):
        return [as_document(item, levels - 1) for item in value]
    if levels and isinstance(value, Mapping):
        return {name: as_document(item, levels - 1) for name, item in value.items()}
    return value


def same(a: Json, b: Json) -> bool:
    """Whether two values are equal. Unlike in Python, NaN equals NaN."""
    return bool(a == b) or json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def is_integer(value: Json) -> TypeGuard[int]:
    """Whether a JSON value is an integer. `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def describe(value: Json) -> str:
    """A value for a message: as JSON, at most 60 characters."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        try:
            text = repr(value)
        except (ValueError, RecursionError):  # Python prints no integers of more than 4300 digits
            text = f"a value of type {type(value).__name__} that is too long to show"
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known name that is most similar to `name`; None if none is similar."""
    import difflib  # lazy import: error messages only

    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{matches[0]}`?" if matches else None


_MOST_HINTS = 50


class Problems:
    """The problems of a document. A parser adds problems and continues; its caller raises all of them together."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.warnings: list[Problem] = []
        self.advice: list[Problem] = []
        """What a rule only recommends; nothing but `omnizarr validate` shows it."""

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, path: str, message: str, *, hint: str | None = None, rule: str | None = None) -> None:
        """Add a problem that makes the document unusable. `rule` is the number of the rule that it breaks."""
        self.found.append(Problem(path, message, hint, rule))

    def expected(self, path: str, what: str, found: Json, *, rule: str | None = None) -> None:
        """Add the most common problem: one value was expected and another found."""
        self.add(path, f"expected {what}, found {describe(found)}", rule=rule)

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """The hint of `nearest`; None after 50 problems, because each search takes time."""
        return nearest(name, known) if len(self.found) < _MOST_HINTS else None

    def unknown(
        self, path: str, kind: str, name: str, known: Iterable[str], *, hint: str | None = None, rule: str | None = None
    ) -> None:
        """Add a problem for a name that is not registered, with a hint: `hint`, or the nearest known name."""
        self.add(path, f"unknown {kind} `{name}`", hint=hint or self.nearest(name, known), rule=rule)

    def warn(self, path: str, message: str, *, rule: str | None = None) -> None:
        """Add a warning: readers accept the value, but strict writers do not write it."""
        self.warnings.append(Problem(path, message, None, rule))

    def advise(self, path: str, message: str, *, rule: str | None = None) -> None:
        """Add advice: the value is valid, but a rule recommends another."""
        self.advice.append(Problem(path, message, None, rule))


def from_base64(value: Json) -> bytes | None:
    """The bytes of base64 text; None if `value` is not such text."""
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
