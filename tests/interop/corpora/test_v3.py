"""We read the stored corpus of other implementations, also where none of them can be installed."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.interop.cases import same

import omnizarr

CORPUS = Path(__file__).parents[2] / "corpora" / "v3"
EXPECTED = CORPUS / "expected"
WRITERS = sorted(place.name for place in CORPUS.iterdir() if place.is_dir() and place != EXPECTED)
ZARR = [writer for writer in WRITERS if writer.startswith("zarr-")]
NAMES = sorted(place.relative_to(EXPECTED).with_suffix("").as_posix() for place in EXPECTED.rglob("*.npy"))
ARRAYS = [(writer, name) for writer in WRITERS for name in NAMES if (CORPUS / writer / name / "zarr.json").exists()]
CORE = [(writer, name) for writer, name in ARRAYS if not name.startswith(("more/", "gdal/"))]
GDAL = [(writer, name) for writer, name in ARRAYS if name.startswith("gdal/")]
MORE = [(writer, name) for writer, name in ARRAYS if name.startswith("more/")]


def test_the_corpus_is_complete() -> None:
    assert {writer.rpartition("-")[0] for writer in WRITERS} == {"zarr", "tensorstore", "zarrista", "gdal"}
    assert [writer[:8] for writer in ZARR] == ["zarr-3.0", "zarr-3.1", "zarr-3.4"]
    text = (CORPUS / "PROVENANCE.md").read_text(encoding="utf-8")
    for writer in WRITERS:
        arrays = {name for found, name in ARRAYS if found == writer}
        left_out = {name for name in NAMES if f"- `{writer}` `{name}`:" in text}
        of_gdal = {name for name in NAMES if name.startswith("gdal/")}
        of_zarr = {name for name in NAMES if name.split("/")[0] in ("defaults", "more", "hierarchy", "consolidated")}
        if writer.startswith("gdal-"):
            assert arrays == of_gdal - left_out
            assert len(arrays) >= 9
            continue
        assert arrays == set(NAMES) - of_gdal - left_out - (of_zarr if writer not in ZARR else set())
        assert len(arrays) >= 56
    assert sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()) < 2**20


def check(writer: str, name: str) -> None:
    expected = np.load(EXPECTED / f"{name}.npy")
    array = omnizarr.open_array(CORPUS / writer / name, mode="r")
    part = tuple(slice(length // 3, length, 2) for length in expected.shape)
    if array.dtype.kind in "OT":  # text of variable length, which NumPy's files do not support
        assert array[...].tolist() == expected.tolist()
        assert array[part].tolist() == expected[part].tolist()
    else:
        assert same(array[...], expected)
        assert same(array[part], expected[part])


@pytest.mark.parametrize(("writer", "name"), CORE)
def test_we_read_the_core(writer: str, name: str) -> None:
    check(writer, name)


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")  # some writers spell a fill value in their own way
@pytest.mark.parametrize(("writer", "name"), MORE)
def test_we_read_extensions(writer: str, name: str) -> None:
    check(writer, name)


@pytest.mark.parametrize(("writer", "name"), GDAL)
def test_A6_we_read_rasters_of_gdal(writer: str, name: str) -> None:
    """GDAL writes null if no value stands for missing data, which version 3 does not allow: one warning reports it."""
    document = json.loads((CORPUS / writer / name / "zarr.json").read_text())
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check(writer, name)
    assert ["null is read as the default fill value" in str(one.message) for one in seen] == (
        [True] if document["fill_value"] is None else []
    )


def test_most_rasters_of_gdal_have_no_fill_value() -> None:
    documents = [json.loads((CORPUS / writer / name / "zarr.json").read_text()) for writer, name in GDAL]
    assert sum(document["fill_value"] is None for document in documents) > len(documents) / 2


@pytest.mark.parametrize("writer", ZARR)
def test_we_read_names_and_attributes(writer: str) -> None:
    array = omnizarr.open_array(CORPUS / writer / "defaults/named", mode="r")
    assert array.dimension_names == ("y", None)
    assert array.attrs.asdict() == {"unit": "K", "ü": [1, None]}


@pytest.mark.parametrize("writer", ZARR)
@pytest.mark.parametrize(
    ("kind", "use_consolidated"), [("hierarchy", None), ("consolidated", False), ("consolidated", True)]
)
def test_we_read_hierarchies(writer: str, kind: str, use_consolidated: bool | None) -> None:
    root = omnizarr.open_group(CORPUS / writer / kind, mode="r", use_consolidated=use_consolidated)
    members: dict[str, Any] = dict(root.members(max_depth=None))
    assert sorted(members) == ["below", "below/further", "below/further/values", "empty", "numbers"]
    assert root.attrs.asdict() == {"title": "a hierarchy", "of": [1, 2.5, None]}
    assert members["below"].attrs.asdict() == {"deep": {"er": True}}
    for path in ("numbers", "below/further/values"):
        assert members[path].attrs.asdict() == {"path": path}
        assert same(members[path][...], np.load(EXPECTED / kind / f"{path}.npy"))
