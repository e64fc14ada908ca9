"""A spliced shard equals one that is written as a whole."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import omnizarr
from omnizarr.codecs import Blosc, Bytes, Crc32c, Sharding
from omnizarr.engine.write import splice
from omnizarr.errors import ChunkError, StoreError
from omnizarr.store import LocalStore
from omnizarr.store.local import splice as files
from omnizarr.store.local.capabilities import LocalSplicing

SHAPE = (11, 14)
CODECS: dict[str, Any] = {
    "raw": {"chunks": (2, 3), "shards": (8, 12), "compressors": None},
    "blosc": {"chunks": (2, 2), "shards": (6, 14), "compressors": Blosc("lz4")},
    "index first": {"serializer": Sharding((2, 3), (Bytes(),), index_location="start"), "chunks": (8, 12)},
    "no checksum": {"serializer": Sharding((4, 3), (Bytes(),), index_codecs=(Bytes(),)), "chunks": (12, 12)},
    "nested": {"serializer": Sharding((4, 6), (Sharding((2, 3), (Bytes(), Crc32c())),)), "chunks": (12, 12)},
}


@pytest.mark.parametrize("codec", CODECS)
@settings(max_examples=25)
@given(data=st.data())
def test_spliced_shards_equal_rewritten_ones(codec: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    options = dict(CODECS[codec])
    if "serializer" in options:
        options |= {"compressors": None, "filters": None}
    folder = tmp_path_factory.mktemp("splice")
    a = np.zeros(SHAPE, "i4")
    z = omnizarr.create_array(folder, shape=SHAPE, dtype="i4", **options)
    whole = omnizarr.create_array(None, shape=SHAPE, dtype="i4", **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splice, "_MIN_BYTES", 0)
        if data.draw(st.booleans()):
            patch.setattr(files, "_copy_file_range", None)
        for number in range(1, data.draw(st.integers(2, 6))):
            key = data.draw(arrays.basic_indices(SHAPE, allow_newaxis=False) | arrays.integer_array_indices(SHAPE))
            value = data.draw(st.sampled_from([0, number]))  # chunks that hold only the fill value are erased
            a[key] = z[key] = whole[key] = value
            np.testing.assert_array_equal(z[...], a)
    stored = {key: z.store.get(key) for key in sorted(z.store.list_prefix("c/"))}
    assert stored == {key: whole.store.get(key) for key in sorted(whole.store.list_prefix("c/"))}


def large(folder: Path, **options: Any) -> omnizarr.Array:
    data = np.random.default_rng(0).integers(0, 2**32, (64, 64, 64), dtype="u4")
    usual = {"data": data, "chunks": (8, 8, 8), "shards": (64, 64, 64), "compressors": None}
    return omnizarr.create_array(folder, **{**usual, **options})


def test_only_changed_inner_chunks_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    z = large(tmp_path)
    a = z[...]
    read: list[int] = []
    pread = os.pread
    monkeypatch.setattr(
        "omnizarr.store.local.files._pread", lambda file, n, at: (read.append(n), pread(file, n, at))[1]
    )
    z[10, 10, 10:12] = a[10, 10, 10:12] = 5
    assert 0 < sum(read) < 2**14  # the index and one inner chunk of 1 MiB
    np.testing.assert_array_equal(z[...], a)


def test_a_concurrent_write_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program writes to the shard after the splice has read a part of it."""
    z = large(tmp_path / "z")
    a = z[...]
    splice = LocalSplicing.splice
    others = []
    for number in (7, 8):
        a[number, 0, 0] = number
        large(tmp_path / str(number), data=a)
        others.append(tmp_path / str(number) / "c" / "0" / "0" / "0")

    def late(store: LocalSplicing, *arguments: Any) -> bool:
        if others:
            os.replace(others.pop(0), tmp_path / "z" / "c" / "0" / "0" / "0")
        return splice(store, *arguments)

    monkeypatch.setattr(LocalSplicing, "splice", late)
    z[0, 0, 0] = 6
    a[0, 0, 0] = 6
    assert not others
    np.testing.assert_array_equal(z[...], a)


def test_threads_lose_no_update(tmp_path: Path) -> None:
    z = large(tmp_path)

    def write(number: int) -> None:
        omnizarr.open(tmp_path)[number % 64, number // 64, 5] = number

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(128)))
    assert [int(z[number % 64, number // 64, 5]) for number in range(128)] == list(range(128))


def test_a_truncated_shard_is_an_error_and_stays(tmp_path: Path) -> None:
    z = large(tmp_path)
    file = tmp_path / "c" / "0" / "0" / "0"
    whole = file.read_bytes()
    for broken in (whole[:-5], whole[: len(whole) // 2]):
        file.write_bytes(broken)
        with pytest.raises(ChunkError):
            z[1, 1, 1] = 1
        assert file.read_bytes() == broken
    z[...] = 3  # a whole write
    assert z[1, 1, 1] == 3


def test_a_failing_copy_leaves_the_old_shard_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    z = large(tmp_path)
    before = z[...]

    def full(*arguments: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_copy_file_range", full)
    with pytest.raises(StoreError, match="disk is full"):
        z[1, 1, 1] = 1
    np.testing.assert_array_equal(z[...], before)
    assert os.listdir(tmp_path / "c" / "0" / "0") == ["0"]


def test_an_unsupported_copy_call_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    z = large(tmp_path)
    expected = z[...]
    monkeypatch.setattr(files, "_copy_file_range", lambda *arguments: 0)
    z[1, 1, 1] = expected[1, 1, 1] = 1
    np.testing.assert_array_equal(z[...], expected)


def test_a_subclass_that_changes_values_does_not_splice(tmp_path: Path) -> None:
    class Upper(LocalStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, bytes(value).upper())

    class Same(LocalStore, keeps_capabilities=True):
        pass

    assert Upper(tmp_path).splicing is None
    assert Same(tmp_path).splicing is not None
