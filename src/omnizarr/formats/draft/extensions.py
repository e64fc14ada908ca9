"""Extensions that documents of the drafts declare: what must be understood and is not, is refused (S10, S11, T4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from omnizarr._json import Json, Problems
from omnizarr._registry import Registry

__all__ = ["extensions", "is_uri", "parse_extensions"]

Check: TypeAlias = Callable[[Json, str, Problems], None]
"""Checks the configuration of an extension: (configuration, JSON path, problems)."""


def _as_check(found: Any) -> Check:
    if not callable(found):
        raise TypeError(f"expected a function that checks a configuration, found {found!r}")
    check: Check = found
    return check


extensions: Registry[Check] = Registry("extension", "omnizarr.extensions", _as_check)
"""The extensions that are understood, by URI: each is called with the `configuration` it finds, to check it."""


def is_uri(name: str) -> bool:
    """Whether an extension is named as the drafts want it. No name of version 3 has a colon (R39)."""
    return ":" in name


def parse_extensions(found: Json, path: str, problems: Problems) -> tuple[Json, ...]:
    """The list `extensions` of an entry point or of an array."""
    if not isinstance(found, list):
        problems.expected(path, "a list", found)
        return ()
    for index, item in enumerate(found):
        place = f"{path}[{index}]"
        if not isinstance(item, dict):
            problems.expected(place, "an object", item)
            continue
        uri, must = item.get("extension"), item.get("must_understand")
        if not isinstance(uri, str) or not uri:
            problems.expected(f"{place}.extension", "the URI of an extension", uri)
            continue
        if not isinstance(must, bool):
            problems.expected(f"{place}.must_understand", "true or false", must)
            continue
        known = extensions.get(uri)
        if known is not None:
            known(item.get("configuration"), f"{place}.configuration", problems)
        elif must:
            problems.unknown(f"{place}.extension", "extension that must be understood,", uri, extensions.names())
    return tuple(found)
