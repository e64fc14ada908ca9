"""What training needs, beside the peers and beside a plain read: `make bench-training`, in less than five minutes.

Everything takes turns, and the best time of each counts, because other programs can only add time. The tables show the
targets: rows by index against the peers; a loader against a sequential read; its first batch; its memory; and the
second epoch of eight forked workers through a shared cache.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from benchmarks.environment import compile_limit, own_python, peer_python
from benchmarks.peer import Peer, PeerError

ROUNDS = 5
ROWS = 4096
SHAPE = (32_768, 1024)  # 128 MiB of float32
CHUNK = 64  # rows
REPEATS = 6  # of the rows, in the arrays that loaders read: 768 MiB
CODECS: dict[str, Any] = {
    "raw": None,
    "zstd": omnizarr.codecs.Zstd(level=3),
    "blosc": omnizarr.codecs.Blosc(),
    "gzip": omnizarr.codecs.Gzip(level=5),
}
LIBRARIES = ("omnizarr", "zarr", "zarrs", "zarrista", "tensorstore")
WORKERS = 8
CACHES = 5


def make_arrays(folder: Path) -> dict[str, omnizarr.Array]:
    """Arrays with the same elements, which compress about as measured data do."""
    random = np.random.default_rng(0)
    wave = np.sin(np.arange(SHAPE[1]) / 50) + np.arange(SHAPE[0])[:, np.newaxis] / 1000
    elements = np.round(wave + random.normal(0, 0.05, SHAPE), 2).astype("f4")
    for name, codec in CODECS.items():
        omnizarr.create_array(folder / name, data=elements, chunks=(CHUNK, SHAPE[1]), compressors=codec)
    time.sleep(0.3)  # a cache does not trust files that were written a moment ago
    return {name: omnizarr.open_array(folder / name, mode="r") for name in CODECS}


def make_long_arrays(folder: Path, arrays: dict[str, omnizarr.Array]) -> dict[str, omnizarr.Array]:
    """Arrays for loaders, several times as long as their buffer: an epoch is not a matter of its first batches."""
    elements = np.concatenate([arrays["raw"][...]] * REPEATS)
    for name, codec in CODECS.items():
        path = folder / "long" / name
        omnizarr.create_array(path, data=elements, chunks=(CHUNK, SHAPE[1]), compressors=codec)
    return {name: omnizarr.open_array(folder / "long" / name, mode="r") for name in CODECS}


def print_table(title: str, *columns: str) -> None:
    print(f"\n## {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def print_row(*cells: object) -> None:
    print(f"| {' | '.join(f'{cell:.2f}' if isinstance(cell, float) else str(cell) for cell in cells)} |", flush=True)


# -- rows by index


def compare_takes(folder: Path) -> None:
    """`take` of random rows, in ms, and how many times as long the peers take.

    `limit` is a C program that decodes every chunk and discards it: the rows lie in all chunks."""
    other = peer_python()
    peers = {
        name: Peer(name, own_python() if name == "omnizarr" else str(other), module="benchmarks.training_client")
        for name in LIBRARIES
        if name == "omnizarr" or other is not None
    }
    program, reason = compile_limit(folder)
    if program is None:
        print(f"limit is left out: {reason}", file=sys.stderr)
    print_table(f"{ROWS} random rows (targets: zarr ≥ 3 ×, best of the others ≥ 1.5 ×)", "codec", "ms", *peers, "limit")
    rows = np.random.default_rng(1).integers(0, SHAPE[0], ROWS).tolist()
    for codec in CODECS:
        best: dict[str, float] = {}
        checksums = set()
        for _ in range(ROUNDS):
            for name, peer in peers.items():
                try:
                    answer = peer.ask("take", path=str(folder / codec), rows=rows)
                except PeerError as error:
                    print(f"{name} cannot take rows of {codec}: {error}", file=sys.stderr)
                    continue
                best[name] = min(best.get(name, np.inf), answer["seconds"])
                checksums.add(answer["checksum"])
            if program is not None:
                best["limit"] = min(best.get("limit", np.inf), _limit_seconds(program, folder / codec, codec))
        assert len(checksums) == 1, "the libraries disagree"
        own = best["omnizarr"]
        print_row(codec, own * 1000, *(best[name] / own if name in best else "–" for name in (*peers, "limit")))
    for peer in peers.values():
        peer.close()


def _limit_seconds(program: Path, path: Path, codec: str) -> float:
    """The seconds of limit.c, whose lengths are in units of two bytes."""
    row = SHAPE[1] * 2
    arguments = [str(program), str(path), str(SHAPE[0] * row), str(CHUNK * row), "rows", codec, "1"]
    return float(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()[0])


# -- loaders


def compare_loaders(arrays: dict[str, omnizarr.Array]) -> None:
    """The rate of loaders as a part of that of a sequential read of the same array."""
    print_table(
        "Loaders (targets: rate ≥ 0.80 of a sequential read, first batch < 50 ms)",
        *("codec", "sequential MB/s", "in order", "shuffled", "first batch, ms", "first shuffled batch, ms"),
    )
    for codec, array in arrays.items():
        best = dict.fromkeys(("sequential", "order", "shuffled"), np.inf)
        first = {False: np.inf, True: np.inf}

        def sequential(array: omnizarr.Array = array) -> None:
            for start in range(0, array.shape[0], 8192):
                array[start : start + 8192]

        def load(shuffle: bool, array: omnizarr.Array = array, first: dict[bool, float] = first) -> None:
            start = time.perf_counter()
            batches = iter(omnizarr.loader(array, 256, shuffle=shuffle, seed=1))
            next(batches)
            first[shuffle] = min(first[shuffle], time.perf_counter() - start)
            for _ in batches:
                pass

        acts: dict[str, Callable[[], None]] = {
            "sequential": sequential,
            "order": lambda load=load: load(False),
            "shuffled": lambda load=load: load(True),
        }
        for _ in range(ROUNDS):
            for name, act in acts.items():
                start = time.perf_counter()
                act()
                best[name] = min(best[name], time.perf_counter() - start)
        rate = array.nbytes / 1e6 / best["sequential"]
        ratios = [best["sequential"] / best[name] for name in ("order", "shuffled")]
        print_row(codec, rate, *ratios, first[False] * 1000, first[True] * 1000)


def peak_bytes() -> int:
    """The peak memory of this process. `ru_maxrss` of a new process is at least that of its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts bytes


def _memory(path: str, limit: int, queue: Any) -> None:
    array = omnizarr.open_array(path, mode="r")
    for shuffle in (False, True):  # what the first reads need once
        for _ in omnizarr.loader(array.lazy[:4096], 64, shuffle=shuffle, buffer_bytes=2**21):
            pass
    before = peak_bytes()
    for epoch in range(2):
        for _ in omnizarr.loader(array, 256, shuffle=bool(epoch), buffer_bytes=limit):
            pass
    queue.put(peak_bytes() - before)


def measure_memory(folder: Path) -> None:
    """The growth of the peak memory of a process that loads, next to the limit."""
    print_table("Memory of a loader (target: at most `buffer_bytes`)", "codec", "buffer, MiB", "used, MiB")
    context = multiprocessing.get_context("spawn")
    for codec in CODECS:
        for limit in (40 * 2**20, 80 * 2**20):
            queue = context.Queue()
            process = context.Process(target=_memory, args=(str(folder / codec), limit, queue))
            process.start()
            print_row(codec, limit / 2**20, queue.get(timeout=120) / 2**20)
            process.join()


# -- the shared cache


def _work(loader: Any, epochs: int, barrier: Any, cpu: Any) -> None:
    for epoch in range(epochs):
        barrier.wait()
        start = time.process_time()
        loader.set_epoch(epoch)
        for _ in loader:
            pass
        with cpu.get_lock():
            cpu[epoch] += time.process_time() - start
        barrier.wait()


def measure_cache(folder: Path) -> None:
    """Epochs of eight forked workers that share a cache: of several runs, each with a new cache, the median one."""
    print_table(
        f"Shared cache, {WORKERS} forked workers: seconds of three epochs, and how many times as fast later ones are "
        "(target: second epoch ≥ 5 × the first); processor time of all workers",
        *("codec", "1", "2", "3", "2nd", "3rd", "CPU of 1", "CPU of 2", "CPU of 3"),
    )
    for codec in ("zstd", "gzip"):
        runs = [_cached_epochs(folder / codec) for _ in range(CACHES)]
        seconds, processor = sorted(runs, key=lambda run: run[0][0] / run[0][1])[CACHES // 2]
        print_row(codec, *seconds, *(seconds[0] / later for later in seconds[1:]), *processor)


def _cached_epochs(path: Path) -> tuple[list[float], list[float]]:
    """The seconds of three epochs with a new cache, and the processor time of all workers."""
    context = multiprocessing.get_context("fork")
    cache = omnizarr.SharedChunkCache("400 MiB")
    array = omnizarr.open_array(path, mode="r", cache=cache)
    cpu = context.Array("d", 3)
    barrier = context.Barrier(WORKERS + 1)
    loaders = [
        omnizarr.loader(array, 64, shuffle=True, rank=rank, world_size=WORKERS, buffer_bytes="40 MiB")
        for rank in range(WORKERS)
    ]
    processes = [context.Process(target=_work, args=(loader, 3, barrier, cpu)) for loader in loaders]
    for process in processes:
        process.start()
    seconds = []
    for _ in range(3):
        barrier.wait()
        start = time.perf_counter()
        barrier.wait()
        seconds.append(time.perf_counter() - start)
    for process in processes:
        process.join()
    return seconds, list(cpu)


def main() -> None:
    """Prints all tables."""
    argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arrays = make_arrays(folder)
        stored = {codec: array.nbytes / array.nbytes_stored() for codec, array in arrays.items()}
        print("compression:", ", ".join(f"{codec} {ratio:.1f}" for codec, ratio in stored.items()))
        compare_takes(folder)
        compare_loaders(make_long_arrays(folder, arrays))
        measure_memory(folder)
        measure_cache(folder)


if __name__ == "__main__":
    main()
