"""Statistics and stored sizes, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.tools.element_statistics import statistics
from omnizarr.tools.stored import stored_size


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shards", [None, (4, 4)])
def test_numbers(dtype: str, shards: Any) -> None:
    data = np.random.default_rng(0).integers(0, 100, (9, 10)).astype(dtype)
    z = omnizarr.create_array(None, data=data, chunks=(2, 4) if shards is None else (2, 2), shards=shards, fill_value=1)
    found = statistics(z)
    assert (found.count, found.min, found.max) == (90, data.min().item(), data.max().item())
    assert found.mean == pytest.approx(data.astype("f8").mean())
    assert found.fill == (data == 1).sum() / 90
    assert found.nan == (0.0 if dtype.startswith("float") else None)
    part = statistics(z, (slice(2, 5), 3))
    assert (part.count, part.max) == (3, data[2:5, 3].max().item())


def test_nan_infinity_and_fill() -> None:
    z = omnizarr.create_array(None, data=np.array([np.nan, np.inf, 1, 3]), fill_value=np.nan)
    found = statistics(z)
    assert (found.min, found.max, found.mean, found.nan, found.fill) == (1.0, np.inf, 2.0, 0.25, 0.25)
    assert statistics(omnizarr.create_array(None, shape=3, dtype="f4", fill_value=np.nan)).min is None
    assert statistics(omnizarr.create_array(None, shape=0, dtype="f4")).count == 0


def test_times_and_texts() -> None:
    times = statistics(omnizarr.create_array(None, data=np.array(["2026-01-02", "NaT", "2025-01-01"], "M8[D]")))
    assert (times.min, times.max, times.nan) == ("2025-01-01", "2026-01-02", 1 / 3)
    texts = statistics(omnizarr.create_array(None, data=np.array(["b", "a", "c"], np.dtypes.StringDType())))
    assert (texts.min, texts.max, texts.mean) == ("a", "c", None)


@pytest.mark.parametrize("dtype", ["int4", "uint2", "bfloat16", "float8_e4m3", "float8_e5m2"])
def test_numbers_of_ml_dtypes(dtype: str) -> None:
    z = omnizarr.create_array(None, shape=5, dtype=dtype, fill_value=1)
    z[:3] = np.array([0, 3, 2]).astype(z.dtype)
    found = statistics(z)
    assert (found.min, found.max, found.mean, found.fill) == (0, 3, 1.4, 0.4)
    assert found.nan == (None if "int" in dtype else 0.0)


def test_progress_reaches_the_total() -> None:
    calls: list[tuple[int, int]] = []
    z = omnizarr.create_array(None, data=np.zeros((100, 100)), chunks=(10, 10))
    statistics(z, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (80_000, 80_000)


def test_stored_chunks() -> None:
    z = omnizarr.create_array(None, shape=(8, 8), dtype="u2", chunks=(2, 2), shards=(4, 4))
    z[:4, :3] = 7
    found = stored_size(z)
    assert (found.chunks, found.nchunks) == (4, 16)
    assert found.ratio == pytest.approx(128 / found.nbytes)
    assert stored_size(omnizarr.create_array(None, shape=(10**6,) * 3, dtype="f8")).ratio is None
