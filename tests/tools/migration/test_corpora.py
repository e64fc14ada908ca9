"""Every array of every corpus is migrated to every generation that can express it, and read back by omnizarr and by the
programs that know the generation. These tests take a sample, `make soak` all of them in random order."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, ChunkError
from omnizarr.tools import copy, migrate
from omnizarr.tools.casts import possible_casts
from omnizarr.tools.migration import MigrationPlan
from omnizarr.tools.migration.same_decoding import same_elements
from tests.oracles import draft_2022 as oracle
from tests.peers import Peer, PeerError, Unsupported
from tests.tools.migration.sources import GENERATIONS, Source, all_sources, opened

pytestmark = pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")

SAMPLE = 61  # one of so many pairs of an array and a generation

PEERS: dict[Any, tuple[tuple[str, str], ...]] = {
    1: (("zarr1_peer", "zarr1"),),
    2: (("zarr2_peer", "zarr2"), ("zarr3_peer", "zarr"), ("zarr3_peer", "tensorstore"), ("zarr3_peer", "zarrista")),
    3: tuple(("zarr3_peer", library) for library in ("zarr", "zarrs", "tensorstore", "zarrista")),
    "3-draft-2020": (("zarr2_peer", "zarr2"),),
    "3-draft-2022": (),
    "n5": (("zarr3_peer", "tensorstore"), ("zarr2_peer", "zarr2"), ("z5_peer", "z5py")),
}
"""The programs that know a generation. Of the draft of 2022, `tests.oracles` has the only other reader."""


def all_pairs() -> list[tuple[Source, Any]]:
    return [(source, to) for source in all_sources() for to in GENERATIONS if to != source.generation]


def sample() -> list[tuple[Source, Any]]:
    return [pair for pair in all_pairs() if zlib.crc32(f"{pair[0]} {pair[1]}".encode()) % SAMPLE == 0]


def expected_elements(array: omnizarr.Array, plan: MigrationPlan, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The elements of the source as the target should have them."""
    elements = np.asarray(array[...])
    if any("data type" in loss for loss in plan.losses):
        for cast in possible_casts(array.dtype):
            if f"becomes {cast.data_type.name}" in plan.losses[-1] or cast.data_type.dtype == dtype:
                return cast.convert(elements)
    return elements


def equal(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether the elements are equal, whatever the byte order and the type of text."""
    if one.dtype.kind in "OT" or other.dtype.kind in "OT":
        return repr(one.astype(object).tolist()) == repr(other.astype(object).tolist())
    if one.dtype.names is not None:
        return one.shape == other.shape and repr(one.tolist()) == repr(other.tolist())
    one, other = (each.astype(each.dtype.newbyteorder("=")) for each in (one, other))
    return one.shape == other.shape and same_elements(np.ascontiguousarray(one), np.ascontiguousarray(other))


@pytest.fixture
def peers(request: pytest.FixtureRequest) -> Callable[[str], Peer]:
    return lambda name: request.getfixturevalue(name)


@pytest.mark.parametrize(("source", "to"), sample(), ids=str)
def test_corpora(source: Source, to: Any, tmp_path: Path, peers: Callable[[str], Peer]) -> None:
    check_migration(source, to, tmp_path, peers)


def check_migration(source: Source, to: Any, folder: Path, peers: Callable[[str], Peer | None]) -> None:
    """Migrates an array, and compares what omnizarr and those of its peers that are installed read."""
    array = opened(source)
    if array is None:
        return  # a group
    target = folder / "new"
    plan = migrate(array, target, to=to, accept_losses=True, verify=True)
    if plan.arrays[0].way == "impossible":
        assert plan.arrays[0].reason
        with pytest.raises(omnizarr.OmnizarrError, match="cannot express"):
            plan.run()
        assert not target.exists()
        return
    plan.run(workers=1)
    assert not (target / ".omnizarr-plan").exists()
    new = omnizarr.open_array(target, mode="r")
    assert (new.zarr_format, new.shape) == (to, array.shape)
    expected = expected_elements(array, plan, new.dtype)
    assert equal(np.asarray(new[...]), expected)
    assert new.dimension_names == array.dimension_names
    hidden = {"_ARRAY_DIMENSIONS", "axes"}
    assert new.attrs.keys() - hidden == array.attrs.keys() - hidden
    if plan.arrays[0].way != "re-encode" and new.fill_value is not None and array.fill_value is not None:
        assert repr(new.fill_value) == repr(array.fill_value)
    if to == "3-draft-2022":
        check_oracle(target, new, expected)
    for fixture, library in PEERS[to]:
        peer = peers(fixture)
        if peer is not None:
            check_peer(peer, library, target, new, expected)
    check_in_place(array, to, expected, folder)


def check_peer(peer: Peer, library: str, target: Path, new: omnizarr.Array, expected: npt.NDArray[Any]) -> None:
    try:
        found = peer.read(library, target)
    except Unsupported:
        return
    except PeerError:
        if readable_when_new(peer, library, new, expected, target.parent / "copy"):
            raise
        return
    if new.fill_value is None and new.nchunks_initialized < new.nchunks:
        return  # elements without a value differ between readers
    if not equal(np.asarray(found), expected):
        assert not readable_when_new(peer, library, new, expected, target.parent / "copy"), "other elements"


def readable_when_new(peer: Peer, library: str, new: omnizarr.Array, expected: npt.NDArray[Any], place: Path) -> bool:
    """Whether the peer reads an array with the same options that omnizarr creates. If it does not, the migration is not
    to blame."""
    try:
        recreate(new, place)
        return equal(np.asarray(peer.read(library, place)), expected)
    except (PeerError, Unsupported, omnizarr.OmnizarrError):
        return False


def recreate(new: omnizarr.Array, place: Path) -> None:
    """An array with the same options, which omnizarr creates. Some metadata it reads and does not write anew."""
    shutil.rmtree(place, ignore_errors=True)
    omnizarr.from_array(place, data=new)


def check_oracle(target: Path, new: omnizarr.Array, expected: npt.NDArray[Any]) -> None:
    """The reader that was written from the text of the draft alone reads the same."""
    try:
        found = oracle.read_array(oracle.load_directory(target), "/")
    except oracle.DraftError:
        recreate(new, target.parent / "copy")
        with pytest.raises(oracle.DraftError):  # fill values of types that the draft does not define
            oracle.read_array(oracle.load_directory(target.parent / "copy"), "/")
        return
    # It reads types that it does not know as raw bytes.
    found = np.asarray(found).view(new.dtype) if found.dtype.kind == "V" else np.asarray(found, new.dtype)
    assert equal(found, expected)


def check_in_place(array: omnizarr.Array, to: Any, expected: npt.NDArray[Any], tmp_path: Path) -> None:
    """The same in place, for a store that holds the array alone; or a refusal, which leaves it as it was."""
    place = tmp_path / "in place"
    try:
        copy(array, place).run(workers=1)
    except ArgumentError:
        return  # it reads metadata of other writers that it does not write itself
    try:
        here = migrate(str(place), to=to, accept_losses=True, remove_old=True)
    except ArgumentError as error:
        if "give a target" not in str(error.hint):
            raise
        return
    here.run(workers=1)
    new = omnizarr.open_array(place, mode="r")
    assert new.zarr_format == to
    assert equal(np.asarray(new[...]), expected)
    assert files(place) == files(tmp_path / "new"), "nothing is left, nothing is missing"


def files(place: Path) -> set[str]:
    return {file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file()}


def test_there_are_all_generations() -> None:
    assert {source.generation for source in all_sources()} == set(GENERATIONS)


def test_a_damaged_chunk_is_reported(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=np.arange(6), chunks=3, zarr_format=2, filters=[])
    (tmp_path / "a" / "0").write_bytes(b"damaged")
    with pytest.raises(ChunkError):
        migrate(array, tmp_path / "b", to="n5").run()
