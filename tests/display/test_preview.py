"""Previews: what they read, and what they show."""

from __future__ import annotations

import struct
import sys
import zlib
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.display import preview as module
from omnizarr.errors import ArgumentError
from omnizarr.testing import RecordingStore


@pytest.mark.parametrize(
    ("shape", "chunks", "shards"),
    [
        ((5000,), (7,), None),
        ((5000,), (7,), (700,)),
        ((900, 700), (10, 10), None),
        ((900, 700), (10, 10), (100, 100)),
        ((3, 900, 700), (1, 10, 700), None),
        ((7, 5), (3, 2), None),
        ((900, 6), ((100, 300, 500), (6,)), None),
    ],
)
def test_a_preview_is_a_part_of_the_array_from_few_chunks(
    shape: Any, chunks: Any, shards: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_CHUNKS", 64)
    data = np.random.default_rng(1).random(shape)
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, data=data, chunks=chunks, shards=shards)
    store.calls.clear()
    preview = z.preview()
    part = data[tuple(length // 2 for length in shape[:-2])][np.ix_(*preview.indices)]
    assert (preview.data == part).all()
    # In shards, each range of bytes counts: of an inner chunk or of an index.
    requests = [request for call in store.calls for request in ([call.key] if isinstance(call.key, str) else call.key)]
    assert 0 < len(requests) <= (64 if shards is None else 192)
    for indices, length in zip(preview.indices, shape[-2:], strict=True):
        assert indices[0] == 0
        assert indices[-1] == length - 1


def test_the_middle_of_other_dimensions_is_the_default() -> None:
    z = omnizarr.create_array({}, data=np.arange(120).reshape(4, 5, 6))
    assert (z.preview().data == z[2]).all()
    assert (z.preview(3).data == z[3]).all()
    with pytest.raises(ArgumentError, match="expected 1 indices"):
        z.preview(1, 2)


def test_colours() -> None:
    data = np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8)
    preview = omnizarr.create_array({}, data=data).preview()
    assert (preview.data == data).all()
    assert str(preview).count("\n") == 19


@pytest.mark.parametrize(
    "data",
    [
        np.array([1.0, np.nan, np.inf, 3.0]),
        np.full(3, np.nan),
        np.zeros(5),
        np.array([-1e308, 1e308]),
        np.array([1 + 2j, 3j]),
        np.array(["2020-01-01", "NaT"], "M8[s]"),
        np.array([True, False]),
        np.arange(4, dtype=np.uint64) << np.uint64(62),
    ],
    ids=str,
)
def test_numbers_of_all_kinds(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # which warns of numbers beyond its range
    with np.errstate(over="raise"):
        for values in (data, np.stack([data, data])):
            preview = omnizarr.create_array({}, data=values).preview()
            assert str(preview)
            assert repr(preview).startswith("<Preview of /")
            assert ("<svg" if values.ndim == 1 else "<img") in preview._repr_html_()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    preview = omnizarr.create_array({}, data=np.arange(6.0).reshape(2, 3)).preview()
    preview.save(tmp_path / "a.png")
    width, height, pixels = decoded(tmp_path.joinpath("a.png").read_bytes())
    assert (width, height, list(pixels)) == (3, 2, [0, 0, 51, 102, 0, 153, 204, 255])
    line = omnizarr.create_array({}, data=np.arange(6.0)).preview()
    assert "<svg" in line._repr_html_()
    assert ">0 … 5</span>" in line._repr_html_()
    with pytest.raises(ArgumentError, match="matplotlib"):
        line.png()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (np.array([1.23456789, np.nan, -np.inf, 7]), ">1.23457 … 7<"),
        (np.array([3 + 4j, 0]), ">0 … 5<"),
        (np.array(["2000-01-02", "NaT", "2000-01-01"], "M8[D]"), ">2000-01-01 … 2000-01-02<"),
        (np.array([2**63, 1], "u8"), f">1 … {2**63}<"),
        (np.array([True, False]), ">False … True<"),
        (np.array([np.nan, np.nan]), "></span>"),
    ],
)
def test_the_range_of_values(monkeypatch: pytest.MonkeyPatch, data: Any, expected: str) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert expected in omnizarr.create_array({}, data=data).preview()._repr_html_()


def decoded(file: bytes) -> tuple[int, int, bytes]:
    """The width, the height and the rows of a PNG file; each row begins with its filter."""
    assert file.startswith(b"\x89PNG\r\n\x1a\n")
    blocks, at = {}, 8
    while at < len(file):
        (length,) = struct.unpack_from(">I", file, at)
        kind, data = file[at + 4 : at + 8], file[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", file, at + 8 + length)[0] == zlib.crc32(kind + data)
        blocks[kind] = data
        at += 12 + length
    width, height = struct.unpack_from(">II", blocks[b"IHDR"])
    return width, height, zlib.decompress(blocks[b"IDAT"])


def test_with_matplotlib(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    for shape in ((50,), (50, 60), (9, 9, 3)):
        preview = omnizarr.create_array({}, data=np.arange(np.prod(shape)).astype("u1").reshape(shape)).preview()
        assert preview.png().startswith(b"\x89PNG")


@pytest.mark.parametrize(("shape", "dtype"), [((), "f8"), ((0, 3), "f8"), ((3,), "str")])
def test_what_cannot_be_shown(shape: Any, dtype: Any) -> None:
    with pytest.raises(ArgumentError, match="cannot preview"):
        omnizarr.create_array({}, shape=shape, dtype=dtype).preview()


@pytest.mark.parametrize("limit", [64, 100, 1024])
def test_the_number_of_chunks_keeps_within_the_limit(limit: int) -> None:
    for first in (1, 2, 7, 8, 9, 63, 64, 65, 1000, 10**9):
        assert module._chunk_counts([first], limit) == [min(first, limit)]
        for second in (1, 2, 7, 8, 9, 63, 64, 65, 1000, 10**9):
            counts = module._chunk_counts([first, second], limit)
            assert counts[0] * counts[1] <= limit
            if first * second <= limit:
                assert counts == [first, second]


def test_samples_never_exceed_their_limits() -> None:
    for shape, chunk in ((10, 3), (1000, 1), (10**12, 10**3), (65, 1), (64, 1)):
        axis = omnizarr.create_array({}, shape=shape, chunks=chunk, dtype="u1").metadata.grid.axes([shape])[0]
        for chunks in (1, 8, 64):
            indices = module._sample(axis, chunks, 256)
            assert len(set((indices // chunk).tolist())) <= chunks
            assert len(indices) <= 256
