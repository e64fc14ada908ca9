"""The sizes of the measurements: full, quick, and tiny for tests of the benchmarks themselves."""

from __future__ import annotations

from dataclasses import dataclass

LAYOUT_NAMES = (
    "raw_128",
    "raw_32",
    "zstd_128",
    "zstd_32",
    "blosc_128",
    "blosc_32",
    "gzip_128",
    "shard_zstd_32_128",
    "shard_blosc_16_256",
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes and counts of all measurements."""

    side: int
    """Side of the cube of uint16 in the nine layouts."""
    rounds: int
    """How often each cell is measured."""
    budget: float
    """Seconds after which a cell is not measured again."""
    line: int
    """Elements of the 1-d arrays."""
    line_codecs: tuple[str, ...]
    """Their codecs."""
    indices: int
    """How many elements of a line are read by their indices."""
    arrays: int
    """How many small arrays are created, opened and read."""
    members: int
    """How many members of a group are listed."""
    possible: int
    """How many chunks are possible in the large and nearly empty array."""
    large: tuple[int, int, int]
    """How many blocks of 32 MiB the array of the memory measurements has along each side."""
    shards: tuple[int, ...]
    """Sides of the shards that are partly rewritten to measure memory."""
    parts: tuple[str, ...] = LAYOUT_NAMES
    """The layouts whose parts are read; parts of large compressed chunks are slow."""


FULL = Scale(
    side=512,
    rounds=5,
    budget=2.0,
    line=10**8,
    line_codecs=("raw", "zstd", "blosc"),
    indices=10**5,
    arrays=1000,
    members=10_000,
    possible=2_000_000,
    large=(2, 4, 4),
    shards=(256, 512),
)
QUICK = Scale(
    side=256,
    rounds=1,
    budget=0.25,
    line=10**7,
    line_codecs=("raw", "blosc"),
    indices=10**4,
    arrays=100,
    members=1000,
    possible=20_000,
    large=(1, 2, 2),
    shards=(256,),
    parts=("raw_128", "raw_32", "blosc_32", "shard_zstd_32_128"),
)
TINY = Scale(
    side=256,
    rounds=1,
    budget=0.0,
    line=2 * 10**6,
    line_codecs=("zstd",),
    indices=100,
    arrays=10,
    members=20,
    possible=10_000,
    large=(1, 1, 1),
    shards=(256,),
    parts=("raw_128",),
)
