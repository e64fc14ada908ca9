"""Writing datasets and trees to groups."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from xarray import DataArray, Dataset, DataTree

from omnizarr.api.hierarchy import consolidate_metadata
from omnizarr.api.location import resolve
from omnizarr.api.open_nodes import open_group
from omnizarr.engine.pool import run
from omnizarr.errors import ArgumentError, NodeNotFoundError, NodeTypeError
from omnizarr.formats import Dialect, dialect_for
from omnizarr.integrations.xarray.writing.blocks import Write, write_all
from omnizarr.integrations.xarray.writing.plan import DatasetPlan, ToZarrOptions, make_plan
from omnizarr.integrations.xarray.writing.sources import location_text, stored_sources
from omnizarr.model import join_path, normal_path
from omnizarr.nodes import Array, Group
from omnizarr.nodes.joint_append.append import finish_unfinished_append, joint_append
from omnizarr.nodes.metadata.enclosing_dialect import enclosing_dialect

__all__ = ["to_zarr"]

_MOST_ARRAYS = 32  # created at a time in a remote store


def to_zarr(
    data: Any,
    location: Any,
    group: str | None,
    encoding: Mapping[Any, Any] | None,
    options: ToZarrOptions,
    *,
    write_inherited_coords: bool,
) -> Any:
    """Writes a dataset, a data array or a tree. Returns the group, or a delayed object if not `compute`."""
    _check(options, data)
    datasets, encodings = _datasets(data, encoding, write_inherited_coords=write_inherited_coords)
    path = normal_path(group)
    opened = isinstance(location, (str, os.PathLike))
    if opened:
        location = os.path.expanduser(location)
    if isinstance(location, Group):
        location, path = location.store, join_path(location.path, path)
    plans: dict[str, DatasetPlan] = {}
    if options.mode in ("w", "w-"):  # decide everything before an old group is erased
        dialect = _new_dialect(location, path, options)
        plans = {name: make_plan(node, None, dialect, encodings[name], options) for name, node in datasets.items()}
        if options.mode == "w":
            _load_sources(plans, location, path, options)
    top = _open_target(location, path, options)
    try:
        writes: list[Write] = []
        delayed: list[Any] = []
        for name, node in datasets.items():
            node_group = top.require_group(name) if name else top
            plan = plans.get(name)
            if plan is None:
                finish_unfinished_append(node_group)
                plan = make_plan(node, node_group, node_group._context.dialect, encodings[name], options)
            writes += _prepare(node_group, plan, options, delayed)
        if options.mode != "r+":
            _consolidate(top, options)
        delayed.append(
            write_all(
                writes, align=options.safe_chunks, compute=options.compute, options=options.chunkmanager_store_kwargs
            )
        )
    except BaseException:
        if opened:
            top.store.close()
        raise
    if not options.compute:
        import dask

        return dask.delayed(_finish)(delayed, top)
    if opened:
        top.store.close()
    return top


def _finish(writes: Any, top: Group) -> Group:
    """The last task of a delayed write."""
    del writes
    top.store.flush()
    return top


def _check(options: ToZarrOptions, data: Any) -> None:
    mode, append_dim, region = options.mode, options.append_dim, options.region
    if mode not in ("w", "w-", "a", "a-", "r+"):
        raise ArgumentError(f"`mode`: expected one of w, w-, a, a- and r+, found {mode!r}", argument="mode")
    if append_dim is not None and mode not in ("a", "a-"):
        raise ArgumentError(f'`append_dim`: expected mode="a" or "a-" with it, found {mode!r}', argument="append_dim")
    if region is not None and mode not in ("a", "a-", "r+"):
        raise ArgumentError(f'`region`: expected mode="r+", "a" or "a-" with it, found {mode!r}', argument="region")
    if isinstance(data, DataTree):
        for argument, value in (("append_dim", append_dim), ("region", region)):
            if value is not None:
                raise ArgumentError(
                    f"`{argument}`: expected a dataset, found a tree",
                    argument=argument,
                    hint="write one group after the other: `tree[path].to_dataset().omnizarr.to_zarr(…, group=path)`",
                )


# -- what to write


def _datasets(
    data: Any, encoding: Mapping[Any, Any] | None, *, write_inherited_coords: bool
) -> tuple[dict[str, Dataset], dict[str, Mapping[Any, Any] | None]]:
    """The datasets by the path of their group, and the encodings of each."""
    if not isinstance(data, DataTree):
        return {"": _as_dataset(data)}, {"": encoding}
    datasets: dict[str, Dataset] = {}
    encodings: dict[str, Mapping[Any, Any] | None] = {}
    others = dict(encoding or {})
    for path, node in data.subtree_with_keys:
        name = "" if node is data else path
        datasets[name] = node.to_dataset(inherit=write_inherited_coords or node is data)
        encodings[name] = others.pop(node.path, None)
    if others:
        raise ArgumentError(f"`encoding`: there is no group {next(iter(others))!r}", argument="encoding")
    return datasets, encodings


def _as_dataset(data: Dataset | DataArray) -> Dataset:
    if not isinstance(data, DataArray):
        return data
    from xarray.backends.api import DATAARRAY_NAME, DATAARRAY_VARIABLE

    if data.name is not None and data.name not in data.coords and data.name not in data.dims:
        return data.to_dataset()
    dataset = data.to_dataset(name=DATAARRAY_VARIABLE)  # xarray restores the name when it opens the array
    if data.name is not None:
        dataset.attrs[DATAARRAY_NAME] = data.name
    return dataset


def _load_sources(plans: Mapping[str, DatasetPlan], location: Any, path: str, options: ToZarrOptions) -> None:
    """Loads the values that the old group, which is about to be erased, holds. Raises if tasks of dask read them."""
    store, inner = resolve(location, options.storage_options, path)
    target = location_text(store.location, inner)
    for plan in plans.values():
        for name, (_, variable) in plan.new.items():
            for source in stored_sources(variable):
                if not source.startswith(target):
                    continue
                if variable.chunks is None:
                    variable.load()
                    break
                raise ArgumentError(
                    f'`mode`: "w" erases {source}, from which the values of variable `{name}` are still to be read',
                    argument="mode",
                    hint="write to another location, or load the values first: `ds.load()`",
                )


# -- where to write


def _new_dialect(location: Any, path: str, options: ToZarrOptions) -> Dialect:
    """The generation of a new group."""
    if options.zarr_format is not None:
        return dialect_for(options.zarr_format)
    store, inner = resolve(location, options.storage_options, path)
    return (enclosing_dialect(store, inner) if inner else None) or dialect_for(3)


def _open_target(location: Any, path: str, options: ToZarrOptions) -> Group:
    settings: dict[str, Any] = {"zarr_format": options.zarr_format, "storage_options": options.storage_options}
    if options.mode in ("w", "w-"):
        group = open_group(location, path=path, mode="w" if options.mode == "w" else "w-", **settings)
        if options.consolidated is not False:  # it is written at the end, once
            group._context = group._context._replace(consolidated=None)
        return group
    existing = options.mode == "r+" or options.append_dim is not None
    if path:  # consolidated metadata mostly lies at the root
        try:
            return open_group(location, mode="r+", **settings).get_group(path)
        except (NodeNotFoundError, NodeTypeError):
            pass
    return open_group(location, path=path, mode="r+" if existing else "a", **settings)


# -- writing


def _prepare(group: Group, plan: DatasetPlan, options: ToZarrOptions, delayed: list[Any]) -> list[Write]:
    """Lets arrays grow, creates new ones, and stores the attributes. Returns the values that are left to write."""
    growing = plan.growing
    if growing:
        delayed.append(_append(group, plan, growing, options))
    created = _create(group, plan)
    if options.mode != "r+" and group._model.attributes != plan.attributes:
        group.attrs.put(plan.attributes)
    writes = [Write(created[name], _whole(created[name]), variable) for name, (_, variable) in plan.new.items()]
    for name, (array, variable) in plan.existing.items():
        if name not in growing:
            writes.append(Write(_writing(array, options), _part(array, variable.dims, plan.region), variable))
    return writes


def _append(group: Group, plan: DatasetPlan, growing: Mapping[str, tuple[int, int]], options: ToZarrOptions) -> Any:
    """Lets arrays grow by the values of the plan: all of them, or none if one cannot be written."""

    def writes(arrays: Mapping[str, Array]) -> Iterator[Write]:
        for name, (axis, count) in growing.items():
            array, variable = arrays[name], plan.existing[name][1]
            part = list(_part(array, variable.dims, plan.region))
            part[axis] = slice(array.shape[axis] - count, array.shape[axis])
            yield Write(_writing(array, options), tuple(part), variable)

    if options.compute:
        with joint_append(group, growing) as arrays:
            write_all(
                list(writes(arrays)), align=options.safe_chunks, compute=True, options=options.chunkmanager_store_kwargs
            )
        return None
    with joint_append(group, growing):
        pass  # the new rows hold the fill value until the caller computes them
    current = {name: group.get_array(name) for name in growing}
    return write_all(
        list(writes(current)), align=options.safe_chunks, compute=False, options=options.chunkmanager_store_kwargs
    )


def _create(group: Group, plan: DatasetPlan) -> dict[str, Array]:
    created: dict[str, Array] = {}

    def create(name: str) -> None:
        created[name] = group.create_array(name, **plan.new[name][0])

    run(list(plan.new), lambda: create, min(_MOST_ARRAYS, len(plan.new)) if group.store.remote else 1)
    return created


def _writing(array: Array, options: ToZarrOptions) -> Array:
    if options.write_empty_chunks is not None:
        array._write_empty_chunks = options.write_empty_chunks
    return array


def _whole(array: Array) -> tuple[slice, ...]:
    return tuple(slice(0, length) for length in array.shape)


def _part(array: Array, dimensions: Any, region: Mapping[Any, slice]) -> tuple[slice, ...]:
    return tuple(
        slice(*region[dimension].indices(length)[:2]) if dimension in region else slice(0, length)
        for dimension, length in zip(dimensions, array.shape, strict=True)
    )


def _consolidate(group: Group, options: ToZarrOptions) -> None:
    """Writes consolidated metadata, unless it exists and was kept up to date."""
    context = group._context
    if options.consolidated is False or context.consolidated is not None:
        return
    if options.consolidated is None and not context.dialect.can_consolidate(""):
        return
    try:
        consolidate_metadata(group.store, path="", zarr_format=group.zarr_format)
    except NodeNotFoundError:
        consolidate_metadata(group.store, path=group.path, zarr_format=group.zarr_format)
