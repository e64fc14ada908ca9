"""Writing archives: appending, finishing, and their bytes."""

from __future__ import annotations

import gc
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.store.zip.archives import VALUES, entry_names, run_python, write_archive

import omnizarr
from omnizarr.errors import OmnizarrWarning
from omnizarr.store import ZipStore

# -- writing


def test_overwritten_and_erased_values_take_no_space(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ZipStore(path) as store:
        store.set_each([("a", b"first" * 50_000), ("b", b"b" * 90_000), ("c", b"c"), ("d", b"d" * 90_000)])
        store.set("a", b"second" * 50_000)
        store.erase("b")
        for number in range(10):
            store.set("c", b"%d" % number)
    assert entry_names(path) == ["a", "c", "d"]
    data = path.read_bytes()
    assert b"firstfirst" not in data
    assert b"bbbb" not in data
    assert data.count(b"PK\3\4") == 3
    with ZipStore(path) as store:
        store.set("c", b"again")
        store.erase_prefix("")
        store.set("e", b"e")
    assert entry_names(path) == ["e"]
    assert path.stat().st_size < 200


def test_new_values_are_appended_to_an_archive(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "x.zip", VALUES, compression=zipfile.ZIP_DEFLATED)
    path.chmod(0o640)
    with ZipStore(path) as store:
        store.set("zarr.json", b"{1}")
        store.set("c/2", bytes(200_000))
        store.erase("c/0")
    expected = {**VALUES, "zarr.json": b"{1}", "c/2": bytes(200_000)}
    del expected["c/0"]
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == expected
        assert archive.getinfo("c/1").compress_type == zipfile.ZIP_DEFLATED  # copied without recompression
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_same_values_give_the_same_archive(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with ZipStore(tmp_path / name) as store:
            store.set_each(VALUES.items())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_of_duplicate_names_the_last_entry_counts_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        for value in (b"1", b"2", b"3"):
            archive.writestr("zarr.json", value)
            archive.writestr("a", value)
    store = ZipStore(path)
    with pytest.warns(OmnizarrWarning, match=r"`zarr.json` and 1 more more than once"):
        assert store.get("zarr.json") == b"3"
    store.set("b", b"4")
    store.close()
    assert entry_names(path) == ["a", "b", "zarr.json"]


def test_the_archive_is_finished_when_its_last_writer_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr.zip"
    z = omnizarr.create_array(path, data=np.arange(10))
    reader = omnizarr.open(path, mode="r")  # sees unfinished values of this process
    assert reader[3] == 3  # type: ignore[index]
    assert not path.exists()
    del z
    gc.collect()
    assert zipfile.is_zipfile(path)  # although the reader still has it open
    assert reader[3] == 3  # type: ignore[index]
    assert omnizarr.load(path).tolist() == list(range(10))
    assert sorted(os.listdir(tmp_path)) == [path.name]


def test_the_archive_is_finished_when_the_program_ends(tmp_path: Path) -> None:
    code = """
        import sys, omnizarr
        group = omnizarr.create_group(sys.argv[1])
        group.create_array("a", data=[1, 2, 3])
        group.attrs["title"] = "kept"
    """
    run_python(code, tmp_path / "x.zip")
    assert omnizarr.open_group(tmp_path / "x.zip", mode="r").attrs["title"] == "kept"


def test_an_archive_that_cannot_be_finished_does_not_affect_others(tmp_path: Path) -> None:
    code = """
        import shutil, sys, omnizarr
        kept = []
        for number in range(8):
            store = omnizarr.ZipStore(f"{sys.argv[1]}/{number}/x.zip")
            store.set("a", b"1")
            store.__class__.__del__ = lambda self: None  # Python may skip it at exit
            kept.append(store)
        for number in range(0, 8, 2):
            shutil.rmtree(f"{sys.argv[1]}/{number}")
    """
    run_python(code, tmp_path)
    for number in range(1, 8, 2):
        assert ZipStore(tmp_path / str(number) / "x.zip", read_only=True).get("a") == b"1"
