"""netCDF-C, through netCDF4, writes v2, with or without its own marks (NCZarr)."""

from __future__ import annotations

import json
import os
from typing import Any

import netCDF4
import numpy as np
import numpy.typing as npt

from tests.corpora.making import Corpus, by_document, sample

__all__ = ["write_all"]

PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
LARGE = np.arange(600, dtype="<i4").reshape(20, 30) // 7  # blosc fails if it cannot compress

# A name, the elements, the dimensions, and arguments of `createVariable`.
PLAIN: list[tuple[str, npt.NDArray[Any], tuple[str, ...], dict[str, Any]]] = [
    ("plane", PLANE, ("y", "x"), {"chunksizes": (3, 5)}),
    ("bytes", np.array([1, -128, 127, 0], "i1"), ("y",), {}),
    ("shuffled", PLANE, ("y", "x"), {"compression": "zlib", "shuffle": True}),
    ("scalar", np.array([2.5]), (), {}),
    ("characters", np.array([b"a", b"", b"c", b"\xff"], "S1"), ("y",), {}),
    ("text", np.array([b"a", b"bc", b"", "ü".encode()], "S128"), ("y",), {"datatype": str}),
]
MORE: list[tuple[str, npt.NDArray[Any], tuple[str, ...], dict[str, Any]]] = [
    ("zlib", PLANE, ("y", "x"), {"compression": "zlib", "shuffle": False}),
    ("unsigned-bytes", np.array([1, 255, 127, 0], "u1"), ("y",), {}),
    ("big", sample(">i4", (4,)), ("y",), {"endian": "big"}),
    ("longs", np.array([1, -(2**63), 2**63 - 1, 0], "<i8"), ("y",), {}),
    ("floats", sample("<f4", (4,)), ("y",), {}),
    ("bzip2", PLANE, ("y", "x"), {"compression": "bzip2"}),
    ("zstd", PLANE, ("y", "x"), {"compression": "zstd"}),
    ("blosc", LARGE, ("high", "wide"), {"compression": "blosc_lz4"}),
    ("filled", np.array([1, 2, -1.5, -1.5]), ("y",), {"fill_value": -1.5, "written": slice(0, 2)}),
    ("nan", np.array([1, np.nan, np.nan, np.nan]), ("y",), {"fill_value": np.nan, "written": slice(0, 1)}),
    ("growing", np.array([1, 2, 3], "<i2"), ("t",), {"chunksizes": (2,)}),
]


def write_all(corpus: Corpus) -> None:
    for mode, variables in {"nczarr": [*PLAIN, *MORE], "zarr": PLAIN}.items():
        write_dataset(corpus, mode, variables)
    corpus.save(writer="netcdf", version=netCDF4.__netcdf4libversion__.split()[0], netCDF4=netCDF4.__version__)


def write_dataset(corpus: Corpus, mode: str, variables: list[Any]) -> None:
    place = corpus.place / mode
    url = f"file://{os.path.abspath(place)}#mode={mode},file"
    with netCDF4.Dataset(url, "w") as dataset:
        dataset.setncatts({"title": "a dataset", "number": np.int16(3), "numbers": np.array([1.5, 2.5])})
        for name, length in {"y": 4, "x": 5, "high": 20, "wide": 30, "t": None}.items():
            dataset.createDimension(name, length)
        for name, data, dimensions, options in variables:
            options = {"datatype": data.dtype, **options}
            written = options.pop("written", ...)
            variable = dataset.createVariable(name, dimensions=dimensions, **options)
            variable.set_auto_maskandscale(False)
            if options["datatype"] is str:
                data = np.array([item.decode() for item in data], object)
            variable[written] = data[0] if not dimensions else data[written]
            variable.setncatts({"units": "K", "factor": np.float32(1.5)})
        values = dataset.createGroup("below/further").createVariable("values", "<f4", ("x",))
        values[...] = np.arange(5)
    arrays = [(name, data) for name, data, *_ in variables]
    note(corpus, mode, [*arrays, ("below/further/values", np.arange(5, dtype="<f4"))])


def note(corpus: Corpus, mode: str, arrays: list[tuple[str, npt.NDArray[Any]]]) -> None:
    place = corpus.place / mode
    with netCDF4.Dataset(f"file://{os.path.abspath(place)}#mode={mode},file", "r") as dataset:
        for path, data in arrays:
            variable = dataset[path]
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)

            def elements(variable: Any = variable, data: npt.NDArray[Any] = data) -> npt.NDArray[Any]:
                found = np.asarray(variable[...])
                if found.dtype.kind in "OU":  # text, which it stores as bytes
                    found = np.array([item.encode() for item in found.ravel()], data.dtype)
                return found.reshape(data.shape)

            seen = {**by_document(place / path), "elements": elements}
            corpus.note(f"{mode}/{path}", data, seen, location=mode, path=path)
    attributes = json.loads((place / ".zattrs").read_text("utf-8"))
    corpus.group(mode, ["below", "below/further", *(path for path, _ in arrays)], attributes)
