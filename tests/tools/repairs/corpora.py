"""Sound hierarchies that other programs wrote: one of each program, or with `HYPOTHESIS_PROFILE=long` all."""

from __future__ import annotations

import os
from pathlib import Path

from tests.corpora.reading import CORPORA
from tests.tools.validation.test_corpora import sound_places

__all__ = ["LONG", "places"]

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"

_SAMPLE = (
    "draft-2020/zarr-2.18.7/arrays",
    "draft-2022/valid/root-array",
    "n5/z5py-3.0.2/all.n5",
    "n5/zarr-2.18.7/all.n5",
    "v1/zarr-1.1.0/types/b1",
    "v2/gdal-3.12.2/types/int8",
    "v2/netcdf-4.10.1/nczarr",
    "v2/tensorstore-0.1.86/types/bool",
    "v2/zarr-2.1.4/layouts/plane-F",
    "v2/zarr-2.18.7/types/bool",
    "v2/zarr-2.2.0/layouts/plane-F",
    "v2/zarr-3.4.2/types/bool",
    "v3/gdal-3.12.2/gdal/blosc/blosc",
    "v3/tensorstore-0.1.86/blosc/blosclz-shuffle",
    "v3/zarr-3.0.10/blosc/blosclz-shuffle",
    "v3/zarr-3.4.2/blosc/blosclz-shuffle",
    "v3/zarrista-0.1.0/blosc/blosclz-shuffle",
)


def places() -> list[tuple[Path, object]]:
    """The roots of hierarchies, with the generation to ask for."""
    return sound_places() if LONG else [(CORPORA / name, None) for name in _SAMPLE]
