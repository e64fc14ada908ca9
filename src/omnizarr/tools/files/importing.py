"""`import_file`: makes an array, or a hierarchy, of a file of another kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from omnizarr._imports import load_optional
from omnizarr.api.create_nodes import create_array, create_group
from omnizarr.api.location import StoreLike, resolve
from omnizarr.errors import ArgumentError, StoreError
from omnizarr.model import ZarrFormat, join_path
from omnizarr.tools.files.hdf5 import read_hdf5
from omnizarr.tools.files.kinds import BLOCK_ELEMENTS, FileResult, kind_of
from omnizarr.tools.plans.copy import check_free
from omnizarr.tools.regions import regions
from omnizarr.tools.results import Progress

__all__ = ["import_file", "read_npy"]

Sources = dict[str, tuple[Any, dict[str, Any]]]
"""Array-like objects by path, with the options of their new arrays; None in place of the object for a group."""


def import_file(
    file: str | os.PathLike[str],
    target: StoreLike,
    *,
    kind: str | None = None,
    dtype: Any = None,
    shape: tuple[int, ...] | None = None,
    delimiter: str = ",",
    zarr_format: ZarrFormat = 3,
    force: bool = False,
    dry_run: bool = False,
    storage_options: dict[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> FileResult:
    """Makes an array of a file; HDF5 and netCDF files give a group with all their datasets.

    Args:
        file: the path of the file.
        target: where the array goes: a path, a URL or a store.
        kind: npy, raw, csv, hdf5, netcdf or tiff; None looks at the end of the name.
        dtype: the data type of a raw file (necessary) or of a csv file (float64 if not given).
        shape: the shape of a raw file; None makes one dimension of all elements.
        delimiter: what separates the numbers of a csv file.
        zarr_format: the generation of the new nodes.
        force: replace a node at the target.
        dry_run: write nothing, and return what would be imported.
        storage_options: options of the target's store.
        progress: called with the bytes done and the bytes in total.
        **options: options of the new arrays, as for `create_array`.
    """
    file = os.fspath(file)
    kind = kind_of(file, kind)
    with _open(file, kind, dtype, shape, delimiter) as sources:
        arrays = {path: f"{data.shape} {data.dtype}" for path, (data, _) in sources.items() if data is not None}
        total = sum(prod(data.shape) * data.dtype.itemsize for data, _ in sources.values() if data is not None)
        store, root = resolve(target, storage_options)
        if not force:
            check_free(store, root)
        if not dry_run:
            done = 0
            for number, (path, (data, own)) in enumerate(sources.items()):
                common = {"zarr_format": zarr_format, "overwrite": force and number == 0}
                if data is None:
                    create_group(store, path=join_path(root, path), attributes=own.get("attributes"), **common)  # type: ignore[arg-type]
                    continue
                new = create_array(
                    store,
                    name=join_path(root, path),
                    shape=data.shape,
                    dtype=own.get("dtype", data.dtype),
                    **{**{name: value for name, value in own.items() if name != "dtype"}, **common, **options},
                )
                unit = new.shards or new.chunks
                for region in regions(new.shape, unit, BLOCK_ELEMENTS):  # type: ignore[arg-type]
                    new[region or ...] = np.asarray(data[region or ...])
                    done += prod(each.stop - each.start for each in region) * new.itemsize
                    if progress is not None:
                        progress(done, total)
            store.flush()
    return FileResult(file, kind, arrays, total, dry_run)


def read_npy(file: str) -> np.ndarray:
    """The elements of an npy file, mapped into memory."""
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except (ValueError, OSError, EOFError) as error:
        raise StoreError(f"`{file}` is no npy file of numbers: {error}") from None


@contextmanager
def _open(file: str, kind: str, dtype: Any, shape: tuple[int, ...] | None, delimiter: str) -> Iterator[Sources]:
    if kind == "npy":
        yield {"": (read_npy(file), {})}
    elif kind == "raw":
        yield {"": (_read_raw(file, dtype, shape), {})}
    elif kind == "csv":
        yield {"": (_read_csv(file, dtype, "\t" if file.endswith(".tsv") and delimiter == "," else delimiter), {})}
    elif kind == "tiff":
        tifffile = load_optional("import of TIFF files", "omnizarr[files]", "tifffile")
        try:
            values = tifffile.memmap(file, mode="r")
        except (ValueError, tifffile.TiffFileError):  # compressed
            values = _read_tiff(tifffile, file)
        yield {"": (values, {})}
    else:
        with read_hdf5(file) as sources:
            yield sources


def _read_tiff(tifffile: Any, file: str) -> np.ndarray:
    try:
        return tifffile.imread(file)  # type: ignore[no-any-return]
    except (ValueError, tifffile.TiffFileError) as error:
        raise StoreError(f"`{file}` is no TIFF file that tifffile can read: {error}") from None


def _read_raw(file: str, dtype: Any, shape: tuple[int, ...] | None) -> np.ndarray:
    if dtype is None:
        raise ArgumentError("a raw file does not tell its data type", argument="dtype", hint="give `dtype` (--dtype)")
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise ArgumentError(f"`dtype`: {error}", argument="dtype") from None
    size = os.path.getsize(file)
    sizes = (size // max(1, kind.itemsize),) if shape is None else shape
    if kind.hasobject or prod(sizes) * kind.itemsize != size:
        raise ArgumentError(
            f"`{file}` has {size} bytes, expected {prod(sizes) * kind.itemsize} for {sizes} elements of type {kind}",
            argument="shape",
        )
    if not size:
        return np.empty(sizes, kind)
    return np.memmap(file, kind, "r", shape=sizes)


def _read_csv(file: str, dtype: Any, delimiter: str) -> np.ndarray:
    try:
        with open(file, encoding="utf-8") as lines:
            first = lines.readline()
        header = 0
        try:
            [float(text) for text in first.split(delimiter)]
        except ValueError:
            header = 1  # names of columns
        return np.loadtxt(file, dtype or "float64", delimiter=delimiter, skiprows=header, ndmin=1)
    except (ValueError, TypeError, UnicodeDecodeError) as error:
        raise StoreError(f"`{file}` is no table of numbers: {error}") from None
