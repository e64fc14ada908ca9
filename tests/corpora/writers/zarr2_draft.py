"""zarr-python 2 writes the draft of October 2020, an experimental feature of its last years."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# zarr-python reads it once, at import.
os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
os.environ["ZARR_V3_SHARDING"] = "1"

import numcodecs
import numpy as np
import numpy.typing as npt
import zarr
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer

from tests.corpora.making import Corpus, partly, sample, scalar

__all__ = ["write_all"]

Case = tuple  # a path, the elements, and options: those of `zarr.create`, and those that `write` removes

RECORD = [("flag", "?"), ("count", "<i2"), ("value", ">f8"), ("name", "S3")]
PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
CUBE = np.arange(60, dtype="<u2").reshape(3, 4, 5)
LARGE = np.arange(600, dtype="<i4").reshape(20, 30) // 7  # large enough for blosc to compress it
WORDS = np.array([["a", "", "ü🦀"], ["omnizarr", "b", "cc"]], object)
ATTRIBUTES = {"unit": "K", "ü": [1, None, 2.5, True, {"a": {}}], "nan": float("nan")}


def types() -> Iterator[Case]:
    for dtype in ("bool", "i1", "u1", "<i2", ">i4", "<u8", "<f2", ">f4", "<f8"):
        yield f"types/{np.dtype(dtype).name}", sample(dtype), {}
    for dtype in ("<c8", ">c16", "<M8[s]", ">m8[us]", "<m8[10us]", "S3", "<U3"):
        name = np.dtype(dtype).name.translate(str.maketrans({"[": "-", "]": ""}))
        yield f"types/{name}", sample(dtype), {}
    record = np.array([(True, -2, 0.5, b"a"), (False, 258, np.nan, b"xyz"), (True, 0, -0.0, b"")], RECORD)
    yield "types/record", record, {"chunks": 2}
    fields = np.array([((1, [2, 3]),), ((4, [5, 6]),)], [("a", [("b", "i1"), ("c", "<i2", (2,))])])
    yield "types/nested", fields, {"chunks": 2}
    yield "types/raw", np.array([b"\0\1\2", b"\3\0\0"], "V3"), {"chunks": 2}
    yield "types/vlen-utf8", WORDS, {"chunks": (1, 3), "object_codec": numcodecs.VLenUTF8(), "attributes": ATTRIBUTES}
    yield "types/vlen-bytes", np.array([b"a", b"\xff\0"], object), {"object_codec": numcodecs.VLenBytes()}
    yield "types/json2", np.array(["a", 1, None], object), {"object_codec": numcodecs.JSON()}
    pairs = np.array([[1, 2], [3, 4], [5, 6]], "<i2")
    yield "types/subarray-type", pairs, {"dtype": np.dtype(("<i2", (2,))), "shape": 3, "chunks": 2}


def codecs() -> Iterator[Case]:
    compressors = {
        "none": None,
        "blosc": {"id": "blosc", "cname": "zstd", "clevel": 4, "shuffle": 2},
        "gzip": {"id": "gzip", "level": 5},
        "zlib": {"id": "zlib", "level": 5},
        "bz2": {"id": "bz2", "level": 9},
        "lz4": {"id": "lz4", "acceleration": 2},
        "lzma": {"id": "lzma", "preset": 1},
        "zstd": {"id": "zstd", "level": 3},
        "crc32": {"id": "crc32"},
    }
    for name, configuration in compressors.items():
        yield f"codecs/{name}", LARGE, {"compressor": configuration}
    yield "codecs/delta", LARGE, {"filters": [{"id": "delta", "dtype": "<i4", "astype": "<i2"}]}
    chain = [{"id": "delta", "dtype": "<i4"}, {"id": "crc32"}]
    options = {"chunks": (3, 3), "filters": chain, "compressor": None, "order": "F", "attributes": {"unit": "K"}}
    yield "codecs/chain-F", PLANE, options
    packed = {"filters": [{"id": "packbits"}], "compressor": None}
    yield "codecs/packbits", sample("bool", (11,)), packed


def layouts() -> Iterator[Case]:
    yield "layouts/plane-F", PLANE, {"chunks": (3, 3), "order": "F", "compressor": None}
    yield "layouts/cube", CUBE, {"chunks": (2, 3, 5)}
    yield "layouts/dot", PLANE, {"chunks": (3, 3), "dimension_separator": "."}
    yield "layouts/0-d", np.array(2.5), {}
    yield "layouts/0-d-dot", np.array(-7, "<i2"), {"dimension_separator": "."}
    yield "layouts/0-d-text", scalar("ü", np.dtype(object)), {"dtype": object, "object_codec": numcodecs.VLenUTF8()}
    yield "layouts/no-elements", np.zeros((0, 3), "<i4"), {"chunks": (2, 3)}
    yield "layouts/attributes", sample("<i2"), {"attributes": ATTRIBUTES}
    yield "layouts/resized", np.array([0, 1, 2, 3, 4, 9, 9], "<i4"), {"chunks": 3, "fill_value": 9, "resized": (5, 7)}


def fills() -> Iterator[Case]:
    values: dict[str, tuple[str, Any]] = {
        "null": ("<i4", None),
        "true": ("bool", True),
        "nan": ("<f8", np.nan),
        "infinity": ("<f4", np.inf),
        "minus-infinity": ("<f8", -np.inf),
        "complex": ("<c8", complex(1.5, np.nan)),
        "date-nat": ("<M8[ns]", np.datetime64("NaT", "ns")),
        "bytes": ("S3", b"no"),
        "text": ("<U3", "nö"),
    }
    for name, (dtype, fill) in values.items():
        yield f"fills/{name}", sample(dtype, (6,)), {"fill_value": fill, "chunks": 3, "written": slice(0, 3)}
    records = np.array([(True, -2, 0.5, b"a"), (False, 258, np.nan, b"xyz")], RECORD)[[0, 1, 0, 1]]
    record = np.array((True, 7, 0.5, b"xy"), RECORD)[()]
    yield "fills/record", records, {"fill_value": record, "chunks": 2, "written": slice(0, 2)}


def shards() -> Iterator[Case]:
    yield "shards/line", sample("<i2", (11,)), {"chunks": 2, "chunks_per_shard": (3,)}
    yield "shards/plane", LARGE[:9, :14], {"chunks": (2, 3), "chunks_per_shard": (2, 3)}
    yield "shards/plane-F", PLANE, {"chunks": (2, 2), "chunks_per_shard": (1, 3), "order": "F", "compressor": None}
    yield "shards/cube", CUBE, {"chunks": (1, 2, 3), "chunks_per_shard": (2, 2, 1), "dimension_separator": "."}
    yield "shards/0-d", np.array(5, "<i4"), {"chunks_per_shard": (1,)}
    yield "shards/single-chunks", PLANE, {"chunks": (2, 3), "chunks_per_shard": (1, 1)}
    region = (slice(1, 3), slice(2, 3))
    options = {"chunks": (2, 1), "chunks_per_shard": (2, 2), "fill_value": -1, "written": region}
    yield "shards/partly", PLANE, options
    yield "shards/rewritten", PLANE, {"chunks": (2, 2), "chunks_per_shard": (2, 2), "twice": True}
    yield "shards/big-dates", sample(">M8[s]", (7,)), {"chunks": 2, "chunks_per_shard": (2,), "compressor": None}
    options = {"object_codec": numcodecs.VLenUTF8(), "chunks_per_shard": (2, 2), "chunks": (1, 2)}
    yield "shards/text", WORDS, options
    pairs = np.array([[1, 2], [3, 4], [5, 6]], "<i2")
    yield (
        "shards/subarray-type",
        pairs,
        {"dtype": np.dtype(("<i2", (2,))), "shape": 3, "chunks": 2, "chunks_per_shard": (2,)},
    )


def write(place: Path, path: str | None, data: npt.NDArray[Any], options: dict[str, Any]) -> None:
    options = {"shape": data.shape, "dtype": data.dtype, **options}
    written, attributes = options.pop("written", ...), options.pop("attributes", None)
    resized, twice = options.pop("resized", None), options.pop("twice", False)
    per_shard = options.pop("chunks_per_shard", None)
    if per_shard is not None:
        options["storage_transformers"] = [ShardingStorageTransformer("indexed", chunks_per_shard=per_shard)]
    if options.get("compressor"):
        options["compressor"] = numcodecs.get_codec(options["compressor"])
    if options.get("filters"):
        options["filters"] = [numcodecs.get_codec(configuration) for configuration in options["filters"]]
    if resized:
        options["shape"] = resized[0]
    try:
        array = zarr.create(store=str(place), path=path, zarr_version=3, **options)
        if attributes:
            array.attrs.update(attributes)
        if resized:
            array[...] = data[: resized[0]]
            array.resize(resized[1])
        else:
            if twice:  # a shard must not keep chunks that were replaced
                array[...] = data[::-1]
            array[written] = data[written]
    except Exception:
        for leftover in place.glob(f"meta/root/{path}.array.json"):
            leftover.unlink()
        raise


def look(place: Path, path: str) -> dict[str, Any]:
    # Without a path it would look for an array called `array`.
    array = zarr.open_array(str(place), path=path or "/", mode="r", zarr_version=3)
    seen = {name: getattr(array, name) for name in ("chunks", "order", "fill_value")}
    return {**seen, "attributes": array.attrs.asdict(), "elements": lambda: array[...]}


def add(corpus: Corpus, location: str, path: str, data: npt.NDArray[Any], options: dict[str, Any], **more: Any) -> None:
    written, fill, defined = options.get("written", ...), options.get("fill_value", 0), None
    if written is not ...:
        if fill is None:
            defined = np.zeros(data.shape, bool)
            defined[written] = True
        else:
            data = partly(data, fill, written)
    facts = {name: list(value) for name, value in options.items() if name == "chunks_per_shard"}
    corpus.array(
        f"{location}/{path}" if path else location,
        data,
        lambda place: write(place, path or None, data, options),
        look,
        location=location,
        path=path,
        defined=defined,
        facts=facts,
        **more,
    )


def hierarchy(corpus: Corpus, name: str) -> None:
    """Explicit groups, and the implicit group `below/further`."""
    place = str(corpus.place / name)
    root = zarr.open_group(place, mode="w", zarr_version=3)
    root.attrs.update({"title": "a hierarchy", "of": [1, 2.5, None]})
    root.create_group("empty")
    below = root.create_group("below")
    below.attrs["deep"] = {"er": True}
    add(corpus, name, "numbers", PLANE, {"chunks": (3, 5), "attributes": {"path": "numbers"}})
    add(corpus, name, "below/further/values", sample("<f4", (7,)), {"chunks": 4})
    members = ["below", "below/further", "below/further/values", "empty", "numbers"]
    if name == "consolidated":
        zarr.consolidate_metadata(zarr.DirectoryStoreV3(place))  # it would take a plain path for version 2
        members.append("consolidated")  # it keeps the document in a group of that name
    corpus.group(name, members, root.attrs.asdict())
    corpus.group(f"{name}/below", ["further", "further/values"], below.attrs.asdict(), location=name, path="below")
    corpus.group(f"{name}/below/further", ["values"], {}, location=name, path="below/further", marks=["implicit"])


def write_all(corpus: Corpus) -> None:
    for part in (types, codecs, layouts, fills, shards):
        for path, data, options in part():
            add(corpus, "arrays", path, data, options)
    add(corpus, "root-array", "", PLANE, {"chunks": (3, 5), "attributes": {"at": "root"}})
    sharded = {"chunks": (2, 2), "chunks_per_shard": (2, 2)}
    add(corpus, "root-array-in-shards", "", PLANE, sharded)
    grown = np.concatenate([sample("<i2", (8,)), np.full(4, 7, "<i2")])
    lost = {"chunks": 2, "chunks_per_shard": (2,), "fill_value": 7, "resized": (8, 12)}
    add(corpus, "resized-shards", "lost", grown, lost, marks=["shards-lost"])
    hierarchy(corpus, "hierarchy")
    hierarchy(corpus, "consolidated")
    corpus.save()
