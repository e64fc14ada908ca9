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
from omnizarr.integrations.xarray.variables import open_variable
from omnizarr.integrations.xarray.writing.argument_errors import ArgumentKeyError, ArgumentTypeError
from omnizarr.integrations.xarray.writing.attributes import dataset_attributes
from omnizarr.integrations.xarray.writing.existing_types import check_kinds, check_text_lengths, check_time_units
from omnizarr.integrations.xarray.writing.new_variables import array_options, check_new_array
from omnizarr.integrations.xarray.writing.regions import region_of
from omnizarr.nodes import Array, Group

__all__ = ["DatasetPlan", "ToZarrOptions", "make_plan"]


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
    chunkmanager_store_kwargs: dict[str, Any] | None = None


@dataclass(slots=True)
class DatasetPlan:
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
) -> DatasetPlan:
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
    _check_lengths(dataset, arrays)
    variables, attributes = encode_dataset_coordinates(dataset)
    explicit = _apply_encoding(variables, encoding or {}, arrays)
    plan = DatasetPlan(dataset_attributes(attributes), region=region, append_dim=options.append_dim)
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
            explicit=name in explicit,
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


def _check_lengths(dataset: Dataset, arrays: Mapping[str, Array]) -> None:
    """Raises if a dimension of a new variable has another length in the store: no program could open the group."""
    stored: dict[str, int] = {}
    for array in arrays.values():
        for dimension, length in zip(array.dimension_names or (), array.shape, strict=False):
            if dimension is not None:
                stored.setdefault(dimension, length)
    for name, variable in dataset.variables.items():
        if name in arrays:
            continue
        for dimension, length in variable.sizes.items():
            if stored.get(str(dimension), length) != length:
                raise ArgumentError(
                    f"new variable `{name}`: the stored length of {dimension!r} is {stored[str(dimension)]}, found "
                    f"{length}",
                    argument="dataset",
                    hint="write the variable for the whole dimension first, and then parts with `region`",
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
    stored = decode_cf_variable(name, open_variable(array, name))
    check_kinds(variable, name, array, stored)
    check_text_lengths(variable, name, array)
    variable = variable.copy(deep=False)
    variable.encoding = stored.encoding
    try:
        encoded = _encoded(variable, name)
    except (TypeError, ValueError) as error:
        if variable.dtype.kind != "O" or isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"variable `{name}` exists with the type {array.dtype}, which cannot hold the objects: {error}",
            argument="dataset",
        ) from error
    check_time_units(variable, encoded, name, stored)
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
