"""Statistics of chunks in buckets: entries are bound to ETags and to the address."""

from __future__ import annotations

import threading

import numpy as np
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.nodes.statistics.table import StatisticsState


def test_statistics_in_a_bucket(s3: RunningServer) -> None:
    url, options = s3.new(), s3.options
    data = np.arange(400, dtype="f4").reshape(20, 20)
    z = omnizarr.create_array(f"{url}/a", data=data, chunks=(5, 5), storage_options=options)
    z.store.erase("c/3/3")
    assert z.statistics.build() == StatisticsState(16, 1, 15, 0)
    z[7, 7] = 1000
    assert (z.max(), z.statistics.state().stale) == (1000, 1)
    z.statistics.flush()  # an ETag needs no time to become unique
    reader = omnizarr.open_array(url, path="a", mode="r", storage_options=options)  # another root, the same address
    assert reader.statistics.state() == StatisticsState(16, 1, 15, 0)
    assert (reader.max(), reader.min(), len(reader.find(1000)[0])) == (1000, 0, 1)
    other = omnizarr.open_group(url, storage_options=options, mode="a")
    for key in list(other.store.list_prefix("a/")):
        value = other.store.get(key)
        assert value is not None
        other.store.set("b/" + key[2:], bytes(value))
    copy = omnizarr.open_array(url, path="b", storage_options=options)
    assert copy.statistics.state() == StatisticsState(16, 1, 0, 15)  # equal ETags at another address
    assert copy.max() == 1000


def test_writers_in_a_bucket(s3: RunningServer) -> None:
    url, options = s3.new(), s3.options
    z = omnizarr.create_array(url, shape=(12, 12), chunks=(4, 4), dtype="i4", storage_options=options)
    z.statistics.build()

    def write(seed: int) -> None:
        rng = np.random.default_rng(seed)
        handle = omnizarr.open_array(url, storage_options=options)
        for _ in range(6):
            row, column, value = rng.integers(0, 12, 3)
            handle[row, column] = value - 6
            handle.statistics.flush()

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = omnizarr.open_array(url, storage_options=options)
    data = reader[...]
    assert (reader.min(), reader.max(), reader.mean()) == (data.min(), data.max(), data.mean())
    assert reader.statistics.build().stale == 0
