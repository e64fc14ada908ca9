"""Arrays whose documents do not record the chunk key encoding, and names stored in lower case."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from tests.formats.old_documents import array_v2

import omnizarr
from omnizarr.testing import RecordingStore

DATA = np.arange(60, dtype="<i2").reshape(10, 6)


def without_separator(separator: str, *, only: tuple[str, ...] | None = None, path: str = "") -> RecordingStore:
    """A store with an array whose document has no separator, and `only` some of its chunks."""
    inner = omnizarr.MemoryStore()
    z = omnizarr.create_array(
        inner,
        name=path,
        shape=DATA.shape,
        chunks=(4, 3),
        dtype=DATA.dtype,
        zarr_format=2,
        compressors=None,
        chunk_key_encoding=separator,
    )
    z[...] = DATA
    start = f"{path}/" if path else ""
    for key in list(inner.list()):
        chunk = key.removeprefix(start)
        if only is not None and chunk[0] != "." and chunk.replace("/", ".") not in only:
            inner.erase(key)
    document = json.loads(bytes(inner.get(f"{start}.zarray") or b""))
    del document["dimension_separator"]
    inner.set(f"{start}.zarray", json.dumps(document).encode())
    return RecordingStore(inner)


@pytest.mark.parametrize("path", ["", "a/b"])
@pytest.mark.parametrize("separator", [".", "/"])
def test_V28_chunks_are_found_under_both_separators(separator: str, path: str) -> None:
    store = without_separator(separator, path=path)
    assert (omnizarr.open_array(store, path=path, mode="r")[...] == DATA).all()
    for key in (np.s_[5], np.s_[2:7, ::2], np.s_[[9, 0], [5, 0]], np.s_[::-1], np.s_[-1, -1], np.s_[..., None]):
        assert (omnizarr.open_array(store, path=path)[key] == DATA[key]).all()


@pytest.mark.parametrize(("separator", "looks"), [(".", ["exists"]), ("/", ["exists", "exists"])])
def test_V28_the_separator_is_inferred_once(separator: str, looks: list[str]) -> None:
    store = without_separator(separator)
    z = omnizarr.open_array(store, mode="r")
    store.reset()
    z[0, 0]
    assert store.methods() == [*looks, "get"]
    assert {call.key for call in store.of("exists")} <= {"0.0", "0/0"}
    store.reset()
    z[9, 5]
    assert store.methods() == ["get"]
    assert store.calls[0].key == f"2{separator}1"


@pytest.mark.parametrize("separator", [".", "/"])
def test_V28_a_missing_first_chunk_costs_a_listing(separator: str) -> None:
    store = without_separator(separator, only=("2.1",))
    z = omnizarr.open_array(store, mode="r")
    store.reset()
    assert z[0, 0] == 0
    assert store.methods() == ["exists", "exists", "list_dir", "get"]
    store.reset()
    assert z[9, 5] == 59
    assert store.methods() == ["get"]


@pytest.mark.parametrize("key", [np.s_[0:0], np.s_[:, 3:3]])
def test_V28_an_empty_selection_costs_no_request(key: Any) -> None:
    store = without_separator("/")
    z = omnizarr.open_array(store, mode="r")
    store.reset()
    z[key]
    assert store.calls == []
    assert z[0, 1] == 1


def test_V28_without_stored_chunks_the_default_separator_is_used() -> None:
    store = without_separator("/", only=())
    z = omnizarr.open_array(store)
    assert (z[...] == 0).all()
    z[0, 0] = 5
    assert sorted(store.list()) == [".zarray", "0.0"]


@pytest.mark.parametrize("separator", [".", "/"])
def test_V28_new_chunks_use_the_separator_of_stored_ones(separator: str) -> None:
    store = without_separator(separator, only=("0.0",))
    z = omnizarr.open_array(store)
    z[5, 5] = 7
    assert sorted(store.list()) == [".zarray", f"0{separator}0", f"1{separator}1"]
    assert (z[:4, :3] == DATA[:4, :3]).all()
    document = json.loads(bytes(store.get(".zarray") or b""))
    assert "dimension_separator" not in document


@pytest.mark.parametrize("separator", [".", "/"])
def test_V28_counting_and_trimming_use_the_stored_separator(separator: str) -> None:
    store = without_separator(separator)
    assert omnizarr.open_array(store, mode="r").nchunks_initialized == 6
    z = omnizarr.open_array(store)
    z.resize(4, 3)
    assert sorted(store.list()) == [".zarray", f"0{separator}0"]
    z.resize(10, 6)
    assert (z[:4, :3] == DATA[:4, :3]).all()
    assert z[9, 5] == 0
    assert z.append(DATA) == (20, 6)
    assert (omnizarr.open_array(store)[10:] == DATA).all()


def test_V28_a_pickled_handle_infers_the_separator_again() -> None:
    z = omnizarr.open_array(without_separator("/"), mode="r")
    z[0, 0]
    assert (pickle.loads(pickle.dumps(z))[...] == DATA).all()
    z.refresh()
    assert (z[...] == DATA).all()


def test_a_recorded_separator_costs_no_extra_request() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, shape=(4, 4), chunks=(2, 2), dtype="i1", zarr_format=2, chunk_key_encoding="/")
    store.reset()
    z[0, 0] = 1
    assert not store.of("exists", "list_dir")
    z = omnizarr.open_array(store)
    store.reset()
    z[0, 0]
    assert store.methods() == ["get"]


def test_one_dimension_needs_no_separator() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    store.set(".zarray", json.dumps(array_v2("dimension_separator", shape=[4], chunks=[2])).encode())
    z = omnizarr.open_array(store)
    store.reset()
    z[0]
    assert store.methods() == ["get"]


# -- names in lower case


@pytest.fixture
def lower() -> RecordingStore:
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, name="upper/case", shape=3, dtype="i1", zarr_format=2)[...] = 4
    return RecordingStore(inner)


def test_lowercase_names_are_found_with_one_warning(lower: RecordingStore) -> None:
    with pytest.warns(omnizarr.OmnizarrWarning, match="opened `upper/case`") as caught:
        z = omnizarr.open_array(lower, path="Upper/Case", mode="r")
    assert len(caught) == 1
    assert z.path == "upper/case"
    assert z[...].tolist() == [4, 4, 4]
    with pytest.warns(omnizarr.OmnizarrWarning, match="opened `upper/case`"):
        assert omnizarr.open_group(lower)["UPPER/case"].path == "upper/case"


def test_existing_and_lowercase_names_cost_no_extra_request(lower: RecordingStore) -> None:
    group = omnizarr.open_group(lower)
    lower.reset()
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        group["missing"]
    assert lower.methods() == ["get_partial_values"]
    lower.reset()
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        group["Missing"]
    assert lower.methods() == ["get_partial_values"] * 2


def test_nothing_is_created_under_the_lowercase_name(lower: RecordingStore) -> None:
    group = omnizarr.open_group(lower)
    assert group.require_group("Upper").path == "Upper"
    assert omnizarr.open_group(lower, path="UPPER", mode="a", zarr_format=2).path == "UPPER"
    assert sorted(group) == ["UPPER", "Upper", "upper"]


def test_lowercase_names_are_tried_in_v2_only() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, path="a")
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.open(store, path="A")


@pytest.mark.parametrize("key", ["c", "c0"])
@pytest.mark.parametrize(("draft", "new"), [("3-draft-2020", "c"), ("3-draft-2022", "c")])
def test_A13_the_chunk_of_a_zero_dimensional_draft_array_has_two_keys(draft: Any, new: str, key: str) -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, name="x", shape=(), dtype="<i2", zarr_format=draft, compressors=None)
    z[...] = 5
    (chunk,) = [name for name in store.list() if name.startswith("data/")]
    assert chunk.rpartition("/")[2] == new
    value = bytes(store.get(chunk) or b"")
    store.erase(chunk)
    store.set(chunk.rpartition("/")[0] + "/" + key, value)
    z = omnizarr.open_array(store, path="x")
    assert z[()] == 5
    store.reset()
    z[()] = 6
    assert not store.of("exists", "list_dir")
    assert [name.rpartition("/")[2] for name in store.list() if name.startswith("data/")] == [key]
