"""Small numbers are exchanged with other implementations bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import omnizarr
from tests.interop.cases import same
from tests.interop.verdict import need
from tests.peers import Peer, array_document

ALL_BITS = np.arange(256, dtype="u1")


@pytest.mark.parametrize(
    ("library", "name"),
    [
        *(("zarrista", name) for name in ("int2", "int4", "uint2", "uint4")),
        ("tensorstore", "int2"),
        ("tensorstore", "int4"),
    ],
)
def test_R141_bits_above_a_small_integer_do_not_count(
    zarr3_peer: Peer, tmp_path: Path, library: str, name: str
) -> None:
    """Other implementations store the bytes that they get; every byte is one of the few numbers of the type."""
    need(zarr3_peer, library)
    data = ALL_BITS.view(getattr(ml_dtypes, name))
    shared = array_document(data.shape, "u1", codecs=[{"name": "bytes"}], data_type=name)
    zarr3_peer.write(library, tmp_path, data, document=shared)
    assert (tmp_path / "c/0").read_bytes() == ALL_BITS.tobytes()
    found = omnizarr.open_array(tmp_path)[...]
    assert found.astype("i1").tolist() == data.astype("i1").tolist()
    assert found.view("u1").max() < 16


def test_R141_signs_are_stored_as_others_do(zarr3_peer: Peer, tmp_path: Path) -> None:
    """TensorStore and zarrs store a chunk of the fill value; its bytes are those that we write."""
    for library in ("tensorstore", "zarrista"):
        need(zarr3_peer, library)
        for name in ("int2", "int4"):
            place = tmp_path / library / name
            omnizarr.create_array(place, shape=3, dtype=name, fill_value=-2)
            theirs = zarr3_peer.read(library, place)  # there is no chunk
            omnizarr.create_array(place / "full", data=[-2, -2, -2], dtype=name, compressors=None)
            assert (place / "full/c/0").read_bytes() == theirs.tobytes() == b"\xfe\xfe\xfe"


def test_A24_the_unregistered_type_of_tensorstore_is_read_and_written_in_place(
    zarr3_peer: Peer, tmp_path: Path
) -> None:
    need(zarr3_peer, "tensorstore")
    data = ALL_BITS.view(ml_dtypes.float8_e4m3fn)
    members: dict[str, Any] = {"data_type": "float8_e4m3fn", "fill_value": "NaN"}
    shared = array_document(data.shape, "u1", chunks=[128], codecs=[{"name": "bytes"}], **members)
    zarr3_peer.write("tensorstore", tmp_path, data, document=shared)
    array = omnizarr.open_array(tmp_path, mode="r+")
    assert same(array[...], data)
    assert np.asarray(array.fill_value).tobytes() == b"\x7f"
    array[:7] = [448, -448, 0.5, np.nan, 2**-9, 0, -0.0]
    array.attrs["ours"] = True
    assert same(zarr3_peer.read("tensorstore", tmp_path), array[...])
    assert (tmp_path / "c/0").read_bytes()[:7].hex() == "7efe307f010080"


def test_R143_an_array_of_tensorstore_with_a_zero_fill_value_for_a_type_without_zero(
    zarr3_peer: Peer, tmp_path: Path
) -> None:
    """It writes `0.0` by default, and means the bits of zero."""
    need(zarr3_peer, "tensorstore")
    data = np.array([1, 2], ml_dtypes.float8_e8m0fnu)
    members: dict[str, Any] = {"data_type": "float8_e8m0fnu", "fill_value": 0.0}
    shared = array_document((4,), "u1", chunks=[2], codecs=[{"name": "bytes"}], **members)
    zarr3_peer.write("tensorstore", tmp_path, np.concatenate([data, np.zeros(2, data.dtype)]), document=shared)
    with pytest.warns(omnizarr.OmnizarrWarning, match="`float8_e8m0fnu` has no zero"):
        array = omnizarr.open_array(tmp_path)
    assert not (tmp_path / "c/1").exists()
    assert array[...].tobytes().hex() == "7f800000"
    assert float(array.fill_value) == 2.0**-127


OLD_NAMES: dict[str, tuple[Any, Any]] = {
    "raw_bytes": ({"name": "raw_bytes", "configuration": {"length_bytes": 3}}, np.frombuffer(bytes(range(9)), "V3")),
    "variable_length_bytes": ("variable_length_bytes", np.array([b"a", b"", b"\xff\0"], object)),
}


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")  # raw bits have their fill value as text
@pytest.mark.parametrize("name", OLD_NAMES)
def test_A47_names_of_zarr_python_are_read_and_kept(zarr3_peer: Peer, tmp_path: Path, name: str) -> None:
    need(zarr3_peer, "zarr")
    data_type, data = OLD_NAMES[name]
    codecs = [{"name": "bytes" if name == "raw_bytes" else "vlen-bytes"}]
    fill = "AAAA" if name == "raw_bytes" else ""
    shared = array_document((3,), "u1", codecs=codecs, data_type=data_type, fill_value=fill)
    zarr3_peer.write("zarr", tmp_path, data, document=shared)
    array = omnizarr.open_array(tmp_path, mode="r+")
    assert same(array[...], data)
    array[1:] = data[:2]
    array.attrs["ours"] = True  # zarr-python reads raw bits only under this name
    assert same(zarr3_peer.read("zarr", tmp_path), data[[0, 0, 1]])
