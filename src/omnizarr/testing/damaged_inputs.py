"""What nobody should have written, and somebody did: values that are wrong in a document, and damaged bytes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from omnizarr._json import Json

__all__ = ["JUNK", "damaged", "flipped", "junk_for", "longer_or_shorter"]

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
"""One value of each kind that a document may hold where it should hold another."""


def junk_for(configuration: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Configurations that are nearly right: a member is missing, or is something else."""
    yield {}
    for member in configuration:
        yield {name: value for name, value in configuration.items() if name != member}
        for value in JUNK:
            yield configuration | {member: value}


def longer_or_shorter(data: bytes) -> Iterator[bytes]:
    """Bytes that were cut off, or that something was added to."""
    for length in sorted({0, 1, 4, len(data) // 2, len(data) - 1}):
        if 0 <= length < len(data):
            yield data[:length]
    for more in (b"\0", b"\xff" * 7, data):
        yield data + more


def flipped(data: bytes, seed: int = 0, times: int = 48) -> Iterator[bytes]:
    """The same bytes, each time with another bit turned over; those at the start, where headers are, first."""
    random = Random(seed)
    places = [*range(min(len(data), 24)), *(random.randrange(len(data)) for _ in range(times if data else 0))]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << random.randrange(8)
        yield bytes(changed)


def damaged(data: bytes, seed: int = 0) -> Iterator[bytes]:
    """All of that, and bytes that were never any good."""
    yield from longer_or_shorter(data)
    yield from flipped(data, seed)
    random = Random(seed)
    for filler in (b"\0", b"\xff"):
        yield filler * len(data)
    for _ in range(8):
        yield random.randbytes(len(data))
        yield data[: len(data) // 2] + random.randbytes(len(data) - len(data) // 2)
