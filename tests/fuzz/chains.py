"""Random long lists of codecs in all generations, with a chunk that expands between two of them.

The bytes of a fuzz input only choose the case. Each case must raise our own errors only, and must take little memory
however many codecs the document names.
"""

from __future__ import annotations

import json
import tracemalloc
from functools import cache
from random import Random
from typing import Any

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs import BytesCodec, codec_of
from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import OmnizarrError
from omnizarr.store import MemoryStore

__all__ = ["MOST_MEMORY", "check_random_chain"]

MOST_MEMORY = 12 * 2**20  # bytes for a chunk of 16 bytes, if chunks may have 1 MiB
_LONGEST = 2**20  # bytes of a chunk; encoding more takes the time of the run
_BOMB = 32 * 2**20

_LEVEL = {"level": 1}
_V3: dict[str, dict[str, Any]] = {
    "gzip": _LEVEL,
    "zstd": {"level": 1, "checksum": False},
    "blosc": {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0},
    "crc32c": {},
    "numcodecs.zlib": _LEVEL,
    "numcodecs.bz2": _LEVEL,
    "numcodecs.lz4": {"acceleration": 1},
    "numcodecs.shuffle": {"elementsize": 2},
    "numcodecs.adler32": {},
}
_V2 = ("zlib", "gzip", "bz2", "lz4", "lzma", "zstd", "base64", "shuffle", "crc32", "astype", "delta", "packbits")
_COMPRESSORS = ("zlib", "gzip", "bz2", "lz4", "zstd", "lzma")
_TYPES = ("<i2", "<f8", "<c16", "|u1", "<U100000", "|S10000000", "<U2000000000")


@cache
def _bomb(name: str) -> bytes:
    """32 MiB of zeros, compressed."""
    return _encoded(name, bytes(_BOMB))


def _encoded(name: str, data: bytes) -> bytes:
    codec = codec_of({"id": name.removeprefix("numcodecs.")}, "codec")
    assert isinstance(codec, BytesCodec)
    bound = codec.bind(ByteSpec(len(data), len(data)), "$", Problems())
    assert bound is not None
    return bytes(bound.encode(data))


def _value(names: list[str], random: Random) -> bytes:
    """A chunk that some codec of the list expands to 32 MiB; random bytes if none can."""
    usable = [index for index, name in enumerate(names) if name.removeprefix("numcodecs.") in _COMPRESSORS]
    if not usable:
        return random.randbytes(40)
    first = random.choice([usable[-1], random.choice(usable)])
    data = _bomb(names[first])
    for name in names[first + 1 :]:
        if len(data) < _LONGEST and name.removeprefix("numcodecs.") in (*_COMPRESSORS, "base64"):
            data = _encoded(name, data)
    return data


def _nested(codecs: list[dict[str, Any]], random: Random) -> list[dict[str, Any]]:
    """The list, possibly inside shards within shards or conditions within conditions."""
    kind = random.randrange(4)
    depth = random.choice([1, 3, 20, 60])
    if kind == 0:
        for _ in range(depth):
            sharding = {"chunk_shape": [16], "codecs": codecs, "index_codecs": [{"name": "bytes"}]}
            codecs = [{"name": "sharding_indexed", "configuration": sharding}]
    elif kind == 1:
        steps = codecs[1:]
        for _ in range(depth):
            steps = [{"name": "conditional", "configuration": {"codecs": steps}}]
        codecs = [codecs[0], *steps]
    return codecs


def _v3(random: Random) -> tuple[dict[str, Any], list[str]]:
    names = _names(random, list(_V3))
    codecs: list[dict[str, Any]] = [{"name": name, "configuration": _V3[name]} for name in names]
    z = omnizarr.create_array(MemoryStore(), shape=16, dtype="u1", chunks=16)
    document = json.loads(bytes(z.store.get("zarr.json") or b""))
    return {**document, "codecs": _nested([{"name": "bytes"}, *codecs], random)}, names


def _config(name: str, random: Random) -> dict[str, Any]:
    if name == "astype":
        return {"id": name, "encode_dtype": random.choice(_TYPES), "decode_dtype": random.choice(_TYPES[:4])}
    if name == "delta":
        return {"id": name, "dtype": random.choice(_TYPES), "astype": random.choice(_TYPES)}
    return {"id": name}


def _v2(random: Random) -> tuple[dict[str, Any], list[str]]:
    names = _names(random, list(_V2))
    z = omnizarr.create_array(MemoryStore(), shape=16, dtype="u1", chunks=16, zarr_format=2)
    document = json.loads(bytes(z.store.get(".zarray") or b""))
    configs = [_config(name, random) for name in names]
    if random.random() < 0.5 or not configs:
        return {**document, "filters": configs, "compressor": None}, names
    return {**document, "filters": configs[:-1], "compressor": configs[-1]}, names


def _draft(random: Random, year: str) -> tuple[MemoryStore, list[str]]:
    """A hierarchy of a draft whose array `a` has a random list of codecs."""
    store = MemoryStore()
    group = omnizarr.create_group(store, zarr_format=f"3-draft-{year}")  # type: ignore[arg-type]
    group.create_array("a", shape=16, dtype="u1", chunks=16)[...] = 1
    (key,) = (key for key in store.list() if key.endswith("a.array.json"))
    document = json.loads(bytes(store.get(key) or b""))
    document.pop("compressor", None)
    if year == "2020":
        names = _names(random, list(_V2))
        document["attributes"] = {"filters": [_config(name, random) for name in names]}
    else:
        names = _names(random, ["gzip", "blosc", "zlib"])
        uri = "https://purl.org/zarr/spec/codecs/{}/1.0"
        document["codecs"] = [{"type": uri.format(name), "configuration": {}} for name in names]
    store.set(key, json.dumps(document).encode())
    return store, names


def _names(random: Random, known: list[str]) -> list[str]:
    """Codec names: one codec many times, or many codecs."""
    count = random.choice([1, 3, 8, 20, 31, 60, 300])
    some = random.sample(known, random.randint(1, 3))
    return [random.choice(some) for _ in range(count)]


def _random_store(random: Random) -> tuple[MemoryStore, str, str, list[str]]:
    """A store, the path of its array, the key of its only chunk, and the names of its codecs."""
    kind = random.choice(["v3", "v2", "2020", "2022"])
    if kind == "v3":
        document, names = _v3(random)
        return MemoryStore({"zarr.json": json.dumps(document).encode()}), "", "c/0", names
    if kind == "v2":
        document, names = _v2(random)
        return MemoryStore({".zarray": json.dumps(document).encode()}), "", "0", names
    store, names = _draft(random, kind)
    (chunk,) = (key for key in store.list() if key.startswith("data/"))
    return store, "a", chunk, names


def check_random_chain(data: bytes) -> None:
    """Open and read an array with a random list of codecs, and check the memory that it takes."""
    random = Random(data)
    store, path, chunk, names = _random_store(random)
    store.set(chunk, _value(names, random))
    tracemalloc.start()
    try:
        with omnizarr.config(max_chunk_bytes=2**20):
            z = omnizarr.open_array(store, mode="r", path=path)
            for key in (..., slice(3, 5), 7):
                try:
                    z[key]
                except OmnizarrError:
                    pass
    except OmnizarrError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MOST_MEMORY, f"a chunk of 16 bytes took {peak} bytes in memory, with the codecs {names}"
