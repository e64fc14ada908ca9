"""Promise 7: untrusted data are safe by default. No stored code runs, no key leads out of the store, no value takes
more memory or time than its declared size, and every error is an OmnizarrError."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.safety.processes import program

import omnizarr
from omnizarr.errors import ChunkError, MetadataError, OmnizarrError

resource = pytest.importorskip("resource", reason="this system does not report memory use")

MIB = 2**20

READING = """
import resource, sys, time
import omnizarr
from omnizarr.errors import ChunkError
z = omnizarr.open_array(sys.argv[1], mode="r+")
z.shape
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
for key in (..., (0, 0), (slice(0, 5), 3)):
    try:
        z[key]
    except ChunkError as error:
        assert any(text in str(error) for text in ("expected", "more than", "at most")), error
    else:
        raise AssertionError("it was read")
try:
    z[0, 0] = 1
except ChunkError:
    pass
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def bomb_of(codec: str) -> bytes:
    """2 GB of zeros in 2 MB: one compressed piece, repeated."""
    piece = bytes(16 * MIB)
    if codec == "zstd":
        import zstandard

        return zstandard.ZstdCompressor(level=1).compress(piece) * 128
    deflate = zlib.compressobj(9, wbits=-15)
    body = deflate.compress(piece) + deflate.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + body * 128 + b"\x03\x00" + bytes(8)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_bomb_of_two_gigabytes_in_two_megabytes(tmp_path: Path, codec: str) -> None:
    """The limits, 1 s and 200 MiB, apply to the whole test. The time is CPU time, which other processes do not
    disturb."""
    bomb = bomb_of(codec)
    assert codec == "zstd" or 1.9 * MIB < len(bomb) < 2.1 * MIB
    for name, options in (("chunk", {"chunks": (256, 256)}), ("shard", {"chunks": (64, 64), "shards": (256, 256)})):
        place = tmp_path / f"{codec}-{name}"
        z = omnizarr.create_array(place, shape=(256, 256), dtype="u1", compressors=[codec], **options)
        if name == "chunk":
            z.store.set("c/0/0", bomb)
        else:
            from fastcrc import crc32

            entries = np.full((16, 2), 2**64 - 1, "<u8")
            entries[0] = 0, len(bomb)
            index = entries.tobytes()
            z.store.set("c/0/0", bomb + index + crc32.iscsi(index).to_bytes(4, "little"))
        with program(READING, place, stdout=subprocess.PIPE) as reader:
            output, _ = reader.communicate()
        assert reader.returncode == 0
        seconds, kilobytes = map(float, output.split())
        assert seconds < 1
        assert kilobytes < 200 * 1024


def test_a_chunk_that_is_a_huge_sparse_file(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, shape=(64,), dtype="u1", chunks=64)
    (tmp_path / "c").mkdir()
    with open(tmp_path / "c" / "0", "wb") as file:
        file.truncate(2**40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for act in (lambda: z[...], lambda: z[3], lambda: z.__setitem__(3, 1)):
        with pytest.raises(ChunkError, match="more than|expected"):
            act()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024
    z[...] = 1
    assert z[...].all()


def document(**members: Any) -> dict[str, Any]:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=(4, 4), dtype="i4", chunks=(2, 2))
    return {**json.loads(bytes(store.get("zarr.json") or b"")), **members}


def grid(*lengths: int) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(lengths)}}


HOSTILE: dict[str, bytes] = {
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep attributes": json.dumps(document()).encode()[:-1] + b',"attributes":' + b"[" * 900 + b"]" * 900 + b"}",
    "a long number": b'{"zarr_format": 3, "node_type": "array", "shape": [' + b"9" * 100_000 + b"]}",
    "many dimensions": json.dumps(document(shape=[1] * 5000, chunk_grid=grid(*[1] * 5000))).encode(),
    "a chunk of exabytes": json.dumps(document(shape=[2**62], chunk_grid=grid(2**62))).encode(),
    "a shape of many digits": json.dumps(document(shape=[2**64, 2**64])).encode(),
    "many codecs": json.dumps(
        document(codecs=[{"name": "transpose", "configuration": {"order": [1, 0]}}] * 10**5)
    ).encode(),
    "nested codecs": json.dumps(
        document(codecs=[{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], "codecs": [0] * 10**5}}])
    ).encode(),
    "half a document": json.dumps(document()).encode()[:-20],
    "no text": b"\xff\xfe\x00" * 1000,
    "nothing": b"",
}


def first_element(store: omnizarr.Store) -> Any:
    """A chunk too large for memory is an error when it is read, not when the array is opened."""
    z = omnizarr.open_array(store, mode="r")
    return z[(0,) * z.ndim]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_rejected_quickly(name: str) -> None:
    store = omnizarr.MemoryStore({"zarr.json": HOSTILE[name]})
    began = time.process_time()
    with pytest.raises(OmnizarrError) as caught:
        first_element(store)
    assert len(str(caught.value)) < 20_000
    assert time.process_time() - began < 20, "the limit leaves much room for slow machines"


def test_a_document_that_is_too_long_is_not_parsed() -> None:
    store = omnizarr.MemoryStore({"zarr.json": json.dumps(document()).encode() + b" " * MIB})
    with omnizarr.config(max_document_bytes=MIB), pytest.raises(MetadataError, match="longer than the limit"):
        omnizarr.open_array(store)


def test_a_shard_with_a_huge_index_allocates_no_memory_for_it() -> None:
    sharding = {"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], "codecs": [{"name": "bytes"}]}}
    sharding["configuration"]["index_codecs"] = [{"name": "bytes", "configuration": {"endian": "little"}}]
    store = omnizarr.MemoryStore(
        {
            "zarr.json": json.dumps(
                document(shape=[2**20, 2**20], chunk_grid=grid(2**20, 2**20), data_type="uint8", codecs=[sharding])
            ).encode(),
            "c/0/0": b"x" * 100,
        }
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ChunkError, match="more than the limit"):
        omnizarr.open_array(store)[0, 0]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


class Loaded:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('it was run')",)


def test_no_stored_code_runs(tmp_path: Path) -> None:
    store = omnizarr.MemoryStore()
    body = {
        "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": None, "order": "C",
        "compressor": None, "filters": [{"id": "pickle", "protocol": 2}],
    }  # fmt: skip
    store.set(".zarray", json.dumps(body).encode())
    store.set("0", pickle.dumps([Loaded(), [1]]))
    with pytest.raises(OmnizarrError, match="pickle"):
        omnizarr.open_array(store)[...]


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../../out", "..", "c/..", "a//b"])
def test_no_key_leads_out_of_the_root(tmp_path: Path, name: str) -> None:
    (tmp_path / "out").write_bytes(b"secret")
    store = omnizarr.LocalStore(tmp_path / "root")
    for act in (store.get, store.exists, store.erase, store.updates.read, lambda key: store.set(key, b"x")):
        with pytest.raises(OmnizarrError):
            act(name)
    assert (tmp_path / "out").read_bytes() == b"secret"


def test_no_link_leads_out_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "out" / "c").mkdir(parents=True)
    (tmp_path / "out" / "c" / "0").write_bytes(b"secret!!")
    z = omnizarr.create_array(tmp_path / "root", shape=8, dtype="u1", chunks=8, compressors=None)
    for link, target in (("c", tmp_path / "out" / "c"), ("c/0", tmp_path / "out" / "c" / "0")):
        path = tmp_path / "root" / link
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(target)
        store = omnizarr.LocalStore(tmp_path / "root")
        with pytest.raises(OmnizarrError, match="link"):
            omnizarr.open_array(store)[...]
        with pytest.raises(OmnizarrError, match="link"):
            omnizarr.open_array(store)[3] = 1
        path.unlink()
    assert (tmp_path / "out" / "c" / "0").read_bytes() == b"secret!!"
    assert z.shape == (8,)


def test_gzip_in_gzip_is_bounded_at_each_step() -> None:
    inner = gzip.compress(bytes(64 * MIB))
    z = omnizarr.create_array(None, shape=1000, dtype="u1", chunks=1000, compressors=["gzip", "gzip"])
    z.store.set("c/0", gzip.compress(inner))
    with pytest.raises(ChunkError):
        z[...]
