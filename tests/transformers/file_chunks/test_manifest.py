"""Chunk manifests: the public form, large ones, and hostile ones."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.chunk_keys import DefaultKeys
from omnizarr.errors import ArgumentError, MetadataError, OmnizarrError
from omnizarr.transformers.file_chunks import FilePart, Manifest, dump_manifest, parse_manifest

KEYS = DefaultKeys("/")
LIMIT = 2**28


def parse(document: Any, rank: int = 2, limit: int = LIMIT) -> Manifest:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return parse_manifest(data, rank, KEYS, "the manifest", limit)


def entry(path: str = "a.nc", offset: int = 0, length: int = 1, **more: Any) -> dict[str, Any]:
    return {"path": path, "offset": offset, "length": length, **more}


# As VirtualiZarr 1.0 wrote it with `to_zarr`; zarr-specs issue 287 proposes the same form.
VIRTUALIZARR = b"""{
    "0.0": {
        "path": "s3://bucket/foo.nc",
        "offset": 6144,
        "length": 48
    },
    "0.1": {
        "path": "file:///data/test.nc",
        "offset": 6192,
        "length": 48
    }
}"""


def test_Z21_the_public_form() -> None:
    manifest = parse(VIRTUALIZARR)
    assert len(manifest) == 2
    assert manifest.find((0, 0)) == FilePart("s3://bucket/foo.nc", 6144, 48)
    assert manifest.find((0, 1)) == FilePart("file:///data/test.nc", 6192, 48)
    assert manifest.find((1, 0)) is None
    assert manifest.find((0, 10**9)) is None
    assert list(manifest.chunks()) == [(0, 0), (0, 1)]


def test_other_forms_of_keys_and_members() -> None:
    assert parse({"c/3/7": entry(offset=5)}).find((3, 7)) == FilePart("a.nc", 5, 1), "the key of the chunk"
    assert parse(b'{"1.2" :{"length":3,"offset" : 2, "path":"\\u00e4", "etag": [{}]}}').find((1, 2)) == FilePart(
        "ä", 2, 3
    )
    assert parse(b'\xef\xbb\xbf {"0.0":{"path":"","offset":0,"length":0}} \n').find((0, 0)) is None, "an absent chunk"
    repeated = b'{"0.0":{"path":"a","offset":0,"length":1},"0.0":{"path":"b","offset":0,"length":1}}'
    assert parse(repeated).find((0, 0)) == FilePart("b", 0, 1)
    for key in ("0", "", "c"):
        assert parse({key: entry()}, rank=0).find(()) == FilePart("a.nc", 0, 1)
    assert len(parse({})) == 0
    assert parse(b" { } ").find((0, 0)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"0.0"',
        b'{"0.0":',
        b'{"0.0":{"path":"a","offset":0,"length":1}',
        b'{"0.0":{"path":"a","offset":0,"length":1},}',
        b'{"0.0":{"path":"a","offset":0,"length":1}} x',
        b'{"0.0":{"path":"a","offset":0,"length":1} "0.1":{}}',
        b"{'0.0': 1}",
        b"\xff\xfe",
        b'{"0.0": "a.nc"}',
        b'{"0.0": ["a.nc", 0, 1]}',
        b'{"0.0": {"path": "a.nc", "offset": 0}}',
        b'{"0.0": {"path": 5, "offset": 0, "length": 1}}',
        b'{"0.0": {"path": "a.nc", "offset": -1, "length": 1}}',
        b'{"0.0": {"path": "a.nc", "offset": 0, "length": 1.5}}',
        b'{"0.0": {"path": "a.nc", "offset": true, "length": 1}}',
        b'{"0.0": {"path": "a.nc", "offset": 0, "length": 9223372036854775808}}',
        b'{"0.0": {"path": "a.nc", "offset": 007, "length": 1}}',
        b'{"0.0": {"path": "a\n.nc", "offset": 0, "length": 1}}',
        b'{"0": {"path": "a.nc", "offset": 0, "length": 1}}',
        b'{"0.0.0": {"path": "a.nc", "offset": 0, "length": 1}}',
        b'{"00.1": {"path": "a.nc", "offset": 0, "length": 1}}',
        b'{"-1.0": {"path": "a.nc", "offset": 0, "length": 1}}',
        b'{"../x": {"path": "a.nc", "offset": 0, "length": 1}}',
        b'{"999999999999999999.999999999999999999": {"path": "a.nc", "offset": 0, "length": 1}}',
        b'{"0.0": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"0.0": {"path": "a.nc", "offset": ' + b"9" * 10_000 + b', "length": 1}}',
    ],
)
def test_invalid_manifests_are_rejected(data: bytes) -> None:
    with pytest.raises(MetadataError, match="manifest"):
        parse(data)


def test_a_manifest_above_the_limit_is_rejected() -> None:
    with pytest.raises(MetadataError, match="more than the limit of 100"):
        parse(VIRTUALIZARR, limit=100)


@given(st.data())
def test_damage_is_an_error_of_ours_or_another_manifest(data: st.DataObject) -> None:
    text = bytearray(VIRTUALIZARR)
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    try:
        manifest = parse(bytes(text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text))
    except OmnizarrError:
        return
    assert len(list(manifest.chunks())) == len(manifest) <= 2


CHUNKS = st.dictionaries(
    st.tuples(st.integers(0, 2**30), st.integers(0, 2**30)),
    st.tuples(st.text(min_size=1), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)),
    max_size=20,
)


@given(CHUNKS, st.booleans())
def test_manifests_round_trip(entries: dict[tuple[int, int], tuple[str, int, int]], spaced: bool) -> None:
    data = dump_manifest(entries, 2)
    document = json.loads(data)
    assert {tuple(map(int, key.split("."))): tuple(value.values()) for key, value in document.items()} == entries
    manifest = parse(json.dumps(document, indent=3 if spaced else None, ensure_ascii=False).encode("utf-8", "replace"))
    again = parse(data)
    assert len(again) == len(manifest) == len(entries)
    for chunk, part in entries.items():
        assert again.find(chunk) == part
    assert list(again.chunks()) == sorted(entries)


@pytest.mark.parametrize(
    ("chunk", "part"),
    [
        ((0,), ("a", 0, 1)),
        ((0, -1), ("a", 0, 1)),
        ((0, True), ("a", 0, 1)),
        ("0.0", ("a", 0, 1)),
        ((0, 0), ("", 0, 1)),
        ((0, 0), ("a", 0)),
        ((0, 0), ("a", 0, -1)),
        ((0, 0), ("a", 0.5, 1)),
        ((0, 0), "a"),
    ],
)
def test_wrong_entries_are_rejected(chunk: Any, part: Any) -> None:
    with pytest.raises(ArgumentError, match="`entries`: expected"):
        dump_manifest({chunk: part}, 2)


def test_many_entries_take_little_memory() -> None:
    count = 100_000
    data = dump_manifest({(row // 100, row % 100): (f"s3://b/{row // 999}.nc", row, 9) for row in range(count)}, 2)
    tracemalloc.start()
    try:
        manifest = parse(data)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(manifest) == count
    assert kept < 40 * count
    assert peak < 2 * len(data) + 150 * count
    assert manifest.find((999, 99)) == FilePart(f"s3://b/{(count - 1) // 999}.nc", count - 1, 9)
