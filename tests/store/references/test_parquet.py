"""References in Parquet files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.references.reference_files import DATA

import omnizarr
from omnizarr.errors import MetadataError, StoreError
from omnizarr.store import LocalStore, ReferenceStore
from omnizarr.testing import RecordingStore


def _parquet(folder: Path, name: str, rows: list[tuple[Any, int, int, Any]], **schema: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    columns = {"path": pyarrow.string(), "offset": pyarrow.int64(), "size": pyarrow.int64(), "raw": pyarrow.binary()}
    table = {
        column: pyarrow.array([row[position] for row in rows], schema.get(column, kind))
        for position, (column, kind) in enumerate(columns.items())
        if schema.get(column, kind) is not None
    }
    parquet.write_table(pyarrow.table(table), folder / name)


def _array(shape: list[int], chunks: list[int]) -> dict[str, Any]:
    return {
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks,
        "dtype": "|u1",
        "order": "C",
        "compressor": None,
        "filters": None,
        "fill_value": 7,
    }


@pytest.fixture
def parquet_folder(folder: Path) -> Path:
    references = folder / "refs.parq"
    metadata = {
        ".zgroup": {"zarr_format": 2},
        "t/.zarray": _array([4, 6], [2, 2]),
        "t/.zattrs": {"a": 1},
        "s/.zarray": _array([], []),
        "deep/er/.zarray": _array([4], [2]),
    }
    references.mkdir()
    (references / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 4}))
    target = str(folder / "x.bin")
    _parquet(references, "t/refs.0.parq", [(target, 4 * n, 4, None) for n in range(4)])
    _parquet(references, "t/refs.1.parq", [(None, 0, 0, b"abcd"), (None, 0, 0, None)])
    _parquet(references, "s/refs.0.parq", [(None, 0, 0, b"z")])
    _parquet(references, "deep/er/refs.0.parq", [(target, 1000, 2, None), (str(folder / "two.bin"), 0, 0, None)])
    (folder / "two.bin").write_bytes(b"22")
    return references


def test_parquet(parquet_folder: Path) -> None:
    group = omnizarr.open_group(parquet_folder, mode="r")
    expected = np.full((4, 6), 7, "u1")
    expected[:2, :2] = np.frombuffer(DATA[0:4], "u1").reshape(2, 2)
    expected[:2, 2:4] = np.frombuffer(DATA[4:8], "u1").reshape(2, 2)
    expected[:2, 4:] = np.frombuffer(DATA[8:12], "u1").reshape(2, 2)
    expected[2:, :2] = np.frombuffer(DATA[12:16], "u1").reshape(2, 2)
    expected[2:, 2:4] = np.frombuffer(b"abcd", "u1").reshape(2, 2)
    assert np.array_equal(group["t"][...], expected)  # type: ignore[index]
    assert group["s"][()] == ord("z")  # type: ignore[index]
    assert bytes(group["deep/er"][...]) == DATA[1000:1002] + b"22"  # type: ignore[index]
    store = ReferenceStore(parquet_folder)
    below = ["t/.zarray", "t/.zattrs", "t/0.0", "t/0.1", "t/0.2", "t/1.0", "t/1.1"]
    others = [".zgroup", ".zmetadata", "deep/er/.zarray", "deep/er/0", "deep/er/1", "s/.zarray", "s/0"]
    assert sorted(store.list_prefix("t/")) == below
    assert sorted(store.list()) == [*others, *below]
    assert store.list_dir("") == ([".zgroup", ".zmetadata"], ["deep/", "s/", "t/"])
    assert store.list_dir("deep/er/") == (["deep/er/.zarray", "deep/er/0", "deep/er/1"], [])
    for absent in ("t/1.2", "t/2.0", "t/0", "t/0.0.0", "t/00.0", "t/x.y", "s/1", "t/-1.0", "q/0"):
        assert store.get(absent) is None
    assert omnizarr.open_array(f"reference://t::{parquet_folder}", mode="r")[0, 0] == 0


def test_parquet_files_are_read_once(parquet_folder: Path) -> None:
    inner = RecordingStore(LocalStore(parquet_folder.parent))
    store = ReferenceStore.inside(inner, "refs.parq", allow=[parquet_folder.parent])
    for _ in range(2):
        for key in ("t/0.0", "t/0.1", "t/1.0"):
            assert store.get(key) is not None
    assert [call.key for call in inner.of("get")] == ["refs.parq", "refs.parq/.zmetadata", "refs.parq/t/refs.0.parq"]


def test_the_listing_of_a_huge_array_follows_its_parquet_files(parquet_folder: Path) -> None:
    metadata = {"t/.zarray": _array([2**40], [1]), ".zgroup": {"zarr_format": 2}}
    (parquet_folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 4}))
    store = ReferenceStore(parquet_folder)
    assert len(list(store.list_prefix("t/"))) == 1 + 5
    assert store.get("t/999999999") is None


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        {"metadata": {}},
        {"metadata": {}, "record_size": 0},
        {"metadata": {}, "record_size": 2**40},
        {"metadata": {"../x": {}}, "record_size": 1},
        {"metadata": {"t/.zarray": {"shape": [1]}}, "record_size": 1},
        {"metadata": {"t/.zarray": {"shape": [1], "chunks": [0]}}, "record_size": 1},
        {"metadata": {"t/.zarray": {"shape": [2**62], "chunks": [1]}}, "record_size": 1},
        {"metadata": {"t/.zarray": "nonsense"}, "record_size": 1},
    ],
)
def test_invalid_parquet_folders_are_rejected(tmp_path: Path, document: Any) -> None:
    (tmp_path / "x.parq").mkdir()
    (tmp_path / "x.parq" / ".zmetadata").write_text(json.dumps(document))
    with pytest.raises(MetadataError):
        ReferenceStore(tmp_path / "x.parq").get("t/0")


def test_invalid_parquet_rows_are_rejected(parquet_folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    store = ReferenceStore(parquet_folder)
    _parquet(parquet_folder, "t/refs.0.parq", [("x", 0, 1, None)] * 5)
    with pytest.raises(MetadataError, match="5 rows"):
        store.get("t/0.0")
    _parquet(parquet_folder, "t/refs.0.parq", [("x", -1, 1, None)])
    with pytest.raises(MetadataError, match="expected a path"):
        store.get("t/0.0")
    _parquet(parquet_folder, "t/refs.0.parq", [("/etc/passwd", 0, 1, None)])
    with pytest.raises(StoreError, match="allowed"):
        store.get("t/0.0")
    _parquet(parquet_folder, "t/refs.0.parq", [(5, 0, 1, None)], path=pyarrow.int64())
    with pytest.raises(MetadataError):
        ReferenceStore(parquet_folder).get("t/0.0")
    (parquet_folder / "t" / "refs.0.parq").write_bytes(b"PAR1" + os.urandom(100) + b"PAR1")
    with pytest.raises(StoreError, match="not a parquet file"):
        ReferenceStore(parquet_folder).get("t/0.0")


@pytest.mark.parametrize("value", ["\ud800", {"zarr_format": 2, "x": "\ud800"}, '{"shape": "\ud800"}'])
@pytest.mark.parametrize("key", [".zattrs", "a/.zarray"])
def test_unpaired_surrogates_in_the_document_raise_our_error(tmp_path: Path, key: str, value: Any) -> None:
    document = {"metadata": {".zgroup": {"zarr_format": 2}, key: value}, "record_size": 10}
    (tmp_path / ".zmetadata").write_text(json.dumps(document))
    try:
        with ReferenceStore(tmp_path) as store:
            omnizarr.open(store, mode="r")
    except (MetadataError, StoreError):
        pass
