"""Makes the corpus `ome`: pyramids that ome-zarr-py wrote, by its method `local_mean`.

`python tests/corpora/make_ome.py FOLDER` writes it, in any environment that has ome-zarr-py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import zarr
from ome_zarr.format import FormatV04, FormatV05
from ome_zarr.scale import Methods
from ome_zarr.writer import write_image

IMAGES = {
    # name: type, axes, shape, values, version
    "uint16-yx-0.5": ("uint16", "yx", (64, 96), (0, 60_000), FormatV05()),
    "uint8-tczyx-0.4": ("uint8", "tczyx", (2, 2, 2, 32, 48), (0, 256), FormatV04()),
    "int16-yx-odd-0.5": ("int16", "yx", (53, 39), (-20_000, 20_000), FormatV05()),
    "float32-cyx-0.4": ("float32", "cyx", (2, 48, 32), (-5, 5), FormatV04()),
    "float64-zyx-0.5": ("float64", "zyx", (3, 40, 24), (-5, 5), FormatV05()),
}


def main(target: str) -> None:
    rng = np.random.default_rng(2026)
    for name, (dtype, axes, shape, (low, high), version) in IMAGES.items():
        folder = Path(target) / name
        if np.dtype(dtype).kind == "f":
            data = rng.uniform(low, high, shape).astype(dtype)
        else:
            data = rng.integers(low, high, shape, dtype=dtype)
        factors = [dict.fromkeys("yx", 2**level) for level in (1, 2)]
        group = zarr.open_group(folder, mode="w", zarr_format=version.zarr_format)
        write_image(data, group, scale_factors=factors, method=Methods.LOCAL_MEAN, axes=axes, fmt=version)


if __name__ == "__main__":
    main(sys.argv[1])
