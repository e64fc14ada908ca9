"""Windows are the boxes that NumPy cuts, cover every element, and random crops are spread evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError
from omnizarr.testing import RecordingStore

BUFFER = {"block_bytes": 500, "buffer_bytes": 50_000}


def origins(length: int, size: int, stride: int) -> list[int]:
    return sorted({*range(0, length - size + 1, stride), length - size})


@settings(max_examples=80, deadline=None)
@given(data=st.data(), shuffle=st.booleans())
def test_windows_are_those_of_numpy(data: st.DataObject, shuffle: bool) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.integers(1, 12)) for _ in range(rank))
    chunks = tuple(data.draw(st.integers(1, 6)) for _ in range(rank))
    window, overlap, places = {}, {}, []
    for axis in range(rank):
        if axis == 0 or data.draw(st.booleans()):
            window[axis] = data.draw(st.integers(1, shape[axis]))
            overlap[axis] = data.draw(st.integers(0, window[axis] - 1))
            places.append(origins(shape[axis], window[axis], window[axis] - overlap[axis]))
    elements = np.arange(np.prod(shape)).reshape(shape)
    z = omnizarr.array(elements, chunks=chunks)
    loader = omnizarr.loader(z, 3, window=window, overlap=overlap, shuffle=shuffle, **BUFFER)
    expected = []
    for corner in np.stack(np.meshgrid(*places, indexing="ij"), -1).reshape(-1, len(places)):
        key = [slice(None)] * rank
        for axis, start in zip(window, corner, strict=True):
            key[axis] = slice(start, start + window[axis])
        expected.append(elements[tuple(key)])
    for result in ([part for batch in loader for part in batch], list(loader.samples[:])):
        assert sorted(part.tobytes() for part in result) == sorted(part.tobytes() for part in expected)
        assert all(part.shape == expected[0].shape for part in result)
    assert [part.tobytes() for part in loader.samples[:]] == [part.tobytes() for part in expected]
    covered = np.unique(np.concatenate([part.reshape(-1) for part in expected]))
    assert len(covered) == elements.size


def test_several_arrays_by_dimension_name() -> None:
    elements = np.arange(10 * 3 * 20).reshape(10, 3, 20)
    field = omnizarr.array(elements, chunks=(5, 3, 4), dimension_names=("time", "level", "x"))
    mask = omnizarr.array(elements[:, 0].T, chunks=(4, 5), dimension_names=("x", "time"))
    loader = omnizarr.loader({"f": field, "m": mask}, 4, window={"x": 6, "time": 5}, overlap={"x": 2}, shuffle=True)
    assert len(loader) == 3
    for batch in loader:
        assert batch["f"].shape[1:] == (5, 3, 6)
        assert np.array_equal(batch["f"][:, :, 0], batch["m"].transpose(0, 2, 1))


@pytest.mark.parametrize("shuffle", [False, True])
def test_random_crops_are_spread_evenly(shuffle: bool) -> None:
    elements = np.arange(30 * 30).reshape(30, 30)
    z = omnizarr.array(elements, chunks=(7, 8))
    loader = omnizarr.loader(z, 16, window=(3, 3), crops=8000, seed=3, shuffle=shuffle, **BUFFER)
    assert len(loader) == 500
    corners = np.concatenate([batch[:, 0, 0] for batch in loader])
    for batch in loader:
        start = batch[:, 0, 0]
        assert np.array_equal(batch[:, 2, 2], start + 62)
    counts = np.bincount(corners, minlength=900).reshape(30, 30)
    assert counts[28:].sum() == counts[:, 28:].sum() == 0
    assert 0 < counts[:28, :28].min() < counts.max() < 30
    assert abs(counts[:14, :28].sum() - 4000) < 250
    again = np.concatenate([batch[:, 0, 0] for batch in loader])
    assert not np.array_equal(np.sort(again), np.sort(corners))
    loader.set_epoch(0)
    assert np.array_equal(np.concatenate([batch[:, 0, 0] for batch in loader]), corners)
    samples = loader.samples
    samples.set_epoch(1)
    assert np.array_equal(samples[5], samples[[4, 5]][1])
    assert len(np.unique([sample[0, 0] for sample in samples[:100]])) > 80


def test_windows_of_one_chunk_read_it_once() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, data=np.zeros((64, 64), "u1") + 1, chunks=(16, 16))
    store.reset()
    assert len(list(omnizarr.loader(z, 5, window=(8, 8), shuffle=True, block_bytes=1))) == 13
    keys = [call.key for call in store.calls if str(call.key).startswith("c/")]
    assert len(keys) == len(set(keys)) == 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 11}, "from 1 to the length 10 of axis 0"),
        ({"window": 0}, "from 1 to the length"),
        ({"window": (4, 4, 4)}, "`window`: the array has no axis 2"),
        ({"window": {"x": 2}}, "no dimension named 'x'"),
        ({"window": "4"}, "`window`: expected a number"),
        ({"window": ()}, "at least one axis"),
        ({"window": {0: 2, -2: 2}}, "names an axis of the array twice"),
        ({"window": 4, "overlap": 4}, "below the size 4"),
        ({"window": 4, "overlap": {1: 1}}, "axis 1 has no window"),
        ({"window": 4, "overlap": 2, "crops": 3}, "random crops have none"),
        ({"window": 4, "crops": 0}, "`crops`"),
    ],
)
def test_wrong_windows(options: dict[str, Any], message: str) -> None:
    z = omnizarr.array(np.zeros((10, 12)))
    with pytest.raises(ArgumentError, match=message):
        omnizarr.loader(z, 2, **options)
    if "window" in options and options["window"] == 4:
        with pytest.raises(ArgumentError, match="10 in array 0 and 9 in array 1"):
            omnizarr.loader([z, omnizarr.array(np.zeros(9))], 2, window=4)
