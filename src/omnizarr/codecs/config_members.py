"""Rules for the members of a codec's configuration: declared in the dataclass field, checked by constructor and parser.

A codec declares `level: int = field(default=5, metadata=integer(0, 9))`. It calls `check(self)` after construction,
which raises at the first invalid value, and `read(cls, …)` to parse a document, which collects all problems.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, TypeAlias

from omnizarr._json import Json, Problems, describe, is_integer
from omnizarr.codecs.contract import Codec
from omnizarr.errors import ArgumentError

__all__ = [
    "Rule",
    "boolean",
    "check",
    "choice",
    "integer",
    "members",
    "number",
    "or_null",
    "read",
    "read_config",
    "rule",
]

Rule: TypeAlias = Mapping[str, Any]
"""The `metadata` of a dataclass field that is a member of the configuration."""


def rule(expected: str, accepts: Callable[[Json], bool], *, optional: bool = False) -> Rule:
    """A rule. `expected` completes the error "expected …". A document may omit an `optional` member without warning."""
    return {"expected": expected, "accepts": accepts, "optional": optional}


def integer(low: int, high: int, *, optional: bool = False) -> Rule:
    return rule(
        f"an integer from {low} to {high}", lambda value: is_integer(value) and low <= value <= high, optional=optional
    )


def number(expected: str = "a finite number", *, optional: bool = False) -> Rule:
    return rule(expected, _is_finite, optional=optional)


def _is_finite(value: Json) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return is_integer(value) and abs(value) < 2**1023  # fits into a float


def choice(*words: str, optional: bool = False) -> Rule:
    quoted = [f"`{word}`" for word in words]
    return rule(
        f"{', '.join(quoted[:-1])} or {quoted[-1]}",
        lambda value: isinstance(value, str) and value in words,
        optional=optional,
    )


def boolean(*, optional: bool = False) -> Rule:
    return rule("true or false", lambda value: isinstance(value, bool), optional=optional)


def or_null(other: Rule) -> Rule:
    """`other`, or null."""
    accepts = other["accepts"]
    return rule(
        f"{other['expected']}, or null",
        lambda value: value is None or accepts(value),
        optional=other["optional"],
    )


@cache
def members(codec: type[Codec]) -> dict[str, Field[Any]]:
    """The fields of a codec that have a rule, by name."""
    return {field.name: field for field in fields(codec) if field.metadata}  # type: ignore[arg-type]  # a dataclass


def check(codec: Codec) -> None:
    """Raise ArgumentError for the first field that breaks its rule. None is valid if it is the default."""
    for name, field in members(type(codec)).items():
        value = getattr(codec, name)
        if value is None and field.default is None:
            continue
        if not field.metadata["accepts"](value):
            raise ArgumentError(
                f"codec `{codec.name}`: `{name}`: expected {field.metadata['expected']}, found {describe(value)}",
                argument=name,
            )


def read(cls: type[Codec], configuration: Mapping[str, Json], path: str, problems: Problems) -> dict[str, Json] | None:
    """The constructor's arguments from a v3 configuration; None if it has problems. A missing member gets its default,
    because writers disagree about which members are required (A27, A28)."""
    where = f"{path}.configuration"
    return _read(cls, configuration, where, problems, lenient=False)


def read_config(cls: type[Codec], config: Mapping[str, Json], path: str, problems: Problems) -> dict[str, Json] | None:
    """The constructor's arguments from a v1 or v2 document, where the members stand beside `id`. Unknown members only
    warn, because readers of these generations have always ignored them. Text may state a number or a truth value, as
    numcodecs decodes without regard to most options."""
    return _read(cls, config, path, problems, lenient=True)


def _read(
    cls: type[Codec], configuration: Mapping[str, Json], where: str, problems: Problems, *, lenient: bool
) -> dict[str, Json] | None:
    rules = members(cls)
    arguments: dict[str, Json] = {}
    valid = True
    for name, value in configuration.items():
        if lenient and name in rules and not rules[name].metadata["accepts"](value):
            value = _intention(value, rules[name])
        if name in rules and rules[name].metadata["accepts"](value):
            arguments[name] = value
        elif name in rules:
            problems.expected(f"{where}.{name}", rules[name].metadata["expected"], value, rule=cls.spec_rule)
            valid = False
        elif lenient:
            problems.warn(f"{where}.{name}", f"unknown member of codec `{cls.name}`, ignored", rule=cls.spec_rule)
        else:
            problems.unknown(f"{where}.{name}", f"member of codec `{cls.name}`", name, rules, rule=cls.spec_rule)
            valid = False
    for name, field in rules.items():
        if name in configuration or field.metadata["optional"]:
            continue
        if field.default is MISSING:
            problems.add(where, f"`{name}` is missing: expected {field.metadata['expected']}", rule=cls.spec_rule)
            valid = False
        else:
            problems.warn(where, f"`{name}` is missing: read as {describe(field.default)}", rule=cls.spec_rule)
    return arguments if valid else None


_WORDS: Mapping[str, Json] = {"true": True, "yes": True, "false": False, "no": False, "null": None, "none": None}


def _intention(value: Json, field: Field[Any]) -> Json:
    """What a writer meant by a value that breaks the rule of a field: the number or word that a text states, an integer
    as a float, the default as null. Returns other values unchanged."""
    intention: Json = value
    if value is None and field.default is not MISSING:
        intention = field.default
    elif isinstance(value, float) and value.is_integer():
        intention = int(value)
    elif isinstance(value, str):
        intention = _WORDS.get(value.lower(), value)
        if re.fullmatch(r"[+-]?[0-9]{1,18}", value):
            intention = int(value)
        elif re.fullmatch(r"[+-]?[0-9]{1,18}\.[0-9]{1,18}", value):
            intention = float(value)
    return intention if field.metadata["accepts"](intention) else value
