"""What each member of a codec's configuration may be, said once beside the field and checked twice: by the constructor,
which raises, and by the parser, which collects.

A codec writes `level: int = field(default=5, metadata=integer(0, 9))`, calls `check(self)` after construction and
`read(cls, …)` to parse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeAlias

from omnizarr._json import Json, Problems, describe, is_integer
from omnizarr.codecs.contract import Codec
from omnizarr.errors import ArgumentError

__all__ = ["Rule", "boolean", "check", "choice", "integer", "read", "rule"]

Rule: TypeAlias = Mapping[str, Any]
"""The metadata of a dataclass field that is a member of the configuration."""


def rule(expected: str, accepts: Callable[[Json], bool], *, optional: bool = False) -> Rule:
    """`expected` completes the sentence "expected …"; a document may leave out what is `optional` without a warning."""
    return {"expected": expected, "accepts": accepts, "optional": optional}


def integer(low: int, high: int, *, optional: bool = False) -> Rule:
    return rule(
        f"an integer from {low} to {high}", lambda value: is_integer(value) and low <= value <= high, optional=optional
    )


def choice(*words: str, optional: bool = False) -> Rule:
    quoted = [f"`{word}`" for word in words]
    return rule(
        f"{', '.join(quoted[:-1])} or {quoted[-1]}",
        lambda value: isinstance(value, str) and value in words,
        optional=optional,
    )


def boolean(*, optional: bool = False) -> Rule:
    return rule("true or false", lambda value: isinstance(value, bool), optional=optional)


def check(codec: Codec) -> None:
    """Raises for the first field whose value breaks its rule. None is fine where it is the default."""
    for field in fields(codec):  # type: ignore[arg-type]  # every codec with fields is a dataclass
        value = getattr(codec, field.name)
        if value is None and field.default is None:
            continue
        if not field.metadata["accepts"](value):
            raise ArgumentError(
                f"codec `{codec.name}`: `{field.name}`: expected {field.metadata['expected']}, found {describe(value)}",
                argument=field.name,
            )


def read(cls: type[Codec], configuration: Mapping[str, Json], path: str, problems: Problems) -> dict[str, Json] | None:
    """The arguments for the constructor, or None if `problems` had to be added to. A member that is missing and has a
    default is read as the default: writers disagree about which ones must be there (A27, A28)."""
    rules = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    where = f"{path}.configuration"
    found: dict[str, Json] = {}
    fine = True
    for name, value in configuration.items():
        if name not in rules:
            problems.unknown(f"{where}.{name}", f"member of codec `{cls.name}`", name, rules)
            fine = False
        elif not rules[name].metadata["accepts"](value):
            problems.expected(f"{where}.{name}", rules[name].metadata["expected"], value)
            fine = False
        else:
            found[name] = value
    for name, field in rules.items():
        if name in configuration or field.metadata["optional"]:
            continue
        if field.default is MISSING:
            problems.add(where, f"`{name}` is missing: expected {field.metadata['expected']}")
            fine = False
        else:
            problems.warn(where, f"`{name}` is missing: read as {describe(field.default)}")
    return found if fine else None
