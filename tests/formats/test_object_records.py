"""Records that hold objects (V24): zarr-python 2 pickles them, and reading them needs `allow_pickle`."""

from __future__ import annotations

import base64
import json
import pickle
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import array, entry, store_of

import omnizarr
from omnizarr.errors import ArgumentError, MetadataError, OmnizarrWarning
from omnizarr.store import MemoryStore

RECORD = np.dtype([("a", "<i4"), ("b", "O")])
VALUES = np.array([(1, "x"), (2, None)], RECORD)
FIELDS = [["a", "<i4"], ["b", "|O"]]
PICKLE = [{"id": "pickle", "protocol": 5}]


def v2(**changes: Any) -> MemoryStore:
    document = {
        "zarr_format": 2,
        "shape": [4],
        "chunks": [2],
        "dtype": FIELDS,
        "compressor": None,
        "fill_value": None,
        "order": "C",
        "filters": PICKLE,
        **changes,
    }
    return store_of({".zarray": document, "0": pickle.dumps(VALUES)})


def draft_2020() -> MemoryStore:
    data_type = {"extension": "TODO: structured array protocol URL", "type": FIELDS, "fallback": None}
    grid = {"type": "regular", "chunk_shape": [2], "separator": "/"}
    document = array(
        2020, shape=[4], data_type=data_type, chunk_grid=grid, fill_value=None, attributes={"filters": PICKLE}
    )
    return store_of({"zarr.json": entry(2020), "meta/root.array.json": document, "data/root/c0": pickle.dumps(VALUES)})


@pytest.mark.parametrize(
    ("made", "key", "chunks"), [(v2, ".zarray", ""), (draft_2020, "meta/root.array.json", "data/root/c")]
)
def test_object_records_are_read_as_tuples_and_written_as_records(made: Any, key: str, chunks: str) -> None:
    store = made()
    z = omnizarr.open_array(store, allow_pickle=True)
    assert z[...].tolist() == [(1, "x"), (2, None), None, None]
    z[1] = (7, ["new"])
    z[3] = (8, "alone")  # in a missing chunk
    before = json.loads(bytes(store.get(key) or b""))
    z.resize((3,))
    z.resize((4,))
    after = json.loads(bytes(store.get(key) or b""))
    assert {name: after[name] for name in before} == before
    first, second = (pickle.loads(bytes(store.get(f"{chunks}{index}") or b"")) for index in range(2))
    assert (first.dtype, first.tolist()) == (RECORD, [(1, "x"), (7, ["new"])])
    assert (second.dtype, second.tolist()[0]) == (RECORD, (0, 0))


def test_object_records_need_allow_pickle() -> None:
    with pytest.raises(MetadataError, match="allow_pickle=True"):
        omnizarr.open_array(v2())


@pytest.mark.parametrize("name", ["json2", "msgpack2", "vlen-utf8", "vlen-bytes", "zlib", "crc32"])
def test_other_codecs_cannot_store_object_records(name: str) -> None:
    with pytest.raises(MetadataError, match="cannot store records that hold objects"):
        omnizarr.open_array(v2(filters=[{"id": name}]), allow_pickle=True)


def test_the_pickled_fill_value_is_kept_but_not_read() -> None:
    fill = base64.b64encode(pickle.dumps(VALUES[0])).decode()
    store = v2(fill_value=fill)
    with pytest.warns(OmnizarrWarning, match="is a pickle and is not read"):
        z = omnizarr.open_array(store, allow_pickle=True)
    assert z.fill_value is None
    z.resize((5,))
    assert json.loads(bytes(store.get(".zarray") or b""))["fill_value"] == fill


@pytest.mark.parametrize("made", [v2, draft_2020])
def test_new_arrays_of_object_records_are_rejected(made: Any) -> None:
    source = omnizarr.open_array(made(), allow_pickle=True)
    with pytest.raises(ArgumentError):
        omnizarr.create_array(None, shape=3, dtype=RECORD, zarr_format=source.zarr_format)
    with pytest.raises(ArgumentError, match="but creates none"):
        omnizarr.from_array(None, data=source)
