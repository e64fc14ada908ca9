"""Promise 6: damaged data are detected, and the error names their location."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastcrc import crc32

import omnizarr
from omnizarr.codecs import Bytes, Sharding
from omnizarr.errors import ChunkError
from omnizarr.testing.damaged_inputs import bit_flips, wrong_lengths

DATA = np.arange(1, 65, dtype="i4").reshape(8, 8)
CODECS: dict[str, dict[str, Any]] = {
    "none": {"compressors": None},
    "crc32c": {"compressors": ["crc32c"]},
    "gzip": {"compressors": ["gzip"]},
    "zstd": {"compressors": [{"name": "zstd", "configuration": {"level": 1, "checksum": True}}]},
    "blosc": {"compressors": [{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}}]},
    "blosc and crc32c": {
        "compressors": [
            {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}},
            "crc32c",
        ]
    },
    "shards": {"shards": (4, 8), "compressors": ["crc32c"]},
}
CHECKED = ("crc32c", "gzip", "zstd", "blosc and crc32c", "shards")
KEYS: tuple[Any, ...] = (..., (0, 0), np.s_[1:3, 2:7], ([0, 7], [0, 7]), np.s_[::2, ::3])


def made(codec: str) -> tuple[omnizarr.Array, bytes]:
    z = omnizarr.create_array(None, data=DATA, chunks=(4, 4), name="group/a", **CODECS[codec])
    return z, bytes(z.store.get("group/a/c/0/0") or b"")


def check_error(error: ChunkError) -> None:
    assert error.array == "group/a"
    assert error.chunk == (0, 0)
    assert error.key == "group/a/c/0/0"
    assert error.codec
    assert "group/a/c/0/0" in str(error)
    assert "(0, 0)" in str(error)


@pytest.mark.parametrize("codec", CODECS)
def test_truncated_or_extended_values_raise_an_error_that_names_the_chunk(codec: str) -> None:
    z, good = made(codec)
    for bad in wrong_lengths(good):
        if codec == "shards" and len(bad) > len(good) and bad.endswith(good):
            continue  # a shard may begin with a gap (R103)
        if codec == "gzip" and bad == good + bytes(1):
            continue  # trailing zeros are padding, as in gzip itself
        z.store.set("group/a/c/0/0", bad)
        with pytest.raises(ChunkError) as caught:
            z[...]
        check_error(caught.value)


@pytest.mark.parametrize("codec", CHECKED)
def test_a_flipped_bit_is_detected_wherever_there_is_a_checksum(codec: str) -> None:
    z, good = made(codec)
    noticed = 0
    for bad in bit_flips(good, seed=1, times=12):
        z.store.set("group/a/c/0/0", bad)
        for key in KEYS:
            try:
                found = z[key]
            except ChunkError as error:
                check_error(error)
                noticed += 1
            else:
                # A partial read may not touch the bit; and some bits of gzip mean nothing, such as the time.
                np.testing.assert_array_equal(found, DATA[key])
    assert noticed > 20


def test_swapped_chunks_are_detected_if_their_sizes_differ() -> None:
    z = omnizarr.create_array(None, data=np.arange(10), chunks=((4, 6),), compressors=None)
    one, two = z.store.get("c/0"), z.store.get("c/1")
    z.store.set_each([("c/0", two), ("c/1", one)])
    with pytest.raises(ChunkError, match="c/0"):
        z[...]


def shard(entries: list[tuple[int, int]], payload: bytes = bytes(range(24)), *, checksum: bool = True) -> bytes:
    index = struct.pack(f"<{2 * len(entries)}Q", *(number for entry in entries for number in entry))
    return payload + index + (crc32.iscsi(index).to_bytes(4, "little") if checksum else b"")


NONE = (2**64 - 1, 2**64 - 1)
GOOD = [(0, 6), (6, 6), (12, 6), (18, 6)]


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([(0, 6), (3, 6), (12, 6), (18, 6)], "overlap"),
        ([(0, 6), (6, 6), (6, 5), (18, 6)], "overlap"),
        ([(18, 6), (13, 6), NONE, (0, 6)], "overlap"),
        ([(0, 6), (6, 6), (12, 6), (2**64 - 2, 6)], "the shard has"),
        ([(0, 6), (6, 6), (12, 6), (18, 2**64 - 2)], "the shard has|it can have"),
        ([(2**63, 2**63), *GOOD[1:]], "the shard has"),
        ([(0, 6), (6, 6), (12, 6), (1000, 6)], "the shard has"),
        ([(0, 6), (6, 6), (12, 6), (18, 2**64 - 1)], "only one of offset and size"),
        ([(0, 5), (6, 6), (12, 6), (18, 6)], "expected 6 bytes"),
    ],
)
def test_an_impossible_shard_index_is_rejected(entries: Any, why: str) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(
        store, shape=(4, 6), dtype="u1", chunks=(4, 6), compressors=None, serializer=Sharding((2, 3), (Bytes(),))
    )
    store.set("c/0/0", shard(GOOD))
    assert z[0, :3].tolist() == [0, 1, 2]
    store.set("c/0/0", shard(entries))
    with pytest.raises(ChunkError, match=why) as caught:
        z[...]
    assert caught.value.key == "c/0/0"
    with pytest.raises(ChunkError):
        z[0, 0] = 9  # a partial write does not merge into a damaged shard
    z[...] = 1
    assert (z[...] == 1).all()


def test_a_damaged_index_is_detected_by_partial_reads(tmp_path: Path) -> None:
    for store in (omnizarr.MemoryStore(), omnizarr.LocalStore(tmp_path)):
        z = omnizarr.create_array(store, data=DATA, chunks=(2, 2), shards=(8, 8), overwrite=True)
        value = bytearray(store.get("c/0/0") or b"")
        value[-20] ^= 4
        store.set("c/0/0", bytes(value))
        for key in KEYS:
            with pytest.raises(ChunkError, match="crc32c"):
                z[key]
