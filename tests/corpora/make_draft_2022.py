"""Creates the corpus `tests/corpora/draft-2022`: small hierarchies after the Zarr specification of 2 December 2022.

`python -m tests.corpora.make_draft_2022` replaces the corpus except its PROVENANCE.md. The writer of
`tests/oracles/draft_2022.py` makes the chunks. The expected elements come from the arrays given to the writer and are
never read back. `tests/oracles/draft_2022_corpus.py` loads the corpus.
"""

from __future__ import annotations

import base64
import copy
import gzip
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles import draft_2022 as draft

PLACE = Path(__file__).resolve().parent / "draft-2022"

ENTRY_POINT = {
    "zarr_format": "https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
    "extensions": [],
}


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def little(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(array.dtype.newbyteorder("<"))


def dtype_text(dtype: np.dtype[Any]) -> Any:
    dtype = dtype.newbyteorder("<")
    return dtype.str if dtype.names is None else dtype.descr


def packed(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array as JSON: its elements in little-endian order, the last dimension the fastest."""
    return {
        "shape": list(array.shape),
        "dtype": dtype_text(array.dtype),
        "elements": text_of(little(array).tobytes()),
    }


class Hierarchy:
    """A hierarchy under construction, and what a reader should find in it."""

    def __init__(self, **entry_point: Any) -> None:
        self.store: dict[str, bytes] = {}
        self.nodes: dict[str, dict[str, Any]] = {}
        draft.write_entry_point(self.store, **entry_point)

    def group(self, path: str, attributes: dict[str, Any] | None = None) -> None:
        draft.write_group(self.store, path, attributes)
        self.nodes[path] = {"kind": "group", "explicit": True, "attributes": attributes or {}}

    def implicit(self, *paths: str) -> None:
        """Adds groups that exist only because other nodes imply them; writes nothing."""
        for path in paths:
            self.nodes[path] = {"kind": "group", "explicit": False, "attributes": {}}

    def array(
        self, path: str, array: Any, *, fill: Any = None, fallback: Any = None, lost: Any = (), **options: Any
    ) -> None:
        """Adds an array. `fill` is the element that `fill_value` means, zero if it is None; the keys `lost` are deleted
        again.

        The caller has put the fill value into `array` where chunks are lost.
        """
        array = np.asarray(array)
        draft.write_array(self.store, path, array, **options)
        for key in lost:
            del self.store[draft.data_prefix(path) + key]
        document = json.loads(self.store[draft.metadata_key(path, "array")])
        self.expect(path, array, document, fill, fallback)

    def by_hand(self, path: str, document: dict[str, Any], array: Any, *, fill: Any = None) -> None:
        """Adds an array with a given document; `array` may be None if it is large and has no chunks."""
        self.store[draft.metadata_key(path, "array")] = json.dumps(document, indent=1).encode()
        self.expect(path, array, document, fill, None)

    def expect(self, path: str, array: Any, document: dict[str, Any], fill: Any, fallback: Any) -> None:
        dtype = np.asarray(fill).dtype if array is None else array.dtype
        element = np.zeros((), dtype=dtype) if fill is None else np.asarray(fill, dtype=dtype).reshape(())
        self.nodes[path] = {
            "kind": "array",
            "explicit": True,
            "attributes": document["attributes"],
            "shape": document["shape"],
            "dtype": dtype_text(dtype),
            "data_type": document["data_type"],
            "fallback": fallback,
            "chunk_shape": document["chunk_grid"]["chunk_shape"],
            "separator": document["chunk_grid"]["separator"],
            "layout": document["chunk_memory_layout"],
            "fill_value": document["fill_value"],
            "fill_element": text_of(little(element).tobytes()),
            "codecs": document.get("codecs", []),
            "storage_transformers": document.get("storage_transformers", []),
            "extensions": document["extensions"],
            "elements": None if array is None else packed(array)["elements"],
        }

    def save(self, name: str, *, as_folder: bool = False) -> None:
        for expected_or_valid in ("expected", "valid"):
            (PLACE / expected_or_valid).mkdir(parents=True, exist_ok=True)
        save_json(PLACE / "expected" / f"{name}.json", dict(sorted(self.nodes.items())))
        if as_folder:
            draft.store_directory(self.store, PLACE / "valid" / name)
        else:
            save_json(PLACE / "valid" / f"{name}.json", pack_store(self.store))


def pack_store(store: dict[str, bytes], texts: dict[str, str] | None = None) -> dict[str, Any]:
    documents = {key: json.loads(value) for key, value in store.items() if key.endswith(".json")}
    chunks = {key: text_of(value) for key, value in store.items() if not key.endswith(".json")}
    parts = {"documents": documents, "texts": texts or {}, "base64": chunks}
    return {name: part for name, part in parts.items() if part}


def save_json(file: Path, value: Any) -> None:
    file.write_text(lines(value, 2) + "\n", "utf-8")


def lines(value: Any, depth: int, indent: str = "") -> str:
    """JSON with one entry per line down to some depth, and deeper values in one line: readable, but short."""
    if depth == 0 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {lines(entry, depth - 1, indent + ' ')}" for key, entry in value.items()]
    else:
        entries = [lines(entry, 0) for entry in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    separator = ",\n " + indent
    return f"{start}\n {indent}{separator.join(entries)}\n{indent}{end}"


def values(dtype: Any, shape: tuple[int, ...] = (3, 5)) -> np.ndarray[Any, Any]:
    """Elements that show the range of a type; none of them is zero, so that every chunk is stored."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    found: np.ndarray[Any, Any]
    if dtype.kind == "b":
        found = np.arange(count) % 3 != 1
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        found = np.arange(1, count + 1).astype(dtype)
        found[:2] = limits.min or 1, limits.max
        found[-2:] = limits.max - 1, limits.min + 1
    elif dtype.kind == "f":
        floats = np.finfo(dtype)
        found = (np.arange(1, count + 1) / 8).astype(dtype)
        special = [np.nan, np.inf, -np.inf, -0.0, floats.max, floats.smallest_subnormal]
        found[: len(special[:count])] = special[:count]
    elif dtype.kind == "c":
        part = values(f"f{dtype.itemsize // 2}", (count,))
        found = (part + 0j).astype(dtype)
        found.real, found.imag = part, part[::-1]
    elif dtype.kind == "V":
        found = np.frombuffer(bytes(i % 255 + 1 for i in range(count * dtype.itemsize)), dtype=dtype)
    else:
        raise ValueError(dtype)
    return found.reshape(shape)


def data_types() -> Hierarchy:
    """Every data type of "Core data types", with int64 and uint64, which the table leaves out."""
    made = Hierarchy()
    made.implicit("/")
    for name in draft.CORE_TYPES:
        made.array(f"/{name}", values(draft.CORE_TYPES[name]), chunk_shape=(2, 2), attributes={"type": name})
    for bits in (8, 16, 24, 128):
        made.array(f"/r{bits}", values(f"V{bits // 8}"), chunk_shape=(2, 2))
    return made


def layouts_and_separators() -> Hierarchy:
    """ "Chunk memory layouts" and "Regular grids"."""
    made = Hierarchy()
    made.group("/", {"about": "memory layouts and separators"})
    made.implicit("/C", "/F")
    for layout in "CF":
        for name, separator in (("slash", "/"), ("dot", ".")):
            options: dict[str, Any] = {"layout": layout, "separator": separator}
            made.array(f"/{layout}/{name}-1d", values("<i2", (5,)), chunk_shape=(2,), **options)
            made.array(f"/{layout}/{name}-2d", values("<i2", (4, 5)), chunk_shape=(2, 3), **options)
            made.array(f"/{layout}/{name}-3d", values("<u4", (3, 4, 2)), chunk_shape=(2, 3, 2), **options)
    made.array("/many-chunks", values("<u2", (12, 2)), chunk_shape=(1, 1), separator=".")
    return made


def codecs() -> Hierarchy:
    """Codecs alone and combined; `none` omits the member, `empty` has an empty list."""
    made = Hierarchy()
    made.implicit("/")
    chains: dict[str, list[Any] | None] = {
        "none": None,
        "empty": [],
        "gzip-0": [draft.gzip_codec(0)],
        "gzip-1": [draft.gzip_codec(1)],
        "gzip-9": [draft.gzip_codec(9)],
        "blosc-lz4": [draft.blosc_codec("lz4", 1, 1, 0)],
        "blosc-lz4hc-auto": [draft.blosc_codec("lz4hc", 9, -1, 0)],
        "blosc-blosclz-plain": [draft.blosc_codec("blosclz", 5, 0, 0)],
        "blosc-zstd-bits": [draft.blosc_codec("zstd", 3, 2, 0)],
        "blosc-zlib-blocks": [draft.blosc_codec("zlib", 1, 1, 256)],
        "blosc-0": [draft.blosc_codec("lz4", 0, 1, 0)],
        "endian-big": [draft.endian_codec("big")],
        "endian-little": [draft.endian_codec("little")],
        "endian-gzip": [draft.endian_codec("big"), draft.gzip_codec(5)],
        "endian-blosc": [draft.endian_codec("big"), draft.blosc_codec()],
        "gzip-blosc": [draft.gzip_codec(1), draft.blosc_codec()],
        "gzip-gzip": [draft.gzip_codec(1), draft.gzip_codec(9)],
        "endian-blosc-gzip": [draft.endian_codec("little"), draft.blosc_codec("zstd"), draft.gzip_codec(1)],
    }
    data = (np.arange(12 * 11) // 3).astype("<i4").reshape(12, 11) - 30
    for name, chain in chains.items():
        made.array(f"/{name}", data, chunk_shape=(10, 11), codecs=chain)
    made.array("/F-endian-gzip", data, chunk_shape=(10, 11), layout="F", codecs=chains["endian-gzip"])
    made.implicit("/big")
    for name in ("bool", "int8", "uint64", "float16", "float64", "complex64", "complex128"):
        made.array(f"/big/{name}", values(draft.CORE_TYPES[name]), chunk_shape=(2, 3), codecs=chains["endian-big"])
    made.array("/big/r24", values("V3"), chunk_shape=(2, 3), codecs=chains["endian-big"])
    return made


def sharding() -> Hierarchy:
    """ "Sharding storage transformer": missing chunks, missing shards, edges, orders and unused space."""
    made = Hierarchy()
    made.implicit("/")
    one = np.arange(1, 24, dtype="<u2")
    one[4:8] = one[16:20] = 0
    options: dict[str, Any] = {"chunk_shape": (2,), "storage_transformers": [draft.sharding((4,))]}
    made.array("/1d", one, **options)
    made.array("/1d-backwards", one, shard_backwards=True, **options)
    made.array("/1d-gaps", one, shard_gap=b"unused", **options)
    made.array("/1d-whole", np.arange(1, 9, dtype="<u2"), omit_empty_chunks=False, **options)
    made.array("/1d-nothing", np.zeros(9, dtype="<u2"), **options)

    two = np.arange(1, 78, dtype="<i4").reshape(7, 11)
    two[2:4, 3:6] = two[6:, :] = two[:, 9:] = -7
    fill: dict[str, Any] = {"fill_value": -7, "fill": -7}
    options = {"chunk_shape": (2, 3), "storage_transformers": [draft.sharding((2, 2))], **fill}
    made.array("/2d", two, **options)
    made.array("/2d-dot", two, separator=".", **options)
    made.array("/2d-F", two, layout="F", **options)
    made.array("/2d-gzip", two, codecs=[draft.gzip_codec(1)], **options)
    made.array("/2d-endian-blosc", two, codecs=[draft.endian_codec("big"), draft.blosc_codec()], **options)
    uneven = options | {"storage_transformers": [draft.sharding((3, 1))]}
    made.array("/2d-uneven", two, **uneven)

    three = values("<f4", (3, 5, 4)).copy()
    three[1:2, 2:4, 0:3] = 0
    options = {"chunk_shape": (1, 2, 3), "storage_transformers": [draft.sharding((2, 2, 1))]}
    made.array("/3d", three, **options)
    made.array("/3d-dot-F", three, separator=".", layout="F", shard_gap=b"\xff", **options)
    made.array("/0d", np.array(7, dtype="<u2"), storage_transformers=[draft.sharding(())])

    # "Append-only": a chunk was updated; its earlier bytes and the earlier index have become unused space.
    made.array("/appended", np.array([1, 2, 9, 9], dtype="<u2"), chunk_shape=(2,), storage_transformers=[
        draft.sharding((2,))])  # fmt: skip
    first = struct.pack("<4H", 1, 2, 3, 4) + struct.pack("<4Q", 0, 4, 4, 4)
    made.store["data/appended/c0"] = first + struct.pack("<2H", 9, 9) + struct.pack("<4Q", 0, 4, len(first), 4)
    return made


def edges_and_scalars() -> Hierarchy:
    """Grids that extend beyond the array, arrays without dimensions, without elements and without chunks."""
    made = Hierarchy()
    made.implicit("/")
    made.array("/scalar", np.array(42, dtype="<i8"))
    made.array("/scalar-F-gzip", np.array(-1.5, dtype="<f8"), layout="F", codecs=[draft.gzip_codec()], separator=".")
    made.array("/scalar-missing", np.array(3, dtype="u1"), fill_value=3, fill=3)
    made.array("/no-elements", np.zeros((0,), dtype="<i4"), chunk_shape=(3,))
    made.array("/no-elements-no-chunk-length", np.zeros((2, 0), dtype="<i4"), chunk_shape=(1, 0))
    made.array("/larger-chunk", values("<i2", (2, 3)), chunk_shape=(4, 5), fill_value=11, fill=11)
    made.array("/overhang", values("<i2", (30, 30)), chunk_shape=(16, 16), codecs=[draft.gzip_codec()])
    partly = values("<i4", (5, 4)).copy()
    partly[2:4, 2:4] = partly[4:, 0:2] = 99
    made.array("/some-missing", partly, chunk_shape=(2, 2), fill_value=99, fill=99)
    stored_fill = np.full((3,), 5, dtype="u1")
    made.array("/stored-fill", stored_fill, chunk_shape=(2,), fill_value=5, fill=5, omit_empty_chunks=False)
    made.array("/all-missing", np.full((2, 3, 4), True), chunk_shape=(1, 2, 3), fill_value=True, fill=True)
    lost = np.arange(1, 7, dtype="<u2")
    lost[2:4] = 7
    made.array("/lost-chunk", lost, chunk_shape=(2,), fill_value=8, fill=8, lost=["c1"])
    made.nodes["/lost-chunk"]["elements"] = text_of(np.array([1, 2, 8, 8, 5, 6], dtype="<u2").tobytes())
    return made


def fill_values() -> Hierarchy:
    """Every spelling of "Array metadata" (fill_value); the first element is stored, all others are the fill value."""
    made = Hierarchy()
    made.implicit("/")

    def from_bits(dtype: str, digits: str) -> np.ndarray[Any, Any]:
        return np.frombuffer(bytes.fromhex(digits), dtype=dtype).reshape(())

    cases: list[tuple[str, Any, Any]] = [
        ("bool-true", True, np.True_),
        ("bool-false", False, np.False_),
        ("int8-min", -128, np.int8(-128)),
        ("int64-min", -(2**63), np.int64(-(2**63))),
        ("int64-max", 2**63 - 1, np.int64(2**63 - 1)),
        ("uint64-max", 2**64 - 1, np.uint64(2**64 - 1)),
        ("float16-number", 0.1, np.float16(0.1)),
        ("float32-integer", 3, np.float32(3)),
        ("float32-number", 0.1, np.float32(0.1)),
        ("float64-number", -1.5e300, np.float64(-1.5e300)),
        ("float64-minus-zero", -0.0, np.float64(-0.0)),
        ("float16-nan", "NaN", np.float16(np.nan)),
        ("float32-nan", "NaN", np.float32(np.nan)),
        ("float64-nan", "NaN", np.float64(np.nan)),
        ("float32-infinity", "+Infinity", np.float32(np.inf)),
        ("float64-minus-infinity", "-Infinity", np.float64(-np.inf)),
        ("float16-hex", "0x3c00", np.float16(1)),
        ("float32-hex-nan", "0x7fc00001", from_bits(">f4", "7fc00001")),
        ("float32-hex-zeros", "0x00000001", from_bits(">f4", "00000001")),
        ("float64-hex", "0x3FF8000000000000", np.float64(1.5)),
        ("float16-binary", "0b1100000000000000", np.float16(-2)),
        ("float32-binary", "0b" + f"{0x40490FDB:032b}", from_bits(">f4", "40490fdb")),
        ("complex64-hex", "0x3f800000c0000000", np.complex64(1 - 2j)),
        ("complex128-hex", "0x7ff8000000000000" + "8000000000000000", np.complex128(complex(np.nan, -0.0))),
        ("complex64-binary", "0b" + f"{0x3F800000C0000000:064b}", np.complex64(1 - 2j)),
        ("r8-binary", "0b10000001", from_bits("V1", "81")),
        ("r24-hex", "0x0102ff", from_bits("V3", "0102ff")),
        ("r16-zeros", "0x0000", from_bits("V2", "0000")),
    ]
    for name, spelling, fill in cases:
        element = little(np.asarray(fill))
        array = np.broadcast_to(element, (3,)).copy()
        array[0] = values(element.dtype, (6,))[5]
        made.array(f"/{name}", array, chunk_shape=(1,), fill_value=spelling, fill=element)
    return made


def extension_types() -> Hierarchy:
    """The data type extensions; they define no fill values, so these are a choice (PROVENANCE.md)."""
    made = Hierarchy()
    made.implicit("/", "/datetime", "/timedelta", "/string", "/struct")
    numbers = np.array([0, 1, -1, 2**62, -(2**63), 1_600_000_000], dtype="<i8")
    for unit in ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]:
        made.array(f"/datetime/{unit}", numbers.view(f"<M8[{unit}]"), chunk_shape=(4,))
    made.array("/datetime/big", numbers.view("<M8[ns]").astype(">M8[ns]"), chunk_shape=(4,))
    made.array("/datetime/codec-big", numbers.view("<M8[s]"), chunk_shape=(4,), codecs=[draft.endian_codec("big")])
    filled = np.array([5, 365, 365], dtype="<M8[D]")
    made.array("/datetime/filled", filled, chunk_shape=(1,), fill_value=365, fill=np.array(365, dtype="<M8[D]"))
    made.array("/timedelta/ns", numbers.view("<m8[ns]"), chunk_shape=(4,))
    made.array("/timedelta/big", numbers.view("<m8[h]").astype(">m8[h]"), chunk_shape=(4,))

    made.array("/string/bytes", np.array(["a", "bcd", "efgh"], dtype="S4"))
    made.array("/string/unicode", np.array(["a", "bcd", "efgh"], dtype="<U4"))
    made.array("/string/unicode-big", np.array(["a", "äöü", "€😀"], dtype=">U4"), codecs=[draft.gzip_codec()])
    filled = np.array(["a", "no", "no"], dtype="<U4")
    made.array("/string/filled", filled, chunk_shape=(1,), fill_value="no", fill=np.array("no", dtype="<U4"))

    dogs = np.array([("Rex", 9, 81.0), ("Fido", 3, 27.0)], dtype=[("name", "<U10"), ("age", "<i4"), ("weight", "<f4")])
    made.array("/struct/dogs", dogs)
    made.array("/struct/dogs-blosc", dogs, codecs=[draft.blosc_codec()])
    some = np.array([(True, 1 + 2j, b"ab", -5), (False, 0, b"", 5), (True, 1j, b"xyz", 0)],
                    dtype=[("yes", "?"), ("z", "<c8"), ("s", "S3"), ("t", "<m8[s]")])  # fmt: skip
    core_names = {
        "extension": draft.STRUCT,
        "type": [["yes", "bool"], ["z", "complex64"], ["s", "S3"], ["t", "<m8[s]"]],
        "fallback": "r160",
    }
    made.array("/struct/core-names", some, data_type=core_names, chunk_shape=(2,))
    big = some[["z", "t"]].astype([("z", ">c8"), ("t", ">m8[s]")])
    fields = [["z", ">c8"], ["t", ">m8[s]"]]
    big_type = {"extension": draft.STRUCT, "type": fields, "fallback": ["r128"]}
    made.array("/struct/big-fields", big, data_type=big_type, chunk_shape=(2,))
    filled = np.array([("Rex", 9, 81.0), ("none", -1, np.nan), ("none", -1, np.nan)], dtype=dogs.dtype)
    made.array("/struct/filled", filled, chunk_shape=(1,), fill_value=["none", -1, "NaN"], fill=filled[1])
    return made


def fallbacks() -> Hierarchy:
    """Unknown data types with a known fallback."""
    made = Hierarchy()
    made.implicit("/")
    unknown = "http://example.org/zarr/data-types/unknown/1.0"

    def array(name: str, extension: str, kind: Any, fallback: Any, taken: Any, dtype: str, **options: Any) -> None:
        data_type = {"extension": extension, "type": kind, "fallback": fallback}
        made.array(f"/{name}", values(dtype), data_type=data_type, fallback=taken, chunk_shape=(2, 3), **options)

    array("one", unknown, "half-integer", "uint16", "uint16", "<u2")
    array("list", unknown, "colour", ["r24"], "r24", "V3")
    array("second", unknown, {"bits": 16}, ["bfloat16", "int16", "r16"], "int16", "<i2")
    datetime = {"extension": draft.DATETIME, "type": "<M8[fortnight]"}
    array("nested", unknown, "moment", [datetime, "float64"], "float64", "<f8")
    array("unknown-unit", draft.DATETIME, "<M8[fortnight]", "int64", "int64", "<i8")
    array("complex", draft.COMPLEX, "complex32", "r32", "r32", "V4", codecs=[draft.gzip_codec()])
    return made


def ignorable_extensions() -> Hierarchy:
    """Optional extensions, in the entry point and at an array."""
    foo = {
        "extension": "http://example.org/zarr/extension/foo",
        "must_understand": False,
        "configuration": {"foo": "bar"},
    }
    bare = {"extension": "http://example.org/zarr/extension/bare", "must_understand": False}
    made = Hierarchy(extensions=[foo, bare])
    made.group("/")
    made.array("/array", values("<i4"), extensions=[bare, foo])
    return made


def names_and_attributes() -> Hierarchy:
    """ "Node names", paths that resemble metadata keys, and attributes of every JSON type."""
    made = Hierarchy()
    attributes = {
        "string": 'äöü € 😀 " \\ \n',
        "numbers": [0, -1, 1.5, 1e300, 2**53],
        "literals": [True, False, None],
        "object": {"empty": {}, "list": []},
        "": "a name without characters",
        "shape": "no matter of the array",
    }
    made.group("/", attributes)
    for name in ("a", "Z9", "-", "_", "a.b", ".hidden", "...a", "foo", "FOO", "array", "group", "c0", "foo.array"):
        made.group(f"/{name}", {"name": name})
    made.array("/foo.group", values("u1"), attributes=attributes)
    made.implicit("/meta")
    made.array("/meta/data", values("u1"))
    made.implicit("/foo.json", "/foo.json/deep", "/foo.json/deep/er")
    made.group("/foo.json/deep/er/bar")
    return made


def tour() -> Hierarchy:
    """A typical hierarchy: explicit groups, implicit groups, arrays."""
    made = Hierarchy()
    made.implicit("/", "/foo", "/foo/baz")
    made.group("/foo/bar", {"spam": "ham", "eggs": 42})
    made.array("/foo/baz/qux", values("<f8", (3, 4)), chunk_shape=(2, 2), attributes={"unit": "K"})
    made.array("/dots", values("<i4", (3, 4)), chunk_shape=(2, 2), separator=".", layout="F")
    made.array("/shards", values("<i4", (5,)), chunk_shape=(1,), storage_transformers=[draft.sharding((3,))])
    return made


def root_array(**options: Any) -> Hierarchy:
    made = Hierarchy()
    made.array("/", values("<i2", (3, 4)), chunk_shape=(2, 2), attributes={"root": True}, **options)
    return made


def root_scalar() -> Hierarchy:
    made = Hierarchy()
    made.array("/", np.array(1.25, dtype="<f4"))
    return made


def root_group() -> Hierarchy:
    made = Hierarchy()
    made.group("/", {"alone": True})
    return made


def minor_version() -> Hierarchy:
    """A later minor version without new features: "Stability Policy" requires 3.0 to read it."""
    made = Hierarchy(zarr_format="https://purl.org/zarr/spec/core/3.1")
    made.group("/", {"minor": 1})
    made.array("/array", values("u1"))
    return made


EXAMPLE_ARRAY = {
    "shape": [10000, 1000],
    "data_type": "float64",
    "chunk_grid": {"type": "regular", "chunk_shape": [1000, 100], "separator": "/"},
    "chunk_memory_layout": "C",
    "codecs": [{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 1}}],
    "fill_value": "NaN",
    "extensions": [],
    "attributes": {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]},
}
EXAMPLE_DATETIME = {
    **EXAMPLE_ARRAY,
    "data_type": {"extension": draft.DATETIME, "type": "<M8[ns]", "fallback": "int64"},
    "fill_value": 0,
    "attributes": {},
}


def examples() -> Hierarchy:
    """The examples of "Array metadata", with the names of data types that the text defines, and a fill value.

    `/float64` and `/datetime` have no chunks and are too large to be read quickly. The small arrays have the same
    documents except for the shapes, and chunks made by hand.
    """
    made = Hierarchy()
    made.implicit("/")
    made.by_hand("/float64", EXAMPLE_ARRAY, None, fill=np.float64(np.nan))
    made.by_hand("/datetime", EXAMPLE_DATETIME, None, fill=np.array(0, dtype="<M8[ns]"))
    grid = {"type": "regular", "chunk_shape": [2, 5], "separator": "/"}
    found = np.full((4, 5), np.nan)
    found[:2] = np.arange(10).reshape(2, 5)
    small = {**EXAMPLE_ARRAY, "shape": [4, 5], "chunk_grid": grid}
    made.by_hand("/small", small, found, fill=np.float64(np.nan))
    made.store["data/small/c0/0"] = gzip.compress(struct.pack("<10d", *range(10)), 1, mtime=0)

    sharded = {
        "shape": [4, 4],
        "data_type": "uint8",
        "chunk_grid": {"type": "regular", "chunk_shape": [1, 2], "separator": "/"},
        "chunk_memory_layout": "C",
        "fill_value": 0,
        "extensions": [],
        "attributes": {},
        "storage_transformers": [draft.sharding((2, 2))],
    }
    found = np.array([[1, 2, 3, 4], [0, 0, 5, 6], [0, 0, 0, 0], [0, 0, 0, 0]], dtype="u1")
    made.by_hand("/sharded", sharded, found)
    absent = 2**64 - 1
    index = struct.pack("<8Q", 0, 2, 2, 2, absent, absent, 4, 2)
    made.store["data/sharded/c0/0"] = bytes([1, 2, 3, 4, 5, 6]) + index
    return made


# ---------------------------------------------------------------------------------------------------------------------
# What must fail, and what the specification leaves open
# ---------------------------------------------------------------------------------------------------------------------

SMALL_ARRAY: dict[str, Any] = {
    "shape": [4],
    "data_type": "int32",
    "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
    "chunk_memory_layout": "C",
    "fill_value": 0,
    "extensions": [],
    "attributes": {},
}


class Cases:
    """A list of tiny hierarchies, each with an entry point and, by default, the array `/a`."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def add(
        self,
        name: str,
        section: str,
        what: str,
        *,
        documents: dict[str, Any],
        texts: dict[str, str] | None = None,
        chunks: dict[str, bytes] | None = None,
        path: str | None = None,
        stage: str = "open",
        outcome: str = "fail",
        result: np.ndarray[Any, Any] | None = None,
    ) -> None:
        case: dict[str, Any] = {
            "name": name,
            "section": section,
            "what": what,
            "path": path,
            "stage": stage,
            "outcome": outcome,
        }
        encoded = {key: text_of(value) for key, value in (chunks or {}).items()}
        parts = {"documents": documents, "texts": texts or {}, "base64": encoded}
        case["store"] = {key: part for key, part in parts.items() if part}
        if result is not None:
            case["result"] = packed(result)
        self.found.append(case)

    def entry_point(
        self, name: str, what: str, document: Any, section: str = "Entry point metadata", **more: Any
    ) -> None:
        self.add(name, section, what, documents={"zarr.json": document, "meta/a.array.json": SMALL_ARRAY}, **more)

    def array(
        self,
        name: str,
        what: str,
        section: str = "Array metadata",
        *,
        without: str | None = None,
        stored: dict[str, bytes] | None = None,
        stage: str = "open",
        outcome: str = "fail",
        result: Any = None,
        **changes: Any,
    ) -> None:
        """The array `/a` with some members changed, and optionally one removed."""
        document = copy.deepcopy(SMALL_ARRAY) | changes
        if without is not None:
            del document[without]
        documents = {"zarr.json": ENTRY_POINT, "meta/a.array.json": document}
        self.add(
            name, section, what, documents=documents, chunks=stored, path="/a", stage=stage, outcome=outcome,
            result=result,
        )  # fmt: skip


def invalid_entry_points(cases: Cases) -> None:
    group: dict[str, Any] = {"meta/group.json": {"attributes": {}}}
    cases.add("no-entry-point", "Entry point metadata", "there is no zarr.json", documents=group)
    text = {"zarr.json": '{"zarr_format": "https://purl.org/zarr/spec/core/3.0",}'}
    cases.add("entry-point-no-json", "Metadata encoding", "zarr.json is not JSON", documents=group, texts=text)
    cases.entry_point("entry-point-no-object", "the document is an array", [])
    for name in ENTRY_POINT:
        rest = {key: value for key, value in ENTRY_POINT.items() if key != name}
        cases.entry_point(f"entry-point-without-{name}", f"{name} is missing", rest)
    for name, version in {
        "is-a-number": 3,
        "major-2": "https://purl.org/zarr/spec/core/2.0",
        "major-4": "https://purl.org/zarr/spec/core/4.0",
        "another-uri": "http://example.org/zarr/spec/core/3.0",
        "of-the-protocol": "https://purl.org/zarr/spec/protocol/core/3.0",
    }.items():
        what = f"zarr_format is {version!r}"
        cases.entry_point(f"zarr-format-{name}", what, ENTRY_POINT | {"zarr_format": version})
    encodings: dict[str, Any] = {
        "extension": {"extension": "http://example.org/zarr/yaml", "type": "yaml", "metadata_key_suffix": ".yaml"},
        "type": {"type": "yaml", "metadata_key_suffix": ".json"},
        "string": "application/json",
    }
    for name, encoding in encodings.items():
        what = "the metadata encoding is unknown"
        cases.entry_point(f"metadata-encoding-{name}", what, ENTRY_POINT | {"metadata_encoding": encoding})
    what = "an implementation must fail to open hierarchies with unknown metadata fields"
    cases.entry_point("entry-point-unknown-name", what, ENTRY_POINT | {"foo": 1}, section="Array metadata")
    for name, what, extensions in BAD_EXTENSIONS:
        cases.entry_point(f"entry-point-{name}", what, ENTRY_POINT | {"extensions": extensions})


URI = "http://example.org/zarr/extension/foo"
BAD_EXTENSIONS: list[tuple[str, str, Any]] = [
    ("unknown-extension", "an unknown extension must be understood", [{"extension": URI, "must_understand": True}]),
    ("extension-without-must-understand", "must_understand is missing", [{"extension": URI}]),
    ("extension-without-uri", "the extension has no URI", [{"must_understand": False}]),
    ("extension-must-understand-text", "must_understand is a string", [{"extension": URI, "must_understand": "no"}]),
    ("extensions-no-array", "extensions is an object", {}),
]


def invalid_groups(cases: Cases) -> None:
    section = "Group metadata"
    bad: list[tuple[str, str, Any]] = [
        ("group-without-attributes", "attributes is missing", {}),
        ("group-attributes-no-object", "attributes is an array", {"attributes": []}),
        ("group-unknown-name", "all other names are reserved", {"attributes": {}, "shape": [1]}),
        ("group-with-extensions", "groups cannot have extensions", {"attributes": {}, "extensions": []}),
        ("group-no-object", "the document is a string", "attributes"),
    ]
    for name, what, document in bad:
        cases.add(name, section, what, documents={"zarr.json": ENTRY_POINT, "meta/g.group.json": document})
    text = {"meta/g.group.json": '{\n  "attributes": {\n    "spam": "ham",\n    "eggs": 42,\n  }\n}'}
    what = "the example of the specification has a comma too many, and is no JSON"
    cases.add("group-no-json", section, what, documents={"zarr.json": ENTRY_POINT}, texts=text)


def invalid_names(cases: Cases) -> None:
    for name, what, key in (
        ("name-empty", "a node has no name", "meta/.group.json"),
        ("name-empty-below", "a node has no name", "meta/a//b.group.json"),
        ("name-space", "a name has a space", "meta/a b.group.json"),
        ("name-not-ascii", "a name has a letter beyond a-z and A-Z", "meta/ä.group.json"),
        ("name-plus", "a name has a +", "meta/a+b.group.json"),
        ("name-one-period", "a name is a period", "meta/..group.json"),
        ("name-periods", "a name is periods alone", "meta/a/....group.json"),
    ):
        documents: dict[str, Any] = {"zarr.json": ENTRY_POINT, key: {"attributes": {}}}
        cases.add(name, "Node names", what, documents=documents)
    child = {"zarr.json": ENTRY_POINT, "meta/a.array.json": SMALL_ARRAY, "meta/a/b.array.json": SMALL_ARRAY}
    cases.add("array-with-child", "Array", "an array may not have child nodes", documents=child)
    child = {"zarr.json": ENTRY_POINT, "meta/array.json": SMALL_ARRAY, "meta/b.group.json": {"attributes": {}}}
    cases.add("root-array-with-child", "Array", "an array may not have child nodes", documents=child)


def invalid_arrays(cases: Cases) -> None:
    for name in SMALL_ARRAY:
        cases.array(f"array-without-{name}", f"{name} is missing", without=name)
    cases.array("array-unknown-name", "the array has a name that is not defined", dimension_names=["x"])
    cases.array("array-of-version-2", "names of version 2", zarr_format=2, dtype="<i4", chunks=[2])
    cases.array("shape-negative", "a length is negative", shape=[-4])
    cases.array("shape-fraction", "a length is no integer", shape=[4.5])
    cases.array("shape-number", "shape is no array", shape=4)
    cases.array("attributes-null", "attributes is no object", attributes=None)
    for name, what, extensions in BAD_EXTENSIONS:
        cases.array(f"array-{name}", what, extensions=extensions)

    uri = "http://example.org/zarr/data-types/unknown/1.0"
    types: list[tuple[str, str, Any]] = [
        ("unknown", "the data type is unknown", "float128"),
        ("null", "the data type is null", None),
        ("r12", "raw bits are no multiple of 8", "r12"),
        ("r", "raw bits have no number", "r"),
        ("extension-unknown", "the extension is unknown, and there is no fallback", {"extension": uri, "type": "x"}),
        (
            "extension-fallback-unknown",
            "no fallback is known",
            {"extension": uri, "type": "x", "fallback": ["y", "r7"]},
        ),
        ("extension-without-uri", "extension is missing", {"type": "<M8[ns]", "fallback": "int64"}),
        ("extension-without-type", "type is missing", {"extension": uri, "fallback": "int64"}),
        ("datetime-without-units", "units must be given", {"extension": draft.DATETIME, "type": "<M8"}),
        ("datetime-without-endianness", "endianness must be given", {"extension": draft.DATETIME, "type": "M8[ns]"}),
        ("datetime-unknown-units", "the units are unknown", {"extension": draft.DATETIME, "type": "<M8[fortnight]"}),
        ("string-without-length", "the length is missing", {"extension": draft.STRING, "type": "<U"}),
        ("struct-no-list", "a struct is a list of fields", {"extension": draft.STRUCT, "type": "|V8"}),
        ("struct-unknown-field", "a field has an unknown type", {"extension": draft.STRUCT, "type": [["a", "x"]]}),
    ]
    for name, what, data_type in types:
        section = "Core data types" if not isinstance(data_type, dict) else "Array metadata"
        cases.array(f"data-type-{name}", what, section, data_type=data_type)

    regular = SMALL_ARRAY["chunk_grid"]
    grids: list[tuple[str, str, Any]] = [
        ("unknown", "the type of the grid is unknown", regular | {"type": "rectilinear"}),
        ("extension", "the grid is of an unknown extension", {"extension": URI, "type": "rectilinear"}),
        ("without-type", "type is missing", {"chunk_shape": [2], "separator": "/"}),
        ("without-chunk-shape", "chunk_shape is missing", {"type": "regular", "separator": "/"}),
        ("dimensions", "chunk_shape has other dimensions than shape", regular | {"chunk_shape": [2, 2]}),
        ("zero", "a chunk has no length though the array has one", regular | {"chunk_shape": [0]}),
        ("negative", "a chunk length is negative", regular | {"chunk_shape": [-2]}),
        ("separator", "the separator is neither / nor .", regular | {"separator": "-"}),
    ]
    for name, what, grid in grids:
        cases.array(f"chunk-grid-{name}", what, chunk_grid=grid)
    cases.array("layout-unknown", "the memory layout is neither C nor F", chunk_memory_layout="K")
    what = "the memory layout is of an unknown extension"
    cases.array("layout-extension", what, "Extensions", chunk_memory_layout={"extension": URI, "type": "morton"})


def invalid_fill_values(cases: Cases) -> None:
    fills: list[tuple[str, str, str, Any]] = [
        ("null", "null is not permitted", "int32", None),
        ("null-float", "null is not permitted", "float64", None),
        ("fraction", "an integer has a fraction part", "int32", 1.5),
        ("zero-fraction", "an integer has a fraction part", "int32", 1.0),
        ("too-large", "the integer is out of range", "int32", 2**31),
        ("negative", "the integer is out of range", "uint8", -1),
        ("text", "an integer is a string", "int32", "0"),
        ("bool-number", "a boolean is a number", "bool", 0),
        ("integer-true", "an integer is a boolean", "int32", True),
        ("float-text", "a float is a string of no defined form", "float32", "1.5"),
        ("float-infinity", "infinity has no sign", "float32", "Infinity"),
        ("float-hex-short", "the string must include all zeroes", "float32", "0x3f8"),
        ("float-hex-long", "the string has too many digits", "float32", "0x3f80000000"),
        ("float-binary-short", "the string must include all zeroes", "float16", "0b1"),
        ("float-hex-no-digit", "the string has no digits", "float16", "0xzzzz"),
        ("raw-hex-short", "the string must include all zeroes", "r24", "0x0102"),
        ("raw-number", "raw bits are a number", "r8", 0),
    ]
    for name, what, data_type, fill in fills:
        cases.array(f"fill-value-{name}", what, data_type=data_type, fill_value=fill)
    for name, what, data_type, literal in (
        ("exponent", "an integer has an exponent part", "int32", "1e2"),
        ("nan-literal", "NaN is no literal of JSON", "float32", "NaN"),
    ):
        text = json.dumps(SMALL_ARRAY | {"data_type": data_type, "fill_value": "HERE"}).replace('"HERE"', literal)
        cases.add(
            f"fill-value-{name}", "Array metadata", what, path="/a", documents={"zarr.json": ENTRY_POINT},
            texts={"meta/a.array.json": text},
        )  # fmt: skip


def invalid_codecs_and_transformers(cases: Cases) -> None:
    codec_lists: list[tuple[str, str, str, Any]] = [
        ("null", "codecs is no array", "Array metadata", None),
        ("unknown", "the codec is unknown", "Stability Policy", [{"type": "http://example.org/zarr/codecs/unknown"}]),
        ("without-type", "type is missing", "Array metadata", [{"configuration": {}}]),
        ("of-version-2", "type is missing", "Array metadata", [{"id": "gzip", "level": 1}]),
        ("configuration", "configuration is no object", "Array metadata", [{"type": draft.GZIP, "configuration": 1}]),
        ("gzip-level", "the level is beyond 9", "Gzip codec", [draft.gzip_codec(10)]),
        ("blosc-level", "the level is beyond 9", "Blosc codec", [draft.blosc_codec(clevel=10)]),
        ("blosc-shuffle", "the shuffle is not in the set {0, 1, 2, -1}", "Blosc codec", [draft.blosc_codec(shuffle=3)]),
        ("endian-missing", "endian is required", "Endian codec", [{"type": draft.ENDIAN, "configuration": {}}]),
        ("endian-unknown", "endian is neither big nor little", "Endian codec", [draft.endian_codec("middle")]),
    ]
    for name, what, section, codec_list in codec_lists:
        cases.array(f"codecs-{name}", what, section, codecs=codec_list)
    unknown = {"extension": "http://example.org/zarr/transformer", "type": "x"}
    transformers: list[tuple[str, str, Any]] = [
        ("unknown", "the storage transformer is unknown", [unknown]),
        ("unknown-type", "the only binary format is indexed", [draft.sharding((2,)) | {"type": "sparse"}]),
        (
            "without-extension",
            "extension is missing",
            [{"type": "indexed", "configuration": {"chunks_per_shard": [2]}}],
        ),
        ("without-configuration", "there is no chunks_per_shard", [{"extension": draft.SHARDING, "type": "indexed"}]),
        ("dimensions", "chunks_per_shard must match the shape", [draft.sharding((2, 2))]),
        ("zero", "a shard of no chunks", [draft.sharding((0,))]),
    ]
    for name, what, transformer in transformers:
        cases.array(f"sharding-{name}", what, "Sharding storage transformer", storage_transformers=transformer)


def invalid_chunks(cases: Cases) -> None:
    """Damage that only appears when chunks are read."""
    section = "Decoding procedure"
    plain, shards = [draft.gzip_codec()], [draft.sharding((2,))]
    stage: dict[str, Any] = {"stage": "read"}
    cases.array("chunk-short", "a chunk of 2 int32 has 7 bytes", section, stored={"data/a/c0": bytes(7)}, **stage)
    cases.array("chunk-long", "a chunk of 2 int32 has 9 bytes", section, stored={"data/a/c0": bytes(9)}, **stage)
    what = "a chunk is at the edge, and not of the full chunk size"
    cases.array("chunk-cut", what, "Regular grids", stored={"data/a/c1": bytes(4)}, shape=[3], **stage)
    what = "the chunk is no gzip file"
    cases.array("chunk-no-gzip", what, "Gzip codec", stored={"data/a/c0": bytes(8)}, codecs=plain, **stage)
    cut = {"data/a/c1": gzip.compress(bytes(8), mtime=0)[:-3]}
    cases.array("chunk-gzip-cut", "the gzip file is cut off", "Gzip codec", stored=cut, codecs=plain, **stage)
    section = "Binary shard format"
    cut = {"data/a/c0": bytes(31)}
    what = "the shard is shorter than its index"
    cases.array("shard-short", what, section, stored=cut, storage_transformers=shards, **stage)
    beyond = {"data/a/c0": bytes(8) + struct.pack("<4Q", 0, 8, 2**40, 8)}
    what = "the index points beyond the shard"
    cases.array("shard-index-beyond", what, section, stored=beyond, storage_transformers=shards, **stage)


def open_cases(cases: Cases) -> None:
    """Questions that the specification leaves open or answers in two ways; `outcome` is the choice of the oracle."""
    two = struct.pack("<2i", 1, 2)
    stored = {"data/a/c0": two}
    found = np.array([1, 2, 0, 0], dtype="<i4")
    read: dict[str, Any] = {"outcome": "read", "result": found, "stored": stored}

    cases.array("earlier-type-names", "the text has `int32`, its examples have `<i4`", data_type="<i4", **read)
    swapped = read | {"stored": {"data/a/c0": struct.pack(">2i", 1, 2)}}
    cases.array("earlier-type-names-big", "as before; `>i4` would be big-endian", data_type=">i4", **swapped)
    datetime = {"extension": draft.DATETIME, "type": "<M8[ns]", "fallback": "<i8"}
    what = "null is not permitted for any data type, but an example with a datetime has it"
    cases.array("datetime-null", what, data_type=datetime, fill_value=None)
    what = "no extension says how a fill value is written; the stored integer was chosen, and not this"
    cases.array("datetime-nat", what, data_type=datetime, fill_value="NaT")
    gzipped = read | {"stored": {"data/a/c0": gzip.compress(two, mtime=0)}}
    example = [{"type": draft.GZIP_OF_THE_EXAMPLE, "configuration": {"level": 1}}]
    cases.array("gzip-uri-of-the-example", "the example has another URI", "Gzip codec", codecs=example, **gzipped)
    bare = [{"type": draft.GZIP}]
    what = "no parameter is said to be required, and reading needs none"
    cases.array("gzip-without-configuration", what, "Gzip codec", codecs=bare, **gzipped)
    what = "a byte codec leaves no elements for endian; the text says that it may convert"
    after = [draft.gzip_codec(), draft.endian_codec("big")]
    cases.array("endian-after-gzip", what, "Chunk encoding", codecs=after)
    sharded = read | {"stored": {"data/a/c0": two + struct.pack("<4Q", 0, 8, 2**64 - 1, 2**64 - 1)}}
    underscore = [draft.sharding((2,)) | {"extension": draft.SHARDING_OF_THE_EXAMPLE}]
    what = "the example of the configuration has an underscore in the URI"
    section = "Sharding storage transformer"
    cases.array("sharding-uri-of-the-example", what, section, storage_transformers=underscore, **sharded)

    stack: dict[str, bytes] = {}
    data = np.arange(1, 9, dtype="<i4")
    transformers = [draft.sharding((2,)), draft.sharding((3,))]
    draft.write_array(stack, "/a", data, chunk_shape=(2,), storage_transformers=transformers)
    chunks = {key: value for key, value in stack.items() if not key.endswith(".json")}
    what = "which end of a stack is the array's? here the first transformer is"
    cases.array(
        "two-transformers", what, "Storage transformers", shape=[8], storage_transformers=transformers,
        outcome="read", result=data, stored=chunks,
    )  # fmt: skip

    grid = {"type": "regular", "chunk_shape": [2]}
    what = "the separator has a default in one place, and is demanded in another"
    cases.array("separator-missing", what, "Regular grids", chunk_grid=grid)
    what = "must unknown names inside of a known object fail, too? here only those of the document do"
    cases.array("chunk-grid-unknown-name", what, chunk_grid=grid | {"separator": "/", "foo": 1}, **read)
    real = np.array([0.5, 0.5, 0.5, 0.5], dtype="<c8")
    what = "complex numbers have no fill value in JSON but bits; is a real number one?"
    cases.array("complex-fill-number", what, data_type="complex64", fill_value=0.5, outcome="read", result=real)
    cases.array("complex-fill-pair", "as before, for a pair", data_type="complex64", fill_value=[0.5, 0.0])
    cases.array("complex-fill-nan", "are complex types floating point types?", data_type="complex64", fill_value="NaN")
    what = "an integer must be a number, but bits are accepted where decimals could be lossy"
    cases.array("integer-fill-hex", what, data_type="uint64", fill_value="0xffffffffffffffff")
    cases.array("bool-fill-hex", "as before", data_type="bool", fill_value="0x01")
    what = "only integers are said to be within the range of the type"
    cases.array("float-fill-out-of-range", what, data_type="float16", fill_value=1e6)
    complex_type = {"extension": draft.COMPLEX, "type": "complex64"}
    what = "the extension defines no type; the core has them"
    cases.array("complex-extension", what, "Complex number data types", data_type=complex_type, fill_value=0)
    struct_type = {"extension": draft.STRUCT, "type": [["a", "<i2"]]}
    what = "a struct has the byte order None; does endian change its fields? here it does not"
    swap = {"data/a/c0": struct.pack("<2h", 1, 2)}
    big = [draft.endian_codec("big")]
    kept: dict[str, Any] = read | {"stored": swap, "result": found.astype("<i2").view([("a", "<i2")])}
    cases.array("struct-endian", what, "Endian codec", data_type=struct_type, fill_value=[0], codecs=big, **kept)
    what = "a fallback may be an identifier of an extension; here the bare identifier is enough"
    fallback = {"extension": URI, "type": "moment", "fallback": ["<M8[s]", "int64"]}
    moments = np.array([1, 2, 0, 0], dtype="<i8").view("<M8[s]")
    kept = read | {"stored": {"data/a/c0": struct.pack("<2q", 1, 2)}, "result": moments}
    cases.array("fallback-bare", what, data_type=fallback, **kept)
    what = "true is 1 and false is 0, and nothing is said of others"
    other = {"data/a/c0": b"\x02\x00"}
    cases.array("bool-2", what, "Core data types", data_type="bool", fill_value=False, stored=other, stage="read")

    later = ENTRY_POINT | {"zarr_format": "https://purl.org/zarr/spec/core/3.1", "foo": 1}
    what = "unknown names must fail, but those of later minor versions may be ignored"
    documents: dict[str, Any] = {"zarr.json": later, "meta/a.array.json": SMALL_ARRAY | {"foo": 1}}
    cases.add(
        "minor-version-unknown-names", "Entry point metadata", what, documents=documents, chunks=stored, path="/a",
        outcome="read", result=found,
    )  # fmt: skip
    suffix = {"type": "json", "metadata_key_suffix": ".meta"}
    what = "the suffix has a default, so it may differ; but the object must be the one of the text"
    documents = {"zarr.json": ENTRY_POINT | {"metadata_encoding": suffix}}
    texts = {"meta/a.array.meta": json.dumps(SMALL_ARRAY)}
    cases.add("metadata-key-suffix", "Storage keys", what, documents=documents, texts=texts)
    both = {"zarr.json": ENTRY_POINT, "meta/a.array.json": SMALL_ARRAY, "meta/a.group.json": {"attributes": {}}}
    what = "two nodes have one path; a look for one finds the array, a look at all is refused"
    cases.add("array-and-group", "Determine if a node exists", what, documents=both)
    what = "a hierarchy has a root, but without a document nothing implies it"
    cases.add(
        "nothing", "Discover all nodes in a hierarchy", what, documents={"zarr.json": ENTRY_POINT}, outcome="read"
    )
    what = "all keys are said to be nodes; one with another ending is ignored"
    documents = {"zarr.json": ENTRY_POINT, "meta/a.array.json": SMALL_ARRAY}
    stray = {"meta/README.txt": "hello", "meta/.DS_Store": "", "meta/b/array.json": "{}"}
    cases.add(
        "stray-keys", "Discover all nodes in a hierarchy", what, documents=documents, texts=stray, chunks=stored,
        path="/a", outcome="read", result=found,
    )  # fmt: skip


def main() -> None:
    for name in ("valid", "expected"):
        shutil.rmtree(PLACE / name, ignore_errors=True)
    data_types().save("data-types")
    layouts_and_separators().save("layouts-and-separators")
    codecs().save("codecs")
    sharding().save("sharding")
    edges_and_scalars().save("edges-and-scalars")
    fill_values().save("fill-values")
    extension_types().save("extension-types")
    fallbacks().save("fallbacks")
    ignorable_extensions().save("ignorable-extensions")
    names_and_attributes().save("names-and-attributes")
    minor_version().save("minor-version")
    examples().save("examples")
    root_group().save("root-group")
    root_scalar().save("root-scalar")
    root_array(storage_transformers=[draft.sharding((2, 1))]).save("root-array-sharded")
    tour().save("tour", as_folder=True)
    root_array(codecs=[draft.gzip_codec()]).save("root-array", as_folder=True)

    invalid = Cases()
    invalid_entry_points(invalid)
    invalid_groups(invalid)
    invalid_names(invalid)
    invalid_arrays(invalid)
    invalid_fill_values(invalid)
    invalid_codecs_and_transformers(invalid)
    invalid_chunks(invalid)
    save_json(PLACE / "invalid.json", invalid.found)
    undecided = Cases()
    open_cases(undecided)
    save_json(PLACE / "open.json", undecided.found)


if __name__ == "__main__":
    main()
