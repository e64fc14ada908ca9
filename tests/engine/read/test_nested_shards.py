"""Nested shards: only the selected inner chunks are fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import omnizarr
from omnizarr.codecs import Bytes, Crc32c, Sharding, Zstd
from omnizarr.engine.read import shards
from omnizarr.store.local import snapshot

SHAPE = (30, 50)
DEEP = Sharding((12, 16), (Sharding((6, 8), (Sharding((3, 4), (Bytes(), Zstd(1))),), index_location="start"),))


@pytest.mark.parametrize("local", [True, False])
@settings(max_examples=30)
@given(data=st.data())
def test_nested_shards_match_numpy(local: bool, data: st.DataObject, tmp_path_factory: Any) -> None:
    a = np.arange(1500, dtype="i4").reshape(SHAPE)
    a[:13, :20] = 0  # shards that are absent, at every depth
    place = tmp_path_factory.mktemp("nested") if local else None
    options: dict[str, Any] = {"compressors": None, "filters": None}
    z = omnizarr.create_array(place, data=a, chunks=(24, 32), serializer=DEEP, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "_SMALL_SHARD", data.draw(st.sampled_from([0, 100, 2**16])))
        key = data.draw(arrays.basic_indices(SHAPE) | arrays.integer_array_indices(SHAPE))
        np.testing.assert_array_equal(z[key], a[key])


def test_one_element_takes_two_indexes_and_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.random.default_rng(0).integers(0, 2**32, (512, 512), dtype="u4")
    inner = Sharding((16, 16), (Bytes(), Crc32c()))
    z = omnizarr.create_array(
        tmp_path, data=a, chunks=a.shape, serializer=Sharding((256, 256), (inner,)), compressors=None, filters=None
    )
    read: list[int] = []
    get = snapshot.FileSnapshot.get
    monkeypatch.setattr(snapshot.FileSnapshot, "get", lambda self, range: (read.append(1), get(self, range))[1])
    sizes: list[int] = []
    pread = shards.get_extents
    assert z[300, 300] == a[300, 300]
    assert len(read) == 3
    monkeypatch.setattr(
        shards, "get_extents", lambda places, *more: (sizes.extend(n for _, n in places), pread(places, *more))[1]
    )
    np.testing.assert_array_equal(z[250:270, 250:270], a[250:270, 250:270])
    assert sum(sizes) < 2**14  # of a mebibyte
