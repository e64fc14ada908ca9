"""Shards of the drafts, exchanged with zarr-python 2, which supported them experimentally."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tests.peers.environments import find
from tests.transformers.places import DraftKeys, index_of

from omnizarr.store import LocalStore
from omnizarr.transformers import ArrayPlace, ShardingTransformer

# Its metadata reader imports a module of its tests, whose dependencies are not installed. A stub replaces it.
START = """
    import os, sys, types, warnings
    os.environ.update(ZARR_V3_EXPERIMENTAL_API="1", ZARR_V3_SHARDING="1")
    warnings.simplefilter("ignore")
    tests = types.ModuleType("zarr.tests.test_storage_v3")
    tests.DummyStorageTransfomer = type("Dummy", (), {"extension_uri": "none"})
    sys.modules["zarr.tests.test_storage_v3"] = tests
    import numpy as np, zarr
    from zarr._storage.v3 import DirectoryStoreV3
    from zarr._storage.v3_storage_transformers import ShardingStorageTransformer
    store = DirectoryStoreV3(sys.argv[1])
"""
WRITE = """
    transformer = ShardingStorageTransformer("indexed", chunks_per_shard=(2, 3))
    z = zarr.create(
        (7, 9), chunks=(2, 2), dtype="<u2", compressor=None, fill_value=0, store=store, path="foo",
        zarr_version=3, storage_transformers=[transformer], dimension_separator=sys.argv[2],
    )
    z[...] = np.arange(1, 64).reshape(7, 9)
    z[2:4, 0:2] = 500
"""
READ = """
    sys.stdout.buffer.write(zarr.open(store, path="foo", mode="r", zarr_version=3)[...].astype("<u2").tobytes())
"""


def run(program: str, *arguments: str) -> bytes:
    environment = find("zarr2")
    if environment is None or "zarr2" not in environment.libraries:
        pytest.skip("zarr-python 2 is not installed; run `make peers`")
    code = textwrap.dedent(START) + textwrap.dedent(program)
    done = subprocess.run([environment.python, "-c", code, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("separator", ["/", "."])
def test_S67_S68_both_libraries_read_shards_of_the_other(separator: str, tmp_path: Path) -> None:
    run(WRITE, str(tmp_path), separator)
    expected = np.arange(1, 64, dtype="<u2").reshape(7, 9)
    expected[2:4, 0:2] = 500
    inner = LocalStore(tmp_path)
    place = ArrayPlace("data/root/foo/", (7, 9), (2, 2), DraftKeys(separator))
    store = ShardingTransformer((2, 3)).wrap(inner, place)

    found = np.zeros((8, 10), "<u2")
    keys = sorted(store.list_prefix(place.prefix))
    assert len(keys) == 4 * 5
    for key in keys:
        row, column = place.chunk_keys.coordinates(key[len(place.prefix) :], 2) or (9, 9)
        value = store.get(key)
        found[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = np.frombuffer(value or b"", "<u2").reshape(2, 2)
    assert np.array_equal(found[:7, :9], expected)
    assert len(index_of(bytes(inner.get(place.prefix + place.chunk_keys.key((1, 1))) or b""), 6)) == 6

    store.set(place.prefix + place.chunk_keys.key((0, 0)), np.full(4, 1000, "<u2").tobytes())
    store.erase(place.prefix + place.chunk_keys.key((0, 1)))
    expected[0:2, 0:2] = 1000
    expected[0:2, 2:4] = 0
    assert np.array_equal(np.frombuffer(run(READ, str(tmp_path)), "<u2").reshape(7, 9), expected)
