"""A damaged chunk gives values or a ChunkError, which names the array, the chunk and the key; nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ChunkError

LAYOUTS: list[dict[str, Any]] = [
    {"compressors": None},
    {"compressors": "gzip"},
    {"compressors": "zstd"},
    {"compressors": "blosc"},
    {"compressors": ["zstd", "crc32c"]},
    {"compressors": None, "order": "F"},
    {"dtype": "bool", "compressors": None},
    {"dtype": "complex64"},
    {"dtype": [("a", ">i2"), ("b", "?")], "compressors": "zstd"},
    {"chunks": (2, 2), "shards": (4, 4)},
    {"chunks": (2, 2), "shards": (4, 4), "compressors": None},
]


def create(layout: dict[str, Any], store: Any = None) -> omnizarr.Array:
    z = omnizarr.create_array(store, name="a", **{"shape": (7, 4), "dtype": "int16", "chunks": (4, 4), **layout})
    z[...] = np.ones((7, 4), z.dtype)
    return z


def read_all(z: omnizarr.Array) -> None:
    for look in (lambda: z[...], lambda: z[0, 0], lambda: z[1:3, ::2], lambda: z.__setitem__((0, 0), z.fill_value)):
        try:
            look()
        except ChunkError as error:
            assert (error.array, error.chunk, error.key) == ("a", (0, 0), "a/c/0/0")  # type: ignore[attr-defined] # noqa: PT017


@given(st.sampled_from(LAYOUTS), st.binary(max_size=100))
def test_any_bytes(layout: dict[str, Any], data: bytes) -> None:
    z = create(layout)
    z.store.set("a/c/0/0", data)
    read_all(z)


@given(st.sampled_from(LAYOUTS), st.integers(0, 10**6), st.integers(1, 255))
def test_any_changed_byte(layout: dict[str, Any], at: int, change: int) -> None:
    z = create(layout)
    data = bytearray(z.store.get("a/c/0/0") or b"")
    data[at % len(data)] ^= change
    z.store.set("a/c/0/0", bytes(data))
    read_all(z)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_shorter_length(layout: dict[str, Any], tmp_path: Path) -> None:
    z = create(layout, tmp_path)
    data = bytes(z.store.get("a/c/0/0") or b"")
    for length in {0, 1, len(data) // 2, len(data) - 1}:
        z.store.set("a/c/0/0", data[:length])
        with pytest.raises(ChunkError):
            z[...]
    z.store.set("a/c/0/0", data)
    assert (z[...] == np.ones((7, 4), z.dtype)).all()


def test_an_error_names_the_chunk_and_other_chunks_are_readable() -> None:
    z = create({"compressors": "gzip"})
    z.store.set("a/c/0/0", b"rubbish")
    with pytest.raises(ChunkError, match=r"cannot read chunk \(0, 0\) of array `a` \(key `a/c/0/0`\): codec `gzip`"):
        z[0, 0]
    assert (z[4:] == 1).all()
    z[:4] = 2  # writing a whole chunk does not read it
    assert (z[:4] == 2).all()
