"""What each member of a codec's configuration may be, said once beside the field and checked twice: by the constructor,
which raises, and by the parser, which collects.

A codec writes `level: int = field(default=5, metadata=integer(0, 9))`, calls `check(self)` after construction and
`read(cls, …)` to parse.
"""

from __future__ import annotations

import math
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
"""The metadata of a dataclass field that is a member of the configuration."""


def rule(expected: str, accepts: Callable[[Json], bool], *, optional: bool = False) -> Rule:
    """`expected` completes the sentence "expected …"; a document may leave out what is `optional` without a warning."""
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
    return is_integer(value) and abs(value) < 2**1023  # what a float can hold


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
    """The same, or nothing."""
    accepts = other["accepts"]
    return rule(
        f"{other['expected']}, or null",
        lambda value: value is None or accepts(value),
        optional=other["optional"],
    )


@cache
def members(codec: type[Codec]) -> dict[str, Field[Any]]:
    """The fields that are members of the configuration: those that have a rule."""
    return {field.name: field for field in fields(codec) if field.metadata}  # type: ignore[arg-type]  # a dataclass


def check(codec: Codec) -> None:
    """Raises for the first field whose value breaks its rule. None is fine where it is the default."""
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
    """The arguments for the constructor, or None if `problems` had to be added to. A member that is missing and has a
    default is read as the default: writers disagree about which ones must be there (A27, A28)."""
    where = f"{path}.configuration"
    return _read(cls, configuration, where, problems, lenient=False)


def read_config(cls: type[Codec], config: Mapping[str, Json], path: str, problems: Problems) -> dict[str, Json] | None:
    """The same for the documents of versions 1 and 2, where the members stand beside the `id`; unknown ones have always
    been ignored there."""
    return _read(cls, config, path, problems, lenient=True)


def _read(
    cls: type[Codec], found: Mapping[str, Json], where: str, problems: Problems, *, lenient: bool
) -> dict[str, Json] | None:
    rules = members(cls)
    arguments: dict[str, Json] = {}
    fine = True
    for name, value in found.items():
        if name in rules and rules[name].metadata["accepts"](value):
            arguments[name] = value
        elif name in rules:
            problems.expected(f"{where}.{name}", rules[name].metadata["expected"], value)
            fine = False
        elif lenient:
            problems.warn(f"{where}.{name}", f"unknown member of codec `{cls.name}`, ignored")
        else:
            problems.unknown(f"{where}.{name}", f"member of codec `{cls.name}`", name, rules)
            fine = False
    for name, field in rules.items():
        if name in found or field.metadata["optional"]:
            continue
        if field.default is MISSING:
            problems.add(where, f"`{name}` is missing: expected {field.metadata['expected']}")
            fine = False
        else:
            problems.warn(where, f"`{name}` is missing: read as {describe(field.default)}")
    return arguments if fine else None
