"""The one spelling that all extension points share in a v3 document: a name, or an object with a name, perhaps a
configuration, and whether it must be understood (R33–R37)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, TypeVar

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.errors import ArgumentError, OmnizarrError

__all__ = ["Extension", "call_extension", "check_members", "find_registered", "parse_extension"]

T = TypeVar("T")

_MEMBERS = ("name", "configuration", "must_understand")


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension as a document names it, before anybody has looked whether the name is known."""

    name: str
    configuration: dict[str, Json]
    must_understand: bool = True
    place: str = field(default="$", compare=False)
    """The JSON path of the name, for problems with it."""


def parse_extension(
    value: Json, path: str, problems: Problems, *, kind: str, ignorable: bool = True, obsolete: Collection[str] = ()
) -> Extension | None:
    """Reads the short or the long form of an extension; adds to `problems` and gives None if it is neither.

    `kind` names the extension point in messages. `ignorable` says whether `must_understand: false` may stand here
    (R36). `obsolete` are members that drafts had beside the usual ones: skipped, with a warning.
    """
    if isinstance(value, str):
        value, place = {"name": value}, path
    elif isinstance(value, dict):
        place = f"{path}.name"
        if "name" not in value and "type" in value:  # until March 2023 (§1.7)
            place = f"{path}.type"
            problems.warn(place, "`type` is read as `name`")
            value = {"name": value["type"], **{key: item for key, item in value.items() if key != "type"}}
    else:
        problems.expected(path, f"the name of a {kind}, or an object with its name", value)
        return None

    before = len(problems.found)
    for member in obsolete:
        if member in value:
            problems.warn(f"{path}.{member}", "a member of drafts, not used any more")
    check_members(value, (*_MEMBERS, *obsolete), path, problems)
    name = value.get("name")
    if not isinstance(name, str) or not name:
        problems.expected(place, f"the name of a {kind}", name)
    configuration = value.get("configuration", {})
    if not isinstance(configuration, dict):
        problems.expected(f"{path}.configuration", "an object", configuration)
    must_understand = value.get("must_understand", True)
    if not isinstance(must_understand, bool):
        problems.expected(f"{path}.must_understand", "true or false", must_understand)
    elif not must_understand and not ignorable:
        problems.add(f"{path}.must_understand", f"a {kind} cannot be ignored, so this cannot be false")
    if len(problems.found) > before:
        return None
    return Extension(name, configuration, must_understand, place)


def find_registered(extension: Extension, registry: Registry[T], problems: Problems) -> T | None:
    """What the registry holds under the extension's name; a problem that suggests the nearest name if nothing (R37)."""
    found = registry.get(extension.name)
    if found is None:
        problems.unknown(extension.place, registry.kind, extension.name, registry.names())
    return found


def call_extension(
    kind: str, name: str, path: str, problems: Problems, reader: Callable[..., T | None], *arguments: Any
) -> T | None:
    """What an extension makes of a document, and a problem at `path` if that is nothing. Whatever goes wrong within it
    is a problem of this document alone: others' code must not hide the arrays beside it, or be left out without a word
    because it forgot to say what is wrong."""
    before = len(problems.found)
    try:
        found = reader(*arguments, path, problems)
    except ArgumentError as error:
        problems.add(f"{path}.configuration.{error.argument}" if error.argument else path, error.message)
        return None
    except (OmnizarrError, MemoryError):
        raise
    except Exception as error:
        problems.add(path, f"{kind} `{name}` failed: {type(error).__name__}: {error}")
        return None
    if found is None and len(problems.found) == before:
        problems.add(path, f"{kind} `{name}` makes nothing of this, and does not say why")
    return found


def check_members(found: dict[str, Json], known: Collection[str], path: str, problems: Problems) -> None:
    """Adds a problem for each member of the object at `path` that is not among the `known` ones."""
    for member in found:
        if member not in known:
            problems.add(f"{path}.{member}", "unknown member", hint=problems.nearest(member, known))
