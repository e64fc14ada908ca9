"""`Numcodec`, the base of the numcodecs codecs: an id, and a configuration with the same members in v2 and v3."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import Rule, members, read, read_config, rule
from omnizarr.codecs.contract import Codec
from omnizarr.errors import ArgumentError

__all__ = ["Numcodec", "dtype_name", "to_typestr"]


class Numcodec(Codec):
    """A codec of numcodecs. The fields of the dataclass are the members of its configuration."""

    id: ClassVar[str]
    spec_rule: ClassVar[str | None] = "A45"
    """The name in v2 documents."""

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Self | None:
        """Accepts the member `id` that numcodecs 0.14 and 0.15.0 wrote, if it is the id of this codec (A45)."""
        if "id" in configuration:
            if configuration["id"] != cls.id:
                problems.expected(f"{path}.configuration.id", f'"{cls.id}", or no such member', configuration["id"])
            configuration = {name: value for name, value in configuration.items() if name != "id"}
        return cls._create(read(cls, configuration, path, problems), f"{path}.configuration", problems)

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        """Parse the object at `path` of a v2 document; `config` is this object without its `id`."""
        return cls._create(read_config(cls, config, path, problems), path, problems)

    @classmethod
    def _create(cls, arguments: dict[str, Json] | None, path: str, problems: Problems) -> Self | None:
        if arguments is None:
            return None
        try:
            return cls(**arguments)
        except ArgumentError as error:  # members that are valid alone, but not together
            problems.add(f"{path}.{error.argument}", error.message)
            return None

    def configuration(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in members(type(self))}

    def to_json(self) -> dict[str, Json]:
        """Always includes `configuration`, even if empty, because zarr-python requires it for these codecs."""
        return {"name": self.name, "configuration": self.configuration()}

    def to_config(self) -> dict[str, Json]:
        """The members beside `id` in a v2 document: all that numcodecs writes, in the same order."""
        return self.configuration()


_TYPESTR = re.compile(r"[<>=|]?[A-Zb-z?][A-Za-z0-9_]*(\[[0-9]*[A-Za-zμ]+\])?")  # no list of fields, no "a5"


_MAX_ITEMSIZE = 2**20
"""Limit for the bytes of an element, for example of fixed-length text. NumPy needs a hundred times as much memory to
convert a number to such text."""


def _parse_dtype(value: Json) -> np.dtype[Any] | None:
    if not isinstance(value, str) or len(value) > 40 or not _TYPESTR.fullmatch(value):
        return None
    try:
        return np.dtype(value)
    except (TypeError, ValueError, OverflowError):
        return None


def dtype_name(kinds: str, expected: str, *, optional: bool = False) -> Rule:
    """A rule for the text of a NumPy type of one of the `kinds`. `expected` completes the error "expected …"."""

    def accepts(value: Json) -> bool:
        dtype = _parse_dtype(value)
        return dtype is not None and dtype.kind in kinds and 0 < dtype.itemsize <= _MAX_ITEMSIZE

    return rule(expected, accepts, optional=optional)


def to_typestr(value: Any) -> Any:
    """The text of a type that was given as text, class or dtype. Other values are returned unchanged, for `check` to
    reject."""
    if isinstance(value, str):
        value = _parse_dtype(value) or value
    elif isinstance(value, type):
        try:
            value = np.dtype(value)
        except TypeError:
            return value
    return value.str if isinstance(value, np.dtype) else value
