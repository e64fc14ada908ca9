"""Edits that fix a document by the rule that it breaks. Each has one possible meaning, and loses nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from omnizarr._json import Json

__all__ = ["edited", "without_trailing_commas"]

_STEP = re.compile(r"\.([^.\[]+)|\[([0-9]+)\]")
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(\s*[}\]])', re.DOTALL)
_INTEGER = re.compile(r"-?[0-9]{1,19}")

_Edit = Callable[[Any], Any]
"""The new value; `_REMOVE` removes the member, and `_KEEP` says that there is no unambiguous one."""

_KEEP = object()
_REMOVE = object()


def edited(document: Json, rule: str, place: str) -> Json | None:
    """A copy of the document that is fixed at a JSON path; None if the rule has no unambiguous fix there."""
    edit = _EDITS.get(rule)
    steps = [name or int(number) for name, number in _STEP.findall(place.partition("$")[2])]
    if edit is None or not steps or not isinstance(document, dict):
        return None
    result = deepcopy(document)
    above: Any = result
    for step in steps[:-1]:
        try:
            above = above[step]
        except (KeyError, IndexError, TypeError):
            return None
    last: Any = steps[-1]
    if not isinstance(above, dict if isinstance(last, str) else list):
        return None
    try:
        before = above[last]
    except (KeyError, IndexError):
        return None
    after = edit(before)
    if after is _KEEP:
        return None
    if after is _REMOVE:
        del above[last]
    else:
        above[last] = after
    return result


def without_trailing_commas(text: str) -> str:
    """The text without commas before a closing bracket, outside of strings."""
    return _TRAILING_COMMA.sub(lambda match: match[1] or match[2], text)


def _integer(value: Any) -> Any:
    """An integer that is written as text or with a fraction of zero."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return _KEEP


def _integers(value: Any) -> Any:
    """A list of integers, some of which are written otherwise."""
    if not isinstance(value, list):
        return _KEEP
    numbers = [one if type(one) is int else _integer(one) for one in value]
    return _KEEP if any(one is _KEEP for one in numbers) else numbers


def _truth(value: Any) -> Any:
    names = {"true": True, "false": False}
    return names.get(value.lower(), _KEEP) if isinstance(value, str) else _KEEP


_FLOATS = {"nan": "NaN", "inf": "Infinity", "infinity": "Infinity", "-inf": "-Infinity", "-infinity": "-Infinity"}


def _float(value: Any) -> Any:
    """The name of a float in another spelling."""
    return _FLOATS.get(value.lower(), _KEEP) if isinstance(value, str) and value not in _FLOATS.values() else _KEEP


def _three(value: Any) -> Any:
    return 3 if _integer(value) == 3 else _KEEP


def _if_empty(new: Any) -> _Edit:
    """An empty list or object, or null, in place of the other kind of value."""
    return lambda value: deepcopy(new) if value in ([], {}, None) and value != new else _KEEP


def _ignorable(value: Any) -> Any:
    """`must_understand: false` where it is not allowed: the member has no other effect."""
    return _REMOVE if value is False else _KEEP


def _codec(member: str) -> _Edit:
    return lambda value: {member: value} if isinstance(value, str) else _KEEP


def _complex(value: Any) -> Any:
    return [value, 0.0] if isinstance(value, (int, float)) and not isinstance(value, bool) else _KEEP


_EDITS: dict[str, _Edit] = {
    "R9": _three,
    "R11": _integers,
    "R20": _if_empty({}),
    "R21": _if_empty([]),
    "R36": _ignorable,
    "R53": _truth,
    "R54": _integer,
    "R55": _float,
    "R58": _complex,
    "R62": _integers,
    "K3": _integers,
    "K8": _codec("type"),
    "U10": _integer,
    "V3": _codec("id"),
    "V29": _integer,
    "T12": _integer,
}
"""The edits by rule."""
