"""`export_file`: writes an array, or a hierarchy, to a file of another kind."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np

from omnizarr._imports import load_optional
from omnizarr.errors import ArgumentError, NodeExistsError, NodeTypeError
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.nodes import Array, Group
from omnizarr.store import MemoryStore
from omnizarr.tools.files.hdf5 import create_hdf5
from omnizarr.tools.files.kinds import BLOCK_ELEMENTS, FileResult, kind_of
from omnizarr.tools.regions import regions
from omnizarr.tools.results import Progress

__all__ = ["export_file"]


def export_file(
    node: Array | Group,
    file: str | os.PathLike[str],
    *,
    kind: str | None = None,
    selection: Any = None,
    delimiter: str = ",",
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> FileResult:
    """Writes an array to a file; HDF5 and netCDF files take groups, too. The file appears when it is complete.

    Args:
        node: the array or group.
        file: the path of the file.
        kind: npy, raw, csv, hdf5, netcdf or tiff; None looks at the end of the name.
        selection: write only these elements of the array.
        delimiter: what separates the numbers of a csv file.
        force: replace the file.
        dry_run: write nothing, and return what would be exported.
        progress: called with the bytes done and the bytes in total.
    """
    file = os.fspath(file)
    kind = kind_of(file, kind)
    if isinstance(node, Group) and kind not in ("hdf5", "netcdf"):
        raise NodeTypeError(f"`{node.name}` is a group; a {kind} file holds one array", path=node.path)
    if os.path.exists(file) and not force:
        raise NodeExistsError(f"there is a file `{file}`", hint="`force` (--force) replaces it")
    if selection is not None and isinstance(node, Array):
        from omnizarr.api.create_nodes import create_array

        values = np.asarray(node[selection])
        node = create_array(MemoryStore(), data=values, compressors=None)
    members = [("", node)] if isinstance(node, Array) else node.members(max_depth=None)
    arrays = {path: array for path, array in members if isinstance(array, Array)}
    report = _Report(progress, sum(array.nbytes for array in arrays.values()))
    if not dry_run:
        temporary = f"{file}.{os.getpid()}.part"
        try:
            _WRITERS[kind](node, temporary, delimiter, report)
            os.replace(temporary, file)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
    texts = {path: f"{array.shape} {array.dtype}" for path, array in arrays.items()}
    return FileResult(file, kind, texts, report.total, dry_run)


class _Report:
    """Adds up the bytes that are done."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.total = total
        self._progress = progress
        self._done = 0

    def add(self, nbytes: int) -> None:
        self._done += nbytes
        if self._progress is not None:
            self._progress(self._done, self.total)


def _copy(array: Array, target: Any, report: _Report) -> None:
    """Copies elements in parts."""
    for region in regions(array.shape, array.shards or array.chunks, BLOCK_ELEMENTS):  # type: ignore[arg-type]
        values = array.read(region or ...)
        if values.dtype.kind in "mM" and target.dtype != values.dtype:
            values = values.view("int64")  # HDF5 has no times
        elif values.dtype.kind in "TU" and target.dtype != values.dtype:
            values = values.astype(object)
        target[region or ()] = values if region else values[()]
        report.add(values.nbytes)


def _write_npy(node: Any, file: str, delimiter: str, report: _Report) -> None:
    _check_plain(node)
    if not node.size or not node.shape:
        with open(file, "wb") as stream:
            np.save(stream, node.read())
        return
    _copy(node, np.lib.format.open_memmap(file, "w+", node.dtype, node.shape), report)


def _write_raw(node: Any, file: str, delimiter: str, report: _Report) -> None:
    _check_plain(node)
    if not node.size or not node.shape:
        node.read().tofile(file)
        return
    _copy(node, np.memmap(file, node.dtype, "w+", shape=node.shape), report)


def _check_plain(array: Array) -> None:
    if array.dtype.hasobject or array.dtype.kind == "T":
        raise ArgumentError(f"elements of type {array.dtype} have no fixed size; export them as csv", argument="kind")


def _write_csv(node: Any, file: str, delimiter: str, report: _Report) -> None:
    if node.ndim > 2:
        raise ArgumentError(
            f"a table has at most two dimensions; array `{node.name}` has {node.ndim}",
            argument="selection",
            hint="select a part, such as `[0]`",
        )
    rows = max(1, BLOCK_ELEMENTS // max(1, node.size // max(1, node.shape[0]))) if node.ndim else 1
    with open(file, "w", encoding="utf-8", newline="") as stream:
        if not node.ndim:
            stream.write(f"{node.read()[()]}\n")
        for start in range(0, node.shape[0] if node.ndim else 0, rows):
            values = node.read(slice(start, start + rows))
            stream.writelines(delimiter.join(map(str, row)) + "\n" for row in values.reshape(len(values), -1).tolist())
            report.add(values.nbytes)


def _write_tiff(node: Any, file: str, delimiter: str, report: _Report) -> None:
    tifffile = load_optional("export to TIFF files", "omnizarr[files]", "tifffile")
    _check_plain(node)
    pages = (node[index] for index in range(node.shape[0])) if node.ndim == 3 else node.read()
    try:
        tifffile.imwrite(
            file,
            pages,
            shape=node.shape,
            dtype=node.dtype,
            metadata={"axes": "ZYX"[3 - node.ndim :]} if node.ndim <= 3 else {},
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ArgumentError(f"array `{node.name}` cannot be stored as TIFF: {error}", argument="kind") from None
    report.add(node.nbytes)


def _write_hdf5(node: Any, file: str, delimiter: str, report: _Report) -> None:
    with create_hdf5(file, node) as pairs:
        for array, dataset in pairs.values():
            _copy(array, dataset, report)


def _write_netcdf(node: Any, file: str, delimiter: str, report: _Report) -> None:
    netcdf = load_optional("export to netCDF files", "omnizarr[files]", "netCDF4")
    members = [("data", node)] if isinstance(node, Array) else [("", node), *node.members(max_depth=None)]
    with netcdf.Dataset(file, "w") as opened:
        for path, member in members:
            where, name = opened, path.rpartition("/")[2]
            for part in path.split("/")[:-1]:
                where = where.groups[part]
            if isinstance(member, Group):
                created = where.createGroup(name) if path else opened
            elif isinstance(member, Array):
                created = _create_variable(where, name, member)
            else:
                continue
            left_out = ("_FillValue", STATISTICS_ATTRIBUTE)
            created.setncatts({key: _attribute(value) for key, value in member.attrs.items() if key not in left_out})
            if isinstance(member, Array):
                created.set_auto_maskandscale(False)
                _copy(member, created, report)


def _attribute(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) and not isinstance(value, bool) else str(value)


def _create_variable(where: Any, name: str, array: Array) -> Any:
    names = []
    for number, length in enumerate(array.shape):
        own_name = (array.dimension_names or (None,) * array.ndim)[number]
        dimension = own_name if own_name is not None else f"{name}_{number}"
        known = where.dimensions.get(dimension)
        if known is not None and len(known) != length:
            dimension = f"{dimension}_{length}"
        if dimension not in where.dimensions:
            where.createDimension(dimension, length)
        names.append(dimension)
    kind: Any = array.dtype
    if kind.hasobject or kind.kind in "TU":
        kind = str
    elif kind.kind in "mM":
        kind = np.dtype("int64")
    elif kind.kind == "b":
        kind = np.dtype("uint8")
    try:
        return where.createVariable(name, kind, names)
    except (TypeError, RuntimeError) as error:
        raise ArgumentError(f"array `{array.name}` cannot be stored as netCDF: {error}", argument="kind") from None


_WRITERS = {
    "npy": _write_npy,
    "raw": _write_raw,
    "csv": _write_csv,
    "tiff": _write_tiff,
    "hdf5": _write_hdf5,
    "netcdf": _write_netcdf,
}
