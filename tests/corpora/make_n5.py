"""Creates `tests/corpora/n5`: hierarchies of N5 that z5py, zarr-python 2 and TensorStore write.

`python tests/corpora/make_n5.py` creates all parts, with `z5py` only that one.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.corpora.making import Corpus, main, sample

TYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)
BLOSC: dict[str, Any] = {"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}
COMPRESSIONS: dict[str, dict[str, Any]] = {
    "raw": {"type": "raw"},
    "gzip": {"type": "gzip", "level": 5},
    "zlib": {"type": "gzip", "level": 5, "useZlib": True},
    "bzip2": {"type": "bzip2", "blockSize": 5},
    "xz": {"type": "xz", "preset": 2},
    "lz4": {"type": "lz4", "blockSize": 6},
    "blosc": BLOSC,
    "blosc-lz4": {**BLOSC, "cname": "lz4", "shuffle": 1},
    "zstd": {"type": "zstd", "level": 4},
}
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "1-d": ((7,), (3,)),
    "whole": ((4, 6), (2, 3)),
    "short": ((7, 5), (4, 3)),
    "3-d": ((4, 5, 3), (2, 3, 2)),
    "0-d": ((), ()),
}
GZIP = COMPRESSIONS["gzip"]


def cases() -> Iterator[tuple[str, npt.NDArray[Any], tuple[int, ...], dict[str, Any]]]:
    """Name, elements, chunks and compression."""
    for name in TYPES:
        yield f"types/{name}", sample(name, (7, 5)), (4, 3), GZIP
    for name, compression in COMPRESSIONS.items():
        yield f"compressions/{name}", sample("uint16", (7, 5)), (4, 3), compression
    for name, (shape, chunks) in SHAPES.items():
        yield f"shapes/{name}", sample("int16", shape), chunks, GZIP
    sparse = np.zeros((7, 5), "uint8")
    sparse[:4, :3] = 7
    yield "sparse", sparse, (4, 3), GZIP


def numcodecs_of(compression: dict[str, Any]) -> Any:
    import numcodecs

    options = {name: value for name, value in compression.items() if name not in ("type", "useZlib")}
    match compression["type"]:
        case "raw":
            return None
        case "gzip":
            return (numcodecs.Zlib if compression.get("useZlib") else numcodecs.GZip)(options["level"])
        case "bzip2":
            return numcodecs.BZ2(options["blockSize"])
        case "xz":
            return numcodecs.LZMA(preset=options["preset"])
        case "lz4":
            return numcodecs.LZ4()
        case "blosc":
            return numcodecs.Blosc(**options)
    return numcodecs.Zstd(options["level"])


def write_zarr2(
    place: Path, path: str, data: npt.NDArray[Any], chunks: tuple[int, ...], compression: dict[str, Any]
) -> Any:
    import zarr

    root = zarr.open_group(zarr.N5Store(str(place)), mode="a")
    array = root.create_dataset(
        path, shape=data.shape, chunks=chunks, dtype=data.dtype, compressor=numcodecs_of(compression)
    )
    array[...] = data
    array.attrs["unit"] = "nm"
    root.attrs["title"] = "made by zarr-python 2"
    return root[path][...]


def write_z5py(
    place: Path, path: str, data: npt.NDArray[Any], chunks: tuple[int, ...], compression: dict[str, Any]
) -> Any:
    import z5py

    names = {"blockSize": "level", "preset": "level", "cname": "codec"}
    options = {names.get(name, name): value for name, value in compression.items() if name != "type"}
    root = z5py.File(str(place), use_zarr_format=False, mode="a")
    array = root.create_dataset(
        path, shape=data.shape, chunks=chunks, dtype=data.dtype.name, compression=compression["type"], **options
    )
    if data.any():
        array[: chunks[0] if path == "sparse" else None] = data[: chunks[0] if path == "sparse" else None]
    array.attrs["unit"] = "nm"
    return root[path][...]


def write_tensorstore(
    place: Path, path: str, data: npt.NDArray[Any], chunks: tuple[int, ...], compression: dict[str, Any]
) -> Any:
    import tensorstore

    metadata = {
        "dimensions": list(data.shape[::-1]),
        "blockSize": list(chunks[::-1]),
        "dataType": data.dtype.name,
        "compression": compression,
        "unit": "nm",
    }
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": f"{place / path}/"}, "metadata": metadata}
    array = tensorstore.open(spec, create=True).result().T
    array.write(data).result()
    return array.read().result()


WRITE = {"zarr2_n5": write_zarr2, "z5py": write_z5py, "tensorstore": write_tensorstore}


def inside(writer: str, corpus: Corpus) -> None:
    write = WRITE[writer]
    found: dict[str, Any] = {}

    def look(place: Path, path: str) -> dict[str, Any]:
        document = json.loads((place / path / "attributes.json").read_text())
        members = ("dimensions", "blockSize", "dataType", "compression", "n5")
        return {
            "chunks": document["blockSize"][::-1],
            "order": "C",
            "fill_value": 0,
            "attributes": {name: value for name, value in document.items() if name not in members},
            "elements": lambda: np.asarray(found[path]),
        }

    for path, data, chunks, compression in cases():

        def make(
            place: Path,
            path: str = path,
            data: npt.NDArray[Any] = data,
            chunks: tuple[int, ...] = chunks,
            compression: dict[str, Any] = compression,
        ) -> None:
            try:
                found[path] = write(place, path, data, chunks, compression)
            except Exception:
                shutil.rmtree(place / path, ignore_errors=True)  # z5py leaves a document
                raise

        corpus.array(path, data, make, look, location="all.n5", path=path)
    corpus.save()


def recipes() -> dict[str, Any]:
    from tests.peers.environments import RECIPES

    by_name = {recipe.name: recipe for recipe in RECIPES}
    return {
        "zarr2_n5": (by_name["zarr2"], "zarr"),
        "z5py": (by_name["z5"], "z5py"),
        "tensorstore": (by_name["zarr3"], "tensorstore"),
    }


REMARKS = (
    "",
    "N5 lists dimensions in reverse; the descriptions have them in the order of the array.",
)

if __name__ == "__main__":
    main("n5", __file__, {} if sys.argv[1:2] == ["--inside"] else recipes(), inside, REMARKS)
