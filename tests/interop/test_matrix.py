"""Arrays of every data type that a codec accepts are exchanged with other implementations, codec by codec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnizarr.codecs import codecs
from tests.interop.cases import KINDS, Case
from tests.interop.matrix_cases import BY_CODEC
from tests.interop.verdict import peer_reads, we_read
from tests.peers import Peer

LIBRARIES = ("tensorstore", "zarr", "zarrista")  # zarrs in zarr-python is the same as zarrista, with fewer features


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")  # of TensorStore's zero for types without one
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("codec", BY_CODEC)
def test_we_read_peer_arrays(zarr3_peer: Peer, tmp_path: Path, library: str, codec: str) -> None:
    we_read(zarr3_peer, library, tmp_path, BY_CODEC[codec], few=3)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("codec", BY_CODEC)
def test_peers_read_our_arrays(zarr3_peer: Peer, written: Callable[[Case], Path], library: str, codec: str) -> None:
    peer_reads(zarr3_peer, library, written, BY_CODEC[codec], few=3)


def test_every_codec_and_every_type_is_here() -> None:
    names = {codec["name"] for cases in BY_CODEC.values() for case in cases for codec in case.codecs}
    only_zarrs = ("zarrs.", "vlen-array")  # `test_zarrs_codecs` exchanges them
    assert {name for name in codecs.names() if not name.startswith(("numcodecs.", "https://", *only_zarrs))} <= names
    for general in ("gzip", "zstd", "blosc", "crc32c", "conditional", "sharding_indexed", "transpose", "reshape"):
        assert [case.kind for case in BY_CODEC[general]] == list(KINDS)
    assert len(BY_CODEC["packbits"]) > 40
    assert len(BY_CODEC["cast_value"]) > 20
