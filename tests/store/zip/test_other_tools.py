"""Archives of other writers, and our archives in other readers."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.store.zip.archives import VALUES, entry_names, write_archive

from omnizarr.errors import StoreError
from omnizarr.store import ZipStore
from omnizarr.store.zip.records import central_record, end_records, local_record


@pytest.mark.smoke
def test_zipfile_reads_our_archives(tmp_path: Path) -> None:
    for compression in ("stored", "deflated"):
        path = tmp_path / f"{compression}.zip"
        with ZipStore(path, compression=compression) as store:  # type: ignore[arg-type]
            store.set_each(VALUES.items())
        assert sorted(os.listdir(tmp_path)) == sorted({path.name, "stored.zip"})
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            assert {name: archive.read(name) for name in archive.namelist()} == VALUES
        used = {item.compress_type for item in zipfile.ZipFile(path).infolist()}
        assert used == ({0} if compression == "stored" else {0, 8})


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_zipfile(tmp_path: Path, compression: int) -> None:
    path = write_archive(tmp_path / "x.zip", VALUES, compression=compression)
    with zipfile.ZipFile(path, "a") as archive:
        archive.mkdir("folder")
        archive.comment = b"a comment PK\5\6 with a mark in it" + bytes(20)
    with ZipStore(path) as store:
        assert {key: bytes(store.get(key) or b"") for key in store.list()} == VALUES
        for key, value in VALUES.items():
            assert store.size(key) == len(value)
            for part in ((0, 10), (5, None), (-7, None), (500, 500), (2**40, 3), (0, 0)):
                start = part[0] if part[0] >= 0 else max(0, len(value) + part[0])
                assert bytes(store.get(key, part) or b"") == value[start:][: part[1]]


def test_archives_of_streams_with_data_descriptors_and_zip64(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):  # not seekable, so zipfile writes the sizes after the data
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.data += data
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:  # type: ignore[arg-type]
        for key, value in VALUES.items():
            with archive.open(key, "w", force_zip64=True) as file:
                file.write(value)
    path = tmp_path / "x.zip"
    path.write_bytes(pipe.data)
    with ZipStore(path) as store:
        for _ in range(2):
            assert {key: bytes(store.get(key) or b"") for key in store.list()} == VALUES
        store.set("new", b"y")
    assert entry_names(path) == sorted([*VALUES, "new"])
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in VALUES} == VALUES


def test_more_entries_than_16_bits_can_count(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        store.set_each((f"c/{number}", b"%d" % number) for number in range(65_600))
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 65_600
        assert archive.read("c/65599") == b"65599"
    store = ZipStore(path)
    assert store.get("c/65599") == b"65599"
    assert len(store.list_dir("c/")[0]) == 65_600


def test_more_bytes_than_32_bits_can_count(tmp_path: Path) -> None:
    """The archive is a sparse file, so it does not need that much space on disk."""
    path = tmp_path / "x.zip"
    large = 2**32 + 5
    with open(path, "wb") as file:
        head = local_record(b"large", 0, 0, large, large)
        file.write(head)
        file.seek(large, os.SEEK_CUR)
        offset = file.tell()
        file.write(local_record(b"late", 0, 0, 1, 1) + b"y")
        directory = file.tell()
        records = central_record(b"large", 0, 0, large, large, 0) + central_record(b"late", 0, 1, 1, 1, offset)
        file.write(records + end_records(directory, len(records), 2))
    store = ZipStore(path)
    assert store.size("large") == large
    assert store.get("large", (large - 3, None)) == bytes(3)
    with pytest.raises(StoreError, match="checksum"):
        store.get("late")
    assert [item.file_size for item in zipfile.ZipFile(path).infolist()] == [large, 1]
    path.unlink()
