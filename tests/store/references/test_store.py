"""ReferenceStore: the store suite, arrays in other files, and references that kerchunk wrote."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ReadOnlyError
from omnizarr.store import ReferenceStore, Store
from omnizarr.testing import StoreSuite


def _write_references(folder: Path, contents: Mapping[str, bytes]) -> ReferenceStore:
    """Write the values to one file, and references to its parts to another."""
    references = {}
    with open(folder / "data.bin", "wb") as file:
        file.write(b"header")
        for key, value in contents.items():
            references[key] = ["data.bin", file.tell(), len(value)]
            file.write(value)
    path = folder / "refs.json"
    path.write_text(json.dumps({"version": 1, "refs": references}))
    return ReferenceStore(path)


class TestReferences(StoreSuite):
    folder: Path

    def make_store(self, tmp_path: Path) -> ReferenceStore:
        self.folder = tmp_path
        return _write_references(tmp_path, {})

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        return _write_references(self.folder, contents)


class TestInline(StoreSuite):
    def make_store(self, tmp_path: Path) -> ReferenceStore:
        return ReferenceStore({})

    pickled_is_equal = False

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        return ReferenceStore({key: "base64:" + base64.b64encode(value).decode() for key, value in contents.items()})


# -- arrays


@pytest.mark.smoke
def test_an_array_in_another_file(tmp_path: Path) -> None:
    data = np.arange(60, dtype="<i4").reshape(6, 10)
    (tmp_path / "model.out").write_bytes(b"#" * 13 + data.tobytes())
    zarray = {
        "zarr_format": 2,
        "shape": [6, 10],
        "chunks": [2, 10],
        "dtype": "<i4",
        "order": "C",
        "compressor": None,
        "filters": None,
        "fill_value": 0,
    }
    references = {
        ".zgroup": '{"zarr_format": 2}',
        "t/.zarray": json.dumps(zarray),
        "t/.zattrs": '{"units": "K"}',
        **{f"t/{number}.0": ["model.out", 13 + number * 80, 80] for number in range(3)},
    }
    (tmp_path / "refs.json").write_text(json.dumps(references))
    for address in ("refs.json", "refs.json/", "|", "reference::refs.json"):
        path = f"{tmp_path}/refs.json|reference:" if address == "|" else f"{tmp_path}/{address}"
        if address.startswith("reference::"):
            path = f"reference::{tmp_path}/refs.json"
        group = omnizarr.open_group(path, mode="r")
        assert np.array_equal(group["t"][...], data)  # type: ignore[index]
        assert group["t"].attrs["units"] == "K"
    assert omnizarr.open_array(f"{tmp_path}/refs.json/t")[5, 9] == 59
    with pytest.raises(ReadOnlyError):
        omnizarr.open_array(f"{tmp_path}/refs.json/t", mode="r+")
    with omnizarr.ZipStore(tmp_path / "all.zip") as archive:  # the references and the file in one archive
        for name in ("refs.json", "model.out"):
            archive.set(name, (tmp_path / name).read_bytes())
    assert omnizarr.open_array(f"reference://t::zip://refs.json::{tmp_path}/all.zip")[5, 9] == 59


KERCHUNK = Path(__file__).parents[2] / "corpora" / "references" / "kerchunk-0.2.10"


@pytest.mark.parametrize("name", ["version0.json", "version1.json", "refs.parq"])
def test_references_written_by_kerchunk(name: str) -> None:
    group = omnizarr.open_group(KERCHUNK / name, mode="r")
    assert group.attrs["title"] == "a small model"
    assert sorted(group) == ["deep", "scalar", "temperature"]
    expected = np.random.default_rng(0).integers(0, 1000, (10, 12)).astype("<i2")
    assert np.array_equal(group["temperature"][...], expected)  # type: ignore[index]
    assert np.array_equal(group["deep/plain"][...], np.arange(20))  # type: ignore[index]
    assert group["scalar"][()] == 2.5  # type: ignore[index]
    assert group["temperature"].attrs["units"] == "K"
