"""The argument `region` of a write: which part of each stored dimension the dataset replaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from xarray import Dataset
from xarray.conventions import decode_cf_variable

from omnizarr.errors import ArgumentError
from omnizarr.integrations.xarray.variables import open_variable
from omnizarr.integrations.xarray.writing.argument_errors import ArgumentKeyError, ArgumentTypeError
from omnizarr.nodes import Array, Group

__all__ = ["region_of"]


def region_of(dataset: Dataset, region: Any, append_dim: Any, group: Group) -> dict[Any, slice]:
    """The slice of each dimension in `region`. "auto" looks for the coordinates of the dataset in the stored ones."""
    if isinstance(region, str) and region == "auto":
        region = dict.fromkeys(dataset.dims, "auto")
    if not isinstance(region, Mapping):
        raise ArgumentTypeError(f'`region`: expected a dict or "auto", found {region!r}', argument="region")
    slices: dict[Any, slice] = {}
    for dimension, part in region.items():
        if dimension not in dataset.dims:
            raise ArgumentError(
                f"`region`: the dataset has no dimension {dimension!r}, only {', '.join(map(repr, dataset.dims))}",
                argument="region",
            )
        if isinstance(part, str) and part == "auto":
            part = _detect(dataset, dimension, group)
        if not isinstance(part, slice):
            raise ArgumentTypeError(f"`region`: expected a slice for {dimension!r}, found {part!r}", argument="region")
        if part.step not in (1, None):
            raise ArgumentError(f"`region`: expected slices with step 1, found {part!r}", argument="region")
        slices[dimension] = part
    if append_dim is not None and append_dim in slices:
        raise ArgumentError(f"`region`: {append_dim!r} is the dimension of `append_dim`", argument="region")
    outside = [str(name) for name, variable in dataset.variables.items() if not set(slices) & set(variable.dims)]
    if slices and outside:
        raise ArgumentError(
            f"`region`: some variables have none of its dimensions: {', '.join(outside)}",
            argument="region",
            hint=f"leave them out: `ds.drop_vars({outside!r})`",
        )
    return slices


def _detect(dataset: Dataset, dimension: Any, group: Group) -> slice:
    """The part of a dimension whose stored coordinates are those of the dataset."""
    if dimension not in dataset.variables:
        return slice(0, dataset.sizes[dimension])
    array = group[str(dimension)]
    assert isinstance(array, Array)
    stored = decode_cf_variable(dimension, open_variable(array, str(dimension)).load())
    if not dataset.sizes[dimension]:
        return slice(0, 0)
    positions = pd.Index(stored.values).get_indexer(dataset[dimension].values)
    if (positions == -1).any():
        raise ArgumentKeyError(
            f"`region`: some coordinates of {dimension!r} are not in the store",
            argument="region",
            hint="`append_dim` adds coordinates",
        )
    if (np.diff(positions) != 1).any():
        raise ArgumentError(
            f"`region`: the coordinates of {dimension!r} are not contiguous in the store", argument="region"
        )
    return slice(int(positions[0]), int(positions[-1]) + 1)
