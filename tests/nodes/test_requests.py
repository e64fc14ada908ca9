"""What opening, listing and creating cost, in requests to the store."""

from __future__ import annotations

import pytest

import omnizarr
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


def test_opening_costs_one_request(store: RecordingStore, group: omnizarr.Group) -> None:
    for path in ("", "a0", "g0", "g0/z"):
        store.reset()
        omnizarr.open(store, path=path, mode="r")
        assert store.requests == 1
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


def test_members_that_were_listed_need_no_further_request_for_their_metadata(
    store: RecordingStore, group: omnizarr.Group
) -> None:
    nodes = [node for _, node in group.members()]
    store.reset()
    assert [node.path for node in nodes if isinstance(node, omnizarr.Array) and node.shape == (3,)]
    assert store.calls == []


def test_membership_costs_one_request(store: RecordingStore, group: omnizarr.Group) -> None:
    assert "a0" in group
    assert "b0" not in group
    assert store.requests == 2


def test_creating_costs_one_read_for_each_group_that_may_be_missing_and_one_write(
    store: RecordingStore, group: omnizarr.Group
) -> None:
    group.create_array("new", shape=3, dtype="int8")
    assert store.methods() == ["get_partial_values", "set_if"]
    assert store.requests == 1 + 1
    store.reset()
    group.create_array("n/e/w", shape=3, dtype="int8")
    assert store.requests == 3 + 3  # it and the two groups above it: each is looked for and written
    store.reset()
    group["g0"].create_array("x", shape=3, dtype="int8")  # type: ignore[union-attr]
    assert store.requests == 1 + 1 + 1  # the group itself was opened
    store.reset()
    omnizarr.create_array(store, name="g1/x", shape=3, dtype="int8")
    assert store.requests == 3 + 1  # the root and `g1` are looked for, too


def test_deleting_costs_a_look_and_the_erasing(store: RecordingStore, group: omnizarr.Group) -> None:
    del group["a0"]
    assert store.methods() == ["exists", "erase_values", "erase_prefix"]


def test_a_missing_node_costs_one_request_and_one_batch_that_finds_out_more(
    store: RecordingStore, group: omnizarr.Group
) -> None:
    assert group.get("nothing") is None
    assert store.methods() == ["get_partial_values", "get_partial_values"]


def test_looking_at_an_array_costs_nothing(store: RecordingStore, group: omnizarr.Group) -> None:
    z = group["a0"]
    assert isinstance(z, omnizarr.Array)
    store.reset()
    assert (z.shape, z.chunks, z.nchunks, z.nbytes, z.attrs.asdict(), len(z)) == ((3,), (3,), 1, 3, {}, 3)
    assert repr(z)
    assert str(z.info)
    assert store.calls == []
