"""Arrays of v3 are exchanged with other implementations, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numcodecs.blosc
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ChunkError
from tests.interop.cases import (
    BLOSC_CHAINS,
    BY_BLOSC,
    BY_CHAIN,
    BY_EXTENSION,
    BY_FILL,
    BY_LAYOUT,
    BY_NUMCODECS,
    LITTLE,
    Case,
    blosc,
    fit,
    same,
)
from tests.interop.grid_cases import BY_GRID
from tests.interop.more_cases import BY_MORE
from tests.interop.registered_cases import BY_REGISTERED
from tests.interop.verdict import need, peer_reads, we_read
from tests.peers import LIBRARIES, Peer

Written: TypeAlias = Callable[[Case], Path]
Table: TypeAlias = Mapping[str, Sequence[Case]]

TABLES: Mapping[str, Table] = {
    "codecs of every data type": BY_CHAIN,
    "blosc with every compressor and shuffle": BY_BLOSC,
    "text and bytes and times": BY_EXTENSION,
    "codecs of numcodecs": BY_NUMCODECS,
    "fill values": BY_FILL,
    "shapes and chunk keys": BY_LAYOUT,
    "chunks of different lengths": BY_GRID,
    "small numbers": BY_MORE,
    "registered codecs that few implementations have": BY_REGISTERED,
}
CASES: Table = {f"{title}: {name}": cases for title, table in TABLES.items() for name, cases in table.items()}


@pytest.mark.filterwarnings(r"ignore:[\s\S]*has no zero:omnizarr.OmnizarrWarning")  # of TensorStore's fill values
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("cases", CASES)
def test_R71_R92_we_read_peer_arrays(zarr3_peer: Peer, tmp_path: Path, library: str, cases: str) -> None:
    we_read(zarr3_peer, library, tmp_path, CASES[cases])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("cases", CASES)
def test_R71_R92_peers_read_our_arrays(zarr3_peer: Peer, written: Written, library: str, cases: str) -> None:
    peer_reads(zarr3_peer, library, written, CASES[cases])


@pytest.mark.parametrize("library", ["zarrs", "tensorstore", "zarrista"])
def test_blosc_with_snappy_is_read_or_named(zarr3_peer: Peer, tmp_path: Path, library: str) -> None:
    """The Blosc of numcodecs is built without snappy, that of imagecodecs with it. Without imagecodecs, the error for
    such a chunk must say so, and not report damage."""
    need(zarr3_peer, library)
    data = np.arange(5000, dtype="i4") // 10
    zarr3_peer.write(library, tmp_path, data, codecs=fit([LITTLE, blosc("snappy", "shuffle")], data.dtype))
    assert (tmp_path / "c/0").stat().st_size < data.nbytes / 2  # otherwise it would be a copy, which needs no snappy
    array = omnizarr.open_array(tmp_path, mode="r")
    if "snappy" in numcodecs.blosc.list_compressors() or find_spec("imagecodecs") is not None:
        assert same(array[...], data)
    else:
        with pytest.raises(ChunkError, match="does not support compressor `snappy`"):
            array[...]


# -- checks that the arrays above have the intended properties


@pytest.mark.parametrize("chain", BLOSC_CHAINS)
def test_chunks_of_blosc_are_compressed(written: Written, chain: str) -> None:
    compressed = "level 0" not in chain
    for case in BY_BLOSC[chain]:
        stored = (written(case) / "c/0/0").stat().st_size
        assert (stored < case.data.nbytes / 2) == compressed, case.name


WITH_UNWRITTEN_CHUNKS: Mapping[str, Table] = {"chains": BY_CHAIN, "extensions": BY_EXTENSION, "fills": BY_FILL}


@pytest.mark.parametrize("table", WITH_UNWRITTEN_CHUNKS)
def test_unwritten_chunks_are_missing(written: Written, table: str) -> None:
    for cases in WITH_UNWRITTEN_CHUNKS[table].values():
        for case in cases:
            if case.data.ndim:  # the single chunk exists
                assert (written(case) / "c/0/0").exists(), case.name
                assert not (written(case) / "c/1/1").exists(), case.name
