"""Registered codecs that few implementations have: chunks are equal to those of peers, byte by byte."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.interop.cases import LITTLE
from tests.interop.registered_cases import named
from tests.interop.verdict import need
from tests.peers import Peer, Unsupported, array_document

import omnizarr

# -- equal bytes from lossy codecs


def numbers(dtype: str, *, low: float = -1000, high: float = 1000) -> npt.NDArray[Any]:
    return np.random.default_rng(8).uniform(low, high, 300).astype(dtype)


def bits(dtype: str) -> npt.NDArray[Any]:
    """Any numbers, in all their sizes."""
    patterns = np.random.default_rng(9).integers(0, 2**63, 300, dtype="u8")
    sizes = np.random.default_rng(10).integers(0, 63, 300, dtype="u8")
    return (patterns >> sizes).astype(dtype)


def _cases() -> list[tuple[str, str, npt.NDArray[Any], list[dict[str, Any]]]]:
    found: list[tuple[str, str, npt.NDArray[Any], list[dict[str, Any]]]] = []
    for dtype in ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64"):
        data = numbers(dtype) if dtype.startswith("float") else bits(dtype)
        if dtype.startswith("int"):  # zarrs turns the largest of them into the lowest
            data = np.minimum(data, np.iinfo(dtype).max // 2)
        for keepbits in (1, 3, 7, 12):
            found.append(("zarrista", dtype, data, [named("bitround", keepbits=keepbits), LITTLE]))
    for dtype in ("uint8", "uint16", "uint32", "uint64", "float32"):
        for first, last in ((0, 6), (2, 6), (1, 7)):
            found.append(("zarrista", dtype, bits(dtype), [named("packbits", first_bit=first, last_bit=last)]))
    for source in ("float32", "float64", "int64", "uint64", "int32"):
        for target in ("int8", "uint8", "int16", "uint32", "int64", "uint64", "float32", "float64", "float16"):
            data = numbers(source) if source.startswith("float") else bits(source)
            for rounding in ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"):
                for beyond in ("clamp", "wrap"):
                    if beyond == "clamp" or not target.startswith("float"):
                        cast = named("cast_value", data_type=target, rounding=rounding, out_of_range=beyond)
                        found.append(("zarr", source, data, [cast, LITTLE]))
    for dtype in ("float16", "float32", "float64"):
        found.append(("zarr", dtype, numbers(dtype), [named("scale_offset", offset=5, scale=0.1), LITTLE]))
    for dtype in ("int8", "int16", "int32", "int64", "uint64"):
        scale = named("scale_offset", offset=3, scale=2)
        found.append(("zarr", dtype, np.arange(3, 60).astype(dtype), [scale, LITTLE]))
    return found


def _fitted(codecs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`bytes` without a byte order, where a cast leaves none."""
    target = codecs[0].get("configuration", {}).get("data_type", "")
    return [codecs[0], {"name": "bytes"}] if target in ("int8", "uint8") else codecs


CASES = _cases()


@pytest.mark.parametrize("library", sorted({library for library, *_ in CASES}))
def test_chunks_are_equal_to_the_byte(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    need(zarr3_peer, library)
    wrong = []
    mine = [case for case in CASES if case[0] == library]
    for number, (_, dtype, data, codecs) in enumerate(mine):
        fill = 3 if codecs[0]["name"] == "scale_offset" else 1
        document = array_document(data.shape, dtype, codecs=_fitted(codecs), fill_value=fill)
        places = [tmp_path / f"{number} {writer}" for writer in ("ours", "theirs")]
        try:
            zarr3_peer.write(library, places[1], data, document=document)
        except Unsupported as missing:
            pytest.skip(missing.reason)
        places[0].mkdir()
        (places[0] / "zarr.json").write_text(json.dumps(document))
        omnizarr.open_array(places[0], mode="r+")[...] = data
        ours, theirs = ((place / "c" / "0").read_bytes() for place in places)
        if ours != theirs:
            wrong.append((dtype, codecs[0]))
    assert not wrong
    assert len(mine) > 20


# -- N5 itself: `n5_default` reads and writes its chunks

N5_CODECS: dict[str, list[dict[str, Any]]] = {
    "raw": [],
    "gzip": [named("gzip", level=5)],
    "blosc": [named("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=2, blocksize=0)],
}
COMPRESSIONS: dict[str, dict[str, Any]] = {
    "raw": {"type": "raw"},
    "gzip": {"type": "gzip", "level": 5},
    "blosc": {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
}

TENSORSTORE = """
import json, sys
import numpy as np, tensorstore
place, data, attributes = sys.argv[1:]
spec = {"driver": "n5", "kvstore": {"driver": "file", "path": place + "/"}}
if attributes:
    array = tensorstore.open({**spec, "metadata": json.loads(attributes)}, create=True).result()
    array.write(np.load(data)).result()
else:
    np.save(data, tensorstore.open(spec, open=True).result().read().result())
"""

ZARR2 = """
import sys, warnings
warnings.simplefilter("ignore")
import numcodecs, numpy as np, zarr
place, data, compression = sys.argv[1:]
compressor = numcodecs.GZip(5) if compression == "gzip" else None
array = np.load(data)
group = zarr.open_group(zarr.N5Store(place), mode="a")
group.create_dataset("a", data=array, chunks=(2, 4), compressor=compressor)
"""


def run(peer: Peer, program: str, *arguments: Any) -> None:
    result = subprocess.run(
        [str(peer.environment.python), "-c", program, *map(str, arguments)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def n5_document(shape: tuple[int, ...], chunks: tuple[int, ...], codecs: list[dict[str, Any]]) -> dict[str, Any]:
    order = list(reversed(range(len(shape))))
    inner = [named("transpose", order=order), named("bytes", endian="big"), *codecs]
    return array_document(
        shape,
        "int16",
        chunks=chunks,
        codecs=[named("n5_default", codecs=inner)],
        chunk_key_encoding={"name": "v2", "configuration": {"separator": "/"}},
    )


@pytest.mark.parametrize("compression", N5_CODECS)
def test_R138_we_read_what_tensorstore_writes_as_n5(zarr3_peer: Peer, tmp_path: Path, compression: str) -> None:
    need(zarr3_peer, "tensorstore")
    data = np.arange(1, 36, dtype="i2").reshape(5, 7)
    np.save(tmp_path / "data.npy", data)
    attributes = {"dimensions": [5, 7], "blockSize": [2, 4], "dataType": "int16"}
    attributes["compression"] = COMPRESSIONS[compression]  # type: ignore[assignment]
    run(zarr3_peer, TENSORSTORE, tmp_path / "a", tmp_path / "data.npy", json.dumps(attributes))
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["0", "1", "2", "attributes.json"]
    document = n5_document((5, 7), (2, 4), N5_CODECS[compression])
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(document))
    array = omnizarr.open_array(tmp_path / "a", mode="r")
    assert array[...].tolist() == data.tolist()
    assert array[3:, 2::3].tolist() == data[3:, 2::3].tolist()


@pytest.mark.parametrize("compression", N5_CODECS)
def test_R138_tensorstore_reads_what_we_write_as_n5(zarr3_peer: Peer, tmp_path: Path, compression: str) -> None:
    need(zarr3_peer, "tensorstore")
    data = np.arange(1, 36, dtype="i2").reshape(5, 7)
    place = tmp_path / "a"
    place.mkdir()
    (place / "zarr.json").write_text(json.dumps(n5_document((5, 7), (2, 4), N5_CODECS[compression])))
    omnizarr.open_array(place, mode="r+")[...] = data
    attributes = {"dimensions": [5, 7], "blockSize": [2, 4], "dataType": "int16"}
    (place / "attributes.json").write_text(json.dumps({**attributes, "compression": COMPRESSIONS[compression]}))
    run(zarr3_peer, TENSORSTORE, place, tmp_path / "data.npy", "")
    assert np.load(tmp_path / "data.npy").tolist() == data.tolist()


@pytest.mark.parametrize("compression", ["raw", "gzip"])
def test_R138_we_read_what_zarr_python_2_writes_as_n5(zarr2_peer: Peer, tmp_path: Path, compression: str) -> None:
    """It counts dimensions from the other end than N5 does."""
    data = np.arange(1, 36, dtype="i2").reshape(5, 7)
    np.save(tmp_path / "data.npy", data)
    run(zarr2_peer, ZARR2, tmp_path / "n5", tmp_path / "data.npy", compression)
    document = n5_document((7, 5), (4, 2), N5_CODECS[compression])
    (tmp_path / "n5" / "a" / "zarr.json").write_text(json.dumps(document))
    assert omnizarr.open_array(tmp_path / "n5" / "a", mode="r")[...].tolist() == data.T.tolist()
