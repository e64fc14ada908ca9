"""GDAL, through rasterio, writes v2 and v3: rasters, each an array in a group of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.transform import from_origin

from tests.corpora.making import Corpus, by_document, sample

__all__ = ["cases_v3", "read", "write", "write_all"]

PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
BANDS = np.arange(40, dtype="<u2").reshape(2, 4, 5)
ZEROS = np.array([[1, 2], [3, 4], [0, 0], [0, 0]], "u1")
PLACED = {"crs": "EPSG:4326", "transform": from_origin(1, 2, 0.5, 0.25)}


def cases() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    """A name, the elements, and arguments of `rasterio.open`; options in capitals are those of GDAL."""
    for dtype in ("i1", "<c8"):
        yield f"types/{np.dtype(dtype).name}", sample(dtype, (4, 5)), {}
    for codec in ("blosc", "gzip", "lzma", "zstd"):
        yield f"codecs/{codec}", PLANE, {"COMPRESS": codec.upper()}
    yield "codecs/delta", PLANE, {"COMPRESS": "ZLIB", "FILTER": "DELTA"}
    yield "layouts/plane-F", PLANE, {"CHUNK_MEMORY_LAYOUT": "F", "BLOCKSIZE": "3,5"}
    yield "layouts/slash", PLANE, {"DIM_SEPARATOR": "/", "BLOCKSIZE": "3,5"}
    yield "layouts/bands", BANDS, {"SINGLE_ARRAY": "YES"}
    yield "layouts/placed", PLANE, PLACED
    # Without a fill value it takes zero, and omits chunks that hold nothing else.
    yield "fills/null-and-zeros", ZEROS, {"BLOCKSIZE": "2,2"}
    yield "fills/number", PLANE, {"nodata": -9}
    yield "fills/nan", sample("<f8", (4, 5)), {"nodata": np.nan}


def cases_v3() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    """The same for v3."""
    yield "gdal/complex128", sample("<c16", (4, 5)), {}
    for codec in ("blosc", "gzip", "zstd"):
        yield f"gdal/{codec}", PLANE, {"COMPRESS": codec.upper()}
    yield "gdal/plane-F", PLANE, {"CHUNK_MEMORY_LAYOUT": "F", "BLOCKSIZE": "3,5"}
    yield "gdal/dot", PLANE, {"DIM_SEPARATOR": ".", "BLOCKSIZE": "3,5"}
    yield "gdal/placed", PLANE, PLACED
    yield "gdal/null-and-zeros", ZEROS, {"BLOCKSIZE": "2,2"}
    yield "gdal/nan", sample("<f8", (4, 5)), {"nodata": np.nan}


def write(place: Path, data: npt.NDArray[Any], version: int, options: dict[str, Any]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    count, (height, width) = (1 if data.ndim == 2 else len(data)), data.shape[-2:]
    shape = {"count": count, "height": height, "width": width, "dtype": data.dtype.name}
    options = {"FORMAT": f"ZARR_V{version}", **options}
    with rasterio.open(str(place), "w", driver="Zarr", **shape, **options) as raster:
        raster.write(data.reshape(count, height, width))


def read(place: Path, data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with rasterio.open(str(place)) as raster:
        return raster.read().reshape(data.shape)


def write_all(corpus: Corpus) -> None:
    for name, data, options in cases():
        path = name.rpartition("/")[2]  # the array has the name of its folder
        corpus.array(
            name,
            data,
            lambda place, data=data, options=options: write(place, data, 2, options),
            lambda place, path, data=data: {**by_document(place / path), "elements": lambda: read(place, data)},
            path=path,
        )
    placed = corpus.place / "layouts/placed"
    for path, data in {"X": 1.25 + np.arange(5) / 2, "Y": 1.875 - np.arange(4) / 4}.items():
        seen = {**by_document(placed / path), "elements": lambda data=data: data}
        corpus.note(f"layouts/placed/{path}", data, seen, location="layouts/placed", path=path)
    root = json.loads((placed / ".zmetadata").read_text())["metadata"].get(".zattrs", {})
    corpus.group("layouts/placed-group", ["X", "Y", "placed"], root, location="layouts/placed")
    corpus.save(writer="gdal", version=rasterio.__gdal_version__, rasterio=rasterio.__version__)
