"""The codecs of the package imagecodecs, in v2 arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ChunkError, MetadataError

IMAGE = (np.arange(60 * 40) % 251).reshape(60, 40)


@pytest.mark.parametrize(
    ("id", "options", "dtype", "shape"),
    [
        ("jpeg2k", {"level": 0}, "u1", (60, 40)),
        ("jpeg2k", {"level": 0}, "u2", (1, 60, 40)),
        ("jpegxl", {"lossless": True}, "u2", (60, 40)),
        ("jpegls", {}, "u1", (60, 40)),
        ("png", {}, "u1", (1, 1, 60, 40)),
        ("lerc", {}, "f4", (60, 40)),
        ("webp", {"lossless": True}, "u1", (20, 40, 3)),
        ("qoi", {}, "u1", (20, 40, 3)),
        ("lzw", {}, "<i4", (2400,)),
        ("deflate", {"level": 3}, ">f8", (60, 40)),
        ("zstd", {}, "<c8", (60, 40)),
        ("snappy", {}, "<i4", (60, 40)),
        ("lz4f", {}, "<i2", (60, 40)),
        ("lzma", {}, "<i2", (60, 40)),
    ],
)
def test_elements_roundtrip_as_in_imagecodecs(id: str, options: dict[str, Any], dtype: str, shape: Any) -> None:
    imagecodecs = pytest.importorskip("imagecodecs.numcodecs")
    name = next(
        kind.__name__ for kind in vars(imagecodecs).values() if getattr(kind, "codec_id", None) == f"imagecodecs_{id}"
    )
    codec = getattr(imagecodecs, name)(**options)
    data = IMAGE.reshape(shape).astype(dtype)
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, data=data, chunks=shape, compressors=codec.get_config(), zarr_format=2)
    assert array[...].tobytes() == data.astype(array.dtype).tobytes()
    key = ".".join("0" for _ in shape)
    store.set(key, bytes(codec.encode(data)))  # as zarr-python stores it
    array = omnizarr.open_array(store, mode="r")
    assert array[...].tolist() == data.tolist()
    stored = bytes(store.get(key) or b"")
    twice = np.concatenate([data, data], axis=next(axis for axis, length in enumerate(shape) if length > 1))
    for damaged in (b"", stored[: len(stored) // 2], bytes(codec.encode(twice))):
        if damaged == stored[: len(stored) // 2] and id in ("png", "qoi"):
            continue  # the libraries decode the beginning of an image
        store.set(key, damaged)
        with pytest.raises(ChunkError, match=f"imagecodecs_{id}"):
            array[...]


@pytest.mark.parametrize(
    "config", [{"id": "imagecodecs_lz4h5", "blocksize": 0}, {"id": "imagecodecs_lz4h5", "level": []}]
)
def test_options_with_which_the_library_crashes(config: dict[str, Any]) -> None:
    pytest.importorskip("imagecodecs.numcodecs")
    with pytest.raises(MetadataError, match="expected an integer from 1"):
        omnizarr.create_array(None, data=np.arange(9), compressors=config, zarr_format=2)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("imagecodecs", "imagecodecs.numcodecs"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MetadataError, match=r"unknown codec `imagecodecs_none`") as caught:
        omnizarr.create_array(None, shape=3, dtype="u1", compressors={"id": "imagecodecs_none"}, zarr_format=2)
    assert "pip install 'omnizarr[imagecodecs]'" in str(caught.value)


def test_a_codec_that_the_installed_package_does_not_have() -> None:
    pytest.importorskip("imagecodecs.numcodecs")
    with pytest.raises(MetadataError, match=r"unknown codec `imagecodecs_absent`") as caught:
        omnizarr.create_array(None, shape=3, dtype="u1", compressors={"id": "imagecodecs_absent"}, zarr_format=2)
    assert "the installed imagecodecs does not have it" in str(caught.value)
