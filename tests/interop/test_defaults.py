"""All implementations read what omnizarr writes with default options, in every data type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.interop.cases import KINDS, SWAPPED, Case, resized
from tests.interop.verdict import peer_reads
from tests.peers import LIBRARIES, Peer

OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "shards": {"shards": "auto"},
    "columns first": {"order": "F"},
    "big-endian": {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
}


def case(kind: str, shape: tuple[int, ...], name: str) -> Case:
    """An array with given type and shape; the rest of a case serves to look up known differences."""
    values = KINDS[kind]
    codecs = [OPTIONS[name]["serializer"]] if name == "big-endian" else []
    if name == "columns first":
        codecs = [SWAPPED, {"name": values.serializer or "bytes"}]
    return Case(f"{name}, {kind}", kind, resized(values.values, shape), (), codecs, values.zero, np.zeros(()), None, ())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", OPTIONS)
def test_all_read_what_is_written_by_default(zarr3_peer: Peer, tmp_path: Path, library: str, name: str) -> None:
    def write(case: Case) -> Path:
        place = tmp_path / case.name
        omnizarr.create_array(place, shape=case.data.shape, dtype=KINDS[case.kind].data_type, **OPTIONS[name])[...] = (
            case.data
        )
        return place

    kinds = [
        kind
        for kind, known in KINDS.items()
        if name != "big-endian" or (known.dtype.itemsize > 1 and known.serializer is None)
    ]
    peer_reads(zarr3_peer, library, write, [case(kind, (9, 14), name) for kind in kinds])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", ["int16", "struct"])
def test_all_read_chunks_of_many_blosc_blocks(zarr3_peer: Peer, tmp_path: Path, library: str, kind: str) -> None:
    """Elements of 11 bytes do not divide a block evenly."""
    many = case(kind, (1200, 300), "nothing")
    omnizarr.create_array(tmp_path, dtype=KINDS[kind].data_type, shape=many.data.shape, chunks=-1)[...] = many.data
    peer_reads(zarr3_peer, library, lambda _: tmp_path, [many])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_unwritten_elements_are_zero_for_all(zarr3_peer: Peer, tmp_path: Path, library: str, kind: str) -> None:
    """Or no time, or empty text."""
    values = KINDS[kind]
    data = np.empty((3, 2), values.dtype)
    data[...] = np.array("NaT", values.dtype) if values.dtype.kind in "mM" else values.blank
    empty = Case(kind, kind, data, (), [], values.zero, np.zeros(()), None, ())
    omnizarr.create_array(tmp_path, shape=(3, 2), dtype=values.data_type)
    peer_reads(zarr3_peer, library, lambda _: tmp_path, [empty])
