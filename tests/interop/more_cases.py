"""Small arrays of the data types that few implementations have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.interop.case_kinds import BITS, FILLS, every_bit, from_hex
from tests.interop.cases import (
    A_FEW_ELEMENTS,
    CHAINS,
    CHUNKS,
    DEFAULT_KEYS,
    KINDS,
    LITTLE,
    MORE_KINDS,
    SHAPE,
    SOME_CHUNKS,
    Case,
    fit,
    partly,
    resized,
)

__all__ = ["BY_MORE"]

MORE_CHAINS = ("little", "big", "transpose big zstd crc32c", "shards index first", "shards in shards")


def _by_more(chain: str) -> Iterator[Case]:
    for name, kind in MORE_KINDS.items():
        data = partly(resized(kind.values, SHAPE), kind.blank, SOME_CHUNKS)
        codecs = fit(CHAINS[chain], kind.dtype, kind.serializer)
        yield Case(f"{chain}, {name}", name, data, CHUNKS, codecs, kind.zero, kind.blank, DEFAULT_KEYS, SOME_CHUNKS)


def _every_bit() -> Iterator[Case]:
    for name in BITS:
        data, kind = every_bit(name), KINDS[name]
        codecs = fit([LITTLE], kind.dtype)
        yield Case(f"every {name}", name, data, data.shape, codecs, kind.zero, kind.blank, DEFAULT_KEYS, [...])


def _by_fill() -> Iterator[Case]:
    for name, fill, digits in FILLS:
        kind, bits = KINDS[name], from_hex(name, digits)
        data = partly(resized(kind.values, SHAPE), bits, A_FEW_ELEMENTS)
        codecs = fit([LITTLE], kind.dtype)
        title = f"{name} filled with {fill}"
        yield Case(title, name, data, CHUNKS, codecs, fill, bits, DEFAULT_KEYS, A_FEW_ELEMENTS)


BY_MORE: Mapping[str, Sequence[Case]] = {
    **{chain: tuple(_by_more(chain)) for chain in MORE_CHAINS},
    "every bit": tuple(_every_bit()),
    "filled": tuple(_by_fill()),
}
"""Codecs and fill values × data types that few implementations have."""
