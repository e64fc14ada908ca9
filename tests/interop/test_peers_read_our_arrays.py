"""Other implementations read what we write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.interop.cases import (
    BLOSC_CHAINS,
    BY_BLOSC,
    BY_CHAIN,
    BY_EXTENSION,
    BY_FILL,
    BY_LAYOUT,
    BY_NUMCODECS,
    Case,
    same,
    write_ours,
)
from tests.interop.verdict import judge, need, reads
from tests.peers import LIBRARIES, Peer

Written: TypeAlias = Callable[[Case], Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Returns the path of one of our arrays, which is written once for all peers."""
    root = tmp_path_factory.mktemp("ours")
    places: dict[str, Path] = {}

    def write(case: Case) -> Path:
        if case.name not in places:
            place = root / str(len(places))
            array = write_ours(place, case)
            assert same(array[...], case.data), case.name
            places[case.name] = place
        return places[case.name]

    return write


def show(peer: Peer, library: str, written: Written, cases: Sequence[Case]) -> None:
    need(peer, library)
    judge(library, "read", cases, lambda case: reads(peer, library, written(case), case))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_CHAIN)
def test_codecs_of_every_data_type(zarr3_peer: Peer, written: Written, library: str, chain: str) -> None:
    show(zarr3_peer, library, written, BY_CHAIN[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_BLOSC)
def test_R92_blosc_with_every_compressor_and_shuffle(
    zarr3_peer: Peer, written: Written, library: str, chain: str
) -> None:
    show(zarr3_peer, library, written, BY_BLOSC[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_EXTENSION)
def test_text_and_bytes_and_times(zarr3_peer: Peer, written: Written, library: str, chain: str) -> None:
    show(zarr3_peer, library, written, BY_EXTENSION[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("chain", BY_NUMCODECS)
def test_codecs_of_numcodecs(zarr3_peer: Peer, written: Written, library: str, chain: str) -> None:
    show(zarr3_peer, library, written, BY_NUMCODECS[chain])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("layout", BY_FILL)
def test_fill_values(zarr3_peer: Peer, written: Written, library: str, layout: str) -> None:
    show(zarr3_peer, library, written, BY_FILL[layout])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("layout", BY_LAYOUT)
def test_shapes_and_chunk_keys(zarr3_peer: Peer, written: Written, library: str, layout: str) -> None:
    show(zarr3_peer, library, written, BY_LAYOUT[layout])


# -- checks that the arrays above have the intended properties


@pytest.mark.parametrize("chain", BLOSC_CHAINS)
def test_chunks_of_blosc_are_compressed(written: Written, chain: str) -> None:
    compressed = "level 0" not in chain
    for case in BY_BLOSC[chain]:
        stored = (written(case) / "c/0/0").stat().st_size
        assert (stored < case.data.nbytes / 2) == compressed, case.name


TABLES: Mapping[str, Mapping[str, Sequence[Case]]] = {"chains": BY_CHAIN, "extensions": BY_EXTENSION, "fills": BY_FILL}


@pytest.mark.parametrize("table", TABLES)
def test_unwritten_chunks_are_missing(written: Written, table: str) -> None:
    for cases in TABLES[table].values():
        for case in cases:
            if case.data.ndim:  # the single chunk exists
                assert (written(case) / "c/0/0").exists(), case.name
                assert not (written(case) / "c/1/1").exists(), case.name
