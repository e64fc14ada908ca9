"""The variables and attributes of a group, as xarray decodes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xarray import Variable
from xarray.backends.common import AbstractDataStore
from xarray.core import indexing

from omnizarr.integrations.xarray.encoding import encoding_of
from omnizarr.integrations.xarray.fill_values import decode_fill_value
from omnizarr.integrations.xarray.lazy_array import LazyArray
from omnizarr.integrations.xarray.read_ahead import ReadAhead
from omnizarr.nodes import Array, Group, UnreadableNode
from omnizarr.nodes.append_journal import JOURNAL

__all__ = ["GroupVariables", "open_variable"]

_NETCDF = "_nc"  # the beginning of the attributes in which netCDF keeps its own metadata, in any case
_TIME_UNITS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")


class GroupVariables(AbstractDataStore):  # type: ignore[misc]
    """One group: its arrays as variables."""

    def __init__(
        self,
        group: Group,
        arrays: Iterable[tuple[str, Any]],
        *,
        mask: bool | None = None,
        drop: Iterable[str] = (),
        read_ahead: ReadAhead | None = None,
    ) -> None:
        """`mask` says whether the fill value of an array is the value of missing data, `drop` which variables to leave
        out."""
        self.group = group
        self._variables: dict[str, Variable] = {}
        drop = set(drop)
        lengths: dict[int, str] = {}
        for name, array in arrays:
            if name in drop:
                continue
            if isinstance(array, UnreadableNode):
                array.error.hint = array.error.hint or f"`drop_variables={name!r}` leaves the variable out"
                raise array.error
            elif isinstance(array, Array):
                self._variables[name] = open_variable(array, name, lengths, mask=mask, read_ahead=read_ahead)

    def get_variables(self) -> dict[str, Variable]:
        return self._variables

    def get_attrs(self) -> dict[str, Any]:
        attributes = self.group.attrs.asdict()
        attributes.pop(JOURNAL, None)
        return {name: value for name, value in attributes.items() if not name.lower().startswith(_NETCDF)}


def open_variable(
    array: Array,
    name: str,
    lengths: dict[int, str] | None = None,
    *,
    mask: bool | None = None,
    read_ahead: ReadAhead | None = None,
) -> Variable:
    """The variable of an array, with its elements still in the store, and not decoded.

    `lengths` are the names of dimensions that have none in the store, by length.
    """
    dialect = array._context.dialect
    dimensions = _dimensions(array, {} if lengths is None else lengths)
    attributes = array.attrs.asdict()
    if array.metadata.dimension_names is None:
        for attribute in dialect.dimension_names_attributes:
            attributes.pop(attribute, None)
        attributes = {key: value for key, value in attributes.items() if not key.lower().startswith(_NETCDF)}
    encoding = encoding_of(array, dimensions)
    if dialect.allows_undefined_fill if mask is None else mask:
        if array.fill_value is not None:
            attributes["_FillValue"] = array.fill_value
    else:
        if not dialect.allows_undefined_fill:
            encoding["fill_value"] = array.fill_value
        if "_FillValue" in attributes:
            attributes["_FillValue"] = decode_fill_value(attributes["_FillValue"], array.dtype)
    data = LazyArray(array, _reading_ahead(array, name, dimensions, attributes, read_ahead))
    return Variable(dimensions, indexing.LazilyIndexedArray(data), attributes, encoding)


def _dimensions(array: Array, lengths: dict[int, str]) -> tuple[str, ...]:
    """The names of the dimensions. One without a name gets a name for its length, such as `phony_dim_0`, as in the
    netCDF library."""
    stored = array.dimension_names or (None,) * array.ndim
    names: list[str] = []
    for stored_name, length in zip(stored, array.shape, strict=True):
        name = stored_name or lengths.setdefault(length, f"phony_dim_{len(lengths)}")
        if name in names and not stored_name:  # two dimensions of one array need two names
            name = f"{name}_{len(names)}"
        names.append(name)
    return tuple(names)


def _reading_ahead(
    array: Array, name: str, dimensions: tuple[str, ...], attributes: dict[str, Any], read_ahead: ReadAhead | None
) -> ReadAhead | None:
    """`read_ahead`, if xarray reads the elements of this variable while it opens the dataset."""
    if read_ahead is None:
        return None
    if dimensions == (name,):
        return read_ahead if read_ahead.add(array, whole=True) else None
    unit = attributes.get("units")
    is_time = isinstance(unit, str) and (" since " in unit or unit in _TIME_UNITS)
    return read_ahead if is_time and read_ahead.add(array, whole=False) else None
