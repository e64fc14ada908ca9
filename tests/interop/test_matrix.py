"""Codec by codec, arrays of every data type that it takes travel between us and others."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnizarr
from omnizarr.codecs import codecs
from tests.interop.cases import KINDS, Cell, document, same, write_ours
from tests.interop.matrix_cases import BY_CODEC
from tests.interop.verdict import judge, need, reads
from tests.peers import Peer

LIBRARIES = ("tensorstore", "zarr", "zarrista")  # zarrs in zarr-python is the same as zarrista, and has less


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")  # of TensorStore's zero where there is none
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("codec", BY_CODEC)
def test_we_read_theirs(zarr3_peer: Peer, tmp_path: Path, library: str, codec: str) -> None:
    need(zarr3_peer, library)

    def handed(cell: Cell) -> bool:
        place = tmp_path / cell.name
        zarr3_peer.write(library, place, cell.data, document=document(cell))
        return same(omnizarr.open_array(place, mode="r")[...], cell.data)

    judge(library, "write", BY_CODEC[codec], handed, few=3)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("codec", BY_CODEC)
def test_they_read_ours(zarr3_peer: Peer, tmp_path: Path, library: str, codec: str) -> None:
    need(zarr3_peer, library)

    def handed(cell: Cell) -> bool:
        place = tmp_path / cell.name
        assert same(write_ours(place, cell)[...], cell.data)
        return reads(zarr3_peer, library, place, cell)

    judge(library, "read", BY_CODEC[codec], handed, few=3)


def test_every_codec_and_every_type_is_here() -> None:
    names = {codec["name"] for cells in BY_CODEC.values() for cell in cells for codec in cell.codecs}
    assert {name for name in codecs.names() if not name.startswith(("numcodecs.", "https://"))} <= names
    for general in ("gzip", "zstd", "blosc", "crc32c", "conditional", "sharding_indexed", "transpose", "reshape"):
        assert [cell.kind for cell in BY_CODEC[general]] == list(KINDS)
    assert len(BY_CODEC["packbits"]) > 40
    assert len(BY_CODEC["cast_value"]) > 20
