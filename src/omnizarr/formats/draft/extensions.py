"""Extensions that documents of the drafts declare. Unknown ones with `must_understand: true` are problems (S10, S11,
T4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry

__all__ = ["extensions", "is_uri", "parse_extensions"]

Check: TypeAlias = Callable[[Json, str, Problems], None]
"""Checks the configuration of an extension. Arguments: configuration, JSON path, problems."""


def _as_check(value: Any) -> Check:
    if not callable(value):
        raise TypeError(f"expected a function that checks a configuration, found {value!r}")
    check: Check = value
    return check


extensions: Registry[Check] = Registry("extension", "omnizarr.extensions", _as_check)
"""The known extensions, by URI; each is a function that checks the member `configuration`."""


def is_uri(name: str) -> bool:
    """Whether a name is a URI, as the drafts require. Names of v3 have no colon (R39)."""
    return ":" in name


def parse_extensions(items: Json, path: str, problems: Problems) -> tuple[Json, ...]:
    """The member `extensions` of an entry point or an array."""
    if not isinstance(items, list):
        problems.expected(path, "a list", items, rule="S10")
        return ()
    for index, item in enumerate(items):
        place = f"{path}[{index}]"
        if not isinstance(item, dict):
            problems.expected(place, "an object", item, rule="S10")
            continue
        uri, must_understand = item.get("extension"), item.get("must_understand")
        if not isinstance(uri, str) or not uri:
            problems.expected(f"{place}.extension", "the URI of an extension", uri, rule="S10")
            continue
        if not isinstance(must_understand, bool):
            problems.expected(f"{place}.must_understand", "true or false", must_understand, rule="S10")
            continue
        check = extensions.get(uri)
        if check is not None:
            check(item.get("configuration"), f"{place}.configuration", problems)
        elif must_understand:
            problems.unknown(
                f"{place}.extension", "extension that must be understood,", uri, extensions.names(), rule="S11"
            )
    return tuple(items)
