"""The kinds of data that the studies compress: synthetic, from fixed seeds, each similar to data in real use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


def field(shape: tuple[int, ...], *, seed: int, slope: float = 3.0) -> Array:
    """A smooth random field of mean 0 and deviation 1: noise whose spectrum follows a power law, as that of clouds,
    terrain and temperature does."""
    noise = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    waves = np.fft.rfftn(noise)
    frequencies = [np.fft.fftfreq(length) for length in shape[:-1]] + [np.fft.rfftfreq(shape[-1])]
    squared = sum(axis**2 for axis in np.meshgrid(*frequencies, indexing="ij", sparse=True))
    waves *= np.maximum(squared, min(shape) ** -2.0) ** (-slope / 2)
    smooth = np.fft.irfftn(waves, shape)
    return np.asarray((smooth - smooth.mean()) / smooth.std())


def microscopy(shape: tuple[int, ...], *, seed: int) -> npt.NDArray[np.uint16]:
    """Camera counts of bright and dark regions: an offset, and noise that grows with the light."""
    light = 80 * np.exp(1.2 * field(shape, seed=seed))
    noise = np.random.default_rng(seed + 1).standard_normal(shape, dtype=np.float32)
    counts: npt.NDArray[np.uint16] = np.clip(100 + light + noise * np.sqrt(light), 0, 65535).astype(np.uint16)
    return counts


def temperature(shape: tuple[int, ...], dtype: str) -> Array:
    """Temperatures of a model in kelvin: smooth, but with every bit of the mantissa in use."""
    weather = 285 + 12 * field(shape, seed=11)
    return (weather + 0.02 * np.random.default_rng(12).standard_normal(shape)).astype(dtype)


def image(shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Grey values with noise."""
    grain = np.random.default_rng(22).standard_normal(shape)
    return np.clip(128 + 45 * field(shape, seed=21, slope=2.2) + 1.5 * grain, 0, 255).astype(np.uint8)


def colours(shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """A photograph: three correlated channels, interleaved."""
    light = 45 * field(shape, seed=23, slope=2.2)
    tints = [12 * field(shape, seed=seed) for seed in (24, 25, 26)]
    grain = 1.5 * np.random.default_rng(27).standard_normal((*shape, 3))
    mixed: npt.NDArray[np.uint8] = np.clip(128 + light[..., None] + np.stack(tints, -1) + grain, 0, 255).astype("u1")
    return mixed


def prose(length: int) -> npt.NDArray[np.uint8]:
    """The bytes of a text with a vocabulary of 5,000 words, whose frequencies follow Zipf's law."""
    random = np.random.default_rng(28)
    letters = np.frombuffer(b"etaoinshrdlucmwfgypbvk", "u1")
    lengths = random.integers(2, 11, 5000)
    words = [letters[random.geometric(0.13, count) % len(letters)].tobytes() + b" " for count in lengths]
    picks = np.minimum(random.zipf(1.3, length // 5), len(words)) - 1
    return np.frombuffer(b"".join(words[pick] for pick in picks.tolist())[:length], np.uint8)


def regions(shape: tuple[int, ...], dtype: str, count: int) -> Array:
    """Regions of equal labels, as in a land-cover map or a segmentation."""
    rank = np.round(field(shape, seed=31) * count / 6 + count / 2)
    labels = np.random.default_rng(32).permutation(count)
    return labels[np.clip(rank, 0, count - 1).astype(np.intp)].astype(dtype)


def sorted_ids(shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Increasing identifiers with gaps, similar to record numbers or time stamps."""
    steps = np.random.default_rng(41).geometric(0.05, int(np.prod(shape)))
    return (1_700_000_000_000 + np.cumsum(steps)).reshape(shape)


KINDS: dict[str, Callable[[], Array]] = {
    "temperature float32": lambda: temperature((128, 256, 256), "f4"),
    "temperature float64": lambda: temperature((64, 256, 256), "f8"),
    "rounded float32": lambda: np.round(temperature((128, 256, 256), "f4"), 2),
    "noisy float32": lambda: np.random.default_rng(1).standard_normal((128, 256, 256), dtype=np.float32),
    "packed int16": lambda: np.round((temperature((256, 256, 256), "f4") - 285) / 0.01).astype(np.int16),
    "microscopy uint16": lambda: microscopy((256, 256, 256), seed=51),
    "image uint8": lambda: image((256, 256, 512)),
    "colours uint8": lambda: colours((2048, 4096)),
    "weights int8": lambda: np.random.default_rng(3).normal(0, 25, (4096, 8192)).clip(-127, 127).astype(np.int8),
    "text uint8": lambda: prose(2**24),
    "mask bool": lambda: field((256, 256, 512), seed=61) > 0.5,
    "categories uint8": lambda: regions((256, 256, 512), "u1", 20),
    "categories int32": lambda: regions((128, 256, 256), "i4", 20),
    "labels uint64": lambda: regions((64, 256, 256), "u8", 5000) * np.uint64(7919),
    "sorted ids int64": lambda: sorted_ids((4 * 2**20,)),
    "random uint8": lambda: np.random.default_rng(2).integers(0, 256, (256, 256, 512), dtype=np.uint8),
}
"""16 to 32 MiB each."""
