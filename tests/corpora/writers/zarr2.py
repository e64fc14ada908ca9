"""zarr-python 2 writes v2: all its features, and its own choices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import numpy.typing as npt
import zarr

from tests.corpora.making import Corpus, partly, sample, scalar

__all__ = ["look", "write_all"]

Case = tuple  # a name, the elements, and options: those of `zarr.create`, and those that `write` removes

LITTLE = ("<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")
SINGLE = ("bool", "i1", "u1")
RECORD = [("flag", "?"), ("count", "<i2"), ("value", ">f8"), ("name", "S3")]
PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
CUBE = np.arange(24, dtype="<u2").reshape(2, 3, 4)
LARGE = np.arange(600, dtype="<i4").reshape(20, 30) // 7  # large enough for blosc to compress it
WORDS = np.array([["a", "", "ü🦀"], ["omnizarr", "b", "cc"]], object)


def types() -> Iterator[Case]:
    for dtype in (*SINGLE, *LITTLE):
        yield f"types/{np.dtype(dtype).name}", sample(dtype), {}
    for dtype in ("<i2", "<i4", "<u8", "<f2", "<f8", "<c8"):
        options = {"compressor": None}
        yield f"types/{np.dtype(dtype).name}-big", sample(dtype.replace("<", ">")), options
    for dtype in ("<M8[Y]", "<M8[D]", ">M8[ms]", "<M8[25us]", "<M8[ns]", "<m8[h]", ">m8[ns]"):
        name = dtype.translate(str.maketrans({"<": "", ">": "big-", "[": "-", "]": ""}))
        yield f"types/{name}", sample(dtype), {}
    for dtype in ("S3", "<U3", ">U3"):
        yield f"types/{dtype.strip('<>')}{'-big' * (dtype[0] == '>')}", sample(dtype), {}
    yield "types/V3", np.array([b"\0\1\2", b"\3\0\0"], "V3"), {"chunks": 2, "fill_value": None}


def structures() -> Iterator[Case]:
    record = np.array([(True, -2, 0.5, b"a"), (False, 258, np.nan, b"xyz"), (True, 0, -0.0, b"")], RECORD)
    yield "structures/record", record, {"chunks": 2}
    nested = [("id", "<u2"), ("at", [("x", "<f4"), ("more", [("y", ">i4"), ("z", "?")])])]
    yield "structures/nested", np.array([(1, (0.5, (-1, True))), (2, (np.inf, (0, False)))], nested), {"chunks": 2}
    fields = [("at", "<f4", (2, 3)), ("n", ">i2", (2,)), ("t", "<M8[s]")]
    subarrays = np.zeros(3, fields)
    subarrays["at"] = np.arange(18).reshape(3, 2, 3)
    subarrays["n"] = [[1, 2], [3, 4], [5, 6]]
    subarrays["t"] = [0, 86400, -1]
    yield "structures/subarrays", subarrays, {"chunks": 2}
    inner = np.array([((1, [2, 3]),), ((4, [5, 6]),)], [("a", [("b", "i1"), ("c", "<i2", (2,))])])
    yield "structures/subarrays-inside", inner, {"chunks": 2}
    several = np.zeros(2, [("p", [("x", "<i2"), ("y", "<i2")], (2,))])
    several["p"]["x"] = [[1, 2], [3, 4]]
    yield "structures/array-of-structures", several, {"chunks": 2}
    yield "structures/text", np.array([("ü", b"z", "M"), ("", b"", "")], [("u", "<U2"), ("s", "S2"), ("v", ">U1")]), {}
    aligned = np.array([(1, 2.5, 3), (4, -1, 6)], np.dtype([("a", "i1"), ("b", "<f8"), ("c", "<i2")], align=True))
    yield "structures/aligned", aligned, {"chunks": 2}
    yield "structures/one-field", np.array([(1,), (2,)], [("only", "<i4")]), {"chunks": 2}
    yield "structures/plane-F", record[[[0, 1], [2, 0], [1, 2]]], {"chunks": (2, 2), "order": "F"}
    # An element that is itself an array adds dimensions.
    pairs = np.array([[1, 2], [3, 4], [5, 6]], "<i2")
    yield "structures/subarray-type", pairs, {"dtype": np.dtype(("<i2", (2,))), "shape": 3, "chunks": 2}


def objects() -> Iterator[Case]:
    yield "objects/vlen-utf8", WORDS, {"chunks": (1, 3), "object_codec": numcodecs.VLenUTF8()}
    yield "objects/vlen-utf8-F", WORDS, {"chunks": (2, 2), "object_codec": numcodecs.VLenUTF8(), "order": "F"}
    yield "objects/dtype-str", WORDS, {"dtype": str, "chunks": (2, 3)}
    yield "objects/dtype-bytes", np.array([b"a", b"", b"\xff\0"], object), {"dtype": bytes, "chunks": 2}
    yield "objects/dtype-object", WORDS, {"dtype": object, "object_codec": numcodecs.VLenUTF8(), "compressor": None}
    blobs = np.array([b"a", b"", b"\xff\0", b"longer"], object)
    yield "objects/vlen-bytes", blobs, {"chunks": 3, "object_codec": numcodecs.VLenBytes(), "compressor": None}
    arrays = np.empty(4, object)
    arrays[:] = [np.array(item, "<i4") for item in ([1, 2, 3], [], [-1], [7, 8])]
    yield "objects/vlen-array", arrays, {"chunks": 3, "object_codec": numcodecs.VLenArray("<i4")}
    yield "objects/dtype-array", arrays.copy(), {"dtype": "array:<i4", "chunks": 3}
    things = np.empty((2, 3), object)
    for index, thing in enumerate(["a", 1, 2.5, None, [1, ["x"]], {"k": [True]}]):
        things.reshape(-1)[index] = thing
    for order in "CF":
        options = {"chunks": (2, 2), "order": order}
        yield f"objects/json2-{order}", things, {"object_codec": numcodecs.JSON(), **options}
        yield f"objects/msgpack2-{order}", things, {"object_codec": numcodecs.MsgPack(), **options}
        yield f"objects/json2-words-{order}", WORDS, {"object_codec": numcodecs.JSON(), **options}
    mixed = np.array([b"\xff", "a", 3], object)
    yield "objects/msgpack2-bytes", mixed, {"object_codec": numcodecs.MsgPack(use_bin_type=True)}
    labels = np.array(["b", "a", "b", "c", "?"], object)
    known = np.array(["b", "a", "b", "c", ""], object)
    categories = numcodecs.Categorize(["a", "b", "c"], dtype=object)
    yield "objects/categorize", known, {"data": labels, "chunks": 3, "object_codec": categories, "marks": ["lossy"]}
    yield "objects/pickle", things, {"object_codec": numcodecs.Pickle(), "marks": ["reject"]}
    # Missing elements and None become empty text.
    holes = np.array(["a", None, "b"], object)
    yield "objects/vlen-utf8-none", holes, {"object_codec": numcodecs.VLenUTF8(), "marks": ["lossy"]}
    half = {"chunks": 2, "written": slice(0, 2)}
    for name, fill in {"zero": 0, "none": None, "text": "no", "empty": ""}.items():
        options = {"object_codec": numcodecs.VLenUTF8(), "fill_value": fill, **half}
        yield f"objects/fill-{name}", np.array(["x", "y", fill, fill], object), options
    options = {"object_codec": numcodecs.VLenBytes(), "fill_value": b"", **half}
    yield "objects/fill-empty-bytes", np.array([b"x", b"y", b"", b""], object), options
    options = {"object_codec": numcodecs.VLenBytes(), "fill_value": b"\xff", **half}
    yield "objects/fill-bytes", np.array([b"x", b"y", b"\xff", b"\xff"], object), options
    options = {"object_codec": numcodecs.JSON(), "fill_value": None, **half}
    yield "objects/fill-none-json2", np.array(["x", [1], None, None], object), options


def compressors() -> Iterator[Case]:
    for cname in numcodecs.blosc.list_compressors():
        for shuffle in (0, 1, 2, -1) if cname == "lz4" else (1,):
            codec = numcodecs.Blosc(cname, clevel=4, shuffle=shuffle)
            yield f"compressors/blosc-{cname}-{'auto' if shuffle < 0 else shuffle}", LARGE, {"compressor": codec}
    yield "compressors/blosc-single-bytes", LARGE.astype("u1"), {"compressor": numcodecs.Blosc(shuffle=-1)}
    yield "compressors/blosc-level-0", LARGE, {"compressor": numcodecs.Blosc(clevel=0)}
    yield "compressors/blosc-blocks", LARGE, {"compressor": numcodecs.Blosc(blocksize=256)}
    delta = [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]
    codecs = {
        "zlib": {"level": 5},
        "gzip": {"level": 5},
        "bz2": {"level": 9},
        "lzma": {},
        "lzma-sha256": {"check": 10, "preset": 3},
        "lzma-alone": {"format": 2},
        "lzma-filters": {"filters": delta},
        "lzma-raw": {"format": 3, "filters": delta},
        "lz4": {"acceleration": 3},
        "zstd": {"level": 3},
        "zstd-checksum": {"level": 1, "checksum": True},
        "crc32": {},
        "shuffle": {"elementsize": 4},
        "pcodec": {"level": 4},
    }
    for name, configuration in codecs.items():
        codec = {"id": name.split("-")[0], **configuration}
        yield f"compressors/{name}", LARGE, {"compressor": codec}
    smooth = np.linspace(0, 1, 64).reshape(8, 8)
    for name, configuration in {"accuracy": {"mode": 4, "tolerance": 0.01}, "reversible": {"mode": 5}}.items():
        codec = {"id": "zfpy", **configuration}
        yield f"compressors/zfpy-{name}", smooth, {"compressor": codec, "marks": ["lossy"]}
    yield "compressors/none", PLANE, {"chunks": (3, 5), "compressor": None}


def filters() -> Iterator[Case]:
    numbers = np.array([3, 1, 4, 1, -5, 9, 2, 6], "<i4")
    floats = np.array([1.0, 1.06, -2.5, 1000.125, 0, 3.14159265], "<f8")
    flags = np.array([True, False, True, True, False, False, True, True, True, False, True])
    chains: dict[str, tuple[npt.NDArray[Any], list[dict[str, Any]]]] = {
        "delta": (numbers, [{"id": "delta", "dtype": "<i4"}]),
        "delta-smaller": (numbers, [{"id": "delta", "dtype": "<i4", "astype": "i1"}]),
        "delta-big": (numbers.astype(">i2"), [{"id": "delta", "dtype": ">i2"}]),
        "delta-wraps": (np.array([250, 3, 0, 255], "u1"), [{"id": "delta", "dtype": "u1"}]),
        "delta-floats": (floats[:3], [{"id": "delta", "dtype": "<f8"}]),
        "fixedscaleoffset": (
            floats,
            [{"id": "fixedscaleoffset", "offset": 100, "scale": 10, "dtype": "<f8", "astype": "<i2"}],
        ),
        "quantize": (floats, [{"id": "quantize", "digits": 1, "dtype": "<f8", "astype": "<f4"}]),
        "bitround": (floats.astype("<f4"), [{"id": "bitround", "keepbits": 4}]),
        "astype": (floats, [{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}]),
        "astype-integers": (numbers, [{"id": "astype", "encode_dtype": ">i2", "decode_dtype": "<i4"}]),
        "packbits": (flags, [{"id": "packbits"}]),
        "categorize": (
            np.array(["b", "a", "c"], "<U1"),
            [{"id": "categorize", "labels": ["a", "b"], "dtype": "<U1", "astype": "u1"}],
        ),
        "shuffle": (numbers, [{"id": "shuffle", "elementsize": 4}]),
        "crc32": (numbers, [{"id": "crc32"}]),
        "crc32-end": (numbers, [{"id": "crc32", "location": "end"}]),
        "crc32c": (numbers, [{"id": "crc32c"}]),
        "crc32c-start": (numbers, [{"id": "crc32c", "location": "start"}]),
        "adler32": (numbers, [{"id": "adler32"}]),
        "fletcher32": (numbers, [{"id": "fletcher32"}]),
        "jenkins_lookup3": (numbers, [{"id": "jenkins_lookup3", "initval": 7}]),
        "base64": (numbers, [{"id": "base64"}]),
        "zlib-as-filter": (numbers, [{"id": "zlib", "level": 1}]),
        "chain": (
            numbers,
            [{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}, {"id": "crc32"}, {"id": "base64"}],
        ),
    }
    lossy = ("fixedscaleoffset", "quantize", "bitround", "astype", "categorize", "delta-floats")
    for name, (data, chain) in chains.items():
        options = {"filters": chain, "compressor": None, "marks": ["lossy"] if name in lossy else []}
        yield f"filters/{name}", data, options
    plane = {"chunks": (3, 3), "order": "F", "filters": [{"id": "delta", "dtype": "<i4"}]}
    yield "filters/delta-F", PLANE, plane


def layouts() -> Iterator[Case]:
    for order in "CF":
        yield f"layouts/plane-{order}", PLANE, {"chunks": (3, 3), "order": order, "compressor": None}
        yield f"layouts/cube-{order}", CUBE, {"chunks": (2, 2, 3), "order": order}
    for name, separator in (("dot", "."), ("slash", "/")):
        options = {"dimension_separator": separator, "fill_value": 0}
        yield f"layouts/{name}/cube", CUBE, {"chunks": (1, 3, 3), **options}
        yield f"layouts/{name}/line", sample("<i2"), {"chunks": 3, **options}
        yield f"layouts/{name}/0-d", np.array(-7, "<i2"), options
    yield "layouts/0-d", np.array(2.5), {}
    yield "layouts/0-d-date", np.array("2020-02-29", "<M8[D]"), {}
    yield "layouts/0-d-record", np.array((True, 1, 2.5, b"x"), RECORD), {}
    yield "layouts/0-d-text", scalar("ü", np.dtype(object)), {"dtype": object, "object_codec": numcodecs.VLenUTF8()}
    yield "layouts/0-d-not-written", np.array(9, "<i4"), {"fill_value": 9, "written": None}
    yield "layouts/no-elements", np.zeros((0, 3), "<i4"), {"chunks": (2, 3)}
    yield "layouts/no-elements-1", np.zeros(0, "<f8"), {}
    yield "layouts/large-chunk", sample("<i2", (3,)), {"chunks": 10}
    yield "layouts/empty-chunks-left-out", np.array([0, 0, 0, 1, 0], "<i2"), {"chunks": 3, "write_empty_chunks": False}
    yield "layouts/nested-store", PLANE, {"chunks": (3, 5), "store": zarr.NestedDirectoryStore}
    yield "layouts/file-system-store", PLANE, {"chunks": (3, 5), "store": zarr.storage.FSStore}
    grown = np.array([0, 1, 2, 3, 4, 5, 6, 7, 4, 4, 4, 4], "<i4")
    yield "layouts/grown", grown, {"chunks": 3, "fill_value": 4, "shape": 8, "resized": 12}
    yield "layouts/shrunk", grown[:5], {"chunks": 3, "fill_value": 4, "shape": 8, "resized": 5}


def fills() -> Iterator[Case]:
    record = np.array((True, 7, 0.5, b"xy"), RECORD)[()]
    values: dict[str, tuple[str, Any]] = {
        "null": ("<i4", None),
        "number": ("<i4", -7),
        "most": ("<u8", 2**64 - 1),
        "true": ("bool", True),
        "float": ("<f8", 0.1),
        "minus-zero": ("<f8", -0.0),
        "float32": ("<f4", 0.1),
        "nan": ("<f8", np.nan),
        "infinity": (">f4", np.inf),
        "minus-infinity": ("<f8", -np.inf),
        "complex": ("<c8", 1.5 - 2j),
        "complex-nan": ("<c16", complex(np.nan, -np.inf)),
        "date": ("<M8[s]", np.datetime64(86400, "s")),
        "date-nat": (">M8[ns]", np.datetime64("NaT", "ns")),
        "date-null": ("<M8[D]", None),
        "date-default": ("<M8[s]", 0),
        "time": ("<m8[ms]", np.timedelta64(-5, "ms")),
        "bytes": ("S3", b"no"),
        "bytes-whole": ("S3", b"\xff\0a"),
        "bytes-empty": ("S3", b""),
        "bytes-default": ("S3", 0),
        "text": ("<U3", "nö"),
        "text-empty": (">U3", ""),
        "text-default": ("<U3", 0),
    }
    half = {"chunks": 3, "written": slice(0, 3)}
    for name, (dtype, fill) in values.items():
        marks = ["lossy"] if name == "minus-zero" else []  # it stores zero
        yield f"fills/{name}", sample(dtype, (6,)), {"fill_value": fill, "marks": marks, **half}
    raw = np.array([b"\0\1\2", b"\3\0\0", b"abc", b"xyz"], "V3")
    half = {"chunks": 2, "written": slice(0, 2)}
    yield "fills/raw", raw, {"fill_value": np.void(b"\1\0\0"), **half}
    records = np.array([(True, -2, 0.5, b"a"), (False, 258, np.nan, b"xyz")], RECORD)[[0, 1, 0, 1]]
    yield "fills/record", records, {"fill_value": record, **half}
    yield "fills/record-zero", records, {"fill_value": 0, **half}
    yield "fills/record-null", records, {"fill_value": None, **half}
    yield "fills/inside-chunks", PLANE, {"chunks": (3, 3), "fill_value": -1, "written": (slice(1, 3), slice(1, 4))}
    yield "fills/nothing-written", PLANE, {"chunks": (3, 3), "fill_value": 5, "written": None}


ATTRIBUTES = {"unit": "K", "ü": [1, None, 2.5, True, {"a": {}}], "nan": float("nan"), "inf": [-float("inf")]}


def attributes() -> Iterator[Case]:
    yield "attributes/some", sample("<i2"), {"attributes": ATTRIBUTES}
    yield "attributes/dimensions", PLANE, {"attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}}
    yield "attributes/number-as-name", sample("<i2"), {"attributes": {1: "one"}}


def cases() -> Iterator[Case]:
    for part in (types, structures, objects, compressors, filters, layouts, fills, attributes):
        yield from part()


def write(place: Path, data: npt.NDArray[Any], options: dict[str, Any]) -> None:
    options = {"shape": data.shape, "dtype": data.dtype, "overwrite": True, **options}
    written, given = options.pop("written", ...), options.pop("data", data)
    attributes, resized = options.pop("attributes", None), options.pop("resized", None)
    separator = {name: value for name, value in options.items() if name == "dimension_separator"}
    store = options.pop("store", zarr.DirectoryStore)(str(place), **separator)
    if isinstance(options.get("compressor"), dict):
        options["compressor"] = numcodecs.get_codec(options["compressor"])
    if options.get("filters"):
        options["filters"] = [numcodecs.get_codec(configuration) for configuration in options["filters"]]
    array = zarr.create(store=store, **options)
    if attributes:
        array.attrs.update(attributes)
    if resized is not None:
        array[...] = np.arange(array.shape[0], dtype=array.dtype)
        array.resize(resized)
    elif written is not None:
        array[written] = padded(given[written], array.dtype)


def padded(data: Any, dtype: np.dtype[Any]) -> Any:
    """Elements of an aligned structure, as zarr-python expects them: it makes fields of the padding."""
    if dtype.names is None or dtype.names == data.dtype.names:
        return data
    result = np.zeros(data.shape, dtype)
    for name in data.dtype.names:
        result[name] = data[name]
    return result


def look(place: Path, path: str, store: Any = zarr.DirectoryStore) -> dict[str, Any]:
    array = zarr.open_array(store(str(place)), path=path or None, mode="r")
    seen = {name: getattr(array, name) for name in ("chunks", "order", "fill_value")}
    return {**seen, "attributes": array.attrs.asdict(), "elements": lambda: array[...]}


def add(corpus: Corpus, name: str, data: npt.NDArray[Any], options: dict[str, Any]) -> None:
    """One case, with the elements that it has in the end."""
    options = dict(options)
    marks, written, fill = options.pop("marks", []), options.get("written", ...), options.get("fill_value", 0)
    defined = None
    given = options.get("data", data)
    if written is not ... and fill is None:
        defined = np.zeros(data.shape, bool)
        defined[written] = True
    elif written is not ... and data.dtype != object:
        if isinstance(fill, int) and data.dtype.kind in "SUV":  # its default, which means zero bytes
            fill = np.zeros((), data.dtype)[()]
        data = np.full_like(data, fill) if written is None else partly(data, fill, written)
    if given is not data:
        options["data"] = given
    store = options.get("store", zarr.DirectoryStore)
    corpus.array(
        name,
        data,
        lambda place: write(place, data, options),
        lambda place, path: look(place, path, store),
        marks=marks,
        defined=defined,
    )


def hierarchy(corpus: Corpus, name: str) -> None:
    """Nested groups with arrays."""
    place = corpus.place / name
    root = zarr.open_group(str(place), mode="w")
    root.attrs.update({"title": "a hierarchy", "of": [1, 2.5, None], "nan": float("nan")})
    root.create_group("empty")
    below = root.create_group("below")
    below.attrs["deep"] = {"er": True}
    corpus.group(name, ["below", "below/further", "below/further/values", "empty", "numbers"], root.attrs.asdict())
    corpus.group(f"{name}/below", ["further", "further/values"], below.attrs.asdict(), location=name, path="below")
    for path, data in (("numbers", np.arange(12).reshape(3, 4)), ("below/further/values", sample("<f4", (7,)))):

        def write(_place: Path, path: str = path, data: npt.NDArray[Any] = data) -> None:
            array = root.create_dataset(path, data=data, chunks=(3,) * data.ndim)
            array.attrs["path"] = path

        corpus.array(f"{name}/{path}", data, write, look, location=name, path=path)


def write_all(corpus: Corpus) -> None:
    for name, data, options in cases():
        add(corpus, name, data, options)
    hierarchy(corpus, "hierarchy")
    hierarchy(corpus, "consolidated")
    zarr.consolidate_metadata(str(corpus.place / "consolidated"))
    corpus.save()
