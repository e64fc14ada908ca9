"""`repair` finds every injected fault, invents none, keeps all else, and can be undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, StoreError
from omnizarr.model import UNFINISHED_APPEND, UNFINISHED_RESIZE
from omnizarr.nodes import resize_mark
from omnizarr.nodes.array_state import with_shape
from omnizarr.nodes.joint_append import journal as journal_module
from omnizarr.nodes.resize import task_lock_of
from omnizarr.store import LocalStore, MemoryStore, Store, WrapperStore, as_read_only
from omnizarr.tools import repair, restore, validate
from tests.tools.repairs.corpora import LONG, places
from tests.tools.repairs.faults import FORMATS, STORES, InjectedFault, every_fault, make_sound, open_store

pytestmark = pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")

FAULTS = every_fault()
SAMPLE = FAULTS if LONG else FAULTS[::4]
"""The faults of an ordinary run: all would take half a minute."""
_LAYOUTS = ("checked", "shards", "consolidated")


def _content(store: Store) -> dict[str, bytes]:
    reader = as_read_only(store)  # because a listing of a writable store removes temporary files
    values = {key: store.get(key) for key in reader.list_prefix("") if not key.startswith(".omnizarr-quarantine/")}
    return {key: bytes(value) for key, value in values.items() if value is not None}


def test_there_are_at_least_200_faults_of_all_generations_and_stores() -> None:
    assert len(FAULTS) >= 200
    assert len(set(map(str, FAULTS))) == len(FAULTS)
    assert {fault.zarr_format for fault in FAULTS} == set(FORMATS)
    assert {fault.store for fault in FAULTS} == set(STORES)
    assert {(fault.zarr_format, fault.store) for fault in SAMPLE} == {
        (one, other) for one in FORMATS for other in STORES
    }


@pytest.mark.parametrize("fault", SAMPLE, ids=str)
def test_a_fault_is_found_repaired_and_taken_back(fault: InjectedFault, tmp_path: Path) -> None:
    store = open_store(fault.store, tmp_path)
    make_sound(store, fault.zarr_format, fault.layout)
    sound = _content(store)
    expected = fault.inject(store)
    before = _content(store)
    dry = repair(store, zarr_format=fault.zarr_format, dry_run=True)
    assert [(one.kind, one.key) for one in dry.repairs] == [expected]
    assert (dry.sound, dry.unrepaired, dry.quarantine, dry.dry_run) == (False, (), None, True)
    assert _content(store) == before
    result = repair(store, zarr_format=fault.zarr_format)
    assert [(one.kind, one.key) for one in result.repairs] == [expected]
    assert (result.unrepaired, result.repairs) == ((), dry.repairs)
    assert repair(store, zarr_format=fault.zarr_format).sound
    assert validate(store, data=True, zarr_format=fault.zarr_format).valid
    after = _content(store)
    key = expected[1]
    assert {name: value for name, value in after.items() if name != key} == {
        name: value for name, value in before.items() if name != key
    }, "nothing else changes"
    if expected[0] == "document":
        assert after[str(key)] == sound[str(key)]
    assert (result.quarantine is not None) == result.repairs[0].reversible
    if result.repairs[0].reversible:
        assert restore(store, dry_run=True).restored == (key,)
        assert restore(store, result.quarantine).restored == (key,)
        assert _content(store) == before
        assert not list(store.list_prefix(".omnizarr-quarantine/"))


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("zarr_format", FORMATS, ids=str)
def test_nothing_is_invented(zarr_format: Any, kind: str, tmp_path: Path) -> None:
    layouts = [
        layout
        for layout in _LAYOUTS
        if layout == "checked" or zarr_format == 3 or (layout == "consolidated" and zarr_format == 2)
    ]
    for number, layout in enumerate(layouts):
        folder = tmp_path / str(number)
        folder.mkdir()
        store = open_store(kind, folder)
        make_sound(store, zarr_format, layout)
        before = _content(store)
        result = repair(store, zarr_format=zarr_format)
        assert result.sound, result
        assert result.chunks > 0
        assert _content(store) == before


# -- unfinished shrinks and appends


class _NoLocks(MemoryStore):
    """A store whose locks hold within one process only, as those of object stores do."""

    @property
    def locking(self) -> bool:  # type: ignore[override]
        return False


def _group(store: Store, **attributes: Any) -> omnizarr.Group:
    group = omnizarr.create_group(store, attributes=attributes)
    for name in "ab":
        group.create_array(name, data=np.arange(8), chunks=(2,))
    return group


def test_an_unfinished_shrink_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resize_mark, "_LEASE", 0.0)
    store = _NoLocks()
    array = _group(store)["a"]
    mark = {"must_understand": False, "holder": "f" * 16, "renewals": 0}
    array._change(lambda model: replace(with_shape(model, (3,)), extra={UNFINISHED_RESIZE: mark}))
    result = repair(store)
    assert [(one.kind, one.path, one.message) for one in result.repairs] == [
        ("unfinished", "/a", "a shrink did not end")
    ]
    assert repair(store).sound
    array.refresh().resize(8)
    assert array[...].tolist() == [0, 1, 2, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("locking", [False, True])
def test_an_unfinished_append_is_undone_or_completed(
    committed: bool, locking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "_LEASE", 0.0)
    store: Store = LocalStore(tmp_path / "g") if locking else _NoLocks()
    group = _group(store)
    for name in "ab":
        array = group[name]
        array.resize(10)
        array[8:] = 7
        mark = {"must_understand": False, "holder": "f", "append": True}
        extra = {} if locking else {UNFINISHED_RESIZE: mark}
        array._change(lambda model, extra=extra: replace(with_shape(model, (8,)), extra=extra))
        if locking:
            (tmp_path / "g" / name / ".omnizarr-zarr.json.turn").write_text("begun\n")
    journal = journal_module.Journal("f", {"a": ((8,), (10,)), "b": ((8,), (10,))}, committed)
    group._change_attributes(lambda attributes: {**attributes, UNFINISHED_APPEND: journal.to_json()})
    result = repair(store)
    assert result.repairs[0].kind == "unfinished"
    assert result.repairs[0].action == ("completed" if committed else "undone")
    assert repair(store).sound
    for name in "ab":
        array = omnizarr.open_array(store, path=name)
        assert array.shape == ((10,) if committed else (8,))
        array.resize(10)
        assert array[8:].tolist() == ([7, 7] if committed else [0, 0])
    assert not list(tmp_path.rglob("*.turn"))


def test_a_lock_in_use_is_left_alone(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "g")
    array = _group(store)["a"]
    with task_lock_of(array):
        result = repair(store)
        assert result.sound
        assert list(tmp_path.rglob("*.turn"))


# -- refusals


def test_most_chunks_of_an_array_stay_unless_forced() -> None:
    store = MemoryStore()
    _group(store)
    for number in range(3):
        store.set(f"a/c/{number}", b"x")
    result = repair(store)
    assert result.repairs == ()
    assert [(left.path, left.message) for left in result.unrepaired] == [("/a", "3 of 4 chunks cannot be decoded")]
    assert "--force" in result.unrepaired[0].hint
    assert len(repair(store, force=True).repairs) == 3
    array = omnizarr.open_array(store, path="a")
    assert array[...].tolist() == [0, 0, 0, 0, 0, 0, 6, 7]


def test_a_failed_read_is_no_damage() -> None:
    store = MemoryStore()
    _group(store)

    class Failing(WrapperStore):
        def get(self, key: str, range: Any = None) -> Any:
            if key == "a/c/1":
                raise StoreError("the network is down", store="x", key=key)
            return super().get(key, range)

    result = repair(Failing(store))
    assert result.repairs == ()
    assert [(left.key, left.message) for left in result.unrepaired] == [("a/c/1", "the network is down")]


def test_values_written_since_are_kept() -> None:
    store = MemoryStore()
    group = _group(store)
    store.set("a/c/1", b"x")
    store.set("b/c/1", b"y")
    first = repair(store)
    group["a"][2:4] = 5
    result = restore(store, first.quarantine)
    assert (result.restored, result.kept) == (("b/c/1",), ("a/c/1",))
    assert group["a"][...].tolist()[2:4] == [5, 5]
    assert store.get("b/c/1") == b"y"
    assert restore(store).kept == ("a/c/1",)
    with pytest.raises(ArgumentError, match="no quarantine `other`"):
        restore(store, "other")


def test_damaged_documents_without_a_copy_and_plans_are_named() -> None:
    store = MemoryStore()
    _group(store)
    store.set("a/zarr.json", b'{"zarr_format": 3, "node_ty')
    store.set("b/zarr.json", b'{"zarr_format": 3, "node_type": "array"}')
    store.set(".omnizarr-plan/0123/plan", b"copy x to y")
    result = repair(store)
    assert result.repairs == ()
    assert {left.key or left.path for left in result.unrepaired} == {"a/zarr.json", "/b", ".omnizarr-plan/0123/plan"}


def test_a_crash_between_copy_and_change_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    _group(store)
    store.set("a/c/1", b"x")
    with monkeypatch.context() as patch:
        patch.setattr("omnizarr.tools.repairs.quarantine._exchange", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            repair(store)
    assert store.get("a/c/1") == b"x"
    assert len(repair(store).repairs) == 1
    assert set(restore(store).restored) == {"a/c/1"}
    assert store.get("a/c/1") == b"x"


def test_an_array_in_a_hierarchy_keeps_its_quarantine_at_the_root(tmp_path: Path) -> None:
    _group(LocalStore(tmp_path / "g.zarr"))
    (tmp_path / "g.zarr/a/c/0").write_bytes(b"")
    result = repair(str(tmp_path / "g.zarr" / "a"))
    assert [one.key for one in result.repairs] == ["a/c/0"]
    assert (tmp_path / "g.zarr" / ".omnizarr-quarantine").is_dir()
    assert validate(tmp_path / "g.zarr", data=True, strict=True).valid
    assert list(omnizarr.open_group(tmp_path / "g.zarr")) == ["a", "b"]
    assert restore(str(tmp_path / "g.zarr" / "a")).restored == ("a/c/0",)


def test_nothing_is_invented_in_the_corpora() -> None:
    for place, zarr_format in places():
        result = repair(place, zarr_format=zarr_format, dry_run=True)  # type: ignore[arg-type]
        assert result.repairs == (), (place, result.repairs[0])
        assert all("the metadata are not valid" in left.message for left in result.unrepaired), (place, result)
