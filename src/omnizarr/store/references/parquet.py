"""References in parquet files, as kerchunk and fsspec write them: one document with all metadata, and files for each
array with a fixed number of rows, one row per chunk in C order."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from math import ceil, prod
from typing import Any, NamedTuple

from omnizarr import _json
from omnizarr._json import Json
from omnizarr.config import config
from omnizarr.errors import InvalidKeyError, MetadataError, MissingDependencyError, StoreError
from omnizarr.store.contract import Store, check_key
from omnizarr.store.references.json_ import Reference
from omnizarr.store.references.table import ReferenceTable

__all__ = ["parquet_table"]

_COLUMNS = ("path", "offset", "size", "raw")
_RECORD = re.compile(r"/refs\.(0|[1-9][0-9]{0,17})\.parq\Z")
_MOST_CACHED_FILES = 32
_MOST_ROWS = 2**22
_MOST_CHUNKS = 2**48


class _Array(NamedTuple):
    """How the chunks of an array are numbered."""

    grid: tuple[int, ...]
    separator: str

    def number(self, name: str) -> int | None:
        """The number of the chunk with this name; None if there is none."""
        if not self.grid:
            return 0 if name == "0" else None
        parts = name.split(self.separator)
        if len(parts) != len(self.grid) or not all(re.fullmatch("0|[1-9][0-9]{0,17}", part) for part in parts):
            return None
        number = 0
        for part, length in zip(map(int, parts), self.grid, strict=True):
            if part >= length:
                return None
            number = number * length + part
        return number

    def name(self, number: int) -> str:
        """The name of a chunk."""
        parts: list[str] = []
        for length in reversed(self.grid):
            number, rest = divmod(number, length)
            parts.append(str(rest))
        return self.separator.join(reversed(parts)) if parts else "0"


def parquet_table(store: Store, folder: str, document: Json, what: str) -> ReferenceTable:
    """The references in the folder that has this document."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    rows = document.get("record_size") if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or not _json.is_integer(rows) or not 0 < rows <= _MOST_ROWS:
        raise MetadataError(f"{what}: `.zmetadata` has no `metadata`, or no `record_size` from 1 to {_MOST_ROWS}")
    documents: dict[str, Reference] = {}
    arrays: dict[str, _Array] = {}
    for key, value in metadata.items():
        try:
            check_key(key)
        except InvalidKeyError:
            raise MetadataError(f"{what}: has {key!r}, which is not a valid key") from None
        try:
            documents[key] = value.encode() if isinstance(value, str) else _json.dump(value, allow_nan=True)
        except UnicodeEncodeError as error:  # an unpaired surrogate
            raise MetadataError(f"{what}: {key}: {error}") from None
        if key.rpartition("/")[2] == ".zarray":
            arrays[key[: -len(".zarray")]] = _array(value, f"{what}: {key}")
    documents.setdefault(
        ".zmetadata", _json.dump({"metadata": metadata, "zarr_consolidated_format": 1}, allow_nan=True)
    )
    return ParquetTable(documents, arrays, store, folder, rows, what)


def _array(document: Json, what: str) -> _Array:
    if isinstance(document, str):
        document = _json.parse(document.encode(), what, limit=config.current.max_document_bytes)
    members = document if isinstance(document, dict) else {}
    shape, chunks = (_lengths(members.get(name), what) for name in ("shape", "chunks"))
    if len(shape) != len(chunks) or 0 in chunks:
        raise MetadataError(f"{what}: `shape` and `chunks` have different lengths, or a chunk length is 0")
    grid = tuple(ceil(length / chunk) for length, chunk in zip(shape, chunks, strict=True))
    if prod(grid) > _MOST_CHUNKS:
        raise MetadataError(f"{what}: has more than {_MOST_CHUNKS} chunks")
    return _Array(grid, "/" if members.get("dimension_separator") == "/" else ".")


def _lengths(value: Json, what: str) -> list[int]:
    if not isinstance(value, list) or not all(_json.is_integer(one) and one >= 0 for one in value):
        raise MetadataError(f"{what}: expected `shape` and `chunks` to be lists of lengths")
    return value


class ParquetTable(ReferenceTable):
    """References that are loaded on demand, many rows at a time."""

    def __init__(
        self,
        documents: Mapping[str, Reference],
        arrays: Mapping[str, _Array],
        store: Store,
        folder: str,
        rows: int,
        what: str,
    ) -> None:
        super().__init__(documents)
        self._arrays = arrays
        self._store = store
        self._folder = folder
        self._rows = rows
        self._what = what
        self._cached_rows: OrderedDict[str, list[Reference | None]] = OrderedDict()

    def get(self, key: str) -> Reference | None:
        document = super().get(key)
        if document is not None:
            return document
        prefix, number = self._chunk(key)
        if number is None:
            return None
        rows = self._record(prefix, number // self._rows)
        at = number % self._rows
        return rows[at] if at < len(rows) else None

    def _chunk(self, key: str) -> tuple[str, int | None]:
        """The array that a key belongs to, and the number of the chunk."""
        cut = key.rfind("/") + 1
        while True:
            array = self._arrays.get(key[:cut])
            if array is not None:
                return key[:cut], array.number(key[cut:])
            if not cut:
                return "", None
            cut = key.rfind("/", 0, cut - 1) + 1

    def _record(self, prefix: str, record: int) -> list[Reference | None]:
        key = f"{self._folder}/{prefix}refs.{record}.parq"
        rows = self._cached_rows.get(key)
        if rows is None:
            value = self._store.get(key)
            rows = [] if value is None else _rows_of(bytes(value), self._rows, f"{self._what}: {key}")
            self._cached_rows[key] = rows
            while len(self._cached_rows) > _MOST_CACHED_FILES:
                self._cached_rows.popitem(last=False)
        return rows

    # -- listing

    def below(self, prefix: str) -> Iterator[str]:
        yield from super().below(prefix)
        for array in self._arrays:
            if array.startswith(prefix) or prefix.startswith(array):
                yield from (key for key in self._chunks(array) if key.startswith(prefix))

    def _chunks(self, prefix: str) -> Iterator[str]:
        array = self._arrays[prefix]
        for record in self._records(prefix, ceil(prod(array.grid) / self._rows)):
            for at, reference in enumerate(self._record(prefix, record)):
                if reference is not None:
                    yield prefix + array.name(record * self._rows + at)

    def _records(self, prefix: str, count: int) -> list[int]:
        """The numbers of the existing files of an array that can have `count` files."""
        names = self._store.list_dir(f"{self._folder}/{prefix}")[0]
        numbers = [int(match[1]) for match in map(_RECORD.search, names) if match is not None]
        return sorted(number for number in numbers if number < count)

    def children(self, prefix: str) -> tuple[list[str], list[str]]:
        keys, prefixes = map(set, super().children(prefix))
        for array in self._arrays:
            if prefix.startswith(array):
                for key in self._chunks(array):
                    if key.startswith(prefix):
                        name, slash, _ = key[len(prefix) :].partition("/")
                        (prefixes if slash else keys).add(prefix + name + slash)
        return list(keys), list(prefixes)


def _rows_of(data: bytes, most: int, what: str) -> list[Reference | None]:
    try:
        columns = _read(data, most, what)
    except (MetadataError, MissingDependencyError):
        raise
    except Exception as error:  # pyarrow raises many kinds
        raise StoreError(f"{what} is not a parquet file of references: {error}") from None
    return [_reference(row, what) for row in zip(*columns, strict=True)]


def _reference(row: tuple[Any, Any, Any, Any], what: str) -> Reference | None:
    path, offset, size, raw = row
    if raw is not None:
        return raw.encode() if isinstance(raw, str) else bytes(raw)
    if not path:
        return None
    offset, size = offset or 0, size or 0
    if not isinstance(path, str) or not isinstance(offset, int) or not isinstance(size, int) or min(offset, size) < 0:
        raise MetadataError(f"{what}: expected a path, an offset and a size, found {row[:3]!r}")
    return (path, offset, size) if offset or size else (path, 0, None)


def _read(data: bytes, most: int, what: str) -> list[list[Any]]:
    """The four columns. The size is checked before anything is decompressed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("a folder of parquet references", "pyarrow") from None
    file = parquet.ParquetFile(pyarrow.BufferReader(data))
    metadata = file.metadata
    size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    if metadata.num_rows > most or size > config.current.max_chunk_bytes:
        raise MetadataError(f"{what}: has {metadata.num_rows} rows and {size} bytes, more than {most} rows could have")
    names = [name for name in _COLUMNS if name in file.schema_arrow.names]
    table = file.read(columns=names)
    empty: list[Any] = [None] * metadata.num_rows
    return [table.column(name).to_pylist() if name in names else list(empty) for name in _COLUMNS]
