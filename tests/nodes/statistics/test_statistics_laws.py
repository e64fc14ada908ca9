"""Statistics never change a result: random arrays and histories, compared with NumPy."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import OmnizarrError
from omnizarr.nodes.statistics import pending
from omnizarr.nodes.statistics.marker import remove_marker
from omnizarr.store.local import snapshot

TICK = 20_000_000  # nanoseconds, at least a tick of the clock of the local file system

SPECIAL: dict[str, list[Any]] = {
    "?": [False, True],
    "i1": [-128, -1, 0, 1, 127],
    "u1": [0, 1, 255],
    "i2": [-(2**15), 0, 2**15 - 1],
    "u4": [0, 1, 2**32 - 1],
    "i8": [-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 2**53 + 1, 2**63 - 2, 2**63 - 1],
    "u8": [0, 1, 2**53 + 1, 2**63, 2**64 - 2, 2**64 - 1],
    "f2": [-65504, -1.5, -0.0, 0.0, 6e-8, 65504, np.nan, np.inf, -np.inf],
    "f4": [-3e38, -1.5, -0.0, 0.0, 1e-45, 3.1, 3e38, np.nan, np.inf, -np.inf],
    "f8": [-1.7e308, -1.5, -0.0, 0.0, 5e-324, 3.1, 1.7e308, np.nan, np.inf, -np.inf],
    "M8[ns]": [-(2**63), -(2**63) + 1, 0, 1, 2**63 - 1],
    "m8[s]": [-(2**63), -(2**63) + 1, 0, 1, 2**63 - 1],
}
GENERATIONS: list[Any] = [1, 2, 3, "3-draft-2020", "3-draft-2022", "n5"]
N5_TYPES = ("i1", "u1", "i2", "u4", "i8", "u8", "f4", "f8")


def elements(draw: Any, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Random elements: usually ordinary ones of a narrow range, sometimes special ones, so that all happens."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    special = SPECIAL[dtype.lstrip("<>")]
    native = np.dtype(dtype).newbyteorder("=")
    pool = np.array(special, "i8" if native.kind in "mM" else native)
    kept = pool[rng.random(len(pool)) < draw(st.sampled_from([0.1, 0.4, 1.0]))]
    pool = kept if len(kept) else pool[:1]
    values = pool[rng.integers(0, len(pool), shape)]
    if native.kind not in "mM" and draw(st.booleans()):
        usual = rng.integers(0, 2 if native.kind == "b" else 100, shape)
        values = np.where(rng.random(shape) < 0.9, usual.astype(native), values)
    return np.asarray(values.view(native) if native.kind in "mM" else values)


def same(first: Any, second: Any) -> bool:
    """Equal in type and bytes, where NaN equals NaN."""
    if type(first) is not type(second):
        return False
    both_missing = bool(first != first) and bool(second != second)
    return both_missing or np.asarray(first).tobytes() == np.asarray(second).tobytes()


def check_all(z: omnizarr.Array, draw: Any) -> None:
    data = np.asarray(z[...])
    if not data.size:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        assert same(z.min(), data.min())
        assert same(z.max(), data.max())
        if data.dtype.kind != "M":
            check_mean(z.mean(), data)
    if data.ndim:
        check_find(z, data, draw)


def check_mean(mean: Any, data: npt.NDArray[Any]) -> None:
    expected = data.mean()
    if data.dtype.kind == "m":
        assert same(mean, expected)
        return
    assert type(mean) is type(expected)
    if np.isnan(expected) or np.isinf(expected):
        assert same(mean, expected)
        return
    with np.errstate(all="ignore"):
        scale = float(np.abs(data.astype("f8")).max())
    adds = np.float32 if data.dtype.kind == "f" and data.dtype.itemsize < 8 else np.float64
    step = max(np.finfo(adds).eps, np.finfo(data.dtype).eps if data.dtype.kind == "f" else 0)
    smallest = float(np.finfo(mean.dtype).smallest_subnormal)
    assert abs(float(mean) - float(expected)) <= 32 * float(step) * scale + 2 * smallest


def check_find(z: omnizarr.Array, data: npt.NDArray[Any], draw: Any) -> None:
    known = data[data == data].ravel()
    bounds: list[Any] = [None, *known[:3], *(known[-1:])]
    low, high = draw(st.sampled_from(range(len(bounds)))), draw(st.sampled_from(range(len(bounds))))
    expected = data == data
    if bounds[low] is not None:
        expected &= data >= bounds[low]
    if bounds[high] is not None:
        expected &= data <= bounds[high]
    indices = z.find(bounds[low], bounds[high])
    for ours, numpys in zip(indices, np.nonzero(expected), strict=True):
        assert ours.dtype == numpys.dtype
        assert np.array_equal(ours, numpys)


@st.composite
def options(draw: Any) -> dict[str, Any]:
    """Options of a new array."""
    zarr_format = draw(st.sampled_from(GENERATIONS))
    names = N5_TYPES if zarr_format == "n5" else tuple(SPECIAL)
    if zarr_format in ("3-draft-2020", "3-draft-2022", 1):
        names = tuple(name for name in names if name[0] not in "mM")
    dtype = draw(st.sampled_from(names))
    if zarr_format in (1, 2) and np.dtype(dtype).itemsize > 1:
        dtype = draw(st.sampled_from("<>")) + dtype
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=0 if zarr_format in (2, 3) else 1, max_size=3)))
    chunks: Any = tuple(draw(st.integers(1, 5)) for _ in shape)
    result: dict[str, Any] = {"shape": shape, "dtype": dtype, "zarr_format": zarr_format}
    if zarr_format == 3 and shape:
        kind = draw(st.sampled_from(["plain", "shards", "rectilinear"]))
        if kind == "shards":
            result["shards"] = tuple(length * draw(st.integers(1, 3)) for length in chunks)
        if kind == "rectilinear":
            chunks = tuple(cut(draw, length) for length in shape)
    result["chunks"] = chunks
    if zarr_format != "n5":
        fill = elements(draw, dtype, ())
        result["fill_value"] = fill[()]
    result["compressors"] = draw(st.sampled_from(["auto", None]))
    return result


def cut(draw: Any, length: int) -> list[int]:
    """Lengths of chunks that fill an axis."""
    lengths: list[int] = []
    while sum(lengths) < length:
        lengths.append(draw(st.integers(1, length - sum(lengths))))
    return lengths


def part_of(draw: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    starts = [draw(st.integers(0, length - 1)) for length in shape]
    return tuple(
        slice(start, draw(st.integers(start + 1, length))) for start, length in zip(starts, shape, strict=True)
    )


@pytest.mark.smoke
@given(options=options(), data=st.data())
def test_results_are_those_of_numpy(options: dict[str, Any], data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(snapshot, "_LONGEST_TICK", TICK)
        patch.setattr(pending, "_INTERVAL", 0)
        run_history(Path(folder) / "z", options, data.draw)


def run_history(path: Path, options: dict[str, Any], draw: Any) -> None:
    z = omnizarr.create_array(path, **options)
    if draw(st.booleans()):
        z[...] = elements(draw, options["dtype"], z.shape)
    z.statistics.build()
    check_all(z, draw)
    fresh = True
    for action in draw(st.lists(st.sampled_from(ACTIONS), max_size=5)):
        act(action, z, path, options, draw)
        fresh = fresh and action in ("write", "flush")
        check_all(z, draw)
        check_all(omnizarr.open_array(path, mode="r"), draw)
    z.statistics.flush()
    if fresh:
        assert z.statistics.state().stale == 0
    z.statistics.build()
    assert z.statistics.state().stale == 0
    check_all(z, draw)


ACTIONS = ["write", "flush", "foreign write", "erase", "append", "resize", "copy a chunk", "remove an entry"]


def act(action: str, z: omnizarr.Array, path: Path, options: dict[str, Any], draw: Any) -> None:
    shape = z.shape
    keys = sorted(key for key in z.store.list() if ".omnizarr-statistics" not in key and key[-1].isdigit())
    match action:
        case "write":
            part = part_of(draw, shape)
            z[part] = elements(draw, options["dtype"], tuple(piece.stop - piece.start for piece in part))
        case "flush":
            z.statistics.flush()
        case "foreign write":
            attributes = dict(z.attrs)
            other = omnizarr.open_array(path)
            other._set_model(remove_marker(other._model))  # a writer that does not know of statistics
            part = part_of(draw, shape)
            other[part] = elements(draw, options["dtype"], tuple(piece.stop - piece.start for piece in part))
            assert dict(omnizarr.open_array(path).attrs) == attributes
        case "erase" if keys:
            z.store.erase(draw(st.sampled_from(keys)))
        case "copy a chunk" if keys:
            value = z.store.get(draw(st.sampled_from(keys)))
            target = draw(st.sampled_from(keys))
            assert value is not None
            z.store.set(target, bytes(value))
            try:
                z[...]
            except OmnizarrError:  # a chunk of another length
                z.store.erase(target)
        case "remove an entry":
            parts = sorted(key for key in z.store.list() if ".omnizarr-statistics" in key and key[-1].isdigit())
            if parts:
                z.store.erase(draw(st.sampled_from(parts)))
        case "append" if shape and "shards" not in options and isinstance(options["chunks"], tuple):
            z.append(elements(draw, options["dtype"], (draw(st.integers(1, 4)), *shape[1:])))
        case "resize" if shape and "shards" not in options:
            z.resize(tuple(draw(st.integers(1, 10)) for _ in shape))
