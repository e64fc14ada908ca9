"""What a write of a dataset does to a group, decided and checked before anything changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from xarray import Dataset, Variable
from xarray.backends.common import NONE_VAR_NAME
from xarray.backends.zarr import encode_zarr_variable
from xarray.conventions import decode_cf_variable, encode_dataset_coordinates

from omnizarr.errors import ArgumentError
from omnizarr.formats import Dialect
from omnizarr.integrations.xarray.argument_errors import ArgumentKeyError, ArgumentTypeError
from omnizarr.integrations.xarray.decode import is_time_unit
from omnizarr.integrations.xarray.new_variables import array_options, check_new_array, plain_attributes
from omnizarr.integrations.xarray.regions import region_of
from omnizarr.integrations.xarray.variables import open_variable
from omnizarr.nodes import Array, Group

__all__ = ["Plan", "ToZarrOptions", "make_plan"]


@dataclass(frozen=True, slots=True)
class ToZarrOptions:
    """The options of a write; `OmnizarrAccessor.to_zarr` explains them."""

    mode: str
    append_dim: Any = None
    region: Any = None
    zarr_format: Any = None
    consolidated: bool | None = None
    compute: bool = True
    safe_chunks: bool = True
    shards: Any = None
    storage_options: dict[str, Any] | None = None
    write_empty_chunks: bool | None = None
    store_options: dict[str, Any] | None = None


@dataclass(slots=True)
class Plan:
    """The changes of one group."""

    attributes: dict[str, Any]
    new: dict[str, tuple[dict[str, Any], Variable]] = field(default_factory=dict)
    """Arrays to create: their options and values, by name."""
    existing: dict[str, tuple[Array, Variable]] = field(default_factory=dict)
    """Arrays to write to, and the values, by name."""
    region: dict[Any, slice] = field(default_factory=dict)
    """Which part of a dimension of the existing arrays to write to; others are written as a whole."""
    append_dim: Any = None

    @property
    def growing(self) -> dict[str, tuple[int, int]]:
        """The axis along which an array grows, and by how much, by name."""
        growth = {}
        for name, (_, variable) in self.existing.items():
            if self.append_dim in variable.dims:
                axis = variable.dims.index(self.append_dim)
                growth[name] = (axis, variable.shape[axis])
        return growth


def make_plan(
    dataset: Dataset,
    group: Group | None,
    dialect: Dialect,
    encoding: Mapping[Any, Any] | None,
    options: ToZarrOptions,
) -> Plan:
    """The changes that write a dataset to a group; None stands for a group that does not exist yet."""
    dataset = _with_valid_names(dataset)
    arrays = {} if group is None else {name: node for name, node in group.members() if isinstance(node, Array)}
    region: dict[Any, slice] = {}
    if options.region is not None:
        if group is None:
            raise ArgumentError("`region`: expected a dataset that exists, found none", argument="region")
        region = region_of(dataset, options.region, options.append_dim, group)
        dataset = dataset.drop_vars(list(dataset.indexes))  # the stored coordinates stay
    _check_append(dataset, arrays, options.append_dim)
    variables, attributes = encode_dataset_coordinates(dataset)
    given = _apply_encoding(variables, encoding or {}, arrays)
    plan = Plan(plain_attributes(attributes), region=region, append_dim=options.append_dim)
    for name, variable in variables.items():
        if name in arrays:
            if options.mode != "a-" or options.append_dim is None or options.append_dim in variable.dims:
                plan.existing[name] = (arrays[name], _encoded_like(variable, name, arrays[name], region, options))
            continue
        if options.mode == "r+":
            raise ArgumentError(
                f'`mode`: with "r+" all variables must exist, but `{name}` does not',
                argument="mode",
                hint='mode="a" creates variables',
            )
        encoded = _encoded(variable, name)
        array = array_options(
            encoded,
            name,
            dialect,
            given=name in given,
            shards=None if name in dataset.indexes else options.shards,
            write_empty_chunks=options.write_empty_chunks,
        )
        check_new_array(name, array, dialect)
        plan.new[name] = (array, encoded)
    return plan


def _with_valid_names(dataset: Dataset) -> Dataset:
    """The dataset with the name that xarray stores for a variable without one."""
    for name in dataset.variables:
        if name is not None and not isinstance(name, str):
            raise ArgumentTypeError(f"the name of a variable is a string or None, not {name!r}", argument="dataset")
        if name == "":
            raise ArgumentError("the name of a variable has at least one character, not ''", argument="dataset")
    return dataset.rename({None: NONE_VAR_NAME}) if None in dataset.variables else dataset


def _check_append(dataset: Dataset, arrays: Mapping[str, Array], dimension: Any) -> None:
    if dimension is None:
        return
    stored = {name for array in arrays.values() for name in array.dimension_names or ()}
    if dimension not in stored:
        raise ArgumentError(
            f"`append_dim`: expected one of the dimensions {', '.join(sorted(filter(None, stored))) or '(none)'}, "
            f"found {dimension!r}",
            argument="append_dim",
        )
    lacking = [str(name) for name, variable in dataset.variables.items() if dimension in variable.dims]
    lacking = [name for name in lacking if name not in arrays]
    if lacking:
        raise ArgumentError(
            f"`append_dim`: variable `{lacking[0]}` has the dimension {dimension!r} and does not exist yet, so that it "
            "would be shorter than the others",
            argument="append_dim",
            hint="write the variable for the stored part of the dimension first",
        )
    growing = [name for name, array in arrays.items() if dimension in (array.dimension_names or ())]
    absent = [name for name in growing if name not in dataset.variables]
    if absent:
        raise ArgumentError(
            f"`append_dim`: the dataset lacks the stored variable `{absent[0]}`, which also has the dimension "
            f"{dimension!r} and would be shorter than the others",
            argument="append_dim",
        )


def _apply_encoding(
    variables: Mapping[Any, Variable], encoding: Mapping[Any, Any], arrays: Mapping[str, Array]
) -> set[Any]:
    """Gives the variables the encoding of the caller, and returns the names of those that have one."""
    for name, value in encoding.items():
        if name not in variables:
            raise ArgumentKeyError(f"`encoding`: there is no variable {name!r}", argument="encoding")
        if name in arrays:
            raise ArgumentError(
                f"`encoding`: variable `{name}` exists already and keeps its encoding", argument="encoding"
            )
        variables[name].encoding = dict(value)
    return set(encoding)


# -- CF encoding

# Releases of xarray with native text of variable length keep it only if they are told a generation that has it.
_KEEP_TEXT = {"zarr_format": 3} if "zarr_format" in signature(encode_zarr_variable).parameters else {}


def _encoded(variable: Variable, name: str) -> Variable:
    try:
        return encode_zarr_variable(variable, name=name, **_KEEP_TEXT)
    except Exception as error:
        error.add_note(f"Raised while encoding the variable {name!r}.")
        raise


def _encoded_like(
    variable: Variable, name: str, array: Array, region: Mapping[Any, slice], options: ToZarrOptions
) -> Variable:
    """The variable in the encoding of the array that exists, with its dimensions in the same order."""
    text = variable.dtype.kind in "SU" and variable.dtype.kind == array.dtype.kind
    if text and variable.dtype.itemsize > array.itemsize:
        raise ArgumentError(
            f"variable `{name}` exists with the type {array.dtype}, which cuts off values of the type {variable.dtype}",
            argument="dataset",
        )
    stored = decode_cf_variable(name, open_variable(array, name))
    variable = variable.copy(deep=False)
    variable.encoding = stored.encoding
    encoded = _encoded(variable, name)
    _check_time_units(encoded, name, stored)
    if encoded.dims != stored.dims:
        if set(encoded.dims) != set(stored.dims):
            raise ArgumentError(
                f"variable `{name}` exists with the dimensions {stored.dims}, found {encoded.dims}", argument="dataset"
            )
        encoded = encoded.transpose(*stored.dims)
    for dimension, length in zip(encoded.dims, encoded.shape, strict=True):
        if dimension == options.append_dim:
            continue
        size = stored.sizes[dimension]
        if dimension in region:
            size = len(range(*region[dimension].indices(size)))
        if length != size:
            raise ArgumentError(
                f"variable `{name}` exists with the length {size} of {dimension!r}, found {length}",
                argument="dataset",
                hint="`append_dim` makes a dimension longer, and `region` writes to a part of it",
            )
    return encoded


def _check_time_units(encoded: Variable, name: str, stored: Variable) -> None:
    """xarray encodes times in other units if they are no whole numbers in those of the encoding, and only warns."""
    old, new = stored.encoding.get("units"), encoded.attrs.get("units")
    # xarray spells units in its own way; the first word tells whether they are others.
    if is_time_unit(old) and is_time_unit(new) and _first_word(old) != _first_word(new):
        raise ArgumentError(
            f"variable `{name}` exists with the units {old!r} and the type {stored.encoding.get('dtype')}, which "
            f"cannot hold the new values: they need {new!r}",
            argument="dataset",
            hint="give `units` or a floating-point `dtype` in the encoding when the variable is created",
        )


def _first_word(units: str) -> str:
    return units.split()[0].lower().rstrip("s")
