"""The form that all extension points of a v3 document share: a name, or an object with a name, an optional
configuration and `must_understand` (R33–R37)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.errors import ArgumentError, OmnizarrError

__all__ = ["Extension", "call_extension", "check_members", "find_registered", "parse_extension", "writer_hint"]

T = TypeVar("T")

_MEMBERS = ("name", "configuration", "must_understand")


class Extension(NamedTuple):
    """An extension as a document names it. The name may be unknown."""

    name: str
    configuration: dict[str, Json]
    must_understand: bool = True
    name_path: str = "$"
    """The JSON path of the name, for problems."""


def parse_extension(
    value: Json, path: str, problems: Problems, *, kind: str, ignorable: bool = True, obsolete: Collection[str] = ()
) -> Extension | None:
    """The extension in its short or long form; adds to `problems` and returns None if `value` is neither.

    `kind` names the extension point in messages. `ignorable` allows `must_understand: false` (R36). `obsolete` are
    members of older drafts; they are skipped with a warning.
    """
    if isinstance(value, str):
        value, name_path = {"name": value}, path
    elif isinstance(value, dict):
        name_path = f"{path}.name"
        if "name" not in value and "type" in value:  # until March 2023 (§1.7)
            name_path = f"{path}.type"
            problems.warn(name_path, "`type` is read as `name`", rule="§1.7")
            value = {"name": value["type"], **{key: item for key, item in value.items() if key != "type"}}
    else:
        problems.expected(path, f"the name of a {kind}, or an object with its name", value, rule="R33")
        return None

    before = len(problems.found)
    for member in obsolete:
        if member in value:
            problems.warn(f"{path}.{member}", "a member of older drafts, ignored", rule="§1.7")
    check_members(value, (*_MEMBERS, *obsolete), path, problems, rule="R33")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        problems.expected(name_path, f"the name of a {kind}", name, rule="R33")
    configuration = value.get("configuration", {})
    if not isinstance(configuration, dict):
        problems.expected(f"{path}.configuration", "an object", configuration, rule="R33")
    must_understand = value.get("must_understand", True)
    if not isinstance(must_understand, bool):
        problems.expected(f"{path}.must_understand", "true or false", must_understand, rule="R35")
    elif not must_understand and not ignorable:
        problems.add(f"{path}.must_understand", f"a {kind} cannot be ignored, so this cannot be false", rule="R36")
    if len(problems.found) > before:
        return None
    return Extension(name, configuration, must_understand, name_path)


def find_registered(extension: Extension, registry: Registry[T], problems: Problems) -> T | None:
    """The item registered under the extension's name; if there is none, adds a problem that suggests the nearest name
    (R37)."""
    item = registry.get(extension.name)
    if item is None:
        hint = writer_hint(extension.name)
        problems.unknown(extension.name_path, registry.kind, extension.name, registry.names(), hint=hint, rule="R37")
    return item


_WRITERS = {
    (
        "zarrs.",
        "https://codec.zarrs.dev/",
        "optional",
    ): "only zarrs (Rust) has it; let zarrs write the array without it",
}
"""What to do about names that only one program writes, by their beginnings."""


def writer_hint(name: str) -> str | None:
    """A hint with the writer of an extension that omnizarr does not support; None if it is not known."""
    return next((hint for starts, hint in _WRITERS.items() if name.startswith(starts)), None)


def call_extension(
    kind: str, name: str, path: str, problems: Problems, reader: Callable[..., T | None], *arguments: Any
) -> T | None:
    """Call `reader(*arguments, path, problems)` of an extension and return its result.

    An exception becomes a problem of this document at `path`, so that a faulty extension does not hide the arrays
    beside it. None without a problem becomes a problem too."""
    before = len(problems.found)
    try:
        result = reader(*arguments, path, problems)
    except ArgumentError as error:
        problems.add(f"{path}.configuration.{error.argument}" if error.argument else path, error.message)
        return None
    except (OmnizarrError, MemoryError):
        raise
    except Exception as error:
        problems.add(path, f"{kind} `{name}` failed: {type(error).__name__}: {error}")
        return None
    if result is None and len(problems.found) == before:
        problems.add(path, f"{kind} `{name}` rejected this without giving a reason (a bug in the extension)")
    return result


def check_members(
    value: dict[str, Json], known: Collection[str], path: str, problems: Problems, *, rule: str | None = None
) -> None:
    """Add a problem for each member of the object `value` at `path` whose name is not in `known`."""
    for member in value:
        if member not in known:
            # A dict of a user may have members that are no text.
            hint = problems.nearest(str(member), known)
            problems.add(f"{path}.{member}", "unknown member", hint=hint, rule=rule)
