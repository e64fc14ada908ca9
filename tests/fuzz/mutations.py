"""Mutations of valid bytes, chosen without looking at the program."""

from __future__ import annotations

from random import Random

__all__ = ["mutated"]

_INTERESTING = [0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
_WORDS = [b"null", b"[]", b"{}", b'""', b"-1", b"1e999", b"NaN", b"true", b"9" * 30, b'"\\ud800"', b"[" * 50, b"0.5"]


def mutated(seeds: list[bytes], random: Random) -> bytes:
    """One of the seeds, changed in a few places."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        at = random.randrange(len(data) + 1)
        kind = random.randrange(8)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = random.randrange(256)
        elif kind == 2:
            del data[at : at + random.choice((1, 2, 8, 64))]
        elif kind == 3:
            data[at:at] = random.randbytes(random.choice((1, 2, 8, 64)))
        elif kind == 4:
            size = random.choice((1, 2, 4, 8))
            number = random.choice(_INTERESTING) % 256**size
            data[at : at + size] = number.to_bytes(size, random.choice(("little", "big")))
        elif kind == 5:
            data[at:at] = random.choice(_WORDS)
        elif kind == 6:
            other = random.choice(seeds)
            start = random.randrange(len(other) + 1)
            data[at : at + 16] = other[start : start + 16]
        else:
            start, end = sorted((at, random.randrange(len(data) + 1)))
            words = data[start:end].split(b",")
            random.shuffle(words)
            data[start:end] = b",".join(words)
    return bytes(data)
