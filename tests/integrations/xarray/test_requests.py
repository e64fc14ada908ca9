"""Requests that the engine `omnizarr` of xarray sends to a remote store: how many, and which at the same time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

from tests.integrations.xarray.weather import TEMPERATURE, open_weather, weather  # noqa: E402

import omnizarr  # noqa: E402
import omnizarr.integrations.xarray  # noqa: E402
from omnizarr.store import Buffer, MemoryStore, Request, Store  # noqa: E402
from omnizarr.testing import RecordingStore  # noqa: E402


class Remote(MemoryStore):
    """A store in memory that counts as remote. Reads of chunks wait until `parties` of them are under way."""

    remote = True

    def __init__(self, parties: int = 1) -> None:
        super().__init__()
        self.barrier = threading.Barrier(parties)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        if any("/c/" in key for key, _ in requests):
            self.barrier.wait(60)  # fails the test if fewer than all variables are read at the same time
        return Store.get_each(self, requests)


def remote_weather(variables: int, parties: int, *, consolidate: bool, path: str | None = None) -> RecordingStore:
    store = Remote()
    if path:
        omnizarr.create_group(store)
    group = weather(store, path)
    for number in range(variables - 4):
        group.create_array(f"v{number}", data=TEMPERATURE, chunks=(20, 6, 8), dimension_names=("time", "y", "x"))
    group.create_array("run", data=[3, 4, 5], dimension_names=("n",), attributes={"units": "hours since 2000-01-01"})
    if consolidate:
        omnizarr.consolidate_metadata(store)
    store.barrier = threading.Barrier(parties)
    return RecordingStore(store)


@pytest.mark.parametrize("consolidate", [True, False])
def test_opening_takes_two_or_four_round_trips(consolidate: bool) -> None:
    """The documents; the listing and the documents of all variables; the coordinates, and the ends of a time."""
    store = remote_weather(50, 5, consolidate=consolidate)
    dataset = open_weather(store)
    assert [call.method for call in store.calls if call.method != "get_each"] == (
        ["get_partial_values"] if consolidate else ["get_partial_values", "list_dir", "get_partial_values"]
    )
    assert len([call for call in store.calls if call.method == "get_each"]) == 5  # the barrier lets them pass together
    assert len(dataset.variables) == 51
    store.reset()
    np.testing.assert_array_equal(dataset.time, np.datetime64("2000-01-01") + np.arange(20))
    assert store.calls == []  # each coordinate was read once


@pytest.mark.parametrize("consolidate", [True, False])
def test_opening_a_group_takes_as_many_round_trips(consolidate: bool) -> None:
    """The documents of the root and of the group are requested at the same time."""
    store = remote_weather(50, 5, consolidate=consolidate, path="a/b")
    dataset = open_weather(store, group="a/b")
    calls = [call.method for call in store.calls if call.method != "get_each"]
    both = ["get_partial_values", "get_partial_values"]
    assert calls == (both if consolidate else [*both, "list_dir", "get_partial_values"])
    assert len([call for call in store.calls if call.method == "get_each"]) == 5
    assert len(dataset.variables) == 51


def test_opening_a_tree_reads_the_coordinates_of_all_groups_together() -> None:
    store = Remote()
    for name in "abc":
        weather(store, name)
    omnizarr.consolidate_metadata(store)
    store.barrier = threading.Barrier(9)
    recording = RecordingStore(store)
    tree = xr.open_datatree(recording, engine="omnizarr")
    assert len([call for call in recording.calls if call.method == "get_each"]) == 9
    np.testing.assert_array_equal(tree["b"].x, np.arange(8) * 0.25)


def test_the_accessor_loads_all_variables_together() -> None:
    store = remote_weather(10, 5, consolidate=True)
    dataset = open_weather(store)
    inner = store.inner
    assert isinstance(inner, Remote)
    inner.barrier = threading.Barrier(8)  # `t` and `v0` … `v5`, and `run`
    assert dataset.omnizarr.load() is dataset
    assert all(variable._in_memory for variable in dataset.variables.values())
    np.testing.assert_array_equal(dataset.v5, TEMPERATURE)
    array = open_weather(weather({})).t
    np.testing.assert_array_equal(array.omnizarr.load(), TEMPERATURE)
    tree = xr.open_datatree(weather({}).store, engine="omnizarr")
    assert tree.omnizarr.load()["t"].variable._in_memory


@pytest.mark.skipif(not hasattr(xr.Dataset, "load_async"), reason="this xarray has no asynchronous loading")
def test_asynchronous_loading_reads_variables_together() -> None:
    store = remote_weather(10, 5, consolidate=True)
    dataset = open_weather(store)
    inner = store.inner
    assert isinstance(inner, Remote)
    inner.barrier = threading.Barrier(8)
    asyncio.run(dataset.load_async())
    np.testing.assert_array_equal(dataset.v5, TEMPERATURE)
