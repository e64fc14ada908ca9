"""Faults of stored data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.tools.validation.fault_kinds import Fault, dump, stored
from tests.tools.validation.faults_v3 import V3, V3_GROUP


def _damaged(store: dict[str, bytes], key: str, value: bytes) -> dict[str, bytes]:
    assert key in store
    return {**store, key: value}


def data_faults() -> Iterator[Fault]:
    v3 = stored(3, compressors=[{"name": "zstd", "configuration": {"level": 1}}])
    yield Fault("v3 torn chunk", "R124", _damaged(v3, "c/0/0", v3["c/0/0"][:-3]), data=True)
    yield Fault("v3 empty chunk", "R87", _damaged(v3, "c/0/0", b""), data=True)
    yield Fault("v3 no zstd", "R124", _damaged(v3, "c/0/0", b"x" * 20), data=True)
    yield Fault("v3 orphan", "R63", {**v3, "c/2/0": v3["c/0/0"]}, "warning", data=True)
    yield Fault("v3 foreign", "R3", {**v3, "notes.txt": b"hello"}, "warning", data=True)
    yield Fault("v3 child", "R4", {**v3, "a/zarr.json": dump(V3)}, data=True)
    raw = stored(3, compressors=None)
    yield Fault("v3 short chunk", "R87", _damaged(raw, "c/0/0", raw["c/0/0"][:-1]), data=True)
    yield Fault("v3 long chunk", "R87", _damaged(raw, "c/0/0", raw["c/0/0"] + b"x"), data=True)
    for name, rule in (("gzip", "R89"), ("crc32c", "R94")):
        chain = stored(3, compressors=[name])
        value = chain["c/1/1"]
        yield Fault(f"v3 {name}", rule, _damaged(chain, "c/1/1", value[:-1] + bytes([value[-1] ^ 1])), data=True)
    blosc = stored(3, compressors=["blosc"])
    yield Fault("v3 blosc", "R92", _damaged(blosc, "c/1/1", blosc["c/1/1"][:-1]), data=True)
    text = stored(3, data=np.array([["a", "b"], ["c", "d"]], "T"), compressors=None)
    yield Fault("v3 text", "R125", _damaged(text, "c/0/0", b"\1\0\0\0"), data=True)
    shards = stored(3, shards=(4, 6), compressors=None)
    shard = shards["c/0/0"]
    yield Fault("v3 shard index checksum", "R94", _damaged(shards, "c/0/0", shard[:-1] + b"\0"), data=True)
    yield Fault("v3 shard without index", "R106", _damaged(shards, "c/0/0", shard[:10]), data=True)
    checked = stored(3, shards=(4, 6), compressors=["crc32c"])
    shard = checked["c/0/0"]
    yield Fault("v3 inner chunk", "R94", _damaged(checked, "c/0/0", bytes([shard[0] ^ 1]) + shard[1:]), data=True)
    group = {"zarr.json": dump(V3_GROUP), **{f"a/{key}": value for key, value in v3.items()}}
    yield Fault("v3 foreign in group", "R3", {**group, "readme.md": b"hello"}, "warning", data=True)
    v2 = stored(2, compressors=[{"id": "zlib", "level": 1}])
    yield Fault("v2 torn chunk", "V15", _damaged(v2, "0.0", v2["0.0"][:-3]), data=True)
    yield Fault("v2 orphan", "V12", {**v2, "2.0": v2["0.0"]}, "warning", data=True)
    yield Fault("v2 foreign", "V19", {**v2, "notes.txt": b"hello"}, "warning", data=True)
    raw = stored(2, compressors=None)
    yield Fault("v2 short chunk", "V14", _damaged(raw, "0.0", raw["0.0"][:-1]), data=True)
    v1 = stored(1, compressors=[{"id": "zlib", "level": 1}])
    yield Fault("v1 torn chunk", "U8", _damaged(v1, "0.0", v1["0.0"][:-3]), data=True)
    yield Fault("v1 orphan", "U9", {**v1, "2.0": v1["0.0"]}, "warning", data=True)
    yield Fault("v1 foreign", "U1", {**v1, "notes.txt": b"hello"}, "warning", data=True)
    draft = stored("3-draft-2022", "a", compressors=["gzip"])
    yield Fault("2022 torn chunk", "S83", _damaged(draft, "data/a/c0/0", draft["data/a/c0/0"][:-3]), data=True)
    yield Fault("2022 orphan", "S22", {**draft, "data/a/c2/0": draft["data/a/c0/0"]}, "warning", data=True)
    yield Fault("2022 data without array", "S22", {**draft, "data/b/c0/0": b"x"}, "warning", data=True)
    draft = stored("3-draft-2020", "a", compressors=["gzip"])
    key = "data/root/a/c0/0"
    yield Fault("2020 torn chunk", "T13", _damaged(draft, key, draft[key][:-3]), data=True)
    yield Fault("2020 orphan", "T10", {**draft, "data/root/a/c2/0": draft[key]}, "warning", data=True)
    n5 = stored("n5", "a", compressors=["gzip"])
    yield Fault("n5 torn block", "K8", _damaged(n5, "a/0/0", n5["a/0/0"][:-3]), data=True)
    yield Fault("n5 header", "K14", _damaged(n5, "a/0/0", b"\0\2" + n5["a/0/0"][2:]), data=True)
    yield Fault("n5 orphan", "K13", {**n5, "a/0/2": n5["a/0/0"]}, "warning", data=True)
