"""Streams of zlib and gzip, turned into each other without compressing them again."""

from __future__ import annotations

import gzip
import io
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs.numcodecs_ import Zlib
from omnizarr.errors import ArgumentError, OmnizarrError
from omnizarr.store import MemoryStore
from omnizarr.tools import migrate
from omnizarr.tools.migration.deflate import gzip_to_zlib, zlib_to_gzip

CONTENTS = [b"", b"x", bytes(3_000_000), random.Random(1).randbytes(5_000_000), b"omnizarr" * 1000]


@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("content", CONTENTS, ids=len)
def test_there_and_back(content: bytes, level: int) -> None:
    stored = zlib.compress(content, level)
    wrapped = zlib_to_gzip(stored)
    assert wrapped is not None
    assert gzip.decompress(wrapped) == content
    back = gzip_to_zlib(wrapped)
    assert back is not None
    assert zlib.decompress(back) == content
    assert back[2:] == stored[2:]


def test_headers_with_names() -> None:
    file = io.BytesIO()
    with gzip.GzipFile("a name", "wb", fileobj=file) as writer:
        writer.write(b"content")
    assert zlib.decompress(gzip_to_zlib(file.getvalue()) or b"") == b"content"


def test_damaged_streams_are_not_converted() -> None:
    stored, member = zlib.compress(b"content" * 100), gzip.compress(b"content" * 100)
    for size in range(len(stored)):
        assert zlib_to_gzip(stored[:size]) is None
    for size in range(len(member)):
        assert gzip_to_zlib(member[:size]) is None
    for data, convert in ((stored, zlib_to_gzip), (member, gzip_to_zlib)):
        assert convert(data + b"x") is None
        for place in (*range(len(data) - 8, len(data)), len(data) // 2):
            changed = bytearray(data)
            changed[place] ^= 1
            assert convert(changed) is None
    assert gzip_to_zlib(member + member) is None
    assert zlib_to_gzip(member) is gzip_to_zlib(stored) is None
    with omnizarr.config(max_chunk_bytes=100):
        assert zlib_to_gzip(zlib.compress(bytes(10_000_000))) is None


def make_array(zarr_format: Any, compressors: Any) -> omnizarr.Array:
    store = MemoryStore()
    data = np.arange(600, dtype="i4").reshape(20, 30)
    omnizarr.create_array(store, data=data, chunks=(8, 9), zarr_format=zarr_format, compressors=compressors)
    return omnizarr.open_array(store, mode="r+")


@pytest.mark.parametrize(
    ("before", "compressors", "after", "names"),
    [
        (1, Zlib(1), "3-draft-2022", ["gzip"]),
        (2, Zlib(-1), "3-draft-2022", ["gzip"]),
        ("3-draft-2020", Zlib(1), "3-draft-2022", ["gzip"]),
        (3, Zlib(1), "3-draft-2022", ["gzip"]),
        (2, "gzip", 1, ["numcodecs.zlib"]),
        (3, "gzip", 1, ["numcodecs.zlib"]),
        ("3-draft-2022", "gzip", 1, ["numcodecs.zlib"]),
    ],
)
def test_generations_with_only_one_of_them(before: Any, compressors: Any, after: Any, names: list[str]) -> None:
    source, target = make_array(before, compressors), MemoryStore()
    plan = migrate(source, target, to=after, verify=True)
    assert (plan.arrays[0].way, plan.losses) == ("repack", ())
    plan.run(workers=1)
    new = omnizarr.open_array(target, mode="r")
    assert [codec.name for codec in new.compressors] == names
    np.testing.assert_array_equal(new[...], source[...])
    values = sorted(source.store.get_current(key) or b"" for key in source.store.list() if key[-1].isdigit())
    streams = [bytes(value)[2:-4] if source.compressors[0].name != "gzip" else bytes(value)[10:-8] for value in values]
    assert all(any(stream in bytes(target.get(key) or b"") for key in target.list()) for stream in streams)


def test_several_members_are_encoded_again_and_damage_is_reported() -> None:
    source = make_array(2, "gzip")
    content = gzip.decompress(source.store.get_current("0.0") or b"")
    source.store.set("0.0", gzip.compress(content[:99]) + gzip.compress(content[99:]))
    target = MemoryStore()
    migrate(source, target, to=1, verify=True).run(workers=1)
    np.testing.assert_array_equal(omnizarr.open_array(target, mode="r")[...], source[...])
    source.store.set("1.1", b"damaged")
    with pytest.raises(OmnizarrError):
        migrate(source, MemoryStore(), to=1).run(workers=1)


def test_in_place_needs_a_target(tmp_path: Path) -> None:
    """The keys stay, and no chunk may be read by readers of the other generation."""
    data = np.arange(60).reshape(6, 10)
    omnizarr.create_array(tmp_path / "a", data=data, chunks=(2, 5), zarr_format=2, compressors="gzip")
    with pytest.raises(ArgumentError, match="under the keys of its old ones"):
        migrate(str(tmp_path / "a"), to=1, remove_old=True)
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path / "a", mode="r")[...], data)
