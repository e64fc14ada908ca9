"""Random numbers that depend on nothing but integers, and never change with the release of NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["permutation", "random_state"]

_WORD = 2**32


def random_state(*key: int) -> np.random.RandomState:
    """The generator for a key of integers of at least 0.

    NumPy guarantees the numbers of `RandomState` for ever, but not those of `Generator`: a resumed epoch must continue
    in the same order after an update of NumPy."""
    words: list[int] = []
    for number in key:
        parts = [number % _WORD]
        while number := number // _WORD:
            parts.append(number % _WORD)
        words += [len(parts), *parts]  # with its length, so that two keys never give the same words
    return np.random.RandomState(np.array(words, np.uint32))


def permutation(count: int, *key: int) -> npt.NDArray[np.int64]:
    """The numbers below `count` in a random order."""
    return random_state(*key).permutation(count).astype(np.int64, copy=False)
