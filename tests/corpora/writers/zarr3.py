"""zarr-python 3 writes v2: its own choices, and where it differs from zarr-python 2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import numpy.typing as npt
import zarr
from zarr.core.dtype import VariableLengthBytes

from tests.corpora.making import Corpus, partly, sample

__all__ = ["write_all"]

RECORD = [("flag", "?"), ("count", "<i2"), ("value", ">f8"), ("name", "S3")]
PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
WORDS = np.array([["a", "", "ü🦀"], ["omnizarr", "b", "cc"]], object)
ATTRIBUTES = {"unit": "K", "ü": [1, None, 2.5, True, {"a": {}}], "nan": float("nan"), "inf": [-float("inf")]}


def cases() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    for dtype in ("bool", "<i2", ">i4", "<f8", "<c8", "<M8[ns]", ">m8[10us]", "S3", "<U3"):
        name = np.dtype(dtype).name.translate(str.maketrans({"[": "-", "]": ""}))
        yield f"types/{name}", sample(dtype), {}
    yield "types/raw", np.array([b"\0\1\2", b"\3\0\0"], "V3"), {}
    records = np.array([(True, -2, 0.5, b"a"), (False, 258, np.nan, b"xyz")], RECORD)[[0, 1, 0, 1]]
    yield "types/record", records, {}
    nested = np.array([(1, (0.5, -1)), (2, (np.inf, 0))], [("id", "<u2"), ("at", [("x", "<f4"), ("y", ">i4")])])
    yield "types/nested", nested, {}
    yield "types/subarrays", np.array([([1, 2],), ([3, 4],)], [("a", "<i2", (2,))]), {}
    yield "types/string", WORDS, {"dtype": str}
    yield "types/string-F", WORDS, {"dtype": str, "order": "F", "chunks": (2, 2)}
    yield "types/bytes", np.array([b"a", b"", b"\xff\0"], object), {"dtype": VariableLengthBytes()}
    compressors: dict[str, Any] = {
        "none": None,
        "blosc": numcodecs.Blosc("zstd", 5, 2),
        "zlib": numcodecs.Zlib(5),
        "lz4": numcodecs.LZ4(),
        "zstd": numcodecs.Zstd(3),
        "zstd-checksum": numcodecs.Zstd(3, checksum=True),
    }
    for name, codec in compressors.items():
        yield f"codecs/{name}", PLANE, {"compressors": codec}
    delta = [numcodecs.Delta("<i4")]
    yield "codecs/delta", PLANE, {"filters": delta, "compressors": None}
    yield "codecs/delta-F", PLANE, {"filters": delta, "compressors": None, "order": "F", "chunks": (3, 5)}
    yield "layouts/plane-F", PLANE, {"chunks": (3, 5), "order": "F"}
    slash = {"name": "v2", "separator": "/"}
    yield "layouts/slash", PLANE, {"chunks": (3, 5), "chunk_key_encoding": slash}
    yield "layouts/0-d", np.array(2.5), {}
    yield "layouts/attributes", sample("<i2"), {"attributes": ATTRIBUTES}
    values: dict[str, tuple[str, Any]] = {
        "null": ("<i4", None),
        "default-date": ("<M8[s]", ...),
        "nan": ("<f8", np.nan),
        "complex": ("<c8", complex(1.5, np.inf)),
        "date-nat": ("<M8[s]", np.datetime64("NaT", "s")),
        "bytes": ("S3", b"no"),
    }
    for name, (dtype, fill) in values.items():
        yield f"fills/{name}", sample(dtype, (6,)), {"fill_value": fill, "chunks": 3, "written": slice(0, 3)}
    record = np.array((True, 7, 0.5, b"xy"), RECORD)[()]
    yield "fills/record", records, {"fill_value": record, "chunks": 2, "written": slice(0, 2)}
    text = np.array(["x", "y", "no", "no"], object)
    yield "fills/string", text, {"dtype": str, "fill_value": "no", "chunks": 2, "written": slice(0, 2)}


def write(place: Path, data: npt.NDArray[Any], options: dict[str, Any]) -> None:
    options = {"shape": data.shape, "dtype": data.dtype, **options}
    written = options.pop("written", ...)
    if options.get("fill_value") is ...:
        options.pop("fill_value")
    if isinstance(options.get("chunks"), int):
        options["chunks"] = (options["chunks"],)
    array = zarr.create_array(str(place), zarr_format=2, **options)
    array[written] = data[written]


def look(place: Path, path: str) -> dict[str, Any]:
    array = zarr.open_array(str(place), path=path, mode="r", zarr_format=2)
    seen = {name: getattr(array, name) for name in ("chunks", "order", "fill_value")}

    def elements() -> npt.NDArray[Any]:
        found = np.asarray(array[...])
        return found.astype(object) if found.dtype.kind == "T" else found

    return {**seen, "attributes": dict(array.attrs), "elements": elements}


def hierarchy(corpus: Corpus, name: str) -> None:
    place = str(corpus.place / name)
    root = zarr.create_group(place, zarr_format=2, attributes={"title": "a hierarchy", "of": [1, 2.5, None]})
    below = root.create_group("below", attributes={"deep": {"er": True}})
    below.create_group("further")
    data = sample("<f4", (7,))
    root.create_array("below/further/values", data=data)
    zarr.consolidate_metadata(place, zarr_format=2)
    corpus.group(name, ["below", "below/further", "below/further/values"], dict(root.attrs))
    path = "below/further/values"
    corpus.note(f"{name}/{path}", data, look(corpus.place / name, path), location=name, path=path)


def write_all(corpus: Corpus) -> None:
    for name, data, options in cases():
        written, fill, defined = options.get("written", ...), options.get("fill_value"), None
        if written is not ... and (fill is None or fill is ...):
            # If the fill value is null or its own choice, the elements there are undefined.
            defined = np.zeros(data.shape, bool)
            defined[written] = True
        elif written is not ... and data.dtype != object:
            data = partly(data, fill, written)
        corpus.array(
            name,
            data,
            lambda place, data=data, options=options: write(place, data, options),
            look,
            defined=defined,
        )
    hierarchy(corpus, "consolidated")
    corpus.save()
