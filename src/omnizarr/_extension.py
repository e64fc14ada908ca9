"""The one spelling that all extension points share in a v3 document: a name, or an object with a name, perhaps a
configuration, and whether it must be understood (R33–R37)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeVar

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry

__all__ = ["Extension", "check_members", "find", "parse_extension"]

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


def find(extension: Extension, registry: Registry[T], problems: Problems) -> T | None:
    """What the registry holds under the extension's name; a problem that suggests the nearest name if nothing (R37)."""
    found = registry.get(extension.name)
    if found is None:
        problems.unknown(extension.place, registry.kind, extension.name, registry.names())
    return found


def check_members(found: dict[str, Json], known: Collection[str], path: str, problems: Problems) -> None:
    """Adds a problem for each member of the object at `path` that is not among the `known` ones."""
    for member in found:
        if member not in known:
            problems.add(f"{path}.{member}", "unknown member", hint=problems.nearest(member, known))
