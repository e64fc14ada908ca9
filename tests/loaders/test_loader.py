"""A loader gives every sample once, in the order of its seed and epoch, and continues exactly where a state says."""

from __future__ import annotations

import gc
import json
import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError, ChunkError, SelectionError
from omnizarr.loaders import epoch as epochs
from omnizarr.testing import RecordingStore

SMALL = {"block_bytes": 200, "buffer_bytes": 20_000}
COUNT = 500


def rows(count: int = COUNT) -> Any:
    return np.arange(count * 4, dtype="i4").reshape(count, 4)


@pytest.fixture
def arrays() -> dict[str, omnizarr.Array]:
    return {
        "x": omnizarr.array(rows(), chunks=(16, 4)),
        "y": omnizarr.array(np.arange(COUNT), chunks=(300,)),
    }


def numbers(batches: Any) -> list[int]:
    """The rows of batches, which are checked on the way."""
    result = []
    for batch in batches:
        assert np.array_equal(batch["x"], rows()[batch["y"]])
        result += batch["y"].tolist()
    return result


@pytest.fixture(autouse=True)
def small_first_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.loaders.order._FIRST_GROUP", 1000)


# -- order


@pytest.mark.smoke
def test_without_shuffle_rows_come_in_order(arrays: Any) -> None:
    loader = omnizarr.loader(arrays, 30, **SMALL)
    batches = list(loader)
    assert [len(batch["x"]) for batch in batches] == [30] * 16 + [20]
    assert len(loader) == 17
    assert numbers(batches) == list(range(COUNT))


def test_every_epoch_has_all_rows_in_an_order_of_its_own(arrays: Any) -> None:
    loader = omnizarr.loader(arrays, 30, shuffle=True, seed=1, **SMALL)
    first, second = numbers(loader), numbers(loader)
    assert sorted(first) == sorted(second) == list(range(COUNT))
    assert first != second
    loader.set_epoch(0)
    assert numbers(loader) == first
    assert loader.epoch == 1
    assert numbers(omnizarr.loader(arrays, 30, shuffle=True, seed=2, **SMALL)) not in (first, second)


def test_the_order_never_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.loaders.order._FIRST_GROUP", 100)
    # Programs resume with a later release: a change of these numbers needs a new version of states.
    loader = omnizarr.loader(omnizarr.array(np.arange(40), chunks=(4,)), 10, shuffle=True, seed=7, block_bytes=32)
    assert np.concatenate(list(loader)).tolist() == ORDER


ORDER = [
    *(36, 27, 16, 37, 24, 25, 17, 38, 26, 39, 18, 19, 12, 23, 6, 0, 4, 13, 29, 33),
    *(15, 2, 30, 35, 7, 5, 20, 32, 22, 3, 1, 21, 14, 31, 34, 28, 11, 10, 9, 8),
]


def test_a_row_mixes_with_rows_far_away(arrays: Any) -> None:
    order = np.array(numbers(omnizarr.loader(arrays, 30, shuffle=True, block_bytes=200, buffer_bytes=1_000_000)))
    assert np.abs(np.diff(order)).mean() > COUNT / 6
    single = np.array(numbers(omnizarr.loader(arrays, 30, shuffle=True, block_bytes=1, buffer_bytes=20_000)))
    assert np.abs(np.diff(single)).mean() > COUNT / 4


def test_each_chunk_is_read_once_in_an_epoch() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, data=rows(), chunks=(16, 4))
    store.reset()
    for _ in omnizarr.loader(z, 30, shuffle=True, **SMALL):
        pass
    keys = [call.key for call in store.calls if str(call.key).startswith("c/")]
    assert len(keys) == len(set(keys)) == 32


def test_long_chunks_of_small_arrays_are_read_once() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    group = omnizarr.create_group(store)
    x = group.create_array("x", data=rows(), chunks=(4, 4))
    y = group.create_array("y", data=np.arange(COUNT, dtype="u1"), chunks=(COUNT,))
    store.reset()
    assert len(list(omnizarr.loader([x, y], 10, shuffle=True, **SMALL))) == 50
    assert len([call for call in store.calls if str(call.key).startswith("y/")]) == 1


def test_forms(arrays: Any, tmp_path: Path) -> None:
    x, y = arrays["x"], arrays["y"]
    assert [type(batch) for batch in omnizarr.loader(x, 300)] == [np.ndarray] * 2
    assert [len(batch) for batch in omnizarr.loader([x, y.lazy[::-1]], 500)] == [2]
    assert [list(batch) for batch in omnizarr.loader({"b": x, "a": y}, 500)] == [["b", "a"]]
    assert next(iter(omnizarr.loader(x)))[:2].tolist() == [0, 1]
    omnizarr.save_array(tmp_path / "z", rows())
    assert next(iter(omnizarr.loader(tmp_path / "z", 5))).shape == (5, 4)
    joined = omnizarr.concat([x, x.lazy[:100]])
    assert sum(map(len, omnizarr.loader(joined, 64, shuffle=True, **SMALL))) == 600


def test_empty_arrays_have_no_batches() -> None:
    loader = omnizarr.loader(omnizarr.create_array(None, shape=(0, 3), dtype="u1"), 4, shuffle=True)
    assert list(loader) == []
    assert len(loader) == 0


def test_variable_length_text() -> None:
    z = omnizarr.array(np.array(["a", "bcd", "", "e"] * 10, np.dtypes.StringDType()), chunks=(3,))
    assert sorted(np.concatenate(list(omnizarr.loader(z, 7, shuffle=True)))) == sorted(["a", "bcd", "", "e"] * 10)


# -- shares


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 120),
    batch=st.integers(1, 40),
    ranks=st.integers(1, 5),
    shuffle=st.booleans(),
    drop_last=st.booleans(),
    even=st.booleans(),
    chunk=st.integers(1, 30),
)
def test_shares_are_disjoint_and_complete(
    count: int, batch: int, ranks: int, shuffle: bool, drop_last: bool, even: bool, chunk: int
) -> None:
    z = omnizarr.array(np.arange(count), chunks=(chunk,))
    lengths, together = [], []
    for rank in range(ranks):
        options = {"drop_last": drop_last, "even": even, "rank": rank, "world_size": ranks}
        loader = omnizarr.loader(z, batch, shuffle=shuffle, block_bytes=64, buffer_bytes=5 * 8 * 40, **options)
        batches = list(loader)
        assert len(batches) == len(loader)
        assert all(len(part) == batch for part in batches[: None if drop_last else -1])
        own = [int(number) for part in batches for number in part]
        lengths.append(len(own))
        together += own
    assert len(set(together)) == len(together)
    if even:
        assert len(set(lengths)) == 1
    elif not drop_last:
        assert sorted(together) == list(range(count))
        assert max(lengths) - min(lengths) <= 1


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes this process a worker of a DataLoader."""

    def become(number: int, count: int) -> None:
        from omnizarr.loaders.processes import Share

        monkeypatch.setattr("omnizarr.loaders.loader.current_worker", lambda: Share(number, count))

    return become


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("workers", [1, 3, 8, 40])
def test_workers_share_whole_batches(arrays: Any, worker: Any, workers: int, shuffle: bool) -> None:
    together, lengths = [], []
    for rank in range(2):
        for number in range(workers):
            worker(number, workers)
            loader = omnizarr.loader(arrays, 20, shuffle=shuffle, rank=rank, world_size=2, **SMALL)
            batches = list(loader)
            together += numbers(batches)
            lengths.append(len(batches))
    assert sorted(together) == list(range(COUNT))
    assert sum(lengths[:workers]) == sum(lengths[workers:]) == 13
    assert lengths[:workers] == sorted(lengths[:workers], reverse=True)


def test_ranks_of_the_environment(arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert numbers(omnizarr.loader(arrays, 50)) == list(range(250, 500))
    assert len(omnizarr.loader(arrays, 50, rank=0, world_size=1)) == 10
    monkeypatch.setenv("RANK", "2")
    with pytest.raises(ArgumentError, match="RANK and WORLD_SIZE"):
        omnizarr.loader(arrays, 50)


# -- states


@settings(max_examples=40, deadline=None)
@given(
    stop=st.integers(0, 18), shuffle=st.booleans(), workers=st.integers(1, 4), window=st.booleans(), batch=st.booleans()
)
def test_a_state_continues_with_the_remaining_samples(
    stop: int, shuffle: bool, workers: int, window: bool, batch: bool
) -> None:
    from omnizarr.loaders import loader as module
    from omnizarr.loaders.processes import Share

    z = omnizarr.array(np.arange(240), chunks=(16,))
    options: dict[str, Any] = {"window": 10, "crops": 70} if window else {}

    def make() -> omnizarr.loaders.Loader:
        return omnizarr.loader(
            z, 4 if batch else None, shuffle=shuffle, seed=5, block_bytes=256, buffer_bytes=2000, **options
        )

    for number in range(workers):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "current_worker", lambda number=number: Share(number, workers))
            loader = make()
            loader.set_epoch(3)
            whole = list(loader)
            loader.set_epoch(3)
            iterator = iter(loader)
            given = list(islice(iterator, stop))
            state = json.loads(json.dumps(loader.state_dict()))
            following = list(iterator)
            resumed = make()
            resumed.load_state_dict(state)
            assert resumed.state_dict() == state
            rest = list(resumed)
            if stop > len(whole):  # the epoch had ended: the next one follows
                assert resumed.epoch == 5
            else:
                assert len(given) + len(rest) == len(whole)
                for one, other in zip([*given, *rest], whole, strict=True):
                    assert np.array_equal(one, other)
                assert len(following) == len(rest)
                assert resumed.epoch == 4


def test_a_state_of_the_program_that_receives_from_workers(arrays: Any, worker: Any) -> None:
    def in_turns(workers: int, state: Any = None) -> list[list[int]]:
        """What a DataLoader gives."""
        parts = []
        for number in range(workers):
            worker(number, workers)
            loader = omnizarr.loader(arrays, 20, shuffle=True, **SMALL)
            if state is not None:
                loader.load_state_dict(state)
            parts.append([batch["y"].tolist() for batch in loader])
        return [part[turn] for turn in range(max(map(len, parts))) for part in parts if turn < len(part)]

    whole = in_turns(4)
    for received in range(len(whole)):
        state = omnizarr.loader(arrays, 20, shuffle=True, **SMALL).state_dict(batches=received, workers=4)
        assert whole[received:] == in_turns(4, state)
    worker(0, 3)
    loader = omnizarr.loader(arrays, 20, shuffle=True, **SMALL)
    loader.load_state_dict(state)
    with pytest.raises(ArgumentError, match="4 workers"):
        iter(loader)
    complete = loader.state_dict(batches=25, workers=3)
    assert (complete["epoch"], complete["batches"]) == (1, 0)


def test_a_state_of_another_epoch_or_loader(arrays: Any) -> None:
    loader = omnizarr.loader(arrays, 20, shuffle=True, **SMALL)
    next(iter(loader))
    state = loader.state_dict()
    loader.load_state_dict(state)
    loader.set_epoch(state["epoch"])
    assert len(list(loader)) == 24
    loader.load_state_dict(state)
    loader.set_epoch(9)
    assert len(list(loader)) == 25
    for change in ({"batch_size": 21}, {"seed": 4}, {"shuffle": False}, {"rank": 1, "world_size": 2}):
        other = omnizarr.loader(arrays, **{"batch_size": 20, "shuffle": True, **SMALL, **change})
        with pytest.raises(ArgumentError, match=f"{next(iter(change))}="):
            other.load_state_dict(state)
    for wrong in (None, {}, {**state, "batches": -1}, {**state, "epoch": "1"}, {**state, "version": 9}):
        with pytest.raises(ArgumentError, match="`state`"):
            loader.load_state_dict(wrong)  # type: ignore[arg-type]


# -- reading ahead


def test_groups_stay_within_the_buffer(arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def load(self: Any, group: Any, original: Any = epochs.Epoch._load) -> Any:
        parts = original(self, group)
        sizes.append(sum(part.nbytes for part in parts))
        return parts

    monkeypatch.setattr(epochs.Epoch, "_load", load)
    list(omnizarr.loader(arrays, 30, shuffle=True, **SMALL))
    assert max(sizes) <= 20_000 // 5
    assert sizes[0] <= 1000 < max(sizes)


def test_a_loop_that_ends_early_stops_reading() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, data=rows(50_000), chunks=(16, 4))
    store.reset()
    for _ in omnizarr.loader(z, 30, **SMALL):
        break
    gc.collect()
    assert len(store.calls) < 200
    iterator = iter(omnizarr.loader(z, 30, **SMALL))
    next(iterator)
    iterator.close()
    assert list(iterator) == []


def test_errors_of_chunks_reach_the_caller(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=rows(), chunks=(16, 4))
    (tmp_path / "c" / "20" / "0").write_bytes(b"damaged")
    with pytest.raises(ChunkError, match="c/20/0"):
        list(omnizarr.loader(z, 10, **SMALL))


def test_a_pickle_is_the_same_loader(arrays: Any) -> None:
    loader = omnizarr.loader(arrays, 30, shuffle=True, **SMALL)
    loader.set_epoch(4)
    again = pickle.loads(pickle.dumps(loader))
    assert again.epoch == 4
    assert numbers(again) == numbers(loader)


# -- samples by number


def test_samples_by_number(arrays: Any) -> None:
    samples = omnizarr.loader(arrays).samples
    assert len(samples) == COUNT
    assert samples[3]["x"].tolist() == rows()[3].tolist()
    assert samples[-1]["y"] == COUNT - 1
    assert samples[[5, 5, -2]]["y"].tolist() == [5, 5, COUNT - 2]
    assert samples[10:30:10]["y"].tolist() == [10, 20]
    assert [sample["y"] for sample in samples.__getitems__([4, 2])] == [4, 2]
    assert len(pickle.loads(pickle.dumps(samples))) == COUNT
    with pytest.raises(SelectionError, match="sample 500 is out of bounds"):
        samples[[0, 500]]
    with pytest.raises(SelectionError, match="integers"):
        samples["x"]


# -- wrong arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "`batch_size`"),
        ({"batch_size": True}, "`batch_size`"),
        ({"seed": -1}, "`seed`"),
        ({"crops": 5}, "`crops`: needs the size of a `window`"),
        ({"overlap": 5}, "`overlap`: needs"),
        ({"rank": 1}, "`world_size`"),
        ({"rank": 2, "world_size": 2}, "`rank` and `world_size`"),
        ({"buffer_bytes": "many"}, "`buffer_bytes`"),
        ({"buffer_bytes": 1000, "batch_size": 100}, "a batch has 2400 bytes"),
    ],
)
def test_wrong_arguments(arrays: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        omnizarr.loader(arrays, **options)


def test_wrong_arrays(arrays: Any) -> None:
    with pytest.raises(ArgumentError, match="at least one"):
        omnizarr.loader([])
    with pytest.raises(ArgumentError, match="no dimensions"):
        omnizarr.loader(omnizarr.array(5))
    with pytest.raises(ArgumentError, match=r"500 rows in `x` and 3 in `z`"):
        omnizarr.loader({**arrays, "z": omnizarr.array([1, 2, 3])})
    with pytest.raises(ArgumentError, match="expected arrays"):
        omnizarr.loader([np.zeros(3)])
    loader = omnizarr.loader(arrays)
    with pytest.raises(ArgumentError, match="`epoch`"):
        loader.set_epoch(-1)
