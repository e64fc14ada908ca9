"""The fallback data type that a user gives for a new array of a draft (S18, T8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr._json import Json, describe
from omnizarr.codecs import Bytes
from omnizarr.dtypes import DataType
from omnizarr.errors import ArgumentError
from omnizarr.formats.draft.types import dump_type, identifiers, is_core, is_known_extension, parse_identifier
from omnizarr.formats.numpy_dtype import stored_dtype
from omnizarr.formats.read_options import DEFAULT_READ_OPTIONS

__all__ = ["fallback_from_user"]


def fallback_from_user(fallback: Json, data_type: DataType, stored: np.dtype[Any], year: int) -> Json:
    """The member `fallback` for elements of `data_type` that are stored as `stored`: a core type, or in the draft of
    2022 also a type of an extension, or a list of types. Raises ArgumentError if it is invalid."""
    if data_type.dtype.hasobject or not isinstance(dump_type(data_type, stored, year), dict):
        raise ArgumentError("`fallback`: core types and objects have no fallback", argument="fallback")
    dumped = [_dump_identifier(identifier, stored, year) for identifier in identifiers(fallback)]
    if None in dumped or not dumped or (year == 2020 and len(dumped) > 1):
        kinds = "a core data type" if year == 2020 else "a data type"
        raise ArgumentError(
            f"`fallback`: expected {kinds} of {stored.itemsize} bytes"
            f"{'' if year == 2020 else ', or a list of them'}, found {describe(fallback)}",
            argument="fallback",
        )
    # The identifier of a struct is a list, too: alone, it could be confused with a list of identifiers.
    several = year == 2022 and (isinstance(fallback, list) or isinstance(dumped[0], list))
    return dumped if several else dumped[0]


def _dump_identifier(identifier: Json, stored: np.dtype[Any], year: int) -> Json:
    """The identifier of a type in the form of a draft and in the byte order of `stored`; None if the draft does not
    allow the type, or if its size differs."""
    known = parse_identifier(identifier, DEFAULT_READ_OPTIONS, "$")
    if known is None or known.data_type is None or known.data_type.dtype.itemsize != stored.itemsize:
        return None
    dtype = known.data_type.dtype
    if year == 2020 and not is_core(dtype, year):
        return None
    order = Bytes("big" if stored.byteorder == ">" else "little").resolved(dtype)
    own = known.stored if known.stored is not None and known.stored.names is not None else stored_dtype(dtype, order)
    member = dump_type(known.data_type, own, year)
    if isinstance(member, dict) and is_known_extension(member["extension"]):
        return member["type"]
    return member
