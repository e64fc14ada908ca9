"""We read what zarr-python 2 wrote as the draft of 2020 (§2.3.2), also where it cannot be installed."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.corpora.reading import CORPORA, Expected, Stored, all_stored

import omnizarr
from omnizarr.errors import MetadataError

ARRAYS = list(all_stored("draft-2020"))
GROUPS = list(all_stored("draft-2020", kind="group"))
ZARR2 = CORPORA / "draft-2020" / "zarr-2.18.7"

pytestmark = pytest.mark.filterwarnings("error")  # usual deviations of zarr-python cause no warnings


def opened(stored: Stored, location: Path | None = None, **options: Any) -> omnizarr.Array:
    expected = stored.expected
    if "shards-lost" in expected.marks:
        options["chunks_per_shard"] = expected.facts["chunks_per_shard"]
    return omnizarr.open_array(location or stored.location, path=expected.path, **options)


def check(array: omnizarr.Array, expected: Expected) -> None:
    assert array.zarr_format == "3-draft-2020"
    assert array.shape == expected.shape
    assert expected.elements is not None
    assert expected.agrees(array[...])
    if array.shape:
        part = tuple(slice(length // 3, length, 2) for length in array.shape)
        assert repr(array[part].tolist()) == repr(array[...][part].tolist())


def test_the_corpus_is_complete() -> None:
    assert len(ARRAYS) > 60
    assert len(GROUPS) > 5


@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_we_read_the_corpus(stored: Stored) -> None:
    if "reject" in stored.expected.marks:
        with pytest.raises(MetadataError, match="pickle"):
            opened(stored)
        check(opened(stored, allow_pickle=True), stored.expected)
        return
    array = opened(stored, mode="r")
    check(array, stored.expected)
    assert array.chunks == stored.expected.chunks
    expected = {
        name: value for name, value in stored.expected.attributes.items() if name != "filters"
    }  # those are codecs
    assert repr(array.attrs.asdict()) == repr({name: expected[name] for name in array.attrs})
    assert array.attrs.keys() == expected.keys()
    if stored.expected.order is not None and array.ndim > 1:
        assert array.order == stored.expected.order
    # zarr-python loses the real part beside a NaN, because it adds the two parts.
    if (
        stored.name != "arrays/fills/complex"
        and stored.expected.fill_value is not None
        and array.dtype.kind not in "OT"
    ):
        assert repr(np.asarray(array.fill_value).tolist()) == repr(stored.expected.fill_value.tolist())


@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_documents_that_we_rewrite_keep_their_form(stored: Stored, tmp_path: Path) -> None:
    """A rewrite changes only what was changed, because the original writer expects the rest as it was."""
    copy = tmp_path / "copy"
    shutil.copytree(stored.location, copy)
    array = opened(stored, copy, allow_pickle="reject" in stored.expected.marks)
    (place,) = (copy / key for key in array._context.dialect.keys(array.path)[:1])
    before = json.loads(place.read_text(encoding="utf-8"))
    array.attrs["added"] = 1
    after = json.loads(place.read_text(encoding="utf-8"))
    if "shards-lost" in stored.expected.marks:
        assert after.pop("storage_transformers") is not None
    assert after["attributes"].pop("added") == 1
    assert repr(sorted(after.items())) == repr(sorted((name, before[name]) for name in before)) or after == before


@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_we_write_into_the_arrays(stored: Stored, tmp_path: Path) -> None:
    expected = stored.expected
    copy = tmp_path / "copy"
    shutil.copytree(stored.location, copy)
    array = opened(stored, copy, allow_pickle="reject" in expected.marks)
    values = np.asarray(array[...], array.dtype)
    keys = sorted(array.store.list_prefix(f"data/root/{array.path}/" if array.path else "data/"))
    turned = np.asarray(values[(slice(None, None, -1),) * array.ndim], array.dtype)
    array[...] = turned
    again = opened(stored, copy, mode="r", allow_pickle="reject" in expected.marks)
    if "lossy" not in expected.marks:
        assert repr(np.asarray(again[...], array.dtype).tolist()) == repr(turned.tolist())
    if not array.ndim:  # a chunk that existed is rewritten
        assert sorted(array.store.list_prefix(f"data/root/{array.path}/")) == keys


@pytest.mark.parametrize("stored", GROUPS, ids=str)
def test_we_read_groups(stored: Stored) -> None:
    expected = stored.expected
    consolidated = "consolidated" in stored.name
    for use in (False, True) if consolidated and not expected.path else (False,):
        group = omnizarr.open_group(stored.location, path=expected.path, mode="r", use_consolidated=use)
        assert group.metadata.implicit == ("implicit" in expected.marks)
        assert group.attrs.asdict() == expected.attributes
        found = [name for name, _ in group.members(max_depth=None)]
        assert sorted(found) == sorted(expected.members)


def test_an_array_that_lost_its_sharding_gives_wrong_values_without_an_error(tmp_path: Path) -> None:
    """The metadata do not say that the array had shards, so omnizarr cannot detect it."""
    (lost, *_) = [stored for stored in ARRAYS if "shards-lost" in stored.expected.marks]
    array = omnizarr.open_array(lost.location, path=lost.expected.path, mode="r")
    assert array.shards is None
    assert opened(lost, mode="r").shards is not None


def test_the_restored_sharding_is_stored_with_the_next_change(tmp_path: Path) -> None:
    (lost, *_) = [stored for stored in ARRAYS if "shards-lost" in stored.expected.marks]
    shutil.copytree(lost.location, tmp_path / "copy")
    opened(lost, tmp_path / "copy").attrs["x"] = 1
    check(omnizarr.open_array(tmp_path / "copy", path=lost.expected.path), lost.expected)


def test_every_array_is_reachable_through_its_hierarchy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for location in sorted({stored.location for stored in ARRAYS}):
            if (location / "meta" / "root.array.json").exists():
                continue
            root = omnizarr.open_group(location, mode="r", allow_pickle=True)
            paths = {stored.expected.path for stored in ARRAYS if stored.location == location}
            found = dict(root.members(max_depth=None))
            assert {name for name, node in found.items() if isinstance(node, omnizarr.Array)} == paths
