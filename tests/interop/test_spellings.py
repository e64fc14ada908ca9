"""Documents of v2 in many spellings: omnizarr reads what zarr-python 2 or 3 reads, if a writer may mean it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MetadataError
from tests.formats.old_documents import array_v2
from tests.peers import Peer, PeerError, Unsupported

MISSING = object()
BLOSC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
VALUES: dict[str, list[Any]] = {
    "zarr_format": [2.0, "2", True, None],
    "shape": [[4.0], ["4"], 4, [True], [-4], [], [4, 4], {"0": 4}],
    "chunks": [[2.0], ["2"], 2, [0], [9], True, None, [2, 2], [None], [-1]],
    "dtype": [
        *("i4", "int32", "<i", "=i4", "|i4", ">i4", "<I4", "i", "int", "<u4", "|u1", "u1", "<f4", "float32", "<f8"),
        *("|b1", "bool", "<b1", "?", "<M8", "<M8[ns]", "<m8[ns]", "<c8", "complex64", "|V4", "datetime64[ns]"),
        *(["<i4"], [["a", "<i4"]], [["a", "<i4", [1]]], [["a", "<i4", 1]], [["a", "<i2", [2]]], None, 4, "|O", "|T4"),
    ],
    "order": ["c", "f", "F", "A", None, "K", "", 1],
    "filters": [
        *([], {}, [None], "", False, [{}], [{"id": "delta", "dtype": "<i4"}], [{"id": "delta", "dtype": "i4"}]),
        *([{"id": "delta", "dtype": "<i4", "astype": "<i4"}], [{"id": "shuffle", "elementsize": 4}]),
        *([{"id": "shuffle", "elementsize": "4"}], [{"id": "shuffle"}], [{"id": "fletcher32"}]),
        *([{"id": "zlib", "level": "1"}], [{"id": "zlib"}], {"id": "delta", "dtype": "<i4"}),
    ],
    "compressor": [
        *({"id": "zlib", "level": level} for level in ("1", 1.0, -1, 99, None, True)),
        *({"id": name} for name in ("zlib", "gzip", "bz2", "lzma", "zstd", "lz4", "blosc", "ZLIB", "null", None, "")),
        *({"id": "gzip", "level": level} for level in (-1, "5")),
        *({"id": "gzip", "level": 5, "useZlib": False}, {"id": "bz2", "level": "9"}, {"id": "bz2", "blockSize": 9}),
        *({"id": "lzma", "preset": 6}, {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}),
        *({"id": "zstd", "level": 3, "nbWorkers": 0}, {"id": "zstd", "level": "3"}, {"id": "lz4", "acceleration": "1"}),
        *(BLOSC | {"cname": "LZ4"}, BLOSC | {"clevel": "5", "shuffle": "1", "blocksize": "0"}, BLOSC | {"nthreads": 1}),
        *(BLOSC | {"typesize": 4}, BLOSC | {"shuffle": "shuffle"}, BLOSC | {"shuffle": True}, BLOSC | {"clevel": 10}),
        *(BLOSC | {"blocksize": None}, {"id": "blosc", "cname": "lz4"}, {}, "zlib", "", False, [], {"level": 1}),
        *({"id": "numcodecs.zlib", "level": 1}, {"name": "zlib", "level": 1}),
    ],
    "dimension_separator": [".", "/", None, "", "-", "//", 1],
    "extra": [1],
    "_nczarr_array": [{"dimrefs": ["/x"], "storage": "chunked"}],
}
REJECTED: dict[str, list[Any]] = {
    "zarr_format": [2.0],  # only zarr-python 2 reads it
    "shape": [[True], [], [4, 4]],  # an array whose shape and chunks differ in length, which only zarr-python 2 reads
    "chunks": [[0], True, [2, 2]],
    "dtype": ["<i", "i", "int", "?", "<M8", None, "datetime64[ns]"],  # of any size, or without a unit
    "order": ["A", None, "K"],  # read as C
    "filters": ["", False],
    "compressor": [
        *({"id": "zlib", "level": 99}, {"id": "zlib", "level": True}, MISSING),
        *(BLOSC | {"clevel": 10}, BLOSC | {"cname": "LZ4"}, BLOSC | {"shuffle": True}),
    ],
    "dimension_separator": ["", "-", "//"],
}
"""What at least one of them reads, but no writer can mean."""


def documents() -> Iterator[tuple[str, Any]]:
    for name, values in VALUES.items():
        yield from ((name, value) for value in (*values, MISSING))


@pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")
def test_V1_reads_the_spellings_that_zarr_python_reads(zarr3_peer: Peer, zarr2_peer: Peer, tmp_path: Path) -> None:
    wrong = []
    for number, (name, value) in enumerate(documents()):
        folder = tmp_path / str(number)
        folder.mkdir()
        document = array_v2(shape=[4], chunks=[2], dtype="<i4", fill_value=0, compressor={"id": "zlib", "level": 1})
        document.pop(name, None)
        document |= {} if value is MISSING else {name: value}
        (folder / ".zarray").write_text(json.dumps(document))
        expected = [
            found
            for peer, library in ((zarr3_peer, "zarr"), (zarr2_peer, "zarr2"))
            if (found := _read(peer, library, folder)) is not None
        ]
        if not expected:
            continue
        try:
            elements = omnizarr.open_array(folder, mode="r")[...]
        except MetadataError as error:
            if not any(value is known or value == known for known in REJECTED.get(name, [])):
                wrong.append((name, value, str(error)))
            continue
        if not any(np.array_equal(elements, found) for found in expected):
            wrong.append((name, value, elements))
    assert not wrong


def _read(peer: Peer, library: str, folder: Path) -> Any:
    try:
        return peer.read(library, folder)
    except (PeerError, Unsupported):
        return None
