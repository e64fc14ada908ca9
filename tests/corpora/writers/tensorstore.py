"""TensorStore writes v2, which it calls `zarr`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import tensorstore

from tests.corpora.making import Corpus, by_document, partly, sample

__all__ = ["write_all"]

PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
LARGE = np.arange(600, dtype="<i4").reshape(20, 30) // 7  # large enough for blosc to compress it


def cases() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    """A name, the elements, and members of the metadata; `written` is the region that is written."""
    for dtype in ("bool", "i1", "u1", "<i2", ">i4", "<i8", ">u2", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16"):
        yield f"types/{np.dtype(dtype).name}", sample(dtype), {}
    yield "types/bfloat16", np.array([1, -2.5, np.nan], ml_dtypes.bfloat16), {"dtype": "bfloat16"}
    yield "types/float8_e4m3fn", np.array([1, -2.5], ml_dtypes.float8_e4m3fn), {"dtype": "float8_e4m3fn"}
    yield "types/int4", np.array([1, -7], ml_dtypes.int4), {"dtype": "int4"}
    # No `S` and `V`: its Python API returns elements of these types without their bytes.
    records = np.array([(1, 0.5), (2, np.nan), (-3, -0.0)], [("count", "<i2"), ("value", ">f8")])
    yield "types/record", records, {}
    subarrays = np.array([([[1], [2]], 5), ([[3], [4]], 6)], [("a", "<i2", (2, 1)), ("b", "u1")])
    yield "types/subarrays", subarrays, {}
    for cname, shuffle in {"blosclz": 0, "lz4": 1, "lz4hc": 2, "snappy": 1, "zlib": -1, "zstd": 2}.items():
        codec = {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
        yield f"codecs/blosc-{cname}", LARGE, {"compressor": codec}
    yield "codecs/none", PLANE, {"compressor": None}
    yield "codecs/zlib", PLANE, {"compressor": {"id": "zlib", "level": 5}}
    yield "codecs/gzip", PLANE, {"compressor": {"id": "gzip", "level": 5}}
    yield "codecs/bz2", PLANE, {"compressor": {"id": "bz2", "level": 5}}
    yield "codecs/zstd", PLANE, {"compressor": {"id": "zstd", "level": 5}}
    yield "layouts/plane-F", PLANE, {"chunks": [3, 5], "order": "F"}
    yield "layouts/slash", PLANE, {"chunks": [3, 5], "dimension_separator": "/"}
    yield "layouts/0-d", np.array(2.5), {}
    values: dict[str, tuple[str, Any, Any]] = {
        "number": ("<i4", -7, -7),
        "nan": ("<f8", "NaN", np.nan),
        "infinity": ("<f4", "Infinity", np.inf),
        "complex": ("<c8", [1.5, "Infinity"], complex(1.5, np.inf)),
        "bool": ("bool", True, True),
        "null": ("<i4", None, 0),
    }
    for name, (dtype, written, fill) in values.items():
        data = partly(sample(dtype, (6,)), fill, slice(0, 3))
        yield f"fills/{name}", data, {"fill_value": written, "chunks": [3], "written": slice(0, 3)}


def spec(place: Path, **members: Any) -> dict[str, Any]:
    return {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{place}/"}, **members}


def dtype_of(data: npt.NDArray[Any]) -> Any:
    return data.dtype.str if data.dtype.names is None else [list(field) for field in data.dtype.descr]


def write(place: Path, data: npt.NDArray[Any], options: dict[str, Any]) -> None:
    metadata = {"shape": list(data.shape), "chunks": list(data.shape), "dtype": dtype_of(data), **options}
    written = metadata.pop("written", ...)
    names = data.dtype.names or ("",)
    first = spec(place, metadata=metadata, **({"field": names[0]} if names[0] else {}))
    array = tensorstore.open(first, create=True).result()
    if not names[0]:
        array[written].write(data[written]).result()
    for name in names if names[0] else ():
        array = tensorstore.open(spec(place, field=name), open=True).result()
        array.write(data[name]).result()


def look(place: Path, data: npt.NDArray[Any]) -> dict[str, Any]:
    def elements() -> npt.NDArray[Any]:
        if data.dtype.names is None:
            return np.asarray(tensorstore.open(spec(place), open=True).result().read().result())
        table = np.empty(data.shape, data.dtype)
        for name in data.dtype.names:
            table[name] = tensorstore.open(spec(place, field=name), open=True).result().read().result()
        return table

    return {**by_document(place), "elements": elements}


def write_all(corpus: Corpus) -> None:
    for name, data, options in cases():
        corpus.array(
            name,
            data,
            lambda place, data=data, options=options: write(place, data, options),
            lambda place, _path, data=data: look(place, data),
        )
    corpus.save()
