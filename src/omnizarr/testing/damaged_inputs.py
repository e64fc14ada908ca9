"""Invalid input for tests: wrong values for documents, and damaged bytes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from omnizarr._json import Json

__all__ = ["JUNK", "bit_flips", "damaged_copies", "invalid_configurations", "wrong_lengths"]

JUNK: tuple[Json, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    -(2**63) - 1,
    2**64,
    10**400,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "0x",
    "0xzz",
    "NaN",
    "é\0\ud800",
    "9" * 5000,
    [],
    [0],
    [None, [], {}],
    [1, 2, 3, 4],
    ["NaN", "Infinity"],
    [[[[[[]]]]]],
    {},
    {"name": "x"},
    {"configuration": {}, "name": 3},
)
"""JSON values of all kinds, to put into a document where another kind is expected."""


def invalid_configurations(configuration: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Variants of a valid configuration with a missing member, or with a member of another kind."""
    yield {}
    for member in configuration:
        yield {name: value for name, value in configuration.items() if name != member}
        for value in JUNK:
            yield configuration | {member: value}


def wrong_lengths(data: bytes) -> Iterator[bytes]:
    """Copies of `data` that are truncated or extended."""
    for length in sorted({0, 1, 4, len(data) // 2, len(data) - 1}):
        if 0 <= length < len(data):
            yield data[:length]
    for more in (b"\0", b"\xff" * 7, data):
        yield data + more


def bit_flips(data: bytes, seed: int = 0, times: int = 48) -> Iterator[bytes]:
    """Copies of `data` with one flipped bit each: first in the first 24 bytes, which contain headers, then anywhere."""
    random = Random(seed)
    positions = [*range(min(len(data), 24)), *(random.randrange(len(data)) for _ in range(times if data else 0))]
    for position in positions:
        changed = bytearray(data)
        changed[position] ^= 1 << random.randrange(8)
        yield bytes(changed)


def damaged_copies(data: bytes, seed: int = 0) -> Iterator[bytes]:
    """Copies of `data` with a wrong length, flipped bits or random content."""
    yield from wrong_lengths(data)
    yield from bit_flips(data, seed)
    random = Random(seed)
    for filler in (b"\0", b"\xff"):
        yield filler * len(data)
    for _ in range(8):
        yield random.randbytes(len(data))
        yield data[: len(data) // 2] + random.randbytes(len(data) - len(data) // 2)
