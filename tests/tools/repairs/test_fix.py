"""`fix` changes documents that say one thing, leaves all others as they are, and can be undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import OmnizarrError
from omnizarr.store import MemoryStore
from omnizarr.tools import fix, restore, validate
from omnizarr.tools.repairs.document_edits import edited, without_trailing_commas
from tests.tools.repairs.corpora import places
from tests.tools.validation.fault_kinds import dump
from tests.tools.validation.faults import every_fault, sound_stores
from tests.tools.validation.faults_v3 import V3

pytestmark = pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")

FAULTS = [fault for fault in every_fault() if not fault.data]


def _findings(store: dict[str, bytes], zarr_format: Any) -> set[tuple[str, str]]:
    report = validate(dict(store), zarr_format=zarr_format)
    return {(one.rule, str(one.place)) for one in report.findings if one.level != "advice"}


def _elements(store: dict[str, bytes], zarr_format: Any) -> dict[str, bytes]:
    """The elements and the attributes of every array that can be read."""
    values: dict[str, bytes] = {}
    try:
        node = omnizarr.open(dict(store), mode="r", zarr_format=zarr_format, use_consolidated=False)
        arrays = [("", node)] if isinstance(node, omnizarr.Array) else list(node.arrays())
        for name, array in arrays:
            values[name] = array[...].tobytes() + repr(sorted(array.attrs.items())).encode()
    except OmnizarrError:
        pass
    return values


def _content(store: dict[str, bytes]) -> dict[str, bytes]:
    return {key: bytes(value) for key, value in store.items()}


def test_known_faults_are_mended_or_left_alone() -> None:
    count = 0
    for fault in FAULTS:
        store = dict(fault.store)
        before, elements = _findings(store, fault.zarr_format), _elements(store, fault.zarr_format)
        dry = fix(store, zarr_format=fault.zarr_format, dry_run=True)
        assert _content(store) == fault.store, fault
        result = fix(store, zarr_format=fault.zarr_format)
        assert len(result.fixes) >= len(dry.fixes), fault
        if not result.fixes:
            assert _content(store) == fault.store, fault
            continue
        count += 1
        assert _findings(store, fault.zarr_format) < before, fault
        assert elements.items() <= _elements(store, fault.zarr_format).items(), (fault, "what was readable stays equal")
        assert all(one.diff and one.rules for one in result.fixes), fault
        assert not fix(store, zarr_format=fault.zarr_format).fixes, fault
        if result.backup is not None:
            assert restore(store, result.backup).kept == ()
            assert {key: store[key] for key in fault.store} == fault.store, fault
    assert count >= 60


@pytest.mark.parametrize("store", sound_stores().values(), ids=sound_stores())
def test_sound_documents_stay(store: dict[str, bytes]) -> None:
    copy = dict(store)
    result = fix(copy)
    assert (result.fixes, result.refused, _content(copy)) == ((), (), store)


def test_documents_of_the_corpora_keep_their_meaning(tmp_path: Path) -> None:
    """Whatever is fixed in documents that other programs wrote, the elements stay equal."""
    for place, zarr_format in places():
        files = [path for path in Path(place).rglob("*") if path.is_file()] if Path(place).is_dir() else []
        store = {path.relative_to(place).as_posix(): path.read_bytes() for path in files}
        if not store:
            continue
        before = _elements(store, zarr_format)
        fix(store, zarr_format=zarr_format)  # type: ignore[arg-type]
        assert _elements(store, zarr_format) == before, place


def test_trailing_commas_and_a_wrong_first_document() -> None:
    text = json.dumps(V3)[:-1] + ', "attributes": {"a": "x,}"},}'
    store = {"zarr.json": text.replace('"attributes": {}, ', "").encode()}
    result = fix(store)
    assert [one.rules for one in result.fixes] == [("R8",)]
    assert dict(omnizarr.open_array(dict(store), mode="r").attrs) == {"a": "x,}"}
    store = {"zarr.json": dump(V3 | {"zarr_format": "3", "shape": [4.0, "6"]})}
    assert [one.rules for one in fix(store).fixes] == [("R9", "R11")]
    assert validate(dict(store)).valid
    broken = {"zarr.json": b'{"zarr_format": 4, "node_type": "array"}'}
    result = fix(broken)
    assert result.fixes == ()
    assert result.refused


def test_edits_have_one_meaning() -> None:
    assert edited({"shape": [1.5]}, "R11", "$.shape") is None
    assert edited({"shape": ["1e3"]}, "R11", "$.shape") is None
    assert edited({"attributes": 1}, "R20", "$.attributes") is None
    assert edited({"a": [{"b": "7"}]}, "R54", "$.a[0].b") == {"a": [{"b": 7}]}
    assert edited({"fill_value": "-inf"}, "R55", "$.fill_value") == {"fill_value": "-Infinity"}
    assert edited({"fill_value": 0.5}, "R54", "$.fill_value") is None
    assert without_trailing_commas('["a,]", 1,\n]') == '["a,]", 1\n]'


def test_a_hierarchy_and_its_consolidated_metadata(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "g")
    group.create_array("a", data=np.arange(4))
    omnizarr.consolidate_metadata(tmp_path / "g")
    document = tmp_path / "g/a/zarr.json"
    members = json.loads(document.read_text())
    members["fill_value"] = "0"
    document.write_text(json.dumps(members))
    old = (tmp_path / "g/zarr.json").read_bytes()
    members["attributes"]["x"] = 1
    document.write_text(json.dumps(members))
    result = fix(str(tmp_path / "g"))
    assert [(one.key, one.rules) for one in result.fixes] == [("a/zarr.json", ("R54",)), ("zarr.json", ("R29",))]
    assert validate(tmp_path / "g", strict=True, data=True).valid
    assert omnizarr.open_group(tmp_path / "g", mode="r")["a"].attrs["x"] == 1
    assert set(restore(str(tmp_path / "g")).restored) == {"zarr.json", "a/zarr.json"}
    assert (tmp_path / "g/zarr.json").read_bytes() == old


def test_read_only_stores_allow_dry_runs() -> None:
    store = MemoryStore({"zarr.json": dump(V3 | {"shape": ["4", 6]})})
    assert "+" in fix(store, dry_run=True).fixes[0].diff
