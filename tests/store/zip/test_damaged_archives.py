"""Damaged and malicious archives: names, directories, overlapping entries, decompression bombs, truncation."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.zip.archives import write_archive

import omnizarr
from omnizarr.errors import OmnizarrError, StoreError
from omnizarr.store import ZipStore
from omnizarr.store.zip.records import central_record, end_records, local_record

# -- damaged and malicious archives


def _patch(path: Path, find: bytes, offset: int, new: bytes, last: bool = False) -> None:
    data = bytearray(path.read_bytes())
    position = data.rfind(find) if last else data.find(find)
    assert position >= 0
    data[position + offset : position + offset + len(new)] = new
    path.write_bytes(data)


CENTRAL, LOCAL, END = b"PK\1\2", b"PK\3\4", b"PK\5\6"


@pytest.mark.parametrize("name", ["../a", "/a", "a/../b", "a//b", "./a", "..", "a\\../../b", "a/./b", "//x", "../"])
def test_invalid_names_are_rejected(tmp_path: Path, name: str) -> None:
    path = write_archive(tmp_path / "x.zip", {"zarr.json": b"{}", name: b"" if name == "../" else b"x"})
    with pytest.raises(StoreError, match="which is not a valid key"):
        ZipStore(path).get("zarr.json")


@pytest.mark.parametrize(
    ("fault", "find", "offset", "new", "message"),
    [
        ("outside", CENTRAL, 42, struct.pack("<I", 10**6), "outside"),
        ("sizes", CENTRAL, 20, struct.pack("<II", 10**8, 10**8), "outside"),
        ("stored sizes differ", CENTRAL, 24, struct.pack("<I", 500), "cannot have 500 bytes"),
        ("method", CENTRAL, 10, struct.pack("<H", 99), "method 99"),
        ("encrypted", CENTRAL, 8, struct.pack("<H", 1), "encrypted"),
        ("count", END, 8, struct.pack("<HH", 9, 9), "fewer entries"),
        ("count", END, 8, struct.pack("<HH", 1, 1), "more entries"),
        ("parts", END, 4, struct.pack("<H", 1), "several parts"),
        ("directory", END, 16, struct.pack("<I", 3), "does not end where"),
        ("record", CENTRAL, 0, b"XX", "fewer entries"),
        ("long name", CENTRAL, 28, struct.pack("<H", 60_000), "longer than the rest"),
    ],
)
def test_invalid_central_directories(
    tmp_path: Path, fault: str, find: bytes, offset: int, new: bytes, message: str
) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"1" * 100, "b": b"2"})
    _patch(path, find, offset, new)
    with pytest.raises(StoreError, match=message) as caught:
        ZipStore(path).get("a")
    assert str(path) in str(caught.value)
    assert fault


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"ä": b"1"})
    path.write_bytes(path.read_bytes().replace("ä".encode(), b"\xff\xff"))
    with pytest.raises(StoreError, match="UTF-8"):
        ZipStore(path).get("a")


def test_overlapping_entries(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"1" * 100, "b": b"2" * 50})
    second = path.read_bytes().rfind(LOCAL)
    _patch(path, CENTRAL, 20, struct.pack("<II", 120, 120))
    with pytest.raises(StoreError, match="overlap"):
        ZipStore(path).get("a")
    write_archive(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patch(path, CENTRAL, 42, struct.pack("<I", 0), last=True)  # two names for one entry
    with pytest.raises(StoreError, match="overlap"):
        ZipStore(path).get("a")
    write_archive(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patch(path, LOCAL, 28, struct.pack("<H", 90))  # the local header contradicts the central directory
    with pytest.raises(StoreError, match="overlap the next one"):
        ZipStore(path).get("a")
    assert second > 0
    write_archive(path, {"a": b"1" * 100, "b": b"2" * 50})
    _patch(path, LOCAL, 0, b"XX")
    store = ZipStore(path)
    with pytest.raises(StoreError, match=r"cannot read `a` in ZipStore\(.*no entry where its directory says"):
        store.get("a", (1, 2))
    assert store.get("b") == b"2" * 50  # other entries can still be read


def test_duplicate_names_in_the_wrong_order(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"1", "b": b"2"})
    data = path.read_bytes()
    begin = data.find(CENTRAL)
    middle = data.find(CENTRAL, begin + 1)
    end = data.find(END)
    swapped = data[:begin] + data[middle:end] + data[begin:middle] + data[end:]
    path.write_bytes(swapped.replace(b"b", b"a"))
    with pytest.raises(StoreError, match="twice, in an order that does not say which one counts"):
        ZipStore(path).get("a")


def test_damaged_values_are_detected(tmp_path: Path) -> None:
    value = bytes(range(256)) * 40
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = write_archive(tmp_path / "x.zip", {"a": value}, compression=compression)
        data = bytearray(path.read_bytes())
        data[60] ^= 1
        path.write_bytes(data)
        store = ZipStore(path)
        target = memoryview(bytearray(len(value)))
        for operation in (
            partial(store.get, "a"),
            partial(store.get, "a", (0, 10**9)),
            partial(store.get_into, "a", 0, target),
            partial(store.get_partial_values, [("a", None)]),
        ):
            with pytest.raises(StoreError, match=r"cannot read `a`.*(checksum|decompressed|directory says)"):
                operation()


def test_decompression_bombs(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    large = 2**26
    stored = zlib.compress(bytes(large), 6, -15)

    def write_bomb(size: int) -> None:
        head = local_record(b"c/0", 8, 0, len(stored), size)
        record = central_record(b"c/0", 8, 0, len(stored), size, 0)
        path.write_bytes(head + stored + record + end_records(len(head) + len(stored), len(record), 1))

    write_bomb(100)  # declares too small a size
    with pytest.raises(StoreError, match="does not have the 100 bytes"):
        ZipStore(path).get("c/0")
    write_bomb(large)
    assert ZipStore(path).get("c/0", (5, 10)) == bytes(10)  # decompresses only as much as it returns
    with omnizarr.config(max_chunk_bytes=2**20), pytest.raises(StoreError, match="max_chunk_bytes"):
        ZipStore(path).get("c/0")
    write_bomb(large * 2)
    with pytest.raises(StoreError, match="cannot have 134217728 bytes"):
        ZipStore(path).get("c/0")


def test_every_truncation_is_detected(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", {"a": b"1" * 50, "zarr.json": b"{}"})
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(StoreError, match="cannot open the archive"):
            ZipStore(path).get("a")
        with pytest.raises(OmnizarrError):
            omnizarr.open(path)
    path.write_bytes(data + b"x")
    with pytest.raises(StoreError, match="cut off, or no ZIP archive"):
        ZipStore(path).get("a")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_changed_bytes_give_values_or_omnizarr_errors(data: st.DataObject) -> None:
    good = io.BytesIO()
    with zipfile.ZipFile(good, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b", b"1" * 30)
        archive.writestr(zipfile.ZipInfo("c"), b"2" * 20)
    raw = bytearray(good.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        store = ZipStore(io.BytesIO(raw))
        for key in store.list():
            store.get(key)
            store.get(key, (2, 5))
            store.snapshots.open(key)
    except OmnizarrError:
        pass


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_rejected(data: bytes) -> None:
    if data and not data.startswith(END):
        with pytest.raises(StoreError):
            ZipStore(io.BytesIO(data)).get("a")
