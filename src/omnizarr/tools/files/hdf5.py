"""HDF5 and netCDF-4 files by h5py: their datasets and groups as sources, and hierarchies written to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from omnizarr._imports import load_optional
from omnizarr.errors import StoreError, warn
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.nodes import Array, Group
from omnizarr.tools.results import as_json

__all__ = ["create_hdf5", "read_hdf5"]

_INTERNAL = frozenset(
    ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties")
)
"""Attributes that say how HDF5 stores dimensions."""
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
"""How the attribute NAME begins if a dataset of the netCDF-4 library only holds the length of a dimension."""


@contextmanager
def read_hdf5(file: str) -> Iterator[dict[str, tuple[Any, dict[str, Any]]]]:
    """The datasets and groups of a file, by path, with the options of their new nodes."""
    h5py = load_optional("import of HDF5 and netCDF files", "omnizarr[files]", "h5py")
    try:
        opened = h5py.File(file, "r")
    except OSError as error:
        raise StoreError(f"`{file}` is no HDF5 or netCDF-4 file: {error}") from None
    with opened:
        sources: dict[str, tuple[Any, dict[str, Any]]] = {"": (None, {"attributes": _attributes(opened)})}

        def visit(path: str, node: Any) -> None:
            options: dict[str, Any] = {"attributes": _attributes(node)}
            if not isinstance(node, h5py.Dataset):
                sources[path] = (None, options)
                return
            if np.bytes_(node.attrs.get("NAME", b"")).startswith(_NO_VARIABLE):
                return
            if h5py.check_string_dtype(node.dtype) is not None and node.dtype.hasobject:
                sources[path] = (_Texts(node), options | {"dtype": "str"})
                return
            if node.dtype.hasobject or node.shape is None:
                warn(f"`{path}` is not imported: its type {node.dtype} has no counterpart")
                return
            names = _dimensions(node)
            options |= {"dimension_names": names} if any(names) else {}
            options |= {"chunks": node.chunks} if node.chunks and all(node.shape) else {}
            fill = node.fillvalue if node.dtype.names is None else None
            options |= {"fill_value": fill} if fill is not None else {}
            sources[path] = (node, options)

        opened.visititems(visit)
        yield sources


class _Texts:
    """A dataset of texts of any length."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset.asstr()
        self.shape: tuple[int, ...] = dataset.shape
        self.dtype = dataset.dtype

    def __getitem__(self, key: Any) -> Any:
        return self._dataset[key]


def _dimensions(dataset: Any) -> list[str | None]:
    """The names of the dimensions, from dimension scales or labels."""
    names: list[str | None] = []
    for number, dimension in enumerate(dataset.dims):
        scale = dimension[0].name.rpartition("/")[2] if len(dimension) else None
        own = dataset.name.rpartition("/")[2] if dataset.is_scale and number == 0 and dataset.ndim == 1 else None
        names.append(scale or dimension.label or own or None)
    return names


def _attributes(node: Any) -> dict[str, Any]:
    attributes = {}
    for name in node.attrs:
        if name in _INTERNAL:
            continue
        try:
            value = node.attrs[name]
        except (OSError, TypeError) as error:
            warn(f"the attribute `{name}` of `{node.name}` is not imported: {error}")
            continue
        attributes[name] = _plain(value)
    return attributes


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(each) for each in value.tolist()] if value.ndim else _plain(value.item())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, (str, int, float, bool, list)) else str(value)


@contextmanager
def create_hdf5(file: str, node: Array | Group) -> Iterator[dict[str, tuple[Array, Any]]]:
    """Creates an HDF5 file with the groups and datasets of a hierarchy, and returns pairs of arrays and datasets, by
    path. The caller copies the elements."""
    h5py = load_optional("export to HDF5 files", "omnizarr[files]", "h5py")
    members = [("data", node)] if isinstance(node, Array) else [("", node), *node.members(max_depth=None)]
    pairs: dict[str, tuple[Array, Any]] = {}
    with h5py.File(file, "w") as opened:
        for path, member in members:
            if isinstance(member, Group):
                created = opened.require_group(path) if path else opened
            elif isinstance(member, Array):
                created = _create_dataset(h5py, opened, path, member)
                pairs[path] = (member, created)
            else:
                warn(f"`{path}` is not exported, because it cannot be read")
                continue
            for name, value in member.attrs.items():
                if name == STATISTICS_ATTRIBUTE:
                    continue
                plain = as_json(value)
                created.attrs[name] = plain if isinstance(plain, (str, int, float, bool)) else str(plain)
        yield pairs


def _create_dataset(h5py: Any, opened: Any, path: str, array: Array) -> Any:
    dtype: Any = array.dtype
    if dtype.hasobject or dtype.kind in "TU":
        dtype = h5py.string_dtype()
    elif dtype.kind in "mM":
        dtype = np.dtype("int64")
    regular = isinstance(array.chunks, tuple) and all(isinstance(length, int) for length in array.chunks)
    chunks = tuple(map(min, array.chunks, array.shape)) if regular and array.size and array.ndim else None
    created = opened.create_dataset(path, array.shape, dtype, chunks=chunks)
    for dimension, name in zip(created.dims, array.dimension_names or (), strict=False):
        dimension.label = name or ""
    return created
