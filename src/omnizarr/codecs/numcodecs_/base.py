"""What the codecs of numcodecs have in common: an id, and a configuration that stands in documents of versions 2 and 3
alike."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_fields import Rule, members, read, read_config, rule
from omnizarr.codecs.contract import Codec
from omnizarr.errors import ArgumentError

__all__ = ["Numcodec", "dtype_name", "to_typestr"]


class Numcodec(Codec):
    """A codec of numcodecs. The fields of the dataclass are the members of its configuration, by the same names."""

    id: ClassVar[str]
    """Its name in documents of version 2."""

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Self | None:
        return cls._create(read(cls, configuration, path, problems), f"{path}.configuration", problems)

    @classmethod
    def from_config(cls, config: dict[str, Json], path: str, problems: Problems) -> Self | None:
        """Reads the object of a document of version 2, without its `id`, found at `path`."""
        return cls._create(read_config(cls, config, path, problems), path, problems)

    @classmethod
    def _create(cls, arguments: dict[str, Json] | None, path: str, problems: Problems) -> Self | None:
        if arguments is None:
            return None
        try:
            return cls(**arguments)
        except ArgumentError as error:  # members that are right one by one and not together
            problems.add(f"{path}.{error.argument}", error.message)
            return None

    def configuration(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in members(type(self))}

    def to_json(self) -> dict[str, Json]:
        """With a configuration even where it is empty: zarr-python refuses these codecs without one."""
        return {"name": self.name, "configuration": self.configuration()}

    def to_config(self) -> dict[str, Json]:
        """What a document of version 2 holds beside the `id`: all that numcodecs itself writes, in its order."""
        return self.configuration()


_TYPE_STRING = re.compile(r"[<>=|]?[A-Zb-z?][A-Za-z0-9_]*(\[[0-9]*[A-Za-zμ]+\])?")  # no list of fields, no "a5"


_LARGEST = 2**20
"""Bytes of an element, which may be text of a fixed length: NumPy takes a hundred times as much to make text of a
number."""


def _dtype(value: Json) -> np.dtype[Any] | None:
    if not isinstance(value, str) or len(value) > 40 or not _TYPE_STRING.fullmatch(value):
        return None
    try:
        return np.dtype(value)
    except (TypeError, ValueError, OverflowError):
        return None


def dtype_name(kinds: str, what: str, *, optional: bool = False) -> Rule:
    """A NumPy type of one of the `kinds`, spelled as NumPy does; `what` completes the sentence "expected …"."""

    def accepts(value: Json) -> bool:
        dtype = _dtype(value)
        return dtype is not None and dtype.kind in kinds and 0 < dtype.itemsize <= _LARGEST

    return rule(what, accepts, optional=optional)


def to_typestr(value: Any) -> Any:
    """What a program gives for a type, as documents spell it; what is no type stays as it is, for the check."""
    if isinstance(value, str):
        value = _dtype(value) or value
    elif isinstance(value, type):
        try:
            value = np.dtype(value)
        except TypeError:
            return value
    return value.str if isinstance(value, np.dtype) else value
