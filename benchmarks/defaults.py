"""The study behind omnizarr's defaults: which compressor, and how many bytes per chunk.

`python benchmarks/defaults.py` prints both halves; `--codecs` or `--chunks` one of them. It needs numpy and numcodecs
only: codecs are called directly and chunks are plain files, so that no Zarr library's own cost stands in the figures.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numcodecs import GZip, Zstd, blosc
from samples import KINDS, Array, microscopy

THREADS = 2
LINKS = {"SSD 2 GB/s": 2000.0, "disk or fast network 300 MB/s": 300.0, "internet 50 MB/s": 50.0}

Encode = Callable[[Array], bytes]
Decode = Callable[[bytes, Array], None]


def _raw() -> tuple[Encode, Decode]:
    def decode(data: bytes, out: Array) -> None:
        out.reshape(-1).view("u1")[:] = np.frombuffer(data, "u1")

    return lambda array: array.tobytes(), decode


def _numcodec(codec: Any) -> tuple[Encode, Decode]:
    return lambda array: bytes(codec.encode(array)), lambda data, out: codec.decode(data, out)


def _blosc(cname: str, level: int, shuffle: int, plane: int = 0) -> tuple[Encode, Decode]:
    """`plane` is how many elements a block of blosc's holds; 0 leaves the block's size to blosc."""

    def encode(array: Array) -> bytes:
        block = min(plane * array.itemsize, 2**20)
        return bytes(blosc.compress(array, cname.encode(), level, shuffle, block, array.itemsize))

    return encode, lambda data, out: blosc.decompress(data, out)


CANDIDATES: dict[str, tuple[Encode, Decode]] = {
    "none": _raw(),
    "zstd 0": _numcodec(Zstd(0)),  # 0 asks for the library's default, which is 3 today
    "zstd 1": _numcodec(Zstd(1)),
    "zstd 3": _numcodec(Zstd(3)),
    "gzip 1": _numcodec(GZip(1)),
    "blosc lz4 5 shuffle": _blosc("lz4", 5, blosc.SHUFFLE),
    "blosc lz4 5 bitshuffle": _blosc("lz4", 5, blosc.BITSHUFFLE),
    **{
        f"blosc zstd {level} {word}": _blosc("zstd", level, mode)
        for level in (1, 3, 5)
        for word, mode in (("shuffle", blosc.SHUFFLE), ("bitshuffle", blosc.BITSHUFFLE))
    },
    # zstd gives each 128 KiB an entropy table of its own: with blocks of 128 Ki elements every byte plane that the
    # shuffle makes gets one, where blosc's own small blocks mix the planes in one table
    **{f"blosc zstd {level} shuffle, large blocks": _blosc("zstd", level, blosc.SHUFFLE, 2**17) for level in (1, 3)},
}


def cut(array: Array, target: int) -> list[Array]:
    """Contiguous blocks of about `target` bytes: the longest side is halved until they fit."""
    shape = list(array.shape)
    while math.prod(shape) * array.itemsize > target:
        longest = shape.index(max(shape))
        shape[longest] //= 2
    corners = itertools.product(*(range(0, n, c) for n, c in zip(array.shape, shape, strict=True)))
    slices = ([slice(a, a + c) for a, c in zip(corner, shape, strict=True)] for corner in corners)
    return [np.ascontiguousarray(array[tuple(block)]) for block in slices]


def best(repeats: int, run: Callable[[], Any]) -> float:
    """Seconds of the fastest of a few runs: the others were disturbed."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(blocks: Sequence[Array], codec: tuple[Encode, Decode], pool: ThreadPoolExecutor) -> dict[str, float]:
    """Ratio, and MB (10⁶) of decoded data per second both ways."""
    encode, decode = codec
    megabytes = sum(block.nbytes for block in blocks) / 1e6
    encoded = list(pool.map(encode, blocks))
    outputs = [np.empty_like(block) for block in blocks]
    list(pool.map(decode, encoded, outputs))
    if not all(a.tobytes() == b.tobytes() for a, b in zip(blocks, outputs, strict=True)):
        raise AssertionError("a codec gave back other bytes than it was given")
    return {
        "ratio": megabytes * 1e6 / sum(map(len, encoded)),
        "encode": megabytes / best(2, lambda: list(pool.map(encode, blocks))),
        "decode": megabytes / best(3, lambda: list(pool.map(decode, encoded, outputs))),
    }


def geometric(values: Iterable[float]) -> float:
    return math.exp(float(np.mean([math.log(value) for value in values])))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def codec_study(target: int, kinds: Sequence[str]) -> None:
    """Every candidate on every kind of data, then the means that the choice is made by."""
    results: dict[str, dict[str, dict[str, float]]] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for kind in kinds:
            blocks = cut(KINDS[kind](), target)
            results[kind] = {name: measure(blocks, codec, pool) for name, codec in CANDIDATES.items()}
    print(f"## Codecs, chunks of {target // 1024} KiB: ratio / encode MB/s / decode MB/s, {THREADS} threads\n")
    cell = "{ratio:.2f} / {encode:.0f} / {decode:.0f}".format
    table(["codec", *kinds], ([name, *(cell(**results[kind][name]) for kind in kinds)] for name in CANDIDATES))
    summary(results)


def summary(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Means over the kinds, and what they come to when a link carries the encoded bytes while a core decodes."""
    print("## Means over all kinds (geometric); the links give MB/s of decoded data, read / written\n")
    rows = []
    for name in CANDIDATES:
        cells = [result[name] for result in results.values()]
        row = [name, *(f"{geometric(cell[what] for cell in cells):.{digits}f}" for what, digits in
                       (("ratio", 2), ("encode", 0), ("decode", 0)))]
        for link in LINKS.values():
            # bytes are fetched and decoded one after the other: the pessimistic reading, no overlap
            speeds = [geometric(1 / (1 / cell[what] + 1 / (link * cell["ratio"])) for cell in cells)
                      for what in ("decode", "encode")]
            row.append(f"{speeds[0]:.0f} / {speeds[1]:.0f}")
        rows.append(row)
    table(["codec", "ratio", "encode", "decode", *LINKS], rows)


SIDE = 512
CHUNKS = [(32, 32, 32), (32, 64, 64), (64, 64, 64), (64, 64, 128), (64, 128, 128), (128, 128, 128),
          (128, 128, 256), (128, 256, 256), (256, 256, 256)]


def read_blocks(folder: str, chunk: Sequence[int], lower: Sequence[int], upper: Sequence[int],
                decode: Decode, pool: ThreadPoolExecutor) -> Array:
    """The box from `lower` to `upper`, read from one file per chunk by two threads that share a list."""
    out = np.empty([b - a for a, b in zip(lower, upper, strict=True)], "u2")
    spans = [range(a // c, -(-b // c)) for a, b, c in zip(lower, upper, chunk, strict=True)]
    todo = list(itertools.product(*spans))

    def work(_: int) -> None:
        staging = np.empty(chunk, "u2")
        while todo:
            try:
                place = todo.pop()
            except IndexError:
                return
            with open(f"{folder}/{place}", "rb", buffering=0) as file:
                decode(file.read(), staging)
            target, source = [], []
            for i, c, a, b in zip(place, chunk, lower, upper, strict=True):
                first, last = max(i * c, a), min(i * c + c, b)
                target.append(slice(first - a, last - a))
                source.append(slice(first - i * c, last - i * c))
            out[tuple(target)] = staging[tuple(source)]

    list(pool.map(work, range(min(THREADS, len(todo)))))
    return out


def chunk_study(codec_name: str, side: int) -> None:
    """Whole reads and writes, windows, planes and single elements, for chunks from 64 KiB to 32 MiB."""
    encode, decode = CANDIDATES[codec_name]
    data = microscopy((side, side, side), seed=51)
    random = np.random.default_rng(71)
    windows = random.integers(0, side - 32, (40, 3)).tolist()
    points = random.integers(0, side, (40, 3)).tolist()
    rows = []
    for chunk in CHUNKS:
        if max(chunk) > side:
            continue
        with ThreadPoolExecutor(THREADS) as pool, tempfile.TemporaryDirectory() as folder:
            places = list(itertools.product(*(range(side // c) for c in chunk)))

            def write(place: tuple[int, ...], chunk: tuple[int, ...] = chunk, folder: str = folder) -> int:
                box = tuple(slice(i * c, i * c + c) for i, c in zip(place, chunk, strict=True))
                value = encode(np.ascontiguousarray(data[box]))
                Path(f"{folder}/{place}.new").write_bytes(value)
                os.replace(f"{folder}/{place}.new", f"{folder}/{place}")
                return len(value)

            def read(lower: Sequence[int], upper: Sequence[int], chunk: tuple[int, ...] = chunk,
                     folder: str = folder, pool: ThreadPoolExecutor = pool) -> Array:
                return read_blocks(folder, chunk, lower, upper, decode, pool)

            stored = sum(pool.map(write, places))
            writing = best(2, lambda pool=pool, write=write, places=places: list(pool.map(write, places)))
            whole = (0, 0, 0), (side, side, side)
            if not np.array_equal(read(*whole), data):
                raise AssertionError("the chunks do not give back the array")
            times = [
                writing,
                best(3, lambda read=read: read(*whole)),
                best(3, lambda read=read: [read(w, [a + 32 for a in w]) for w in windows]) / len(windows),
                best(3, lambda read=read: read((side // 3, 0, 0), (side // 3 + 1, side, side))),
                best(3, lambda read=read: read((0, 0, side // 3), (side, side, side // 3 + 1))),
                best(3, lambda read=read: [read(p, [a + 1 for a in p]) for p in points]) / len(points),
            ]
            rows.append(["×".join(map(str, chunk)), f"{math.prod(chunk) * 2 / 2**20:.3g} MiB", str(len(places)),
                         f"{data.nbytes / stored:.2f}", *(f"{1e3 * t:.3g}" for t in times)])
    print(f"## Chunk sizes: {side}³ uint16 in plain files, {codec_name}, ms, {THREADS} threads, warm cache\n")
    table(["chunk", "bytes", "files", "ratio", "write all", "read all", "a 32³ window", "a plane of the slowest axis",
           "a plane of the fastest axis", "an element"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codecs", action="store_true", help="only the compressors")
    parser.add_argument("--chunks", action="store_true", help="only the chunk sizes")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of data, divided by commas")
    parser.add_argument("--sizes", default="1024", help="KiB per chunk for the compressors, divided by commas")
    parser.add_argument("--codec", default="blosc zstd 1 shuffle, large blocks", help="the compressor for the chunk sizes")
    parser.add_argument("--side", type=int, default=SIDE, help="the cube's side for the chunk sizes")
    arguments = parser.parse_args()
    blosc.use_threads = False  # chunks are the unit of parallel work
    if not arguments.chunks:
        for size in arguments.sizes.split(","):
            codec_study(int(size) * 1024, arguments.kinds.split(","))
    if not arguments.codecs:
        chunk_study(arguments.codec, arguments.side)


if __name__ == "__main__":
    main()
