"""A plain reader and writer of the Zarr core specification (version 3.0), draft of 2 December 2022.

It was written from the text of that specification alone, and shares no code with omnizarr. It is slow, and reads and
writes whole arrays in a mapping of keys to bytes. Comments cite sections of the specification by title. Where the text
contradicts itself or says nothing, a comment states the choice made here.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numcodecs.blosc import Blosc

CORE = "https://purl.org/zarr/spec/core/3.0"
GZIP = "https://purl.org/zarr/spec/codecs/gzip/1.0"
BLOSC = "https://purl.org/zarr/spec/codecs/blosc/1.0"
ENDIAN = "https://purl.org/zarr/spec/codecs/endian/1.0"
COMPLEX = "https://purl.org/zarr/spec/extensions/data-types/complex/1.0"
DATETIME = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0"
STRING = "https://purl.org/zarr/spec/extensions/data-types/string/1.0"
STRUCT = "https://purl.org/zarr/spec/extensions/data-types/struct/1.0"
SHARDING = "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0"

# Other spellings that the specification itself uses: "Gzip codec: Configuration parameters" has an example without a
# version and with `codec`, "Sharding storage transformer: Configuration" one with an underscore. Both are read.
GZIP_OF_THE_EXAMPLE = "https://purl.org/zarr/spec/codec/gzip"
SHARDING_OF_THE_EXAMPLE = "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0"

JSON_ENCODING = {"type": "json", "metadata_key_suffix": ".json"}
ABSENT = 2**64 - 1  # "Binary shard format": both numbers of the index entry of an empty chunk

Index = tuple[int, ...]


class DraftError(Exception):
    """Stored data violate the specification, or need something that the specification does not define."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Node:
    """A node of a hierarchy; an implicit group has no metadata document, and therefore no attributes."""

    kind: str  # "array" or "group"
    explicit: bool
    attributes: dict[str, Any]


@dataclass(frozen=True)
class ArrayDescription:
    """The content of the metadata document of an array."""

    path: str
    shape: Index
    data_type: Any  # as the document has it
    dtype: np.dtype[Any]  # in the byte order of the default binary representation
    fallback: Any  # the fallback that replaces the unknown `data_type`; None if that is known
    chunk_shape: Index
    separator: str
    layout: str
    fill_value: Any  # as the document has it
    fill_element: np.ndarray[Any, Any]  # of no dimensions, little-endian
    codecs: list[dict[str, Any]]
    storage_transformers: list[dict[str, Any]]
    extensions: list[dict[str, Any]]
    attributes: dict[str, Any]

    @property
    def grid_shape(self) -> Index:
        """After "Regular grids". A chunk may have length 0 if the array has; there are no chunks then."""
        pairs = zip(self.shape, self.chunk_shape, strict=True)
        return tuple(-(-length // chunk) if chunk else 0 for length, chunk in pairs)


def fail(reason: str) -> NoReturn:
    raise DraftError(reason)


def require(condition: bool, reason: str) -> None:
    if not condition:
        fail(reason)


# ---------------------------------------------------------------------------------------------------------------------
# JSON
# ---------------------------------------------------------------------------------------------------------------------


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def load_json(data: bytes, key: str) -> Any:
    """JSON as in [RFC8259], which has no literals NaN and Infinity."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=lambda word: fail(f"{key} holds the literal {word}"))
    except ValueError as error:
        fail(f"{key} is not JSON: {error}")


def dump_json(document: Any) -> bytes:
    return json.dumps(document, indent=1, allow_nan=False).encode("utf-8")


def load_object(data: bytes, key: str, required: set[str], optional: set[str], ignore_unknown: bool) -> dict[str, Any]:
    """A metadata document: one object with certain names.

    "Array metadata" requires failing on unknown names; "Entry point metadata" (zarr_format) allows ignoring them in
    documents of a later minor version. Both hold here: 3.0 is strict, 3.1 and later are not.
    """
    document = load_json(data, key)
    if not isinstance(document, dict):
        fail(f"{key} is not an object")
    missing = required - document.keys()
    require(not missing, f"{key} lacks {sorted(missing)}")
    unknown = document.keys() - required - optional
    require(ignore_unknown or not unknown, f"{key} has unknown names {sorted(unknown)}")
    return document


# ---------------------------------------------------------------------------------------------------------------------
# The entry point
# ---------------------------------------------------------------------------------------------------------------------


def check_extensions(extensions: Any, where: str) -> list[dict[str, Any]]:
    """After "Entry point metadata" (extensions), also for arrays; no generic extension is known here."""
    if not isinstance(extensions, list):
        fail(f"{where}: extensions is not an array")
    for extension in extensions:
        require(isinstance(extension, dict), f"{where}: an extension is not an object")
        name, required = extension.get("extension"), extension.get("must_understand")
        require(isinstance(name, str), f"{where}: an extension has no URI")
        require(isinstance(required, bool), f"{where}: must_understand is not true or false")
        require(not required, f"{where}: {name} must be understood and is unknown")
    return extensions


def read_entry_point(mapping: Mapping[str, bytes]) -> bool:
    """Checks `zarr.json`; returns whether unknown names may be ignored, see `load_object`."""
    require("zarr.json" in mapping, "there is no zarr.json")
    names = {"zarr_format", "metadata_encoding", "extensions"}
    document = load_object(mapping["zarr.json"], "zarr.json", names, set(), ignore_unknown=True)
    version = document["zarr_format"]
    require(isinstance(version, str), f"zarr_format is {version!r}, which is not a URI")
    match = re.fullmatch(r"https://purl\.org/zarr/spec/core/([0-9]+)\.([0-9]+)", version)
    if match is None or match[1] != "3":
        fail(f"zarr_format is {version!r}, which is not version 3")
    ignore_unknown = match[2] != "0"
    load_object(mapping["zarr.json"], "zarr.json", names, set(), ignore_unknown)
    # "must be the following object": other suffixes and other encodings belong to extensions, which are "always"
    # required ("Extensions"), and none is known.
    require(document["metadata_encoding"] == JSON_ENCODING, f"unknown encoding {document['metadata_encoding']!r}")
    check_extensions(document["extensions"], "zarr.json")
    return ignore_unknown


# ---------------------------------------------------------------------------------------------------------------------
# Paths and keys
# ---------------------------------------------------------------------------------------------------------------------


def node_names(path: str) -> list[str]:
    """The names along a path, after "Path" and "Node names"; none for the root."""
    if path == "/":
        return []
    require(path.startswith("/"), f"the path {path!r} does not start with /")
    names = path[1:].split("/")
    for name in names:
        require(re.fullmatch(r"[A-Za-z0-9._-]+", name) is not None, f"{name!r} is not a node name: {path!r}")
        require(name.strip(".") != "", f"a node name must not be periods alone: {path!r}")
    return names


def metadata_key(path: str, kind: str) -> str:
    """After "Storage keys"."""
    return f"meta/{kind}.json" if not node_names(path) else f"meta{path}.{kind}.json"


def data_prefix(path: str) -> str:
    return "data/" if not node_names(path) else f"data{path}/"


def node_of_key(key: str) -> tuple[str, str] | None:
    """The path and the kind of node that a metadata key stands for; None for other keys."""
    for kind in ("array", "group"):
        if key == f"meta/{kind}.json":
            return "/", kind
        if key.endswith(f".{kind}.json"):
            path = key.removeprefix("meta").removesuffix(f".{kind}.json")
            require(bool(node_names(path)), f"{key} is the key of a node without a name")
            return path, kind
    return None


def ancestors(path: str) -> list[str]:
    names = node_names(path)
    return ["/" + "/".join(names[:depth]) for depth in range(len(names))]


def chunk_identifier(index: Index, separator: str) -> str:
    """After "Regular grids"; the chunk of an array without dimensions is `c`."""
    return "c" + separator.join(map(str, index))


# ---------------------------------------------------------------------------------------------------------------------
# Data types
# ---------------------------------------------------------------------------------------------------------------------

# "Core data types". The table omits int64 and uint64, which the data type extensions and the examples rely on.
CORE_TYPES = {
    "bool": "?",
    **{f"{sign}int{8 * size}": f"<{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)},
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}
# The spelling of an earlier draft, which the text and the examples of "Array metadata" still use (`<f8`, `<i8`).
# NumPy's `descr` spells the fields of a struct in the same way.
EARLIER_SPELLING = re.compile(r"[<>]([iu][248]|f[248]|c8|c16)")
EARLIER_SPELLING_IN_STRUCTS = re.compile(r"\|([biu]1|[SV][1-9][0-9]*)")
DATETIME_TYPE = re.compile(r"[<>][Mm]8\[(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
STRING_TYPE = re.compile(r"(S|[<>]U)[1-9][0-9]*")
RAW_TYPE = re.compile(r"r([1-9][0-9]*)")


def core_type(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str):
        fail(f"{name!r} is not a data type")
    if name in CORE_TYPES:
        return np.dtype(CORE_TYPES[name])
    if EARLIER_SPELLING.fullmatch(name):
        return np.dtype(name)
    raw = RAW_TYPE.fullmatch(name)
    if raw is None or int(raw[1]) % 8:
        fail(f"{name!r} is not a core data type")
    return np.dtype(f"V{int(raw[1]) // 8}")


def any_type(name: Any) -> np.dtype[Any]:
    """A core data type, or one of the extensions: as an object, or by the bare identifier of a scalar type."""
    if isinstance(name, dict):
        return extension_type(name.get("extension"), name.get("type"))
    if isinstance(name, str) and (DATETIME_TYPE.fullmatch(name) or STRING_TYPE.fullmatch(name)):
        return np.dtype(name)
    return core_type(name)


def field_type(name: Any) -> np.dtype[Any]:
    if isinstance(name, str) and EARLIER_SPELLING_IN_STRUCTS.fullmatch(name):
        return np.dtype(name)
    found = any_type(name)
    require(found.names is None, "a struct has scalars only for its fields")
    return found


def struct_type(fields: Any) -> np.dtype[Any]:
    """After "Struct data types": a list of names and scalar types, one after another without padding."""
    if not isinstance(fields, list) or not fields:
        fail(f"a struct is a list of fields, not {fields!r}")
    for field in fields:
        require(isinstance(field, list) and len(field) == 2, f"a field is a name and a type, not {field!r}")
        require(isinstance(field[0], str) and field[0] != "", f"{field[0]!r} is not a field name")
    require(len({name for name, _ in fields}) == len(fields), "two fields have the same name")
    return np.dtype([(name, field_type(kind)) for name, kind in fields])


def extension_type(extension: Any, kind: Any) -> np.dtype[Any]:
    """A data type of a known extension; "Complex number data types" defines none (core has them)."""
    if extension == STRUCT:
        return struct_type(kind)
    for known, pattern in ((DATETIME, DATETIME_TYPE), (STRING, STRING_TYPE)):
        if extension == known and isinstance(kind, str) and pattern.fullmatch(kind):
            return np.dtype(kind)
    fail(f"the data type {kind!r} of {extension!r} is unknown")


def parse_data_type(value: Any) -> tuple[np.dtype[Any], Any]:
    """After "Array metadata" (data_type): the type to use, and the fallback if it was used."""
    if not isinstance(value, dict):
        return core_type(value), None
    require(isinstance(value.get("extension"), str), "an extension data type has no URI")
    require("type" in value, "an extension data type has no type")
    try:
        return extension_type(value["extension"], value["type"]), None
    except DraftError:
        if "fallback" not in value:
            raise
    fallbacks = value["fallback"]
    for fallback in fallbacks if isinstance(fallbacks, list) else [fallbacks]:
        try:
            return any_type(fallback), fallback
        except DraftError:
            continue
    fail(f"neither {value['type']!r} of {value['extension']!r} nor a fallback is known")


def data_type_of(dtype: np.dtype[Any]) -> Any:
    """The data type with which the writer stores elements of this NumPy type."""
    if dtype.names is not None:
        fields = [[name, kind] for name, kind, *_ in dtype.descr]
        return {"extension": STRUCT, "type": fields, "fallback": f"r{8 * dtype.itemsize}"}
    if dtype.kind == "V":
        return f"r{8 * dtype.itemsize}"
    text = dtype.newbyteorder("<").str if dtype.byteorder in "=|" else dtype.str
    if dtype.kind in "Mm":
        return {"extension": DATETIME, "type": text, "fallback": "int64"}
    if dtype.kind in "SU":
        return {"extension": STRING, "type": text.removeprefix("|"), "fallback": f"r{8 * dtype.itemsize}"}
    return dtype.newbyteorder("=").name


# ---------------------------------------------------------------------------------------------------------------------
# Fill values
# ---------------------------------------------------------------------------------------------------------------------


def element(values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array without dimensions, in little-endian order, with all bits unchanged."""
    if isinstance(values, np.ndarray):
        return values.reshape(()).astype(dtype.newbyteorder("<"))
    return np.array(values, dtype=dtype.newbyteorder("<"))


def fill_from_bits(text: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The spellings 0x… and 0b…: the most significant digit first, as numbers are written; real before imaginary part.

    The text does not say in which order the bytes come. Raw bits have no significance, and come in stored order.
    """
    digits, base, per_byte = text[2:], (16 if text.startswith("0x") else 2), (2 if text.startswith("0x") else 8)
    allowed = "0123456789abcdefABCDEF" if base == 16 else "01"
    require(len(digits) == per_byte * dtype.itemsize, f"{text!r} has not all digits of a {dtype}")
    require(all(digit in allowed for digit in digits), f"{text!r} is not a number")
    data = int(digits, base).to_bytes(dtype.itemsize, "big")
    return element(np.frombuffer(data, dtype=dtype.newbyteorder(">")), dtype)


def fill_float(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    words = {"NaN": math.nan, "+Infinity": math.inf, "-Infinity": -math.inf}
    if isinstance(value, str) and value in words:
        return element(words[value], dtype)
    require(is_number(value), f"the fill value {value!r} is not a valid {dtype}")
    with np.errstate(over="ignore"):
        try:
            found = np.array(float(value)).astype(dtype)
        except OverflowError:
            fail(f"the fill value {value!r} is out of range of {dtype}")
    require(bool(np.isfinite(found)), f"the fill value {value!r} is out of range of {dtype}")
    return element(found, dtype)


def parse_fill_value(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """After "Array metadata" (fill_value).

    The extensions define no fill values. Chosen here: the stored integer for datetimes, the text itself for strings, an
    array with one fill value per field for structs.
    """
    require(value is not None, "the fill value must not be null")
    kind = dtype.kind
    if kind in "fcV" and isinstance(value, str) and value[:2] in ("0x", "0b") and dtype.names is None:
        return fill_from_bits(value, dtype)
    if kind in "fc":
        require(kind == "f" or is_number(value), f"the fill value {value!r} is not a valid {dtype}")
        return fill_float(value, dtype)
    if kind == "b":
        require(isinstance(value, bool), f"the fill value {value!r} is not true or false")
    elif kind in "iuMm":
        require(is_integer(value), f"the fill value {value!r} is not an integer")
        limits = np.iinfo(dtype if kind in "iu" else np.int64)
        require(limits.min <= value <= limits.max, f"the fill value {value!r} is out of range of {dtype}")
        if kind in "Mm":
            return element(np.array(value, dtype="<i8").view(dtype.newbyteorder("<")), dtype)
    elif kind in "SU":
        require(isinstance(value, str), f"the fill value {value!r} is not a string")
        require(kind == "U" or value.isascii(), f"the fill value {value!r} is not ASCII")
        require(len(value) <= dtype.itemsize // (4 if kind == "U" else 1), f"the fill value {value!r} is too long")
    elif dtype.names is not None:
        require(isinstance(value, list) and len(value) == len(dtype.names), f"{value!r} is not a list of all fields")
        found = np.zeros((), dtype=dtype.newbyteorder("<"))
        for name, part in zip(dtype.names, value, strict=True):
            found[name] = parse_fill_value(part, dtype[name])
        return found
    else:
        fail(f"the fill value {value!r} of raw bits is not in binary or hexadecimal")
    return element(value, dtype)


def fill_value_of(value: Any, dtype: np.dtype[Any]) -> Any:
    """The JSON value for an element; `parse_fill_value` returns the same bits."""
    found = np.asarray(value, dtype=dtype).reshape(())
    if dtype.names is not None:
        return [fill_value_of(found[name], dtype[name]) for name in dtype.names]
    if dtype.kind == "V":
        return "0x" + found.tobytes().hex()
    if dtype.kind == "c" or (dtype.kind == "f" and np.isnan(found)):
        return "0x" + found.astype(dtype.newbyteorder(">")).tobytes().hex()
    if dtype.kind == "f" and np.isinf(found):
        return "+Infinity" if found > 0 else "-Infinity"
    if dtype.kind in "Mm":
        return int(found.astype(dtype.newbyteorder("<")).view("<i8"))
    if dtype.kind == "S":
        return found.item().decode("ascii")
    return found.item()


# ---------------------------------------------------------------------------------------------------------------------
# Codecs
# ---------------------------------------------------------------------------------------------------------------------


def check_codecs(codecs: Any) -> list[dict[str, Any]]:
    """After "Array metadata" (codecs) and "Determination of encoded representations".

    Only `endian` takes an array; all other codecs, and every codec after another, take byte strings. A codec `endian`
    that is not the first would have to find elements in a byte string of unknown length, and fails.
    """
    if not isinstance(codecs, list):
        fail("codecs is not an array")
    for position, codec in enumerate(codecs):
        require(isinstance(codec, dict) and isinstance(codec.get("type"), str), "a codec has no type")
        configuration = codec.get("configuration", {})
        require(isinstance(configuration, dict), f"the configuration of {codec['type']} is not an object")
        if codec["type"] == ENDIAN:
            require(configuration.get("endian") in ("big", "little"), "the codec endian is neither big nor little")
            require(position == 0, "the codec endian needs an array, and finds a byte string")
        elif codec["type"] in (GZIP, GZIP_OF_THE_EXAMPLE):
            level = configuration.get("level", 1)
            require(is_integer(level) and 0 <= level <= 9, f"gzip has the level {level!r}")
        elif codec["type"] == BLOSC:
            level, shuffle = configuration.get("clevel", 1), configuration.get("shuffle", -1)
            block = configuration.get("blocksize", 0)
            require(is_integer(level) and 0 <= level <= 9, f"blosc has the level {level!r}")
            require(is_integer(shuffle) and shuffle in (0, 1, 2, -1), f"blosc has the shuffle {shuffle!r}")
            require(is_integer(block) and block >= 0, f"blosc has the block size {block!r}")
            require(isinstance(configuration.get("cname", "lz4"), str), "blosc has no name of an algorithm")
        else:
            fail(f"the codec {codec['type']!r} is unknown")
    return codecs


def stored_type(array: ArrayDescription) -> np.dtype[Any]:
    """The type with the byte order in which elements become bytes.

    "Struct data types" says that a struct has the byte order "None" as a whole, so `endian` leaves it unchanged.
    """
    for codec in array.codecs:
        if codec["type"] == ENDIAN and array.dtype.names is None:
            return array.dtype.newbyteorder(">" if codec["configuration"]["endian"] == "big" else "<")
    return array.dtype


def encode_chunk(chunk: np.ndarray[Any, Any], array: ArrayDescription) -> bytes:
    """After "Encoding procedure"; `chunk` has the whole chunk shape."""
    arranged = chunk if array.layout == "C" else chunk.transpose()
    data = arranged.astype(stored_type(array)).tobytes(order="C")
    item_size = array.dtype.itemsize  # Blosc shuffles elements if it gets elements, and single bytes otherwise
    for codec in array.codecs:
        configuration = codec.get("configuration", {})
        if codec["type"] in (GZIP, GZIP_OF_THE_EXAMPLE):
            data = gzip.compress(data, configuration.get("level", 1), mtime=0)
        elif codec["type"] == BLOSC:
            options = {"cname": "lz4", "clevel": 1, "shuffle": -1, "blocksize": 0} | configuration
            data = bytes(Blosc(**options).encode(np.frombuffer(data, dtype=f"V{item_size}")))
        item_size = 1
    return data


def decode_chunk(data: bytes, array: ArrayDescription) -> np.ndarray[Any, Any]:
    """After "Decoding procedure"."""
    for codec in reversed(array.codecs):
        try:
            if codec["type"] in (GZIP, GZIP_OF_THE_EXAMPLE):
                data = gzip.decompress(data)
            elif codec["type"] == BLOSC:
                data = bytes(Blosc().decode(data))
        except (EOFError, OSError, RuntimeError, ValueError, zlib.error) as error:
            fail(f"{codec['type']} cannot decode a chunk of {array.path}: {error}")
    dtype = stored_type(array)
    expected = math.prod(array.chunk_shape) * dtype.itemsize
    require(len(data) == expected, f"a chunk of {array.path} has {len(data)} bytes and not {expected}")
    if dtype.kind == "b":
        require(set(data) <= {0, 1}, f"a chunk of {array.path} has booleans that are neither 0 nor 1")
    if array.layout == "F":
        return np.frombuffer(data, dtype=dtype).reshape(array.chunk_shape[::-1]).transpose()
    return np.frombuffer(data, dtype=dtype).reshape(array.chunk_shape)


# ---------------------------------------------------------------------------------------------------------------------
# Stores and storage transformers
# ---------------------------------------------------------------------------------------------------------------------


class MappingStore:
    """The readable and listable parts of the "Abstract store interface", on a mapping."""

    def __init__(self, mapping: Mapping[str, bytes]) -> None:
        self.mapping = mapping

    def get(self, key: str) -> bytes | None:
        return self.get_partial_values([(key, (0, None))])[0]

    def get_partial_values(self, key_ranges: Iterable[tuple[str, tuple[int, int | None]]]) -> list[bytes | None]:
        values: list[bytes | None] = []
        for key, (start, length) in key_ranges:
            value = self.mapping.get(key)
            values.append(value if value is None else value[start : None if length is None else start + length])
        return values

    def list(self) -> set[str]:
        return set(self.mapping)

    def list_prefix(self, prefix: str) -> set[str]:
        return {key for key in self.mapping if key.startswith(prefix)}

    def list_dir(self, prefix: str) -> tuple[set[str], set[str]]:
        keys: set[str] = set()
        prefixes: set[str] = set()
        for key in self.list_prefix(prefix):
            name, slash, _ = key.removeprefix(prefix).partition("/")
            (prefixes if slash else keys).add(prefix + name + slash)
        return keys, prefixes


class ShardingTransformer:
    """The "Sharding storage transformer" in the format `indexed`: presents the chunks that a store keeps in shards.

    The text speaks of keys below `data/root`, a prefix that the core no longer has ("Change log", PR #175). It means
    the data keys of the array, which start with `prefix` here.
    """

    def __init__(
        self, store: MappingStore | ShardingTransformer, prefix: str, chunks_per_shard: Index, separator: str
    ) -> None:
        self.store = store
        self.prefix = prefix
        self.chunks_per_shard = chunks_per_shard
        self.separator = separator

    def get(self, key: str) -> bytes | None:
        return self.get_partial_values([(key, (0, None))])[0]

    def get_partial_values(self, key_ranges: Iterable[tuple[str, tuple[int, int | None]]]) -> list[bytes | None]:
        values: list[bytes | None] = []
        for key, (start, length) in key_ranges:
            index = self.parse(key)
            if index is None or len(index) < len(self.chunks_per_shard):
                values.extend(self.store.get_partial_values([(key, (start, length))]))
                continue
            shard = self.to_shard(index)
            offset, size = self.entries(shard).get(index, (ABSENT, ABSENT))
            if offset == size == ABSENT:
                values.append(None)
                continue
            size = max(size - start, 0) if length is None else max(min(size - start, length), 0)
            values.extend(self.store.get_partial_values([(self.key(shard), (offset + start, size))]))
        return values

    def list(self) -> set[str]:
        return set(itertools.chain.from_iterable(map(self.expand, self.store.list())))

    def list_prefix(self, prefix: str) -> set[str]:
        shards = self.store.list_prefix(self.translate(prefix))
        return {key for shard in shards for key in self.expand(shard) if key.startswith(prefix)}

    def list_dir(self, prefix: str) -> tuple[set[str], set[str]]:
        shards, shard_prefixes = self.store.list_dir(self.translate(prefix))
        keys = {key for shard in shards for key in self.expand(shard) if key.startswith(prefix)}
        prefixes = set()
        for shard_prefix in shard_prefixes:
            shard = self.parse(shard_prefix.removesuffix("/"))
            if shard is None:
                prefixes.add(shard_prefix)
                continue
            prefixes |= {self.key(chunk) + "/" for chunk in self.chunks(shard)}
        return keys, {found for found in prefixes if found.startswith(prefix)}

    def key(self, index: Index) -> str:
        return self.prefix + chunk_identifier(index, self.separator)

    def parse(self, key: str) -> Index | None:
        """The grid position of a key of this array, or the first part of one; None for any other key."""
        identifier = key.removeprefix(self.prefix)
        if not key.startswith(self.prefix) or not identifier.startswith("c"):
            return None
        numbers = identifier[1:].split(self.separator) if identifier != "c" else []
        if not all(re.fullmatch(r"0|[1-9][0-9]*", number) for number in numbers):
            return None
        if len(numbers) > len(self.chunks_per_shard) or (not numbers and self.chunks_per_shard):
            return None
        return tuple(map(int, numbers))

    def paired(self, index: Index) -> Iterator[tuple[int, int]]:
        return zip(index, self.chunks_per_shard, strict=False)  # a prefix has only the first positions

    def to_shard(self, chunk: Index) -> Index:
        return tuple(position // count for position, count in self.paired(chunk))

    def chunks(self, shard: Index) -> Iterator[Index]:
        """The grid positions in a shard, or the first parts of them, in row-major order."""
        spans = (range(position * count, (position + 1) * count) for position, count in self.paired(shard))
        return itertools.product(*spans)

    def translate(self, prefix: str) -> str:
        chunk = self.parse(prefix.removesuffix("/"))
        return prefix if chunk is None else self.key(self.to_shard(chunk)) + "/"

    def expand(self, key: str) -> Sequence[str]:
        shard = self.parse(key)
        if shard is None or len(shard) < len(self.chunks_per_shard):
            return [key]
        return [self.key(chunk) for chunk, entry in self.entries(shard).items() if entry != (ABSENT, ABSENT)]

    def entries(self, shard: Index) -> dict[Index, tuple[int, int]]:
        """After "Binary shard format": the ranges of the chunks in a shard; empty if the shard does not exist.

        A range of the store interface counts from the start of a value. The index at the end therefore cannot be read
        alone, and this reads the whole shard.
        """
        value = self.store.get(self.key(shard))
        if value is None:
            return {}
        start = len(value) - 16 * math.prod(self.chunks_per_shard)
        require(start >= 0, f"the shard {self.key(shard)} is too short for its index")
        entries = dict(zip(self.chunks(shard), struct.iter_unpack("<QQ", value[start:]), strict=True))
        for offset, size in entries.values():
            absent = offset == size == ABSENT
            require(absent or offset + size <= start, f"the index of {self.key(shard)} points outside the shard")
        return entries


def pack_shards(
    chunks: Mapping[Index, bytes], chunks_per_shard: Index, *, backwards: bool = False, gap: bytes = b""
) -> dict[Index, bytes]:
    """After "Binary shard format": chunks in any order, optionally with unused space before each, then the index."""
    shards: dict[Index, dict[Index, bytes]] = {}
    for chunk, data in chunks.items():
        pairs = list(map(divmod, chunk, chunks_per_shard))
        shard, position = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        shards.setdefault(shard, {})[position] = data
    packed = {}
    for shard, inner in shards.items():
        body, places = b"", {}
        for position in sorted(inner, reverse=backwards):
            body += gap
            places[position] = (len(body), len(inner[position]))
            body += inner[position]
        for position in itertools.product(*map(range, chunks_per_shard)):
            body += struct.pack("<QQ", *places.get(position, (ABSENT, ABSENT)))
        packed[shard] = body
    return packed


def check_storage_transformers(transformers: Any, dimensions: int) -> list[dict[str, Any]]:
    if not isinstance(transformers, list):
        fail("storage_transformers is not an array")
    for transformer in transformers:
        require(isinstance(transformer, dict), "a storage transformer is not an object")
        kind = (transformer.get("extension"), transformer.get("type"))
        known = kind in ((SHARDING, "indexed"), (SHARDING_OF_THE_EXAMPLE, "indexed"))
        require(known, f"the storage transformer {kind} is unknown")
        configuration = transformer.get("configuration")
        require(isinstance(configuration, dict), "sharding has no configuration")
        counts = configuration.get("chunks_per_shard")
        require(isinstance(counts, list) and len(counts) == dimensions, "chunks_per_shard has not all dimensions")
        require(all(is_integer(count) and count > 0 for count in counts), f"chunks_per_shard is {counts}")
    return transformers


def chunk_store(mapping: Mapping[str, bytes], array: ArrayDescription) -> MappingStore | ShardingTransformer:
    """The store of the chunks as the array sees it.

    "Storage transformers" speaks of a stack without saying which end is up; here the first is next to the array.
    """
    store: MappingStore | ShardingTransformer = MappingStore(mapping)
    for transformer in reversed(array.storage_transformers):
        counts = tuple(transformer["configuration"]["chunks_per_shard"])
        store = ShardingTransformer(store, data_prefix(array.path), counts, array.separator)
    return store


# ---------------------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------------------

ARRAY_NAMES = {"shape", "data_type", "chunk_grid", "chunk_memory_layout", "fill_value", "extensions", "attributes"}


def lengths(value: Any, name: str) -> Index:
    require(isinstance(value, list) and all(is_integer(n) and n >= 0 for n in value), f"{name} is {value!r}")
    return tuple(value)


def parse_array(data: bytes, path: str, ignore_unknown: bool = False) -> ArrayDescription:
    """After "Array metadata"."""
    key = metadata_key(path, "array")
    document = load_object(data, key, ARRAY_NAMES, {"codecs", "storage_transformers"}, ignore_unknown)
    shape = lengths(document["shape"], "shape")
    dtype, fallback = parse_data_type(document["data_type"])
    grid = document["chunk_grid"]
    regular = isinstance(grid, dict) and "extension" not in grid and grid.get("type") == "regular"
    require(regular, f"the chunk grid {grid!r} is unknown")
    chunk_shape = lengths(grid.get("chunk_shape"), "chunk_shape")
    require(len(chunk_shape) == len(shape), "chunk_shape and shape have different dimensions")
    # "Chunk": chunk lengths are non-zero where the lengths of the array are.
    require(all(chunk or not length for chunk, length in zip(chunk_shape, shape, strict=True)), "a chunk has no length")
    # "Regular grids" has a default for the separator; "Array metadata" requires the name, and so does this reader.
    separator = grid.get("separator")
    require(separator in ("/", "."), f"the separator is {separator!r}")
    layout = document["chunk_memory_layout"]
    require(layout in ("C", "F"), f"the memory layout {layout!r} is unknown")
    require(isinstance(document["attributes"], dict), f"the attributes of {path} are no object")
    return ArrayDescription(
        path=path,
        shape=shape,
        data_type=document["data_type"],
        dtype=dtype,
        fallback=fallback,
        chunk_shape=chunk_shape,
        separator=separator,
        layout=layout,
        fill_value=document["fill_value"],
        fill_element=parse_fill_value(document["fill_value"], dtype),
        codecs=check_codecs(document.get("codecs", [])),
        storage_transformers=check_storage_transformers(document.get("storage_transformers", []), len(shape)),
        extensions=check_extensions(document["extensions"], path),
        attributes=document["attributes"],
    )


def parse_group(data: bytes, path: str, ignore_unknown: bool = False) -> dict[str, Any]:
    """The attributes, after "Group metadata"."""
    document = load_object(data, metadata_key(path, "group"), {"attributes"}, set(), ignore_unknown)
    attributes = document["attributes"]
    if not isinstance(attributes, dict):
        fail(f"the attributes of {path} are not an object")
    return attributes


def read_hierarchy(mapping: Mapping[str, bytes]) -> dict[str, Node]:
    """After "Discover all nodes in a hierarchy": every node by its path; checks all documents.

    A hierarchy with nothing but `zarr.json` has no nodes: "Determine if a node exists" finds an implicit group only
    above other nodes.
    """
    ignore_unknown = read_entry_point(mapping)
    nodes: dict[str, Node] = {}
    for key in sorted(MappingStore(mapping).list_prefix("meta/")):
        found = node_of_key(key)
        if found is None:
            continue
        path, kind = found
        require(path not in nodes, f"{path} is both an array and a group")
        if kind == "array":
            attributes = parse_array(mapping[key], path, ignore_unknown).attributes
        else:
            attributes = parse_group(mapping[key], path, ignore_unknown)
        nodes[path] = Node(kind, True, attributes)
    for path in list(nodes):
        for ancestor in ancestors(path):
            above = nodes.setdefault(ancestor, Node("group", False, {}))
            require(above.kind == "group", f"{path} lies below the array {ancestor}")
    return dict(sorted(nodes.items()))


def describe(mapping: Mapping[str, bytes], path: str) -> ArrayDescription:
    """The description of the array at `path`; ignores other nodes."""
    ignore_unknown = read_entry_point(mapping)
    key = metadata_key(path, "array")
    require(key in mapping, f"there is no array at {path}")
    return parse_array(mapping[key], path, ignore_unknown)


def chunk_places(index: Index, array: ArrayDescription) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The part of the array that a chunk covers, and the part of the chunk that covers it, which is smaller at the
    edges.

    The ellipsis returns an array also for no dimensions; a scalar might lose bits of a NaN.
    """
    spans = zip(index, array.chunk_shape, array.shape, strict=True)
    slices = [slice(i * chunk, min((i + 1) * chunk, length)) for i, chunk, length in spans]
    return (..., *slices), (..., *(slice(0, part.stop - part.start) for part in slices))


def read_array(mapping: Mapping[str, bytes], path: str) -> np.ndarray[Any, Any]:
    """All elements of the array at `path`, in little-endian order; uninitialised portions have the fill value."""
    array = describe(mapping, path)
    store = chunk_store(mapping, array)
    result = np.broadcast_to(array.fill_element, array.shape).copy()
    for index in itertools.product(*map(range, array.grid_shape)):
        data = store.get(data_prefix(path) + chunk_identifier(index, array.separator))
        if data is not None:
            in_array, in_chunk = chunk_places(index, array)
            result[in_array] = decode_chunk(data, array)[in_chunk]
    return result


def load_directory(directory: Path) -> dict[str, bytes]:
    """The keys and values of a "File system store"."""
    files = (file for file in sorted(directory.rglob("*")) if file.is_file())
    return {file.relative_to(directory).as_posix(): file.read_bytes() for file in files}


def store_directory(mapping: Mapping[str, bytes], directory: Path) -> None:
    for key, value in mapping.items():
        file = directory.joinpath(*key.split("/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(value)


# ---------------------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------------------


def gzip_codec(level: int = 1) -> dict[str, Any]:
    return {"type": GZIP, "configuration": {"level": level}}


def blosc_codec(cname: str = "lz4", clevel: int = 1, shuffle: int = 1, blocksize: int = 0) -> dict[str, Any]:
    configuration = {"cname": cname, "clevel": clevel, "shuffle": shuffle, "blocksize": blocksize}
    return {"type": BLOSC, "configuration": configuration}


def endian_codec(endian: str) -> dict[str, Any]:
    return {"type": ENDIAN, "configuration": {"endian": endian}}


def sharding(chunks_per_shard: Sequence[int]) -> dict[str, Any]:
    configuration = {"chunks_per_shard": list(chunks_per_shard)}
    return {"extension": SHARDING, "type": "indexed", "configuration": configuration}


def write_entry_point(
    mapping: MutableMapping[str, bytes],
    *,
    zarr_format: str = CORE,
    metadata_encoding: Any = None,
    extensions: Sequence[Any] = (),
) -> None:
    """Writes `zarr.json`."""
    encoding = JSON_ENCODING if metadata_encoding is None else metadata_encoding
    document = {"zarr_format": zarr_format, "metadata_encoding": encoding, "extensions": list(extensions)}
    mapping["zarr.json"] = dump_json(document)


def write_group(mapping: MutableMapping[str, bytes], path: str, attributes: Mapping[str, Any] | None = None) -> None:
    """Writes the document of an explicit group; groups above it exist implicitly."""
    mapping[metadata_key(path, "group")] = dump_json({"attributes": dict(attributes or {})})


def write_array(
    mapping: MutableMapping[str, bytes],
    path: str,
    array: np.ndarray[Any, Any],
    *,
    chunk_shape: Sequence[int] | None = None,
    data_type: Any = None,
    separator: str = "/",
    layout: str = "C",
    fill_value: Any = None,
    codecs: Sequence[Any] | None = None,
    storage_transformers: Sequence[Any] | None = None,
    extensions: Sequence[Any] = (),
    attributes: Mapping[str, Any] | None = None,
    omit_empty_chunks: bool = True,
    shard_backwards: bool = False,
    shard_gap: bytes = b"",
) -> None:
    """Writes the document and the chunks of an array. Arguments that are None are chosen, or omitted if optional.

    `fill_value` and `data_type` are given as in the document. Chunks that hold only fill values are not written, unless
    `omit_empty_chunks` is false. Parts of chunks beyond the edge have the fill value.
    """
    if data_type is None:
        data_type = data_type_of(array.dtype)
    if fill_value is None:
        fill_value = fill_value_of(np.zeros((), dtype=array.dtype), array.dtype)
    document: dict[str, Any] = {
        "shape": list(array.shape),
        "data_type": data_type,
        "chunk_grid": {
            "type": "regular",
            "chunk_shape": list(array.shape if chunk_shape is None else chunk_shape),
            "separator": separator,
        },
        "chunk_memory_layout": layout,
        "fill_value": fill_value,
        "extensions": list(extensions),
        "attributes": dict(attributes or {}),
    }
    if codecs is not None:
        document["codecs"] = list(codecs)
    if storage_transformers is not None:
        document["storage_transformers"] = list(storage_transformers)
    data = dump_json(document)
    target = parse_array(data, path)
    mapping[metadata_key(path, "array")] = data

    chunks: dict[Index, bytes] = {}
    for index in itertools.product(*map(range, target.grid_shape)):
        in_array, in_chunk = chunk_places(index, target)
        chunk = np.broadcast_to(target.fill_element, target.chunk_shape).copy()
        empty = chunk.tobytes()
        chunk[in_chunk] = array[in_array]
        if not omit_empty_chunks or chunk.tobytes() != empty:
            chunks[index] = encode_chunk(chunk, target)
    for transformer in target.storage_transformers:
        counts = tuple(transformer["configuration"]["chunks_per_shard"])
        chunks = pack_shards(chunks, counts, backwards=shard_backwards, gap=shard_gap)
    for index, value in chunks.items():
        mapping[data_prefix(path) + chunk_identifier(index, separator)] = value
