"""Arrays with codecs and data types that only zarrs writes: zarrista writes them, and omnizarr reads and changes them,
or names the writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers import Peer, array_document

import omnizarr
from omnizarr.errors import ArgumentError, MetadataError

BYTES: dict[str, Any] = {"name": "bytes"}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
GZIP = {"name": "gzip", "configuration": {"level": 3}}
TEXTS = ["a", "", "üö", "a longer text", "🦀", "b", ""]


def vlen(location: str | None, index_type: str, *compressors: Any) -> dict[str, Any]:
    members = {"data_codecs": [BYTES, *compressors], "index_codecs": [LITTLE, *compressors]}
    place = {} if location is None else {"index_location": location}
    return {"name": "zarrs.vlen", "configuration": {**members, "index_data_type": index_type, **place}}


CODECS: dict[str, list[Any]] = {
    "vlen-utf8": [{"name": "vlen-utf8"}],
    "vlen-bytes": [{"name": "vlen-bytes"}],
    "vlen-array": [{"name": "vlen-array"}],
    "vlen_v2": [{"name": "zarrs.vlen_v2"}],
    "vlen_v2-url": [{"name": "https://codec.zarrs.dev/array_to_bytes/vlen_v2"}, GZIP],
    "vlen-start": [vlen("start", "uint32")],
    "vlen-end": [vlen("end", "uint64", GZIP)],
    "vlen-default": [vlen(None, "uint32", GZIP), GZIP],
}


def write(peer: Peer, folder: Path, data_type: str, codecs: list[Any], texts: list[str] = TEXTS) -> None:
    data = np.array(texts, object)
    fill: Any = "" if data_type == "string" else []
    document = array_document((len(texts),), "i4", chunks=(4,), codecs=codecs) | {
        "data_type": data_type,
        "fill_value": fill,
    }
    peer.write("zarrista", folder, data, document=document)


@pytest.mark.parametrize("data_type", ["string", "bytes"])
@pytest.mark.parametrize("name", CODECS)
def test_elements_of_variable_length(zarr3_peer: Peer, tmp_path: Path, name: str, data_type: str) -> None:
    write(zarr3_peer, tmp_path, data_type, CODECS[name])
    expected: list[Any] = TEXTS if data_type == "string" else [text.encode() for text in TEXTS]
    array = omnizarr.open_array(tmp_path)
    assert array[...].tolist() == expected
    array[1:3] = expected[2:4]  # zarrista reads what omnizarr changes
    array.resize((6,))
    read = zarr3_peer.read("zarrista", tmp_path)
    assert [item.encode() if isinstance(item, str) else bytes(item) for item in read.tolist()] == [
        text.encode() for text in (TEXTS[0], TEXTS[2], *TEXTS[3:4], *TEXTS[3:6])
    ]


@pytest.mark.parametrize("name", ["vlen-start", "vlen-end"])
def test_elements_without_any_bytes(zarr3_peer: Peer, tmp_path: Path, name: str) -> None:
    write(zarr3_peer, tmp_path, "string", CODECS[name], ["", "", ""])
    document = json.loads((tmp_path / "zarr.json").read_text())
    (tmp_path / "zarr.json").write_text(json.dumps(document | {"fill_value": "x"}))
    array = omnizarr.open_array(tmp_path)
    array[0] = ""
    assert array[...].tolist()[0] == ""
    assert omnizarr.open_array(tmp_path)[...].tolist() == array[...].tolist()


@pytest.mark.parametrize(("shape", "chunks"), [((1, 10), (1, 4)), ((5, 1, 6), (2, 1, 3)), ((3,), (1,))])
def test_squeeze(zarr3_peer: Peer, tmp_path: Path, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
    data = np.arange(np.prod(shape), dtype="int32").reshape(shape)
    codecs = [{"name": "zarrs.squeeze"}, LITTLE]
    zarr3_peer.write("zarrista", tmp_path, data, document=array_document(shape, "i4", chunks=chunks, codecs=codecs))
    array = omnizarr.open_array(tmp_path)
    assert array[...].tolist() == data.tolist()
    array[...] = data + 1
    assert zarr3_peer.read("zarrista", tmp_path).tolist() == (data + 1).tolist()


@pytest.mark.parametrize("options", [{"filters": ["zarrs.squeeze"]}, {"serializer": "zarrs.vlen_v2"}])
def test_new_arrays_have_none_of_them(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="only zarrs reads it; use `"):
        omnizarr.create_array(None, shape=3, dtype="string", **options)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("codecs", [LITTLE, {"name": "zarrs.gdeflate", "configuration": {"level": 5}}]),
        ("codecs", [LITTLE, {"name": "https://codec.zarrs.dev/bytes_to_bytes/gdeflate"}]),
        ("codecs", [{"name": "optional", "configuration": {"mask_codecs": [], "data_codecs": []}}]),
        ("codecs", [{"name": "zarrs.optional", "configuration": {"mask_codecs": [], "data_codecs": []}}]),
        ("data_type", {"name": "optional", "configuration": {"name": "int32", "configuration": {}}}),
        ("data_type", {"name": "zarrs.optional", "configuration": {"name": "int32", "configuration": {}}}),
    ],
)
def test_errors_name_the_writer(tmp_path: Path, member: str, value: Any) -> None:
    document = array_document((3,), "i4") | {member: value}
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    with pytest.raises(MetadataError, match=r"only zarrs \(Rust\) has it"):
        omnizarr.open_array(tmp_path)
