"""The nine layouts of the benchmarks, and their data.

The name of a layout is `codec_chunk` or `shard_codec_chunk_shard`, with sides of cubes in elements. zstd and gzip have
level 1; blosc is lz4 at level 5 with byte shuffle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

CODECS: dict[str, list[dict[str, Any]]] = {
    "raw": [],
    "zstd": [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}],
    "gzip": [{"name": "gzip", "configuration": {"level": 1}}],
    "blosc": [
        {
            "name": "blosc",
            "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0},
        }
    ],
}
_LITTLE_ENDIAN: dict[str, Any] = {"name": "bytes", "configuration": {"endian": "little"}}


@dataclass(frozen=True, slots=True)
class Layout:
    """Codec, chunk side and shard side of an array of uint16; a shard side of 0 means no shards."""

    codec: str
    chunk: int
    shard: int = 0

    @property
    def name(self) -> str:
        return f"shard_{self.codec}_{self.chunk}_{self.shard}" if self.shard else f"{self.codec}_{self.chunk}"

    def document(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """The `zarr.json` of an array of this shape, the same for every library."""
        codecs = [_LITTLE_ENDIAN, *CODECS[self.codec]]
        if self.shard:
            inside = {"chunk_shape": [self.chunk] * len(shape), "codecs": codecs}
            index = {"index_codecs": [_LITTLE_ENDIAN, {"name": "crc32c"}], "index_location": "end"}
            codecs = [{"name": "sharding_indexed", "configuration": {**inside, **index}}]
        chunk_shape = [self.shard or self.chunk] * len(shape)
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(shape),
            "data_type": "uint16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "codecs": codecs,
            "attributes": {},
        }


LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout("raw", 128),
        Layout("raw", 32),
        Layout("zstd", 128),
        Layout("zstd", 32),
        Layout("blosc", 128),
        Layout("blosc", 32),
        Layout("gzip", 128),
        Layout("zstd", 32, 128),
        Layout("blosc", 16, 256),
    )
}


def cube(side: int, *, seed: int = 1) -> npt.NDArray[np.uint16]:
    """Waves of several lengths in all directions with a little noise, which compress to about half, as images do."""
    random = np.random.default_rng(seed)
    steps = np.arange(side, dtype=np.float32)
    data = np.full((side, side, side), 2000, np.float32)
    for wave in (5, 17, 60, 190):
        z, y, x = (np.sin(steps / wave + phase) * wave for phase in random.uniform(0, 6, 3))
        data += (z[:, None] * y)[:, :, None] / wave + x
    values = data.astype(np.uint16)
    values += random.integers(0, 16, values.shape, dtype=np.uint16)
    return values


def checksum(array: npt.NDArray[Any]) -> int:
    """The sum of all 64-bit words, each times an odd number that grows with its position, as in limit.c."""
    words = np.ascontiguousarray(array).reshape(-1).view(np.uint64)
    total = 0
    for start in range(0, len(words), 2**20):
        part = words[start : start + 2**20]
        positions = np.arange(start, start + len(part), dtype=np.uint64)
        total += int((part * (2 * positions + np.uint64(1))).sum(dtype=np.uint64))
    return total % 2**64
