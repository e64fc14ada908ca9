"""The codecs of the package imagecodecs in v3: arrays of another writer, round trips, and names without support."""

from __future__ import annotations

import io
import json
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs.parsing import codec_of
from omnizarr.errors import ChunkError, MetadataError, OmnizarrError

ARRAYS = Path(__file__).parents[2] / "corpora" / "imagecodecs" / "arrays.zip"
with zipfile.ZipFile(ARRAYS) as archive:
    FILES = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
NAMES = sorted({name.split("/")[0] for name in FILES})


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("imagecodecs.numcodecs")


def expected(name: str, z: omnizarr.Array) -> Any:
    stored = FILES.get(f"{name}/expected.npy")
    if stored is not None:
        return np.load(io.BytesIO(stored))
    return (np.arange(z.size) * 7 % 200).astype(z.dtype).reshape(z.shape)


def store_of(name: str) -> omnizarr.MemoryStore:
    """One array of the corpus."""
    files = {key.removeprefix(f"{name}/"): value for key, value in FILES.items() if key.startswith(f"{name}/")}
    return omnizarr.MemoryStore(files)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_imagecodecs_zarr(name: str) -> None:
    z = omnizarr.open_array(ARRAYS, path=name)
    np.testing.assert_array_equal(z[...], expected(name, z))
    assert z[(slice(2, 5),) * z.ndim].shape == z[...][(slice(2, 5),) * z.ndim].shape


@pytest.mark.parametrize("name", NAMES)
def test_writing_and_changing_metadata(name: str) -> None:
    store = store_of(name)
    before = json.loads(FILES[f"{name}/zarr.json"])["codecs"]
    z = omnizarr.open_array(store)
    elements = z[...]
    z.attrs["a"] = 1
    z[...] = elements
    document = json.loads(bytes(store.get("zarr.json") or b""))
    assert [codec_of(codec, "") for codec in document["codecs"]] == [codec_of(codec, "") for codec in before]
    again = omnizarr.open_array(store)[...]
    if f"{name}/expected.npy" not in FILES:
        np.testing.assert_array_equal(again, elements)
    assert again.shape == elements.shape


@pytest.mark.parametrize("name", NAMES)
def test_damaged_chunks_raise_or_give_an_array(name: str) -> None:
    key = next(key for key in store_of(name).list() if key.startswith("c/"))
    stored = FILES[f"{name}/{key}"]
    for damaged in (b"", b"\0", stored[: len(stored) // 2], stored[:-1], stored + b"x", stored[::-1]):
        store = store_of(name)
        store.set(key, damaged)
        z = omnizarr.open_array(store)
        try:
            assert z[...].shape == z.shape
        except ChunkError:
            pass


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "<f4"])
@pytest.mark.parametrize(
    "options",
    [
        {"serializer": "imagecodecs_lerc", "compressors": None},
        {"serializer": {"name": "imagecodecs_lerc", "configuration": {"level": 0}}, "compressors": "zstd"},
        {"compressors": [{"name": "imagecodecs_zstd", "configuration": {"level": 3}}, "imagecodecs_lzw"]},
        {"serializer": "numcodecs.imagecodecs_lerc", "compressors": None},
        {"serializer": "imagecodecs_floatpred", "compressors": "imagecodecs_deflate", "shards": (40, 60)},
    ],
)
def test_new_arrays(dtype: str, options: Any) -> None:
    data = np.arange(2400).reshape(40, 60).astype(dtype)
    store: dict[str, Any] = {}
    z = omnizarr.create_array(store, data=data, chunks=(20, 30), **options)
    again = pickle.loads(pickle.dumps(omnizarr.open_array(store)))
    np.testing.assert_array_equal(again[...], data)
    assert again.metadata.codecs == z.metadata.codecs
    assert hash(again.metadata.codecs) == hash(z.metadata.codecs)
    np.testing.assert_array_equal(omnizarr.from_array({}, data=again)[...], data)


@pytest.mark.parametrize(
    ("codec", "match"),
    [
        ("imagecodecs_unknown", "unknown codec"),
        ("imagecodecs_jpeg2", "imagecodecs_jpeg"),
        ({"name": "imagecodecs_jpeg2k", "configuration": {"lvl": 1}}, "configuration.lvl"),
        ({"name": "imagecodecs_rcomp", "configuration": {"shape": [1]}}, "configuration.shape"),
        ("imagecodecs_jpegls", "damaged data"),
        ("imagecodecs_aec", "wrong options"),
        ({"name": "imagecodecs_rcomp", "configuration": {"nblock": 0}}, "configuration.nblock: expected an integer"),
        ({"name": "imagecodecs_lz4h5", "configuration": {"blocksize": 0.5}}, "configuration.blocksize: expected"),
    ],
)
def test_unsupported_codecs_and_options(codec: Any, match: str) -> None:
    document = json.loads(FILES["png-u1-2/zarr.json"])
    document["codecs"] = [codec]
    with pytest.raises(MetadataError, match=match):
        omnizarr.open_array({"zarr.json": json.dumps(document).encode()})


def test_elements_that_images_cannot_hold_are_rejected() -> None:
    for elements in (np.full((4, 4), b"a"), np.ones((4, 4), "f8")):
        with pytest.raises(OmnizarrError, match="imagecodecs_png"):
            omnizarr.create_array({}, data=elements, serializer="imagecodecs_png")


def test_a_virtual_image_behind_bytes_is_refused() -> None:
    """Virtual TIFF arrays have the image codec behind `bytes`."""
    document = json.loads(FILES["jpeg2k-u1-2/zarr.json"])
    document["codecs"] = ["bytes", "imagecodecs_jpeg2k"]
    with pytest.raises(MetadataError, match="imagecodecs_jpeg2k"):
        omnizarr.open_array({"zarr.json": json.dumps(document).encode()})


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from numcodecs.registry import codec_registry, entries

    for module in ("imagecodecs", "imagecodecs.numcodecs"):
        monkeypatch.setitem(sys.modules, module, None)
    for registry in (codec_registry, entries):
        monkeypatch.delitem(registry, "imagecodecs_png", raising=False)
    with pytest.raises(MetadataError, match=r"pip install 'omnizarr\[imagecodecs\]'"):
        codec_of("imagecodecs_png", "serializer")
