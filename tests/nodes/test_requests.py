"""The number of requests that opening, listing and creating send to the store."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import omnizarr
import omnizarr.api.location
from omnizarr.errors import MetadataError
from omnizarr.store import WrapperStore
from omnizarr.store.requests.window import Window
from omnizarr.store.wrappers import ForwardedUpdates, forwarded
from omnizarr.testing import RecordingStore


@pytest.fixture
def store() -> RecordingStore:
    return RecordingStore(omnizarr.MemoryStore())


@pytest.fixture
def group(store: RecordingStore) -> omnizarr.Group:
    group = omnizarr.create_group(store)
    for number in range(5):
        group.create_array(f"a{number}", shape=3, dtype="int8")[...] = 1
    for number in range(3):
        group.create_group(f"g{number}").create_array("z", shape=3, dtype="int8")
    store.reset()
    return group


def test_opening_costs_one_batch(store: RecordingStore, group: omnizarr.Group) -> None:
    for path in ("", "a0", "g0", "g0/z"):
        for zarr_format in (None, 3):
            store.reset()
            omnizarr.open(store, path=path, mode="r", zarr_format=zarr_format)  # type: ignore[arg-type]
            assert store.methods() == ["get_partial_values"]
            assert zarr_format is None or store.requests == 1
    store.reset()
    assert group["g0/z"].path == "g0/z"
    assert store.requests == 1


@pytest.mark.parametrize(
    "look",
    [
        lambda group: list(group),
        lambda group: len(group),
        lambda group: group.keys(),
        lambda group: group.members(),
        lambda group: list(group.arrays()),
        lambda group: list(group.group_keys()),
        lambda group: group.nmembers(),
        lambda group: str(group.tree(level=1)),
    ],
)
def test_listing_n_children_costs_one_listing_and_n_documents(
    store: RecordingStore, group: omnizarr.Group, look: object
) -> None:
    look(group)  # type: ignore[operator]
    assert store.methods() == ["list_dir", "get_partial_values"]
    assert store.requests == 1 + 8


def test_listing_everything_costs_one_listing_for_each_group(store: RecordingStore, group: omnizarr.Group) -> None:
    assert len(group.members(max_depth=None)) == 11
    assert len(store.of("list_dir")) == 4
    assert store.requests == 4 + 11


def test_metadata_of_listed_members_costs_no_request(store: RecordingStore, group: omnizarr.Group) -> None:
    nodes = [node for _, node in group.members()]
    store.reset()
    assert [node.path for node in nodes if isinstance(node, omnizarr.Array) and node.shape == (3,)]
    assert store.calls == []


def test_membership_costs_one_request(store: RecordingStore, group: omnizarr.Group) -> None:
    assert "a0" in group
    assert "b0" not in group
    assert store.requests == 2


def test_cost_of_creating(store: RecordingStore, group: omnizarr.Group) -> None:
    group.create_array("new", shape=3, dtype="int8")
    assert store.methods() == ["get_partial_values", "updates.write"]
    assert store.requests == 1 + 1
    store.reset()
    group.create_array("n/e/w", shape=3, dtype="int8")
    assert store.requests == 3 + 3  # the node and two groups above it: each is checked and written
    store.reset()
    group["g0"].create_array("x", shape=3, dtype="int8")  # type: ignore[union-attr]
    assert store.requests == 1 + 1 + 1  # the group itself is known to exist
    store.reset()
    omnizarr.create_array(store, name="g1/x", shape=3, dtype="int8")
    # The root and `g1` are checked too, at first in every generation.
    assert store.methods() == ["get_partial_values", "get_partial_values", "updates.write"]


def test_cost_of_deleting(store: RecordingStore, group: omnizarr.Group) -> None:
    del group["a0"]
    assert store.methods() == ["exists", "task_lock", "erase_values", "erase_prefix"]  # the lock is no request


def test_cost_of_opening_a_missing_node(store: RecordingStore, group: omnizarr.Group) -> None:
    assert group.get("nothing") is None
    assert store.requests == 1
    store.reset()
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.open(store, path="nothing")
    assert store.methods() == ["get_partial_values", "get_partial_values"]


def test_properties_of_an_array_cost_no_request(store: RecordingStore, group: omnizarr.Group) -> None:
    z = group["a0"]
    assert isinstance(z, omnizarr.Array)
    store.reset()
    assert (z.shape, z.chunks, z.nchunks, z.nbytes, z.attrs.asdict(), len(z)) == ((3,), (3,), 1, 3, {}, 3)
    assert repr(z)
    assert str(z.info)
    assert store.calls == []


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"])
def test_requests_for_documents_are_limited_in_size(store: RecordingStore, zarr_format: Any) -> None:
    omnizarr.create_array(store, data=[1], attributes={"long": "x" * 3000}, zarr_format=zarr_format)
    store.reset()
    with omnizarr.config(max_document_bytes=2000):
        for mode in ("r", "r+"):
            with pytest.raises(MetadataError, match="longer than the limit of 2000 bytes"):
                # The common name `attributes.json` proves nothing by itself.
                omnizarr.open(store, mode=mode, zarr_format="n5" if zarr_format == "n5" else None)  # type: ignore[arg-type]
        assert omnizarr.api.location.hierarchy_above(store, "") is None
    for call in store.calls:
        assert isinstance(call.range, tuple)
        assert all(part is not None and part[1] is not None and part[1] <= 2001 for part in call.range)


JUNK = (".zattrs", ".zarray", ".zgroup", ".zmetadata", "meta", "attrs", "meta/group.json", "meta/root.group.json")


@pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")
def test_damaged_documents_that_are_not_needed_are_ignored(store: RecordingStore) -> None:
    omnizarr.create_array(store, data=[1])
    for key in JUNK:
        store.set(key, b"\xff{")
    assert omnizarr.open_array(store)[...].tolist() == [1]


def test_damaged_attributes_of_v1_are_an_error(store: RecordingStore) -> None:
    omnizarr.create_array(store, data=[1], zarr_format=1)
    store.set("attrs", b"{")
    with pytest.raises(MetadataError, match="`attrs`"):
        omnizarr.open(store)
    store.set("meta", b"my notes")
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.open(store)


def test_a_damaged_entry_point_is_an_error_for_all_nodes(store: RecordingStore) -> None:
    omnizarr.create_array(store, name="a/b", data=[1], zarr_format="3-draft-2022")
    store.set("zarr.json", b"{")
    for path in ("", "a/b"):
        with pytest.raises(MetadataError, match="`zarr.json`"):
            omnizarr.open(store, path=path)


@pytest.mark.parametrize(
    ("zarr_format", "batches"), [(1, 2), (2, 1), ("3-draft-2020", 2), ("3-draft-2022", 2), (3, 1), ("n5", 2)]
)
def test_opening_costs_few_round_trips_in_every_generation(
    store: RecordingStore, zarr_format: Any, batches: int
) -> None:
    name = None if zarr_format == 1 else "a/b"
    omnizarr.create_array(store, name=name, data=[1], zarr_format=zarr_format)
    for mode in ("r", "r+"):
        for path in {"a", "a/b"} if name else {""}:
            store.reset()
            omnizarr.open(store, path=path, mode=mode)  # type: ignore[arg-type]
            implied = isinstance(zarr_format, str) and path == "a"
            # A group of N5 without a document may be a directory of chunks: one more request for the nodes above.
            above = implied and zarr_format == "n5"
            assert store.methods() == ["get_partial_values"] * (batches + above) + ["list_dir"] * implied


@pytest.mark.parametrize("zarr_format", ["3-draft-2020", "3-draft-2022"])
def test_listings_of_drafts_show_kinds_and_documents(store: RecordingStore, zarr_format: Any) -> None:
    group = omnizarr.create_group(store, zarr_format=zarr_format)
    group.create_array("a", data=[1])
    group.create_group("b", attributes={"explicit": True}).create_array("below", data=[1])
    group.create_array("c/below", data=[1])
    expected = {"keys": ["a", "b", "c"], "array_keys": ["a"], "group_keys": ["b", "c"]}
    for method, names in expected.items():
        store.reset()
        assert list(getattr(group, method)()) == names
        assert store.methods() == ["list_dir"]
    store.reset()
    members = dict(group.members())
    assert store.methods() == ["list_dir", "get_partial_values"]
    assert store.requests == 1 + 2  # group `c` has no document
    assert [type(node).__name__ for node in members.values()] == ["Array", "Group", "Group"]
    assert members["b"].attrs.asdict() == {"explicit": True}
    store.reset()
    assert members["c"].members()[0][1][...].tolist() == [1]
    assert len(members["b"].members(max_depth=None)) == 1
    store.reset()
    group.create_array("new", data=[1])
    # The entry point is known to exist.
    assert store.methods()[:3] == ["get_partial_values", "list_dir", "updates.write"]


def test_a_draft_node_erased_after_the_listing_is_no_group() -> None:
    class Late(RecordingStore):
        """Lists documents that do not exist any more."""

        def list_dir(self, prefix: str) -> Any:
            keys, prefixes = super().list_dir(prefix)
            return [*keys, f"{prefix}gone.array.json"], prefixes

    there = omnizarr.MemoryStore()
    omnizarr.create_array(there, name="there", data=[1], zarr_format="3-draft-2022")
    group = omnizarr.open_group(Late(there), mode="r")
    assert [name for name, _ in group.members()] == ["there"]


class FarUpdates(ForwardedUpdates):
    def read(self, key: str, limit: int | None = None) -> Any:
        if self.store.together is not None:
            self.store.together.wait(timeout=30)
        return super().read(key, limit)


class FarAway(WrapperStore):
    """Answers requests only when three are in flight at once."""

    updates = forwarded("updates", FarUpdates)

    def __init__(self) -> None:
        super().__init__(omnizarr.MemoryStore())
        self.remote = True
        self._window = Window()
        self.together: threading.Barrier | None = None

    @property
    def window(self) -> Window:
        return self._window


def test_a_change_fetches_the_documents_of_a_node_together() -> None:
    store = FarAway()
    z = omnizarr.create_array(store, shape=3, dtype="int8", zarr_format=2)
    store.together = threading.Barrier(3)
    z.attrs.update(a=1)
    assert omnizarr.open_array(store).attrs["a"] == 1


@pytest.mark.parametrize("zarr_format", [2, "3-draft-2020", 3])
def test_consolidated_metadata_opens_a_whole_hierarchy(store: RecordingStore, zarr_format: Any) -> None:
    group = omnizarr.create_group(store, zarr_format=zarr_format)
    for name in ("a", "b/c", "b/d/e"):
        group.create_array(name, shape=3, dtype="int8", attributes={"name": name})
    omnizarr.consolidate_metadata(store)
    store.reset()
    again = omnizarr.open_group(store, mode="r", zarr_format=zarr_format)
    read = len(store.calls)
    assert read == (2 if zarr_format == "3-draft-2020" else 1)
    assert zarr_format != 3 or store.requests == 1
    assert [again[name].attrs["name"] for name in ("a", "b/c", "b/d/e")] == ["a", "b/c", "b/d/e"]
    kept_as_group = zarr_format == "3-draft-2020"  # the consolidated metadata lies in a group of its own
    assert len(again.members(max_depth=None)) == 5 + kept_as_group
    assert len(store.calls) == read


def test_a_whole_chunk_is_one_write(store: RecordingStore) -> None:
    z = omnizarr.create_array(store, shape=(20, 20), chunks=10, dtype="int8")
    store.reset()
    z[10:, :10] = 1
    assert [(call.method, call.requests) for call in store.calls if call.method != "lock"] == [("set", 1)]


def test_attributes_are_one_read_and_one_write(store: RecordingStore) -> None:
    z = omnizarr.create_array(store, shape=3, dtype="int8")
    store.reset()
    z.attrs.update(a=1, b=2)
    assert [(call.method, call.requests) for call in store.calls] == [("updates.read", 1), ("updates.write", 1)]
