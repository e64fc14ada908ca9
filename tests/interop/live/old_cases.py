"""Small arrays that implementations exchange as version 1 or 2: how each is created, and what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.peers import Peer, PeerError, Unsupported

import omnizarr

__all__ = [
    "BLOSC",
    "CHUNKS",
    "NUMBERS",
    "RECORDS",
    "OldCase",
    "cases_of_fills",
    "judge",
    "objects",
    "same",
    "sample",
    "undefined_fills",
]

SHAPE, CHUNKS = (5, 9), (4, 6)

NUMBERS = ("|b1", "|i1", "|u1", *(f"{order}{kind}{size}" for order in "<>" for kind, size in (
    *(("i", 2), ("i", 4), ("i", 8), ("u", 2), ("u", 4), ("u", 8), ("f", 2), ("f", 4), ("f", 8), ("c", 8), ("c", 16)),
)))  # fmt: skip

RECORDS: Mapping[str, Any] = {
    "plain": [("a", "<i2"), ("b", "<f4"), ("s", "S2")],
    "mixed byte orders": [("a", ">i2"), ("b", "<f4"), ("c", ">c8")],
    "one field": [("only", "<i4")],
    "truths": [("f", "?"), ("g", "|u1")],
}

BLOSC = [
    {"id": "blosc", "cname": name, "clevel": level, "shuffle": shuffle}
    for name in ("blosclz", "lz4", "lz4hc", "zlib")
    for level, shuffle in ((0, 1), (3, 0), (5, 1), (9, 2))
]
"""What every build of Blosc has."""


@dataclass(frozen=True, slots=True)
class OldCase:
    """One array. Elements outside `written` are the fill value."""

    name: str
    data: npt.NDArray[Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    written: Any = ...

    def write(self, place: Path, **options: Any) -> omnizarr.Array:
        """Has omnizarr create and write it."""
        given = {"shape": self.data.shape, "dtype": self.data.dtype, **self.options, **options}
        array = omnizarr.create_array(place, **given)
        array[self.written] = self.data[self.written]
        return array


def objects(*values: Any) -> npt.NDArray[Any]:
    """An array of exactly these objects."""
    found = np.empty(len(values), object)
    for index, value in enumerate(values):
        found[index] = value
    return found


def sample(dtype: Any, shape: tuple[int, ...] = SHAPE) -> npt.NDArray[Any]:
    """Elements that are easily damaged."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.names is not None:
        found = np.zeros(shape, dtype)
        for name in dtype.names:
            found[name] = sample(dtype[name].base, (*shape, *dtype[name].shape))
        return found
    if dtype.kind in "SU":
        texts = ["", "a", "bc", "def"] if dtype.kind == "S" else ["", "ü", "b\0c", "\U0001f600"]
        return np.resize(np.array(texts, dtype), shape)
    random = np.random.default_rng(count)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "fc":
        special = np.array([0, -0.0, 1.5, np.nan, np.inf, -np.inf, 1e-7, 65504], dtype)
        return np.resize(special, shape)
    return np.frombuffer(random.bytes(count * dtype.itemsize), dtype).reshape(shape)


def cases_of_fills(values: Iterable[tuple[Any, Iterable[Any]]]) -> Iterator[OldCase]:
    """For each dtype and fill value, an array of this value of which one chunk is not stored."""
    for dtype, fills in values:
        for value in fills:
            data = np.empty(5, dtype)
            data[...] = value
            options = {"chunks": 2, "fill_value": value, "write_empty_chunks": True}
            yield OldCase(f"{dtype} {value!r}", data, options, slice(0, 2))


def undefined_fills() -> Iterator[OldCase]:
    """Zeros: only for omnizarr are they what a missing chunk would be."""
    for dtype in ("<i4", ">f8", "S3", "<U2", "V3", "<M8[s]", "|b1", "<c8", RECORDS["plain"]):
        yield OldCase(f"{dtype}", np.zeros(5, dtype), {"fill_value": None, "chunks": 2})


def same(found: Any, expected: npt.NDArray[Any]) -> bool:
    """Whether two arrays have the same shape, type and bits, field by field; byte order in memory does not count."""
    found = np.asarray(found)
    if found.shape != expected.shape:
        return False
    if expected.dtype.names is not None:  # other libraries may see the padding of an aligned record as fields
        return all(same(found[name], expected[name]) for name in expected.dtype.names)
    if expected.dtype == object:
        return all(_alike(*pair) for pair in zip(found.flat, expected.flat, strict=True))
    pair = [one.astype(one.dtype.newbyteorder("=")) for one in (found, expected)]
    return pair[0].dtype == pair[1].dtype and pair[0].tobytes() == pair[1].tobytes()


def _alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, np.ndarray):
        return bool(found.dtype == expected.dtype and np.array_equal(found, expected))
    return type(found) is type(expected) and bool(found == expected)


def judge(peer: Peer, library: str, cases: Iterable[OldCase], root: Path, zarr_format: Any, *known_errors: str) -> None:
    """Fails if the library does not read one of our arrays, unless its error is a known one; or if it reads none of
    them."""
    if library not in peer.libraries:
        pytest.skip(f"{library} is not installed: {peer.environment.missing[library]}")
    wrong, done = [], 0
    for place, case in _written(cases, root, zarr_format):
        try:
            if same(peer.read(library, place), case.data):
                done += 1
            else:
                wrong.append(f"{case.name}: other values")
        except (Unsupported, PeerError) as error:
            known = isinstance(error, Unsupported) or any(text in str(error) for text in known_errors)
            if not known:
                wrong.append(f"{case.name}: {error}")
    assert not wrong, f"{library} cannot read {len(wrong)} arrays\n\n" + "\n".join(wrong)
    assert done, f"{library} can read none of them"


def _written(cases: Iterable[OldCase], root: Path, zarr_format: Any) -> Iterator[tuple[Path, OldCase]]:
    for index, case in enumerate(cases):
        place = root / str(index)
        case.write(place, zarr_format=zarr_format)
        assert same(omnizarr.open_array(place, mode="r")[...], case.data), case.name
        yield place, case
