"""Compares interfaces in one process: `python -m benchmarks.compat_in_process`. On a busy machine, too.

The interfaces take turns, so that other programs delay all of them; the table shows the best times, and the ratios of
the best processor times of all threads, which other programs hardly change. In the environment of omnizarr, `compat` is
compared with omnizarr's own interface. In an environment with zarr-python, `OmnizarrCodecPipeline` is compared with the
pipeline of zarrs, where it is installed, and with that of zarr-python.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.layouts import LAYOUTS, Layout, cube
from benchmarks.report import markdown_table

OPEN: dict[str, Callable[[Path], Any]] = {}
"""Functions that open the array in a folder for reading and writing, by interface."""


def _define() -> None:
    if find_spec("zarr") is None:
        import omnizarr
        from omnizarr.compat import zarr as compat

        OPEN["omnizarr"] = lambda place: omnizarr.open_array(place, mode="r+")
        OPEN["compat"] = lambda place: compat.open_array(place, mode="r+")
        return
    import zarr

    from omnizarr.compat import OmnizarrCodecPipeline

    zarr.registry.register_pipeline(OmnizarrCodecPipeline)

    def with_pipeline(name: str) -> Callable[[Path], Any]:
        def opened(place: Path) -> Any:
            with zarr.config.set({"codec_pipeline.path": name}):
                return zarr.open_array(place, mode="r+")

        return opened

    OPEN["pipeline"] = with_pipeline("omnizarr.compat.OmnizarrCodecPipeline")
    if find_spec("zarrs") is not None:
        import zarrs  # noqa: F401  registers its pipeline

        OPEN["zarrs"] = with_pipeline("zarrs.ZarrsCodecPipeline")
    OPEN["zarr"] = with_pipeline("zarr.core.codec_pipeline.BatchedCodecPipeline")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Elapsed seconds, and seconds of the processor."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - used


def make(place: Path, layout: Layout, shape: tuple[int, ...]) -> Path:
    """An array without elements."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "zarr.json").write_text(json.dumps(layout.document(shape)))
    return place


def measure(folder: Path, layout: Layout, data: Any, rounds: int) -> dict[str, dict[str, tuple[float, float]]]:
    """The best elapsed and processor seconds of reading and writing everything, by interface."""
    arrays = {name: open_array(make(folder / name, layout, data.shape)) for name, open_array in OPEN.items()}
    for name, array in arrays.items():
        array[...] = data
        assert np.array_equal(array[...], data), name
    times: dict[str, dict[str, list[tuple[float, float]]]] = {"read": {}, "write": {}}
    for _ in range(rounds):
        for name in OPEN:
            array = arrays[name]
            times["read"].setdefault(name, []).append(timed(lambda array=array: array[...]))  # type: ignore[misc]
            fresh = OPEN[name](make(folder / "fresh", layout, data.shape))
            work = lambda fresh=fresh: fresh.__setitem__(..., data)  # noqa: E731
            times["write"].setdefault(name, []).append(timed(work))
    return {
        what: {name: (min(t for t, _ in many), min(t for _, t in many)) for name, many in rows.items()}
        for what, rows in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat_in_process", description=__doc__)
    parser.add_argument("--only", default=",".join(LAYOUTS), help="layouts, separated by commas")
    parser.add_argument("--side", type=int, default=256, help="of the cube of uint16, in elements")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    _define()
    data = cube(options.side)
    first, *others = OPEN
    # compat against omnizarr, but zarrs and zarr against the pipeline
    pairs = [(name, first) for name in others]
    tables: dict[str, list[list[str]]] = {"read": [], "write": []}
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-") as name:
        for layout in options.only.split(","):
            for what, best in measure(Path(name), LAYOUTS[layout], data, options.rounds).items():
                row = [layout, *(f"{best[name][0] * 1e3:.0f}" for name in OPEN)]
                for above, below in pairs:
                    row += [f"{best[above][clock] / best[below][clock]:.2f}" for clock in (0, 1)]
                tables[what].append(row)
    titles = [f"{above} / {below}{clock}" for above, below in pairs for clock in ("", ", processor")]
    for what, rows in tables.items():
        print(f"### {what} (ms)\n\n" + markdown_table(["", *OPEN, *titles], rows) + "\n")


if __name__ == "__main__":
    main()
