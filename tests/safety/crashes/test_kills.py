"""Promise 3: after a writer is killed at any moment, every chunk, shard and document is old or new. Its leftovers are
invisible, block no other writer, and are removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.safety.processes import killed_after
from tests.safety.ptrace import kill_at, reason_not_to

import omnizarr
from omnizarr.store.local import temp_names

GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
REASON = reason_not_to()
SHAPE, CHUNKS = (6, 8), (3, 4)
OLD = np.arange(48, dtype="i4").reshape(SHAPE) + 1


def made(place: Path, zarr_format: Any, **options: Any) -> omnizarr.Array:
    name = {} if zarr_format == 1 else {"name": "a"}
    z = omnizarr.create_array(
        place, shape=SHAPE, dtype="i4", zarr_format=zarr_format, attributes={"old": 1}, **name, **options
    )
    z[...] = OLD
    return z


def opened(place: Path, zarr_format: Any) -> omnizarr.Array:
    return omnizarr.open_array(place, path="" if zarr_format == 1 else "a")


def part(z: omnizarr.Array) -> None:
    z[1:5, 2:6] = 1000


def whole(z: omnizarr.Array) -> None:
    z[...] = 1000


def erased(z: omnizarr.Array) -> None:
    z[:, :4] = 0


def attributes(z: omnizarr.Array) -> None:
    z.attrs.update(new=2, old=3)


def appended(z: omnizarr.Array) -> None:
    z.append(np.full((2, 8), 1000, "i4"))


def shrunk(z: omnizarr.Array) -> None:
    z.resize((4, 8))


ACTS: dict[str, Callable[[omnizarr.Array], None]] = {
    act.__name__: act for act in (part, whole, erased, attributes, appended, shrunk)
}


def check(place: Path, zarr_format: Any, act: str) -> None:
    """Checks that every chunk is old or new, and that the next writer is not blocked."""
    z = opened(place, zarr_format)
    found = z[...]
    assert z.attrs.asdict() in ({"old": 1}, {"new": 2, "old": 3})
    assert z.shape in {"appended": [SHAPE, (8, 8)], "shrunk": [SHAPE, (4, 8)]}.get(act, [SHAPE])
    if act == "appended":
        assert (found[:6] == OLD).all()
        assert (found[6:] == 1000).all(), "visible rows have their data"
    elif act == "shrunk":
        assert (found[:4] == OLD[:4]).all()
    else:
        new = OLD.copy()
        new[...] = {"whole": 1000}.get(act, OLD)
        if act == "part":
            new[1:5, 2:6] = 1000
        if act == "erased":
            new[:, :4] = 0
        for row in range(0, 6, 3):
            for column in range(0, 8, 4):
                chunk = np.s_[row : row + 3, column : column + 4]
                assert any((found[chunk] == state[chunk]).all() for state in (OLD, new))
    keys = list(z.store.list())  # listing also removes leftovers
    assert not [key for key in keys if "omnizarr" in key]
    # The next writer finds no lock, and no leftover data outside the array.
    z.resize((9, 8))
    assert (z[found.shape[0] :] == 0).all()
    z.append(np.full((1, 8), 7, "i4"))
    assert (z[9] == 7).all()
    left = [path.name for path in place.rglob("*") if temp_names.is_temporary(path.name)]
    assert left == []


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize("zarr_format", GENERATIONS)
@pytest.mark.parametrize("act", ACTS)
def test_a_writer_that_is_killed_at_any_system_call(tmp_path: Path, zarr_format: Any, act: str) -> None:
    made_before(tmp_path, zarr_format, act)
    random = Random(f"{zarr_format} {act}")
    stop = killed = 0
    while kill_once(tmp_path, zarr_format, act, stop) is None:
        killed += 1
        stop += random.randint(1, 40)  # another sample for each generation and act
    assert killed > 1


def made_before(folder: Path, zarr_format: Any, act: str) -> None:
    sharded = zarr_format not in (1, 2, "3-draft-2020", "n5") and act in ("part", "whole", "appended")
    options: dict[str, Any] = {"chunks": (3, 2), "shards": CHUNKS} if sharded else {"chunks": CHUNKS}
    if sharded and zarr_format == "3-draft-2020":
        options["conventions"] = "zarr-python-2"
    made(folder / "before", zarr_format, **options)


def kill_once(folder: Path, zarr_format: Any, act: str, stop: int) -> int | None:
    """Kills a writer at a stop, and checks what it left. The number of its stops if it finished before."""
    place = folder / "x"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "before", place)
    with omnizarr.config(threads=1):
        z = opened(place, zarr_format)
        stops = kill_at(lambda: ACTS[act](z), stop)
    check(place, zarr_format, act)
    return stops


def scribble(place: Path, seed: int) -> None:
    """Writes of all kinds, one after the other, until the process is killed."""
    z = omnizarr.open_array(place)
    random = np.random.default_rng(seed)
    while True:
        number = int(random.integers(1, 100))
        act = int(random.integers(5))
        if act == 0:
            z[int(random.integers(4)) * 8 :][:8] = number
        if act == 1:
            start = int(random.integers(3)) * 8 + 4
            z[start : start + 8] = number
        if act == 2:
            z[...] = number
        if act == 3:
            z.attrs["n"] = [number] * 500
        if act == 4:
            z.append(np.full(int(random.integers(20)), 1))


LAYOUTS: tuple[dict[str, Any], ...] = ({"chunks": 8}, {"chunks": 4, "shards": 16}, {"chunks": 8, "zarr_format": 2})


@pytest.mark.parametrize("options", LAYOUTS)
def test_writers_that_are_killed_at_random(tmp_path: Path, options: dict[str, Any]) -> None:
    kill_writers(tmp_path / "x.zarr", options, Random(str(options)), 60)


def kill_writers(place: Path, options: dict[str, Any], random: Random, count: int) -> None:
    z = omnizarr.create_array(place, data=np.ones(32, "i8"), attributes={"n": [1] * 500}, **options)
    with omnizarr.config(threads=2):
        for number in range(count):
            killed_after(lambda number=number: scribble(place, number), random.uniform(0, 0.03))  # type: ignore[misc]
            z.refresh()
            values = z[...]
            assert (values > 0).all(), "no writer wrote this element"
            for start in range(0, 32, 4):  # every write covers whole quarters of a chunk or shard
                assert len(set(values[start : start + 4].tolist())) == 1
            assert len(set(z.attrs["n"])) == 1
    z.resize(len(z) + 100)
    assert (z[-100:] == 0).all()
    assert not [key for key in z.store.list() if "omnizarr" in key]
    assert [path for path in place.rglob("*") if temp_names.is_temporary(path.name)] == []
