"""Filters whose configuration names big-endian types: zarr-python reads what we write in every generation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.test_arrays_2020 import BIG_ENDIAN
from tests.peers import Peer

import omnizarr
from omnizarr.errors import ArgumentError

DATA = np.arange(4.0)


@pytest.mark.parametrize(("options", "_"), BIG_ENDIAN)
def test_v2(zarr2_peer: Peer, tmp_path: Path, options: dict[str, Any], _: str) -> None:
    omnizarr.create_array(tmp_path, data=DATA, zarr_format=2, **options)
    assert zarr2_peer.read("zarr2", tmp_path).tolist() == DATA.tolist()


@pytest.mark.parametrize("shards", [None, 4])
@pytest.mark.parametrize(("options", "_"), BIG_ENDIAN)
def test_v3(zarr3_peer: Peer, tmp_path: Path, options: dict[str, Any], _: str, shards: Any) -> None:
    """Elements have no byte order before the serializer: zarr-python 3 would swap those of a big-endian filter."""
    z = omnizarr.create_array(tmp_path, data=DATA, chunks=2, shards=shards, **options)
    assert ">" not in str([codec.to_json() for codec in z.filters])
    assert zarr3_peer.read("zarr", tmp_path).tolist() == DATA.tolist()


@pytest.mark.parametrize(("options", "_"), BIG_ENDIAN)
def test_conversion_to_v3(zarr3_peer: Peer, tmp_path: Path, options: dict[str, Any], _: str) -> None:
    source = omnizarr.create_array(data=DATA, zarr_format=2, **options)
    omnizarr.from_array(tmp_path, data=source, zarr_format=3)
    assert zarr3_peer.read("zarr", tmp_path).tolist() == DATA.tolist()


@pytest.mark.parametrize("zarr_format", [2, "3-draft-2020"])
@pytest.mark.parametrize("serializer", ["json2", "msgpack2", "pcodec"])
def test_serializers_without_byte_order_after_a_big_endian_filter(zarr_format: Any, serializer: str) -> None:
    """zarr-python 2 would decode native elements and read them as big-endian."""
    options: dict[str, Any] = {"zarr_format": zarr_format, "serializer": serializer, "compressors": None}
    options |= {"conventions": "zarr-python-2"} if zarr_format == "3-draft-2020" else {}
    scale: dict[str, Any] = {"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<f8"}
    with pytest.raises(ArgumentError, match="produces big-endian elements"):
        omnizarr.create_array({}, data=DATA, filters=[{**scale, "astype": ">f4"}], **options)
    z = omnizarr.create_array({}, data=DATA, filters=[{**scale, "astype": "<f4"}], **options)
    assert omnizarr.open_array(z.store)[...].tolist() == DATA.tolist()
