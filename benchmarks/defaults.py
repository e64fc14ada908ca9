"""The study behind omnizarr's defaults: which compressor, and how many bytes per chunk.

`python -m benchmarks.defaults` prints both halves; `--codecs` or `--chunks` prints one. It uses only NumPy and
numcodecs: it calls codecs directly and stores chunks as plain files, so that the figures contain no cost of a Zarr
library. docs/defaults.md draws the conclusions.
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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numcodecs import GZip, Zstd, blosc

from benchmarks.environment import THREADS
from benchmarks.sample_data import KINDS, Array, microscopy

LINKS = {"2 GB/s": 2000.0, "300 MB/s": 300.0, "50 MB/s": 50.0}  # an SSD, a disk or local network, the internet
MiB = 2**20

Encode: TypeAlias = Callable[[Array], bytes]
Decode: TypeAlias = Callable[[bytes, Array], Any]
Box: TypeAlias = tuple[Sequence[int], Sequence[int]]


def _uncompressed() -> tuple[Encode, Decode]:
    def decode(data: bytes, out: Array) -> None:
        out.reshape(-1).view("u1")[:] = np.frombuffer(data, "u1")

    return lambda array: array.tobytes(), decode


def _numcodec(codec: Any) -> tuple[Encode, Decode]:
    return lambda array: bytes(codec.encode(array)), codec.decode


def _blosc(cname: str, level: int, shuffle: int, plane: int = 0) -> tuple[Encode, Decode]:
    """`plane` is how many elements a Blosc block holds; 0 leaves the block size to Blosc."""

    def encode(array: Array) -> bytes:
        block = min(plane * array.itemsize, MiB)
        return bytes(blosc.compress(array, cname.encode(), level, shuffle, block, array.itemsize))

    return encode, blosc.decompress


_SHUFFLES = {"shuffle": blosc.SHUFFLE, "bitshuffle": blosc.BITSHUFFLE}
CANDIDATES: dict[str, tuple[Encode, Decode]] = {
    "none": _uncompressed(),
    "zstd 0": _numcodec(Zstd(0)),  # 0 is the default of the library, currently 3
    "zstd 1": _numcodec(Zstd(1)),
    "zstd 3": _numcodec(Zstd(3)),
    "gzip 1": _numcodec(GZip(1)),
    "blosc lz4 5 shuffle": _blosc("lz4", 5, blosc.SHUFFLE),
    "blosc lz4 5 bitshuffle": _blosc("lz4", 5, blosc.BITSHUFFLE),
    **{
        f"blosc zstd {level} {word}": _blosc("zstd", level, mode)
        for level in (1, 3, 5)
        for word, mode in _SHUFFLES.items()
    },
    # zstd has one entropy table per 128 KiB. In Blosc blocks of 128 Ki elements, each byte plane of the shuffle gets
    # its own table. Blosc's default blocks are smaller, and planes share a table.
    **{
        f"blosc zstd {level} {word}, large blocks": _blosc("zstd", level, mode, 2**17)
        for level in (1, 3)
        for word, mode in _SHUFFLES.items()
    },
}


def best(repeats: int, run: Callable[[], Any]) -> float:
    """Seconds of the fastest run; other programs can only add to a time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def geometric(values: Iterable[float]) -> float:
    """The geometric mean."""
    return math.exp(float(np.mean([math.log(value) for value in values])))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


# -- compressors


@dataclass(frozen=True, slots=True)
class Figures:
    """Compression ratio and speeds in MB/s of a codec on one kind of data; 1 MB is 10⁶ decoded bytes."""

    ratio: float
    encode: float
    decode: float

    def through(self, link: float, speed: float) -> float:
        """MB/s if a link transfers the encoded bytes before or after the codec works, without overlap."""
        return 1 / (1 / speed + 1 / (link * self.ratio))


def cut(array: Array, target: int) -> list[Array]:
    """Splits an array into contiguous blocks of at most `target` bytes, by halving the longest side."""
    shape = list(array.shape)
    while math.prod(shape) * array.itemsize > target:
        shape[shape.index(max(shape))] //= 2
    corners = itertools.product(*(range(0, n - c + 1, c) for n, c in zip(array.shape, shape, strict=True)))
    boxes = (tuple(slice(a, a + c) for a, c in zip(corner, shape, strict=True)) for corner in corners)
    return [np.ascontiguousarray(array[box]) for box in boxes]


def undisturbed(repeats: int, pool: ThreadPoolExecutor, run: Callable[..., Any], *arguments: Sequence[Any]) -> float:
    """Seconds that the pool needs for one call per set of arguments. The fastest repeat of each call counts, because
    other programs rarely disturb the same call in every round."""

    def timed(*own: Any) -> float:
        start = time.perf_counter()
        run(*own)
        return time.perf_counter() - start

    rounds = [list(pool.map(timed, *arguments)) for _ in range(repeats)]
    return math.fsum(min(times) for times in zip(*rounds, strict=True)) / THREADS


def measure(blocks: Sequence[Array], codec: tuple[Encode, Decode], pool: ThreadPoolExecutor) -> Figures:
    """Measures one codec on one kind of data; also checks that decoding returns the original."""
    encode, decode = codec
    megabytes = sum(block.nbytes for block in blocks) / 1e6
    encoded = list(pool.map(encode, blocks))
    outputs = [np.empty_like(block) for block in blocks]
    list(pool.map(decode, encoded, outputs))
    if not all(a.tobytes() == b.tobytes() for a, b in zip(blocks, outputs, strict=True)):
        raise ValueError("a codec does not decode to the original bytes")
    return Figures(
        megabytes * 1e6 / sum(map(len, encoded)),
        megabytes / undisturbed(4, pool, encode, blocks),
        megabytes / undisturbed(6, pool, decode, encoded, outputs),
    )


def codec_study(target: int, kinds: Sequence[str]) -> None:
    """Prints every candidate on every kind of data, then the means that decide the choice."""
    results: dict[str, dict[str, Figures]] = {}
    one_byte = []
    with ThreadPoolExecutor(THREADS) as pool:
        for kind in kinds:
            blocks = cut(KINDS[kind](), target)
            if blocks[0].itemsize == 1:
                one_byte.append(kind)
            results[kind] = {name: measure(blocks, codec, pool) for name, codec in CANDIDATES.items()}
    print(f"## Chunks of {target // 1024} KiB: ratio / encode MB/s / decode MB/s, {THREADS} threads\n")
    cells = {name: [results[kind][name] for kind in kinds] for name in CANDIDATES}
    table(
        ["codec", *kinds],
        ([name, *(f"{f.ratio:.2f} / {f.encode:.0f} / {f.decode:.0f}" for f in row)] for name, row in cells.items()),
    )
    for title, chosen in (
        ("elements of several bytes", [kind for kind in kinds if kind not in one_byte]),
        ("elements of one byte", one_byte),
    ):
        if chosen:
            summary(title, [results[kind] for kind in chosen])


def summary(title: str, results: Sequence[dict[str, Figures]]) -> None:
    """Prints means over kinds of data; for each link, MB/s of decoded data read and written through it."""
    print(f"### Means over {title}; then read / written through a link, MB/s\n")
    rows = []
    for name in CANDIDATES:
        found = [result[name] for result in results]
        row = [
            name,
            f"{geometric(f.ratio for f in found):.2f}",
            f"{geometric(f.encode for f in found):.0f}",
            f"{geometric(f.decode for f in found):.0f}",
        ]
        for link in LINKS.values():
            reading = geometric(f.through(link, f.decode) for f in found)
            writing = geometric(f.through(link, f.encode) for f in found)
            row.append(f"{reading:.0f} / {writing:.0f}")
        rows.append(row)
    table(["codec", "ratio", "encode", "decode", *LINKS], rows)


# -- sizes of chunks

CHUNKS = (
    (32, 32, 32),
    (32, 64, 64),
    (64, 64, 64),
    (64, 64, 128),
    (64, 128, 128),
    (128, 128, 128),
    (128, 128, 256),
    (128, 256, 256),
    (256, 256, 256),
)


class Files:
    """An array in plain files, one per chunk, which two threads write and read."""

    def __init__(self, folder: str, chunk: tuple[int, ...], data: Array, codec: tuple[Encode, Decode]) -> None:
        self.folder = folder
        self.chunk = chunk
        self.data = data
        self.encode, self.decode = codec
        self.places = list(itertools.product(*(range(n // c) for n, c in zip(data.shape, chunk, strict=True))))
        self.pool = ThreadPoolExecutor(THREADS)
        os.makedirs(folder)

    def _write_one(self, place: tuple[int, ...]) -> int:
        box = tuple(slice(i * c, i * c + c) for i, c in zip(place, self.chunk, strict=True))
        value = self.encode(np.ascontiguousarray(self.data[box]))
        path = f"{self.folder}/{'.'.join(map(str, place))}"
        Path(f"{path}.new").write_bytes(value)
        os.replace(f"{path}.new", path)
        return len(value)

    def write(self) -> int:
        """Writes everything; returns the number of bytes."""
        return sum(self.pool.map(self._write_one, self.places))

    def read(self, box: Box) -> Array:
        """The part of the array from a lower to an upper corner."""
        lower, upper = box
        out = np.empty([b - a for a, b in zip(lower, upper, strict=True)], self.data.dtype)
        spans = [range(a // c, -(-b // c)) for a, b, c in zip(lower, upper, self.chunk, strict=True)]
        todo = list(itertools.product(*spans))

        def work(_: int) -> None:
            staging = np.empty(self.chunk, self.data.dtype)
            while todo:
                try:
                    place = todo.pop()
                except IndexError:  # the other thread took the last chunk
                    return
                self.decode(Path(f"{self.folder}/{'.'.join(map(str, place))}").read_bytes(), staging)
                target, source = [], []
                for i, c, a, b in zip(place, self.chunk, lower, upper, strict=True):
                    first, last = max(i * c, a), min(i * c + c, b)
                    target.append(slice(first - a, last - a))
                    source.append(slice(first - i * c, last - i * c))
                out[tuple(target)] = staging[tuple(source)]

        if len(todo) == 1:
            work(0)
        else:
            list(self.pool.map(work, range(THREADS)))
        return out

    def read_all(self, boxes: Sequence[Box]) -> None:
        """Reads several parts, one after the other."""
        for box in boxes:
            self.read(box)


def chunk_study(codec: str, side: int, rounds: int = 6) -> None:
    """Prints times of whole reads and writes, windows, planes and single elements, for chunks from 64 KiB to 32 MiB.
    All sizes take turns, so that a disturbance affects all of them."""
    data = microscopy((side, side, side), seed=51)
    random = np.random.default_rng(71)
    middle = side // 3
    parts: dict[str, list[Box]] = {
        "read all": [((0, 0, 0), data.shape)],
        "32³ window": [(w, [a + 32 for a in w]) for w in random.integers(0, side - 32, (40, 3)).tolist()],
        "plane of slowest axis": [((middle, 0, 0), (middle + 1, side, side))],
        "plane of fastest axis": [((0, 0, middle), (side, side, middle + 1))],
        "element": [(p, [a + 1 for a in p]) for p in random.integers(0, side, (40, 3)).tolist()],
    }
    times: dict[tuple[str, Files], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        study = {Files(f"{folder}/{math.prod(chunk)}", chunk, data, CANDIDATES[codec]): 0 for chunk in CHUNKS}
        for files in study:
            study[files] = files.write()
            if not np.array_equal(files.read(parts["read all"][0]), data):
                raise ValueError("the files do not decode to the array")
        for _ in range(rounds):
            for files in study:
                times.setdefault(("write all", files), []).append(best(1, files.write))
                for name, boxes in parts.items():
                    seconds = best(2, partial(files.read_all, boxes)) / len(boxes)
                    times.setdefault((name, files), []).append(seconds)
    rows = []
    for files, stored in study.items():
        size = f"{math.prod(files.chunk) * data.itemsize // 1024} KiB"
        head = ["×".join(map(str, files.chunk)), size, str(len(files.places)), f"{data.nbytes / stored:.2f}"]
        found = [1e3 * min(times[name, files]) for name in ("write all", *parts)]
        rows.append([*head, *(f"{one:.0f}" if one >= 10 else f"{one:.2g}" for one in found)])
    print(f"## {side}³ uint16 in plain files, {codec}: ms, {THREADS} threads, warm cache\n")
    table(["chunk", "bytes", "files", "ratio", "write all", *parts], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codecs", action="store_true", help="only the study of compressors")
    parser.add_argument("--chunks", action="store_true", help="only the study of chunk sizes")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of data, separated by commas")
    parser.add_argument("--candidates", default=";".join(CANDIDATES), help="codecs, separated by semicolons")
    parser.add_argument("--sizes", default="1024", help="KiB per chunk in the study of compressors")
    parser.add_argument("--codec", default="blosc zstd 1 shuffle, large blocks", help="in the study of chunk sizes")
    parser.add_argument("--side", type=int, default=512, help="side of the cube in the study of chunk sizes")
    arguments = parser.parse_args()
    for name in set(CANDIDATES) - set(arguments.candidates.split(";")):
        del CANDIDATES[name]
    blosc.use_threads = False  # the study runs chunks in parallel
    if not arguments.chunks:
        for size in arguments.sizes.split(","):
            codec_study(int(size) * 1024, arguments.kinds.split(","))
    if not arguments.codecs:
        chunk_study(arguments.codec, arguments.side)


if __name__ == "__main__":
    main()
