"""Arrays of the same encoding: stored bytes are compared, in few requests, and only chunks that differ are decoded."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store import MemoryStore
from omnizarr.testing import RecordingStore
from omnizarr.tools import diff
from omnizarr.tools.stored_differences import pair_batches, same_encoding


@pytest.mark.parametrize("seed", range(40))
def test_random_differences_are_those_of_numpy(seed: int) -> None:
    random = Random(seed)
    shape = tuple(random.choice((1, 2, 5, 8)) for _ in range(random.randint(0, 3)))
    options: dict[str, Any] = {"chunks": tuple(random.choice((1, 2, 3)) for _ in shape)}
    if shape and random.random() < 0.3:
        options["shards"] = tuple(2 * length for length in options["chunks"])
    data = np.asarray(np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape) % 3)
    changed = data.copy()
    for _ in range(random.choice((0, 1, 2, 9))):
        changed[tuple(random.randrange(length) for length in shape)] += 1
    first, second = (omnizarr.create_array({}, data=values, **options) for values in (data, changed))
    assert same_encoding(first, second)
    result = diff(first, second)
    count = int((data != changed).sum())
    assert result.equal == (count == 0)
    assert sum(found.count for found in result.data) == count
    covered = np.zeros(shape, int)
    identical = 0
    for batch in pair_batches(first, second):
        identical += batch.identical
        for region in batch.different:
            covered[region] += 1
    assert covered.max(initial=0) <= 1
    assert identical == (covered == 0).sum()
    assert result.identical_bytes == identical * 4
    assert ((data != changed) <= (covered == 1)).all()


def test_chunks_side_by_side_are_read_together() -> None:
    data = np.zeros((8, 8), "i4")
    first, second = (omnizarr.create_array({}, data=data + n, chunks=(2, 8)) for n in (0, 1))
    (batch,) = pair_batches(first, second)
    assert batch.different == ((slice(0, 8), slice(0, 8)),)
    rows = [omnizarr.create_array({}, data=data + n, chunks=(4, 2)) for n in (0, 1)]
    (batch,) = pair_batches(*rows)
    assert batch.different == ((slice(0, 4), slice(0, 8)), (slice(4, 8), slice(0, 8)))


def test_the_cost_depends_on_the_stored_chunks_not_on_the_grid() -> None:
    first, second = (
        omnizarr.create_array(RecordingStore(MemoryStore()), shape=(10**7, 10**7), chunks=(10, 10), dtype="i2")
        for _ in range(2)
    )
    for z in (first, second):
        z[5_000_000, 5_000_000] = 1
        z[9_999_999, 0] = 2
    second[0, 9_999_999] = 3
    reads: list[int] = []
    result = diff(first, second, progress=lambda done, total: reads.append(done))
    assert [(found.count, found.index, found.first, found.second) for found in result.data] == [
        (1, (0, 9_999_999), 0, 3)
    ]
    assert result.identical_bytes == first.nbytes - 10 * 10 * 2
    assert reads[-1] == first.nbytes


def test_a_value_longer_than_its_chunk_is_an_error_of_the_read() -> None:
    store = MemoryStore()
    first = omnizarr.create_array(store, data=np.arange(4, dtype="u1"), compressors=None)
    second = omnizarr.create_array({}, data=np.arange(4, dtype="u1"), compressors=None)
    assert diff(first, second).equal
    for z in (first, second):
        z.store.set("c/0", b"12345")
    with pytest.raises(omnizarr.errors.ChunkError):
        diff(first, second)
