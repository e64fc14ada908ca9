"""Stored statistics: when an entry counts as up to date, where statistics lie, and what they refuse."""

from __future__ import annotations

import os
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers import LIBRARIES, Peer, Unsupported

import omnizarr
from omnizarr.errors import ArgumentError, OmnizarrWarning, ReadOnlyError
from omnizarr.nodes.statistics import chunk_states, pending
from omnizarr.nodes.statistics.table import StatisticsState, states_of
from omnizarr.store.local import flock, snapshot
from omnizarr.tools import copy as copy_plan
from omnizarr.tools import validate
from omnizarr.tools.element_statistics import statistics
from omnizarr.transformers import Versions

DATA = np.arange(400, dtype="f4").reshape(20, 20)


@pytest.fixture(autouse=True)
def short_ticks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The clock of a local file system ticks at least every 10 ms, so that tests need not wait for 100 ms."""
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", 20_000_000)
    yield
    pending._pending.clear()


def built(path: Path, **options: Any) -> omnizarr.Array:
    z = omnizarr.create_array(path, **({"data": DATA, "chunks": (5, 5)} | options))
    assert z.statistics.build().stale == 0
    return z


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the chunks that are read for their statistics."""
    keys: list[str] = []
    read = chunk_states.ChunkStates.read

    def noted(self: Any, chunk: Any) -> Any:
        keys.append(chunk.key)
        return read(self, chunk)

    monkeypatch.setattr(chunk_states.ChunkStates, "read", noted)
    return keys


@pytest.mark.smoke
def test_reductions_read_only_chunks_that_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    z = built(tmp_path / "z")
    assert z.statistics.state() == StatisticsState(16, 0, 16, 0)
    keys = count_reads(monkeypatch)
    assert (z.min(), z.max(), z.mean()) == (0, 399, DATA.mean())
    assert (np.min(z), np.max(z), np.mean(z)) == (0, 399, DATA.mean())
    assert z.max(axis=0).tolist() == DATA.max(axis=0).tolist()
    assert keys == []
    z[7, 7] = 1000
    assert z.statistics.state() == StatisticsState(16, 0, 15, 1)
    assert z.max() == 1000
    assert keys == ["c/1/1"]
    z.statistics.flush()
    assert z.statistics.state().stale == 0
    assert omnizarr.open_array(tmp_path / "z", mode="r").max() == 1000
    assert keys == ["c/1/1", "c/1/1"]
    z[7, 7] = DATA[7, 7]
    assert z.max() == 399


def test_find_reads_only_possible_chunks(tmp_path: Path) -> None:
    built(tmp_path / "z").store.erase("c/3/3")
    z = omnizarr.open_array(tmp_path / "z")
    data = z[...]
    for low, high in [(40, 59), (None, 3), (395, None), (None, None), (1000, None), (5, 4)]:
        mask = np.ones(data.shape, bool) if low is None else data >= low
        mask &= True if high is None else data <= high
        assert [axis.tolist() for axis in z.find(low, high)] == [axis.tolist() for axis in np.nonzero(mask)]
    assert len(list(z.statistics.regions(40, 59))) == 4
    assert (slice(15, 20), slice(15, 20)) in list(z.statistics.regions(0, 0))
    assert z.vindex[z.find(40, 42)].tolist() == [40, 41, 42]


def test_find_without_statistics_and_bad_bounds(tmp_path: Path) -> None:
    z = omnizarr.create_array(None, data=DATA, chunks=(5, 5))
    assert [axis.tolist() for axis in z.find(3, 4)] == [[0, 0], [3, 4]]
    times = omnizarr.create_array(None, data=np.array(["2026-01-01", "NaT", "2026-01-03"], "M8[D]"))
    assert times.find("2026-01-02")[0].tolist() == [2]
    for array, low in [(z, np.nan), (z, "a"), (z, [1, 2]), (z, np.datetime64(1, "s")), (times, 5), (times, "NaT")]:
        with pytest.raises(ArgumentError, match="`low`"):
            array.find(low)
    with pytest.raises(ArgumentError, match="no order"):
        omnizarr.create_array(None, data=np.array(["a"])).find(1)
    with pytest.raises(ArgumentError, match="no indices"):
        omnizarr.create_array(None, data=np.array(5)).find(1)


def test_a_copy_of_the_folder_has_no_fresh_entries(tmp_path: Path) -> None:
    z = built(tmp_path / "z")
    shutil.copytree(tmp_path / "z", tmp_path / "copy")  # keeps the times of modification
    copy = omnizarr.open_array(tmp_path / "copy")
    assert copy.statistics.state() == StatisticsState(16, 0, 0, 16)
    (tmp_path / "z").rename(tmp_path / "moved")  # the files stay the same
    moved = omnizarr.open_array(tmp_path / "moved")
    assert moved.statistics.state().stale == 0
    shutil.copy2(tmp_path / "moved/c/0/0", tmp_path / "moved/c/3/3")
    assert moved.statistics.state().stale == 1
    assert moved.max() == moved[...].max() == 394
    assert z.shape == moved.shape


def test_a_chunk_of_the_same_size_and_time_is_stale(tmp_path: Path) -> None:
    z = built(tmp_path / "z", compressors=None)
    path = tmp_path / "z/c/0/0"
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    with path.open("r+b") as file:  # in place, as some programs do: the same inode
        file.write(np.float32(-7).tobytes())
    os.utime(path, ns=times)
    assert (z.statistics.state().stale, z.min()) == (1, -7)


@pytest.mark.parametrize("kind", ["nfs4", "fuse.sshfs", ""])
def test_states_that_the_system_keeps_are_not_used(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS answers `stat` from memory for some seconds after another machine has written, but not `open`."""
    z = built(tmp_path / "z", compressors=None)
    path, stat = str(tmp_path / "z/c/0/0"), os.stat
    kept = stat(path)
    monkeypatch.setattr(os, "stat", lambda file, **options: kept if file == path else stat(file, **options))
    Path(path).write_bytes(np.full(25, 1000, "f4").tobytes())
    monkeypatch.setattr(flock, "_kind", lambda device: kind)
    assert (z.statistics.state().stale, z.max()) == (1, 1000)


def test_the_metadata_are_part_of_the_state(tmp_path: Path) -> None:
    z = built(tmp_path / "z", data=DATA.astype("i4") - 200)
    document = tmp_path / "z/zarr.json"
    text = document.read_text()
    document.write_text(text.replace('"int32"', '"uint32"'))
    other = omnizarr.open_array(tmp_path / "z")
    assert other.dtype == "u4"
    assert other.min() == other[...].min()
    assert other.statistics.state().fresh == 0
    document.write_text(text)
    assert z.statistics.state().stale == 0


@pytest.mark.parametrize("name", ["min", "max", "sum", "count", "nan_count", "fill_count", "digest"])
def test_changed_or_damaged_entries_are_not_used(name: str, tmp_path: Path) -> None:
    z = built(tmp_path / "z")
    part = omnizarr.open_array(tmp_path / "z/.omnizarr-statistics" / name)
    part[1, 1] = part[1, 1] + part.dtype.type(1)
    assert z.statistics.state().stale == 1
    assert (z.min(), z.max(), z.mean()) == (0, 399, DATA.mean())
    (tmp_path / "z/.omnizarr-statistics" / name / "c/0/0").write_bytes(b"damaged")
    assert (z.min(), z.max()) == (0, 399)
    assert omnizarr.open_array(tmp_path / "z").statistics.build().stale == 0


def replace_by_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("zarr.json", lambda path: path.write_bytes(b"")),
        ("zarr.json", lambda path: path.write_text("[1]")),
        ("zarr.json", lambda path: path.write_text('{"zarr_format": 3, "node_type": "group", "new": 1}')),
        ("zarr.json", replace_by_link),
        ("zarr.json", replace_by_folder),
        ("sum/zarr.json", lambda path: path.write_text("{")),
        ("sum/zarr.json", lambda path: path.write_text(path.read_text().replace("zstd", "unknown"))),
        ("sum/zarr.json", replace_by_link),
        ("sum/c/0/0", replace_by_link),
        ("max", shutil.rmtree),
        ("", replace_by_link),
    ],
)
def test_unreadable_statistics_keep_no_reader_from_the_elements(name: str, damage: Any, tmp_path: Path) -> None:
    """A link stands for all that a process may not read, because the tests may run with all rights."""
    z = built(tmp_path / "z")
    damage(tmp_path / "z/.omnizarr-statistics" / name)
    for reader in (z, omnizarr.open_array(tmp_path / "z", mode="r")):
        assert (reader.min(), reader.max(), reader.mean()) == (0, 399, DATA.mean())
        assert reader.find(398)[0].tolist() == [19, 19]
        assert len(list(reader.statistics.regions(398))) in (1, 16)
        assert statistics(reader).max == 399
    z[0, 0] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OmnizarrWarning)
        pending._flush_all()
    assert z.min() == -1
    if damage is not replace_by_link:
        assert z.statistics.build().stale == 0
    assert z.min() == -1


def test_measuring_holds_few_large_chunks_at_a_time(tmp_path: Path) -> None:
    z = built(tmp_path / "z")
    with omnizarr.config(threads=16):
        assert states_of(z).readers == 16
        with omnizarr.config(max_implicit_bytes=1000):
            assert states_of(z).readers == 3
        with omnizarr.config(max_implicit_bytes=1):
            assert states_of(z).readers == 1


def test_growing_and_shrinking(tmp_path: Path) -> None:
    z = built(tmp_path / "z")
    z.append(DATA[:7] + 1000)
    assert z.max() == 1139
    z.statistics.flush()
    assert z.statistics.state() == StatisticsState(24, 0, 24, 0)
    z.resize(3, 20)
    assert z.max() == 59
    z.statistics.flush()
    assert z.statistics.state() == StatisticsState(4, 0, 4, 0)
    z.resize(8, 20)
    assert (z.min(), z.statistics.build()) == (0, StatisticsState(8, 4, 4, 0))


def test_table_and_signed_zeros(tmp_path: Path) -> None:
    data = np.array([0.0, -0.0, 1, np.nan, np.inf, 3, np.nan, np.nan, -5], "f8")
    z = built(tmp_path / "z", data=data, chunks=3, fill_value=np.nan)
    table = z.statistics.table()
    assert table["max"].tolist() == [1, np.inf, -5]
    assert np.signbit(table["min"]).tolist() == [True, False, True]
    assert [table[name].tolist() for name in ("sum", "count", "nan_count", "fill_count")] == [
        [1, 3, -5],
        [3, 1, 1],
        [0, 1, 2],
        [0, 1, 2],
    ]
    assert np.isnan([z.min(), z.mean()]).all()
    zeros = built(tmp_path / "zeros", data=np.array([0.0, -0.0, 1, 0.0]), chunks=2)
    assert np.signbit(zeros.min()) == np.signbit(zeros[...].min())


def test_handles_share_what_is_pending_and_later_writes_store_it(tmp_path: Path) -> None:
    z = built(tmp_path / "z")
    other = omnizarr.open_array(tmp_path / "z")
    z[0, 0], other[19, 19] = -5, 5000
    assert len(pending._pending) == 1
    other.statistics.flush()
    assert z.statistics.state().stale == 0
    z[1, 1] = 7
    time.sleep(0.03)
    next(iter(pending._pending.values())).due = 0
    z[10, 10] = 8  # measures the chunk that was written before
    assert z.statistics.state().stale <= 1


def test_errors_after_writes_are_warnings(tmp_path: Path) -> None:
    z = built(tmp_path / "z")
    z[0, 0] = 1
    (tmp_path / "z/.omnizarr-statistics/sum/zarr.json").write_text("{")
    with pytest.warns(OmnizarrWarning, match="statistics of array"):
        pending._flush_all()
    assert z.max() == 399


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"data": np.array(["a", "b"])}, "no order"),
        ({"data": np.array([1j])}, "no order"),
        ({"store": None}, "does not tell the versions"),
        ({"store": "zip"}, "does not tell the versions"),
        ({"storage_transformers": [Versions()]}, "storage transformers"),
    ],
)
def test_what_cannot_have_statistics(options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    store = options.pop("store", tmp_path / "z")
    store = tmp_path / "z.zip" if store == "zip" else store
    z = omnizarr.create_array(store, **({"data": DATA} | options))
    with pytest.raises(ArgumentError, match=reason):
        z.statistics.build()
    assert not z.statistics.enabled
    with pytest.raises(ArgumentError, match="has no statistics"):
        z.statistics.state()


def test_a_sparse_array_of_too_many_chunks(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "z", shape=(2**40, 2**20), chunks=(1, 1), dtype="i1")
    with pytest.raises(ArgumentError, match=r"chunks, too many for the memory"):
        z.statistics.build()
    assert not z.statistics.enabled
    z = built(tmp_path / "y")
    with omnizarr.config(max_implicit_bytes=1):
        assert z.max() == 399


def test_read_only_handles_use_statistics(tmp_path: Path) -> None:
    built(tmp_path / "z")
    z = omnizarr.open_array(tmp_path / "z", mode="r")
    assert (z.statistics.enabled, z.statistics.state().fresh, z.max()) == (True, 16, 399)
    with pytest.raises(ReadOnlyError):
        z.statistics.build()
    with pytest.raises(ReadOnlyError):
        z.statistics.remove()


def test_remove(tmp_path: Path) -> None:
    z = built(tmp_path / "z")
    z.statistics.remove()
    assert (z.statistics.enabled, dict(z.attrs), z.max()) == (False, {}, 399)
    assert not any("statistics" in key for key in z.store.list())
    z[0, 0] = 5
    assert pending._pending == {}


def test_the_attribute_alone_keeps_nothing_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs copy the attribute, and not the statistics."""
    monkeypatch.setattr(pending, "_INTERVAL", 0)
    attributes = {"omnizarr_statistics": ".omnizarr-statistics"}
    z = omnizarr.create_array(tmp_path / "z", shape=(20, 20), dtype="f4", attributes=attributes)
    z[3, 3] = 1000
    (noted,) = pending._pending.values()
    assert (noted.chunks, noted.all, noted.array) == (set(), False, None)
    assert (z.max(), z.statistics.enabled) == (1000, False)


def test_the_hierarchy_does_not_show_statistics(tmp_path: Path) -> None:
    root = omnizarr.create_group(tmp_path / "g")
    z = root.create_array("a", data=DATA, chunks=(5, 5))
    z.statistics.build()
    assert [path for path, _ in root.members(max_depth=None)] == ["a"]
    omnizarr.consolidate_metadata(tmp_path / "g")
    report = validate(tmp_path / "g", data=True)
    assert report.findings == ()
    root = omnizarr.open_group(tmp_path / "g")
    root.move("a", "b")
    assert root["b"].statistics.state().stale == 16
    assert "statistics" not in repr(sorted(root._context.consolidated.documents) if root._context.consolidated else "")
    copy_plan(str(tmp_path / "g"), tmp_path / "copy").run()
    copy = omnizarr.open_array(tmp_path / "copy/b")
    assert (copy.statistics.enabled, dict(copy.attrs)) == (False, {})
    del root["b"]
    assert not any("statistics" in key for key in root.store.list())


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_peers_read_data_and_statistics(library: str, zarr_format: Any, tmp_path: Path, zarr3_peer: Peer) -> None:
    z = built(tmp_path / "z", zarr_format=zarr_format)
    try:
        assert zarr3_peer.read(library, tmp_path / "z").tobytes() == DATA.tobytes()
        for name, values in z.statistics.table().items():
            stored = zarr3_peer.read(library, tmp_path / "z/.omnizarr-statistics" / name)
            assert stored.tobytes() == values.tobytes()
    except Unsupported as missing:
        pytest.skip(missing.reason)
