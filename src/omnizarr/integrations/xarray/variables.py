"""The variables and attributes of a group, as xarray decodes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xarray import Variable
from xarray.backends.common import NONE_VAR_NAME
from xarray.core import indexing

from omnizarr.integrations.xarray.decode import is_time_unit
from omnizarr.integrations.xarray.encoding import Encodings
from omnizarr.integrations.xarray.fill_values import decode_fill_value
from omnizarr.integrations.xarray.lazy_array import LazyArray
from omnizarr.integrations.xarray.read_ahead import ReadAhead
from omnizarr.nodes import Array, UnreadableNode

__all__ = ["GroupVariables", "open_variable"]

_NETCDF = "_nc"  # the beginning of the attributes in which netCDF keeps its own metadata, in any case


class GroupVariables:
    """One group: its arrays as variables, which are not decoded yet, and its attributes."""

    def __init__(
        self,
        attributes: Mapping[str, Any],
        arrays: Iterable[tuple[str, Any]],
        *,
        mask: bool | None = None,
        drop: Iterable[str] = (),
        read_ahead: ReadAhead | None = None,
    ) -> None:
        """`attributes` are those of the group. `mask` says whether the fill value of an array is the value of missing
        data, `drop` which variables to leave out."""
        self.variables: dict[Any, Variable] = {}
        self.attributes = {name: value for name, value in attributes.items() if not name.lower().startswith(_NETCDF)}
        encodings = Encodings()
        drop = set(drop)
        lengths: dict[int, str] = {}
        for name, array in arrays:
            if name in drop:
                continue
            if isinstance(array, UnreadableNode):
                array.error.hint = array.error.hint or f"`drop_variables={name!r}` leaves the variable out"
                raise array.error
            elif isinstance(array, Array):
                variable = open_variable(array, name, lengths, mask=mask, read_ahead=read_ahead, encodings=encodings)
                self.variables[None if name == NONE_VAR_NAME else name] = variable


def open_variable(
    array: Array,
    name: str,
    lengths: dict[int, str] | None = None,
    *,
    mask: bool | None = None,
    read_ahead: ReadAhead | None = None,
    encodings: Encodings | None = None,
) -> Variable:
    """The variable of an array, with its elements still in the store, and not decoded.

    `lengths` are the names of dimensions that have none in the store, by length.
    """
    dialect = array._context.dialect
    dimensions = _dimensions(array, {} if lengths is None else lengths)
    attributes: dict[str, Any] = dict(array.metadata.attributes)
    if array.metadata.dimension_names is None:
        for attribute in dialect.dimension_names_attributes:
            attributes.pop(attribute, None)
        attributes = {key: value for key, value in attributes.items() if not key.lower().startswith(_NETCDF)}
    encoding = (Encodings() if encodings is None else encodings).of(array, dimensions)
    if dialect.allows_undefined_fill if mask is None else mask:
        if array.fill_value is not None:
            attributes["_FillValue"] = array.fill_value
    else:
        if not dialect.allows_undefined_fill:
            encoding["fill_value"] = array.fill_value
        if "_FillValue" in attributes:
            attributes["_FillValue"] = decode_fill_value(attributes["_FillValue"], array.dtype)
    data = LazyArray(array, _reading_ahead(array, name, dimensions, attributes, read_ahead))
    return Variable(dimensions, indexing.LazilyIndexedArray(data), attributes, encoding, fastpath=True)


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
    return read_ahead if is_time_unit(attributes.get("units")) and read_ahead.add(array, whole=False) else None
