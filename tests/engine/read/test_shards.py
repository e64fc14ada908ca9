"""Parts of a shard come from one state of it, and its index is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ChunkError
from omnizarr.store import LocalStore, MemoryStore, Store, WrapperStore


def stores(kind: str, tmp_path: Path) -> Store:
    return MemoryStore() if kind == "memory" else LocalStore(tmp_path / "x.zarr")


def test_shards_of_one_absent_inner_chunk_are_not_read_as_chunks(tmp_path: Path) -> None:
    """A shard whose length is that of its only decoded inner chunk holds an index, and no elements."""
    z = omnizarr.create_array(
        tmp_path / "x.zarr", shape=10, chunks=5, shards=5, dtype="i4", compressors=None, fill_value=7
    )
    absent = b"\xff" * 16
    for name in ("c/0", "c/1"):
        file = tmp_path / "x.zarr" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(absent + google_crc32c.value(absent).to_bytes(4, "little"))
    assert (z[:] == 7).all()
    assert (omnizarr.open_array(tmp_path / "x.zarr")[2:9] == 7).all()


def test_parts_of_a_shard_come_from_one_state_of_it(tmp_path: Path) -> None:
    """A shard that is replaced between the request for its index and that for its chunks is read again."""
    store = LocalStore(tmp_path)
    z = omnizarr.create_array(store, shape=16, dtype="i4", chunks=2, shards=16, compressors=None)
    z[...] = 7
    z[4:6] = [44, 55]

    class Restless(WrapperStore):
        """A writer replaces the shard between any two requests."""

        turn = 0

        def get_partial_values(self, requests: Any) -> Any:
            if self.turn < 3:
                self.turn += 1
                z[0:2] = 0 if self.turn % 2 else 7  # an inner chunk disappears or appears, and all others move
            return super().get_partial_values(requests)

    restless = Restless(store)
    np.testing.assert_array_equal(omnizarr.open_array(restless, mode="r")[4:6], [44, 55])
    assert restless.turn == 3


def test_parts_of_a_shard_come_from_one_state_with_concurrent_requests() -> None:
    """A store that sends a batch of requests concurrently may answer the last of them first."""
    inner = MemoryStore()
    z = omnizarr.create_array(inner, shape=16, dtype="i4", chunks=2, shards=16, compressors=None)
    z[...] = 7
    z[4:6] = [44, 55]

    class Hasty(WrapperStore):
        turn = 0

        def __init__(self, inner: Store) -> None:
            super().__init__(inner)
            self.remote, self.in_memory = True, False

        def get_partial_values(self, requests: Any) -> Any:
            answers = [self.inner.get(*requests[-1])]
            if self.turn < 3:
                self.turn += 1
                z[0:2] = 0 if self.turn % 2 else 7
            return [*(self.inner.get(*request) for request in requests[:-1]), *answers]

    np.testing.assert_array_equal(omnizarr.open_array(Hasty(inner), mode="r")[4:6], [44, 55])


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_uncopied_inner_chunks_survive_the_next_row(kind: str, tmp_path: Path) -> None:
    """A codec may return the memory that it was given, which the next row overwrites."""
    a = np.random.default_rng(2).integers(0, 255, (12, 12), np.uint8)
    codec = {"name": "numcodecs.shuffle", "configuration": {"elementsize": 1}}
    z = omnizarr.create_array(
        stores(kind, tmp_path), data=a, chunks=(2, 2), shards=(8, 8), compressors=[codec], fill_value=9
    )
    np.testing.assert_array_equal(z[...], a)
    np.testing.assert_array_equal(z[3, 1:9], a[3, 1:9])


def test_sizes_in_a_shard_index_are_checked() -> None:
    store = MemoryStore()
    z = omnizarr.create_array(store, shape=64, dtype="u1", chunks=1, shards=64, compressors=None)
    entries = np.zeros((64, 2), "<u8")
    entries[:, 1] = 2**20  # the index says that each inner chunk, of one byte, is the whole file
    from fastcrc import crc32

    index = entries.tobytes()
    store.set("c/0", bytes(2**20) + index + crc32.iscsi(index).to_bytes(4, "little"))
    for key in (3, slice(0, 20), ...):
        with pytest.raises(ChunkError, match="can have at most 1 bytes"):
            z[key]
