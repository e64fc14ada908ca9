"""Creates the corpus `tests/corpora/v1`: small arrays of version 1, as zarr-python 1 writes them.

`python tests/corpora/make_v1.py` creates the environment `zarr1` of `tests/peers` if it is missing, runs this file in
it, and replaces the corpus, its description and its PROVENANCE.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.corpora.making import Corpus, main, partly, sample

NUMBERS = ("i1", "u1", "<i2", ">u2", "<i4", ">i4", "<i8", "<u8")
FLOATS = ("<f2", "<f8", ">f8", "<c8", ">c16")
TEXTS = ("S3", "<U3", ">U3")
RECORD = [("flag", "?"), ("count", "<i2"), ("value", ">f8"), ("name", "S3")]
NESTED = [("id", "<u2"), ("at", [("x", "<f4"), ("y", "<f4")])]
COMPRESSIONS: dict[str, dict[str, Any]] = {
    "blosc": {},
    "zlib": {"compression": "zlib"},
    "bz2": {"compression": "bz2", "compression_opts": 9},
    "lzma": {"compression": "lzma"},
    "none": {"compression": None},
}
PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
HALF = (slice(0, 2), slice(None))


def cases() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    """A name, the elements, and options of `zarr.create`; `written` is the region that is written."""
    for dtype in ("bool", *NUMBERS, *FLOATS, *TEXTS):
        name = np.dtype(dtype).str.replace("<", "little-").replace(">", "big-").replace("|", "")
        compression = "zlib" if name.startswith("big") else "blosc"  # shows both with many types
        yield f"types/{name}", sample(dtype), {"chunks": (5,), "compression": compression}
    record = np.array([(True, -2, 0.5, b"a"), (False, 258, np.nan, b"xyz")], RECORD)
    yield "types/record", record, {"chunks": (1,), "fill_value": None}
    yield "types/nested", np.array([(1, (0.5, -1)), (2, (np.inf, 0)), (3, (0, 1))], NESTED), {"chunks": (2,)}
    yield "types/subarray", np.zeros(2, [("at", "<f4", (3,))]), {"chunks": (2,)}
    yield "types/datetime", sample("<M8[s]"), {"chunks": (5,), "compression": "zlib"}
    yield "types/timedelta", sample(">m8[ns]"), {"chunks": (5,), "compression": None}
    yield "types/datetime-blosc", sample("<M8[s]"), {"chunks": (3,)}
    for name, options in COMPRESSIONS.items():
        for order in "CF" if name in ("blosc", "zlib", "none") else "F":
            chunks = (3, 3) if name in ("blosc", "zlib") else (3, 5)
            yield f"orders/{name}-{order}", PLANE, {"chunks": chunks, "order": order, **options}
    cube = np.arange(24, dtype=">u2").reshape(2, 3, 4)
    yield "orders/cube-blosc-F", cube, {"chunks": (2, 2, 3), "order": "F"}
    yield "orders/cube-zlib-F", cube, {"chunks": (2, 2, 3), "order": "F", "compression": "zlib"}
    large = np.arange(600, dtype="<i4").reshape(20, 30) // 7  # large enough for blosc to compress it
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"):
        for shuffle in (0, 1, 2):
            if cname != "lz4" and shuffle != 1:
                continue
            opts = {"cname": cname, "clevel": 4, "shuffle": shuffle}
            yield f"blosc/{cname}-{shuffle}", large, {"compression": "blosc", "compression_opts": opts}
    yield "blosc/level-0", large, {"compression_opts": {"clevel": 0}}
    yield "blosc/F", large, {"order": "F"}
    yield "compressions/zlib-0", large, {"compression": "zlib", "compression_opts": 0}
    yield "compressions/gzip", large, {"compression": "gzip", "compression_opts": 9}
    yield "compressions/lzma-alone", large, {"compression": "lzma", "compression_opts": {"format": 2, "preset": 0}}
    check = {"check": 4, "preset": 9}
    yield "compressions/lzma-crc64", large, {"compression": "lzma", "compression_opts": check}
    delta = [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]
    yield "compressions/lzma-filters", large, {"compression": "lzma", "compression_opts": {"filters": delta}}
    raw = {"format": 3, "filters": delta}
    yield "compressions/lzma-raw", large, {"compression": "lzma", "compression_opts": raw}
    fills: dict[str, tuple[str, Any]] = {
        "null": ("<i4", None),
        "number": ("<i4", -7),
        "most": ("<u8", 2**64 - 1),
        "true": ("bool", True),
        "integer-for-float": ("<f4", 3),
        "nan": ("<f8", float("nan")),
        "infinity": ("<f4", float("inf")),
        "minus-infinity": ("<f8", float("-inf")),
        "real-for-complex": ("<c8", 1.5),
        "complex": ("<c8", 1.5 + 2j),
        "text": ("<U3", "no"),
        "text-zero": ("<U3", 0),
        "bytes": ("S3", b"no"),
        "text-for-bytes": ("S3", "no"),
    }
    for name, (dtype, fill) in fills.items():
        data = sample(dtype, (4, 5))
        yield f"fills/{name}", data, {"chunks": (2, 5), "fill_value": fill, "written": HALF}
    date = {"chunks": (2, 5), "compression": "zlib", "written": HALF}
    yield "fills/date-number", sample("<M8[s]", (4, 5)), {"fill_value": 86400, **date}
    yield "fills/record-null", record[[0, 1, 0, 1]], {"chunks": (2,), "fill_value": None, "written": slice(0, 2)}
    yield "fills/record-zero", record[[0, 1, 0, 1]], {"chunks": (2,), "fill_value": 0, "written": slice(0, 2)}
    inner = (slice(1, 3), slice(1, 4))
    yield "fills/inside-chunks", PLANE, {"chunks": (3, 3), "fill_value": -1, "written": inner}
    yield "fills/nothing-written", PLANE, {"chunks": (3, 3), "fill_value": 5, "written": None}
    yield "shapes/large-chunk", sample("<i2", (3,)), {"chunks": (10,), "fill_value": 9}
    yield "shapes/cube", cube, {"chunks": (1, 2, 4)}
    yield "shapes/0-d", np.array(5, "<i4"), {"chunks": ()}
    yield "shapes/no-elements", np.zeros((0, 3), "<i4"), {"chunks": (2, 3)}
    attributes = {"unit": "K", "ü": [1, None, 2.5, True, {"a": {}}], "nan": float("nan"), "inf": -float("inf")}
    yield "attributes/some", sample("<i2"), {"chunks": (5,), "attributes": attributes}
    grown = np.array([0, 1, 2, 3, 4, 5, 6, 7, 4, 4, 4, 4], "<i4")
    yield "more/grown", grown, {"chunks": (3,), "fill_value": 4, "shape": (8,), "resized": 12}
    yield "more/shrunk", grown[:5], {"chunks": (3,), "fill_value": 4, "shape": (8,), "resized": 5}
    yield "more/no-attrs", sample("<i2"), {"chunks": (5,), "without_attrs": True}


def write(place: Path, data: npt.NDArray[Any], options: dict[str, Any]) -> None:
    from tests.peers.libraries.zarr1 import zarr

    written = options.pop("written", ...)
    attributes, without = options.pop("attributes", None), options.pop("without_attrs", False)
    resized = options.pop("resized", None)
    place.mkdir(parents=True)
    options = {"dtype": data.dtype, "shape": data.shape, "chunks": data.shape, **options}
    array = zarr.open(str(place), mode="w", **options)
    if attributes:
        array.attrs.update(attributes)
    if resized is not None:
        array[...] = np.arange(array.shape[0], dtype=array.dtype)
        array.resize(resized)
    elif written is not None:
        array[written] = data[written]
    if without:  # as a program that writes chunks itself may leave it; zarr-python 1 creates it if it is missing
        (place / "attrs").unlink()


def look(place: Path, _path: str) -> dict[str, Any]:
    from tests.peers.libraries.zarr1 import zarr

    has_attributes = (place / "attrs").exists()
    array = zarr.open(str(place), mode="r")
    seen = {name: getattr(array, name) for name in ("chunks", "order", "fill_value")}
    seen |= {"attributes": array.attrs.asdict(), "elements": lambda: array[...]}
    if not has_attributes:
        (place / "attrs").unlink()
    return seen


def inside(_writer: str, corpus: Corpus) -> None:
    for name, data, options in cases():
        fill, written = options.get("fill_value"), options.get("written", ...)
        compression, defined, marks = options.get("compression", "blosc"), None, []
        if written is not ... and fill is None:
            defined = np.zeros(data.shape, bool)
            if written is not None:
                defined[written] = True
        if written is None:
            data = np.full_like(data, fill)
        elif written is not ... and fill is not None:
            data = partly(data, fill, written)
        if options.get("order") == "F" and compression != "blosc" and data.ndim > 1:
            marks.append("f-as-c")
        corpus.array(
            name,
            data,
            lambda place, data=data, options=options: write(place, data, dict(options)),
            look,
            marks=marks,
            defined=defined,
        )
    corpus.save()


def recipes() -> dict[str, Any]:
    from tests.peers.environments import RECIPES

    return {"zarr1": (next(recipe for recipe in RECIPES if recipe.name == "zarr1"), "zarr")}


REMARKS = (
    "",
    "`zarr-1.1.0` is made by the Python files of that release. Its compiled part, blosc, is replaced by the one of",
    "numcodecs (`tests/peers/libraries/zarr1_blosc.py`), without the compressors whose bytes would not be the same.",
    "The array marked `more/no-attrs` had its file `attrs` taken away.",
)

if __name__ == "__main__":
    main("v1", __file__, {} if sys.argv[1:2] == ["--inside"] else recipes(), inside, REMARKS)
