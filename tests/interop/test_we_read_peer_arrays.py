"""We read what other implementations write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numcodecs.blosc
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ChunkError
from tests.interop.cases import (
    BY_BLOSC,
    BY_CHAIN,
    BY_EXTENSION,
    BY_FILL,
    BY_LAYOUT,
    BY_NUMCODECS,
    LITTLE,
    Case,
    blosc,
    document,
    fit,
    same,
)
from tests.interop.verdict import judge, need
from tests.peers import LIBRARIES, Peer


def show(peer: Peer, library: str, root: Path, cases: Sequence[Case]) -> None:
    need(peer, library)

    def handed(case: Case) -> bool:
        place = root / case.name.replace("/", "slash")
        peer.write(library, place, case.data, document=document(case))
        array = omnizarr.open_array(place, mode="r")
        part = (*(slice(length // 3, length, 2) for length in case.data.shape), ...)
        return same(array[...], case.data) and same(array[part], case.data[part])

    judge(library, "write", cases, handed)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_CHAIN)
def test_codecs_of_every_data_type(zarr3_peer: Peer, tmp_path: Path, library: str, chain: str) -> None:
    show(zarr3_peer, library, tmp_path, BY_CHAIN[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_BLOSC)
def test_R92_blosc_with_every_compressor_and_shuffle(
    zarr3_peer: Peer, tmp_path: Path, library: str, chain: str
) -> None:
    show(zarr3_peer, library, tmp_path, BY_BLOSC[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_EXTENSION)
def test_text_and_bytes_and_times(zarr3_peer: Peer, tmp_path: Path, library: str, chain: str) -> None:
    show(zarr3_peer, library, tmp_path, BY_EXTENSION[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_NUMCODECS)
def test_codecs_of_numcodecs(zarr3_peer: Peer, tmp_path: Path, library: str, chain: str) -> None:
    show(zarr3_peer, library, tmp_path, BY_NUMCODECS[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("layout", BY_FILL)
def test_fill_values(zarr3_peer: Peer, tmp_path: Path, library: str, layout: str) -> None:
    show(zarr3_peer, library, tmp_path, BY_FILL[layout])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("layout", BY_LAYOUT)
def test_shapes_and_chunk_keys(zarr3_peer: Peer, tmp_path: Path, library: str, layout: str) -> None:
    show(zarr3_peer, library, tmp_path, BY_LAYOUT[layout])


@pytest.mark.parametrize("library", ["zarrs", "tensorstore", "zarrista"])
def test_blosc_with_snappy_is_read_or_named(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    """The Blosc of numcodecs is built without snappy. The error for such a chunk must say so, and not report damage."""
    need(zarr3_peer, library)
    data = np.arange(5000, dtype="i4") // 10
    zarr3_peer.write(library, tmp_path, data, codecs=fit([LITTLE, blosc("snappy", "shuffle")], data.dtype))
    assert (tmp_path / "c/0").stat().st_size < data.nbytes / 2  # otherwise it would be a copy, which needs no snappy
    array = omnizarr.open_array(tmp_path, mode="r")
    if "snappy" in numcodecs.blosc.list_compressors():
        assert same(array[...], data)
    else:
        with pytest.raises(ChunkError, match="does not support compressor `snappy`"):
            array[...]
