"""Arrays with chunks of different lengths are exchanged with other implementations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from tests.interop.cases import Case, document, same
from tests.interop.grid_cases import BY_GRID
from tests.interop.verdict import need
from tests.peers import Peer


@pytest.mark.parametrize("chain", BY_GRID)
def test_our_arrays_with_chunks_of_different_lengths_have_a_rectilinear_grid(
    written: Callable[[Case], Path], chain: str
) -> None:
    for case in BY_GRID[chain]:
        assert json.loads((written(case) / "zarr.json").read_text())["chunk_grid"]["name"] == "rectilinear"


def test_growing_arrays_keep_shapes_and_chunk_lengths_that_all_understand(zarr3_peer: Peer, tmp_path: Path) -> None:
    """zarr-python adds one chunk for all new elements; omnizarr adds chunks of the last length."""
    need(zarr3_peer, "zarr")
    data = np.arange(60, dtype="int16").reshape(12, 5)
    ours = omnizarr.create_array(tmp_path, data=data[:6], chunks=([1, 2, 3], [2, 3]))
    ours.append(data[6:8])
    assert same(zarr3_peer.read("zarr", tmp_path), data[:8])
    zarr3_peer.resize("zarr", tmp_path, [12, 5])
    ours.refresh()
    assert ours.chunks == ((1, 2, 3, 3, 3), (2, 3))
    ours[8:] = data[8:]
    assert same(zarr3_peer.read("zarr", tmp_path), data)
    zarr3_peer.resize("zarr", tmp_path, [14, 4])
    ours.refresh()
    assert ours.chunks == ((1, 2, 3, 3, 3, 2), (2, 2))
    assert same(ours[:12], data[:, :4])
    assert json.loads((tmp_path / "zarr.json").read_text())["chunk_grid"] == {
        "name": "rectilinear",
        "configuration": {"kind": "inline", "chunk_shapes": [[1, 2, [3, 3], 2], [2, 3]]},
    }
    assert ours.metadata.grid.to_json() == json.loads((tmp_path / "zarr.json").read_text())["chunk_grid"]


def test_R68_lengths_are_spelt_as_zarr_python_spells_them(zarr3_peer: Peer, tmp_path: Path) -> None:
    need(zarr3_peer, "zarr")
    edges = [1, 2, 2, 2, 13]
    case = BY_GRID["little"][0]
    spelled = document(replace(case, chunks=(edges, [4, 5]), data=np.zeros((20, 9), "bool")))
    zarr3_peer.write("zarr", tmp_path, np.ones((20, 9), "bool"), document=spelled)
    theirs = json.loads((tmp_path / "zarr.json").read_text())["chunk_grid"]
    assert theirs == omnizarr.open_array(tmp_path).metadata.grid.to_json()
