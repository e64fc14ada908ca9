"""The engines `zarr` and `omnizarr` of xarray, side by side: `make bench-xarray`.

It runs in the environment `xarray` of the peers, which has both libraries. The engines take turns in one process, and
the best time of each counts, because other programs can only add time. CPU time, of all threads together, depends less
on other programs. Both engines read the same files, which zarr-python wrote, and the results are compared.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import xarray as xr
import zarr

import omnizarr.integrations.xarray  # noqa: F401  registers the engine and the accessor

ROUNDS = 9
SHAPE = (365, 180, 360)
CHUNKS = (30, 60, 60)
SHARDS = (60, 180, 180)
VARIABLES = 200
Acts = dict[str, Callable[[], Any]]


def measure(name: str, acts: Acts, *, before: Callable[[], object] = lambda: None) -> None:
    """Prints a line of a table: the best time of each engine in ms, and the ratio; likewise for the CPU time."""
    best = dict.fromkeys(acts, float("inf"))
    best_cpu = dict.fromkeys(acts, float("inf"))
    results = {engine: act() for engine, act in acts.items()}
    first = next(iter(results.values()))
    for result in results.values():
        assert first is None or np.array_equal(first, result), name
    for _ in range(ROUNDS):
        for engine, act in acts.items():
            before()
            start, start_cpu = time.perf_counter(), time.process_time()
            act()
            best[engine] = min(best[engine], time.perf_counter() - start)
            best_cpu[engine] = min(best_cpu[engine], time.process_time() - start_cpu)
    cells = [name]
    for times in (best, best_cpu):
        theirs, ours = times["zarr"] * 1000, times["omnizarr"] * 1000
        cells += [f"{theirs:.1f}", f"{ours:.1f}", f"{theirs / ours:.1f} ×"]
    print(f"| {' | '.join(cells)} |", flush=True)


def weather() -> xr.Dataset:
    """A year of daily maps."""
    random = np.random.default_rng(0)
    day, y, x = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    values = 280 + 20 * np.sin(day / 58) + 10 * np.cos(y / 28) + 5 * np.sin(x / 57)
    values = (values + np.round(random.normal(0, 1, SHAPE), 1)).astype("f4")
    coordinates = {"time": np.datetime64("2025-01-01", "ns") + np.arange(SHAPE[0]) * np.timedelta64(1, "D")}
    return xr.Dataset({"t": (("time", "y", "x"), values)}, coords=coordinates)


def read_series_and_map(place: Path) -> Acts:
    def act(engine: str) -> Any:
        with xr.open_dataset(place, engine=engine) as dataset:
            return np.concatenate([dataset.t[:, 90, 180].values, dataset.t[100].values.reshape(-1)])

    return {engine: lambda engine=engine: act(engine) for engine in ("zarr", "omnizarr")}  # type: ignore[misc]


def open_only(place: Path, *, consolidated: bool) -> Acts:
    def act(engine: str) -> Any:
        with xr.open_dataset(place, engine=engine, consolidated=consolidated) as dataset:
            return len(dataset.variables)

    return {engine: lambda engine=engine: act(engine) for engine in ("zarr", "omnizarr")}  # type: ignore[misc]


def read_with_dask(place: Path) -> Acts:
    def act(engine: str) -> Any:
        with xr.open_dataset(place, engine=engine, chunks={}) as dataset:
            return dataset.t.data.compute()

    return {engine: lambda engine=engine: act(engine) for engine in ("zarr", "omnizarr")}  # type: ignore[misc]


def write_with_dask(dataset: xr.Dataset, place: Path, encoding: dict[str, Any]) -> Acts:
    def act(engine: str) -> None:
        target = place / engine
        if engine == "zarr":
            dataset.to_zarr(target, mode="w", encoding={"t": encoding})
        else:
            dataset.omnizarr.to_zarr(target, "w", encoding={"t": encoding})

    return {engine: lambda engine=engine: act(engine) for engine in ("zarr", "omnizarr")}  # type: ignore[misc]


def main() -> None:
    """Prints a table."""
    warnings.simplefilter("ignore")
    dask.config.set(scheduler="threads")
    codec = zarr.codecs.BloscCodec(cname="zstd", clevel=1, typesize=4)
    layouts: dict[str, dict[str, Any]] = {
        "chunks": {"chunks": CHUNKS, "compressors": (codec,)},
        "shards": {"chunks": CHUNKS, "shards": SHARDS, "compressors": (codec,)},
    }
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"Python {python}, xarray {xr.__version__}, zarr-python {zarr.__version__}, dask {dask.__version__}\n")
    print("| | zarr (ms) | omnizarr (ms) | zarr / omnizarr | zarr, CPU | omnizarr, CPU | zarr / omnizarr |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    dataset = weather()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, encoding in layouts.items():
            dataset.to_zarr(place / name, encoding={"t": encoding})
            measure(f"open, a time series and a map, {name}", read_series_and_map(place / name))
        many = xr.Dataset({f"v{number}": ("x", np.arange(10.0)) for number in range(VARIABLES)})
        many.assign_coords(x=np.arange(10)).to_zarr(place / "many")
        for consolidated in (True, False):
            how = "consolidated" if consolidated else "not consolidated"
            measure(f"open {VARIABLES} variables, {how}", open_only(place / "many", consolidated=consolidated))
        for name in layouts:
            measure(f"read everything with dask, {name}", read_with_dask(place / name))
        blocks = {"chunks": (CHUNKS[0], 180, 360), "shards": (SHARDS[0], 180, 360)}
        for name, encoding in layouts.items():
            lazy = dataset.assign(t=dataset.t.copy(data=da.from_array(dataset.t.values, chunks=blocks[name])))
            target = place / f"written-{name}"
            measure(
                f"write everything with dask, {name}",
                write_with_dask(lazy, target, encoding),
                before=lambda target=target: shutil.rmtree(target, ignore_errors=True),  # type: ignore[misc]
            )


if __name__ == "__main__":
    main()
