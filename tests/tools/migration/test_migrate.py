"""`migrate`: the ways of arrays, losses, refusals, in place and to other stores, resumed and in parts."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Blosc, Crc32c, Transpose, Zstd
from omnizarr.codecs.numcodecs_ import Zlib
from omnizarr.errors import ArgumentError, NodeExistsError, OmnizarrError, StoreError
from omnizarr.store import LocalStore, MemoryStore, SQLiteStore, Store, ZipStore
from omnizarr.testing import RecordingStore
from omnizarr.tools import diff, migrate
from omnizarr.tools.plans.plan import run_task

DATA = np.arange(60, dtype="i4").reshape(6, 10)
GENERATIONS: list[Any] = [2, 3, "3-draft-2020", "3-draft-2022", "n5"]


def hierarchy(store: Any, zarr_format: Any) -> omnizarr.Group:
    group = omnizarr.create_group(store, zarr_format=zarr_format, attributes={"title": "weather"})
    group.create_array(
        "t", data=DATA, chunks=(2, 5), compressors="gzip", attributes={"units": "K"}, dimension_names=["y", "x"]
    )
    group.create_group("daily").create_array("rain", data=DATA[0], chunks=(3,), compressors="gzip")
    group.create_array("daily/empty", shape=(4, 4), dtype="f4", chunks=(2, 2))
    return omnizarr.open_group(store, mode="r")


def array(zarr_format: Any = 3, **options: Any) -> omnizarr.Array:
    store = MemoryStore()
    omnizarr.create_array(store, zarr_format=zarr_format, **{"data": DATA, "chunks": (2, 5), **options})
    return omnizarr.open_array(store, mode="r")


def migrated(source: Any, to: Any, **options: Any) -> omnizarr.Array:
    target = MemoryStore()
    migrate(source, target, to=to, verify=True, **options).run(workers=1)
    return omnizarr.open_array(target, mode="r")


def way(source: omnizarr.Array, to: Any) -> str:
    plan = migrate(source, MemoryStore(), to=to)
    if plan.arrays[0].way != "impossible":
        new = migrated(source, to, accept_losses=True)
        np.testing.assert_array_equal(new[...], source[...])
    return plan.arrays[0].way


@pytest.mark.parametrize("before", GENERATIONS)
@pytest.mark.parametrize("after", GENERATIONS)
def test_every_generation_to_every_other(before: Any, after: Any) -> None:
    source, target = hierarchy(MemoryStore(), before), MemoryStore()
    if before == after:
        with pytest.raises(ArgumentError, match="already"):
            migrate(source, target, to=after)
        return
    plan = migrate(source, target, to=after)
    assert plan.losses == ()
    plan.run(workers=2)
    new = omnizarr.open_group(target, mode="r")
    assert new.zarr_format == after
    assert diff(source, new, data_only=True).equal
    assert new["t"].dimension_names == ("y", "x")
    assert dict(new.attrs) == {"title": "weather"}
    assert new["t"].attrs["units"] == "K"
    assert not list(target.list_prefix(".omnizarr-plan/"))


def test_metadata_alone() -> None:
    assert way(array(1), 2) == way(array(1), 3) == way(array(2), 3) == "metadata"
    assert way(array(2, chunk_key_encoding="/"), 3) == "metadata"
    assert way(array(2, compressors={"id": "zlib", "level": 1}), 3) == "metadata"
    assert way(array(2, order="F", compressors=None), 3) == "metadata"
    assert way(array(2, compressors=Zlib(1)), 1) == "metadata"
    assert way(array(3, chunk_key_encoding={"name": "v2", "separator": "."}), 2) == "metadata"


def test_other_keys() -> None:
    for before in (1, 2, 3):
        source = array(before, compressors=Blosc("lz4", 5, "shuffle", 4))
        assert way(source, "3-draft-2020") == way(source, "3-draft-2022") == "rename"
    assert way(array(3), 2) == "rename"
    assert way(array("3-draft-2020"), 3) == way(array("3-draft-2022"), 3) == way(array("3-draft-2020"), 2) == "rename"
    assert way(array(3, filters=[Transpose((1, 0))]), 2) == "rename"


def test_shards() -> None:
    shards: dict[str, Any] = {"chunks": (2, 5), "shards": (4, 10)}
    assert way(array("3-draft-2022", **shards), 3) == "rename"
    assert way(array(3, **shards), 2) == "repack"
    assert way(array("3-draft-2022", **shards), 2) == "repack"
    plan = migrate(array(3, **shards), MemoryStore(), to="3-draft-2022")
    assert [(one.way, one.reason) for one in plan.arrays] == [
        ("repack", "the index of a shard has no checksum in this generation")
    ]
    assert migrated(array(3, **shards), "3-draft-2022").shards == (4, 10)
    assert way(array(3, **shards), "n5") == "re-encode"


def test_blocks_of_n5() -> None:
    big: dict[str, Any] = {"data": DATA.astype("u1"), "compressors": "gzip"}
    assert way(array(3, **big), "n5") == way(array(2, **big), "n5") == "repack"
    assert way(array("n5", **big), 3) == way(array("n5", **big), 2) == "repack"
    assert way(array("n5", data=DATA, chunks=(4, 7)), 3) == "repack"
    assert way(array(3), "n5") == "re-encode"  # elements are little-endian


def test_encoded_again() -> None:
    assert way(array(3, filters=[Transpose((0, 2, 1))], data=DATA[None], chunks=(1, 2, 5)), 2) == "re-encode"
    assert way(array(2, compressors=Zstd(1)), 1) == "re-encode"
    assert way(array(3, compressors=[Zstd(1), Crc32c()]), 1) == "re-encode"
    assert migrated(array(3, chunks=((2, 4), (5, 5))), 2).chunks == (4, 5)


def test_fill_values_that_the_generation_lacks() -> None:
    source = array(3, data=None, shape=(6, 10), dtype="i4", fill_value=7)
    with pytest.raises(ArgumentError, match="its fill value 7") as caught:
        migrated(source, "n5")
    assert caught.value.argument == "accept_losses"
    new = migrated(source, "n5", accept_losses=True)
    assert (new[...] == 7).all()
    undefined = migrate(array(2, fill_value=None), MemoryStore(), to=3)
    assert undefined.losses == ()
    assert undefined.arrays[0].notes == ("its fill value, which was undefined, becomes 0",)


def test_types_that_the_generation_lacks() -> None:
    source = array(3, data=DATA % 2 == 0, chunks=(2, 5))
    plan = migrate(source, MemoryStore(), to="n5")
    assert plan.losses == ("`/`: its data type: bool becomes uint8",)
    assert plan.describe().notes == ("lost: `/`: its data type: bool becomes uint8",)
    new = migrated(source, "n5", accept_losses=True)
    assert new.dtype == np.uint8
    np.testing.assert_array_equal(new[...], source[...])
    impossible = migrate(array(3, data=DATA.astype("c8")), MemoryStore(), to="n5", accept_losses=True)
    assert (impossible.arrays[0].way, impossible.counts()["impossible"]) == ("impossible", 1)
    with pytest.raises(ArgumentError, match="N5 cannot express:\n  `/`: N5 has no data type `complex64`"):
        impossible.run()


def test_attributes_that_json_lacks(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", data=DATA, zarr_format=2, attributes={"valid": 1})
    (tmp_path / "a" / ".zattrs").write_text('{"valid": NaN}')
    source = omnizarr.open_array(tmp_path / "a", mode="r")
    plan = migrate(source, MemoryStore(), to=3)
    assert plan.losses == ("`/`: NaN and infinities in attributes, which become text: valid",)
    assert dict(migrated(source, 3, accept_losses=True).attrs) == {"valid": "NaN"}
    assert np.isnan(migrated(source, "3-draft-2020").attrs["valid"])


def test_v1_has_one_array() -> None:
    source = hierarchy(MemoryStore(), 2)
    plan = migrate(source, MemoryStore(), to=1)
    with pytest.raises(ArgumentError, match="v1 has no groups"):
        plan.run()
    with pytest.raises(ArgumentError, match="has no path"):
        plan.run()
    assert migrated(source["t"], 1, accept_losses=True).zarr_format == 1


def test_names_that_the_generation_lacks() -> None:
    store = MemoryStore()
    omnizarr.create_group(store).create_array("a b", data=DATA)
    source = omnizarr.open_group(store, mode="r")
    with pytest.raises(ArgumentError, match="the name of a node"):
        migrate(source, MemoryStore(), to="3-draft-2020").run()
    target = MemoryStore()
    migrate(source, target, to="3-draft-2020", exclude=["a b"]).run()
    assert list(omnizarr.open_group(target).keys()) == []


def test_an_unreadable_node_stops_it() -> None:
    store = MemoryStore()
    hierarchy(store, 2)
    store.set("t/.zarray", b"{}")
    source = omnizarr.open_group(store, mode="r")
    with pytest.raises(ArgumentError, match="`t`: it cannot be read"):
        migrate(source, MemoryStore(), to=3).run()
    migrate(source, MemoryStore(), to=3, exclude=["t"]).run()


def test_to_every_kind_of_store(tmp_path: Path) -> None:
    source = hierarchy(MemoryStore(), 2)
    stores: list[Store] = [
        LocalStore(tmp_path / "a"),
        ZipStore(tmp_path / "a.zip"),
        SQLiteStore(tmp_path / "a.sqlite"),
    ]
    for store in stores:
        migrate(source, store, to="3-draft-2022").run()
        assert diff(source, omnizarr.open_group(store, mode="r"), data_only=True).equal
        with pytest.raises(NodeExistsError, match="there is a node at"):
            migrate(source, store, to="3-draft-2022").run()
        migrate(source, store, to=3, force=True).run()
        assert omnizarr.open_group(store, mode="r").zarr_format == 3
        store.close()


def test_a_transactional_store_gets_the_default_keys() -> None:
    """Icechunk rejects other keys of chunks."""

    class Transactional(MemoryStore):
        transactional = True

    target = Transactional()
    migrate(hierarchy(MemoryStore(), 2), target, to=3, verify=True).run()
    chunks = [key for key in target.list_prefix("daily/rain/") if not key.endswith("zarr.json")]
    assert all(key.startswith("daily/rain/c/") for key in chunks)
    np.testing.assert_array_equal(omnizarr.open_group(target, mode="r")["t"][...], DATA)


def test_consolidated_metadata_stay_consolidated(tmp_path: Path) -> None:
    hierarchy(tmp_path / "a", 2)
    omnizarr.consolidate_metadata(tmp_path / "a")
    migrate(str(tmp_path / "a"), tmp_path / "b", to=3).run()
    assert omnizarr.open_group(tmp_path / "b", mode="r").consolidated
    migrate(str(tmp_path / "a"), to=3, remove_old=True).run()
    assert omnizarr.open_group(tmp_path / "a", mode="r").consolidated
    assert not (tmp_path / "a" / ".zmetadata").exists()


# -- in place


def test_metadata_alone_reads_and_writes_no_chunk() -> None:
    store = MemoryStore()
    hierarchy(store, 2)
    recorded = RecordingStore(store)
    migrate(omnizarr.open_group(recorded, mode="r+"), to=3, remove_old=True).run()
    text = repr([call for call in recorded.calls if call.method not in ("list_prefix", "list_dir")])
    assert "t/0.0" not in text
    assert "rain/0" not in text
    assert not [key for key in store.list() if key.rpartition("/")[2].startswith(".z")]
    new = omnizarr.open_group(store, mode="r")
    assert new.zarr_format == 3
    np.testing.assert_array_equal(new["t"][...], DATA)


def test_the_old_hierarchy_stays_until_it_is_removed(tmp_path: Path) -> None:
    hierarchy(tmp_path / "a", 2)
    migrate(str(tmp_path / "a"), to=3).run()
    with pytest.warns(omnizarr.OmnizarrWarning, match="both Zarr v3 and Zarr v2"):
        assert omnizarr.open_group(tmp_path / "a", mode="r").zarr_format == 3
    assert omnizarr.open_group(tmp_path / "a", mode="r", zarr_format=2)["t"].shape == (6, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omnizarr.OmnizarrWarning)
        with pytest.raises(ArgumentError, match="already"):
            migrate(str(tmp_path / "a"), to=3)
        migrate(str(tmp_path / "a"), to=3, remove_old=True).run()
    assert not list((tmp_path / "a").rglob(".z*"))
    np.testing.assert_array_equal(omnizarr.open_group(tmp_path / "a", mode="r")["t"][...], DATA)


@pytest.mark.parametrize("before", GENERATIONS)
@pytest.mark.parametrize("after", GENERATIONS)
def test_in_place_leaves_what_a_new_one_has(tmp_path: Path, before: Any, after: Any) -> None:
    hierarchy(tmp_path / "a", before)
    if before == after:
        return
    migrate(str(tmp_path / "a"), tmp_path / "b", to=after).run()
    try:
        plan = migrate(str(tmp_path / "a"), to=after, remove_old=True)
    except ArgumentError as error:
        if "give a target" not in str(error.hint):
            raise
        with pytest.raises(ArgumentError):
            migrate(str(tmp_path / "a"), to=after)
        return
    plan.run()
    assert diff(omnizarr.open_group(tmp_path / "a"), omnizarr.open_group(tmp_path / "b")).equal
    assert files(tmp_path / "a") - files(tmp_path / "b") == set()


def files(place: Path) -> set[str]:
    return {file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file()}


def test_old_documents_that_would_hide_the_new_ones(tmp_path: Path) -> None:
    hierarchy(tmp_path / "a", 3)
    with pytest.raises(ArgumentError, match="would hide those of Zarr v2") as caught:
        migrate(str(tmp_path / "a"), to=2)
    assert caught.value.argument == "remove_old"


def test_documents_of_an_earlier_migration(tmp_path: Path) -> None:
    """Readers must not find the old documents after a second migration."""
    hierarchy(tmp_path / "a", 2)
    migrate(str(tmp_path / "a"), to=3).run()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omnizarr.OmnizarrWarning)
        del omnizarr.open_group(tmp_path / "a", mode="r+")["daily/rain"]
        with pytest.raises(NodeExistsError, match="which are hidden"):
            migrate(str(tmp_path / "a"), to=2, remove_old=True).run()
        migrate(str(tmp_path / "a"), to=2, remove_old=True, force=True).run()
    names = {path for path, _ in omnizarr.open_group(tmp_path / "a").members(max_depth=None)}
    assert names == {"t", "daily", "daily/empty"}


def test_objects_that_would_replace_others(tmp_path: Path) -> None:
    options: dict[str, Any] = {"chunks": 10, "shards": 20, "chunk_key_encoding": {"name": "v2", "separator": "."}}
    omnizarr.create_array(tmp_path / "a", data=np.arange(60), **options)
    with pytest.raises(ArgumentError, match="under the keys of its old ones, such as `[02]`"):
        migrate(str(tmp_path / "a"), to=2, remove_old=True)
    migrate(str(tmp_path / "a"), tmp_path / "b", to=2).run()
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path / "b")[...], np.arange(60))


def test_a_part_of_a_hierarchy_stays_in_it(tmp_path: Path) -> None:
    hierarchy(tmp_path / "a", 2)
    with pytest.raises(ArgumentError, match="part of the hierarchy"):
        migrate(str(tmp_path / "a" / "t"), to=3)
    with pytest.raises(ArgumentError, match="as a whole in place"):
        migrate(str(tmp_path / "a"), to=3, exclude=["t"])
    with pytest.raises(ArgumentError, match="lies in the source"):
        migrate(str(tmp_path / "a"), tmp_path / "a" / "new", to=3)
    migrate(str(tmp_path / "a" / "t"), tmp_path / "t", to=3).run()
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path / "t")[...], DATA)


def test_archives_in_place(tmp_path: Path) -> None:
    for name in ("a.zip", "a.sqlite"):
        place = str(tmp_path / name)
        store: Store = ZipStore(place) if name.endswith("zip") else SQLiteStore(place)
        hierarchy(store, 2)
        store.close()
        migrate(place, to=3, remove_old=True).run()
        group = omnizarr.open_group(place, mode="r")
        assert group.zarr_format == 3
        np.testing.assert_array_equal(group["t"][...], DATA)
        assert not [key for key in group.store.list() if ".z" in key]


# -- plans


def test_parts_in_any_order_then_finish(tmp_path: Path) -> None:
    hierarchy(tmp_path / "a", 3)
    options: dict[str, Any] = {"to": "3-draft-2020", "remove_old": True, "resume": True}
    for part in (2, 0, 0):
        migrate(str(tmp_path / "a"), **options).run_part(part, 3)
    if migrate(str(tmp_path / "a"), **options).tasks > 1:
        with pytest.raises(OmnizarrError, match="are not done"):
            migrate(str(tmp_path / "a"), **options).finish()
    assert omnizarr.open_group(tmp_path / "a").zarr_format == 3
    migrate(str(tmp_path / "a"), **options).run_part(1, 3)
    migrate(str(tmp_path / "a"), **options).finish()
    group = omnizarr.open_group(tmp_path / "a")
    assert group.zarr_format == "3-draft-2020"
    np.testing.assert_array_equal(group["t"][...], DATA)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["data", "meta", "zarr.json"]


def test_tasks_are_small(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "a", zarr_format=3)
    for number in range(50):
        group.create_array(f"t{number}", data=DATA, chunks=(2, 5), attributes={"text": "x" * 100_000})
    group.create_array("s", data=DATA, chunks=(2, 5), shards=(4, 10), attributes={"text": "x" * 100_000})
    for to in (2, "n5"):
        plan = migrate(str(tmp_path / "a"), tmp_path / "b", to=to)
        for number, stage in enumerate(plan.stages):
            for task in (0, stage.count - 1):
                member, index = stage.member_task(task)
                call = partial(run_task, member, plan.journal, number, task, index)
                assert len(pickle.dumps(call)) < 10_000


def test_verify_finds_a_store_that_loses_bytes() -> None:
    class Losing(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, bytes(value)[:-1] if key.startswith("data/") else value)

    with pytest.raises(StoreError, match="differs from its source"):
        migrate(hierarchy(MemoryStore(), 2), Losing(), to="3-draft-2020", verify=True).run()
    with pytest.raises(OmnizarrError):
        migrate(array(3, shards=(6, 10)), Losing(), to="3-draft-2022", verify=True).run()


def test_a_damaged_index_is_not_stripped_of_its_checksum() -> None:
    source = array(3, shards=(6, 10))
    store = source.store
    key = next(key for key in store.list() if key != "zarr.json")
    value = bytearray(store.get(key) or b"")
    value[-10] ^= 1
    writable = omnizarr.MemoryStore({key: bytes(store.get(key) or b"") for key in store.list()} | {key: bytes(value)})
    with pytest.raises(OmnizarrError, match="crc32c"):
        migrate(omnizarr.open_array(writable, mode="r"), MemoryStore(), to="3-draft-2022").run()


def test_an_unfinished_resize_stops_it() -> None:
    store = MemoryStore()
    omnizarr.create_array(store, data=DATA, zarr_format=2)
    document = bytes(store.get(".zarray") or b"").decode()
    store.set(".zarray", document.replace('"shape"', '"omnizarr_unfinished_resize": [6, 10], "shape"').encode())
    with pytest.raises(StoreError, match="has not finished"):
        migrate(omnizarr.open_array(store, mode="r"), MemoryStore(), to=3)
