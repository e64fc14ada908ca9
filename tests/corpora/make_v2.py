"""Creates the corpus `tests/corpora/v2`: small arrays and groups of v2, as other programs write them.

`python tests/corpora/make_v2.py` creates an environment for each program, runs this file there, and replaces the
corpus, its description and its PROVENANCE.md. Names of writers on the command line select some.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.corpora.making import Corpus, main


def writers() -> dict[str, Any]:
    """The parts, each with its environment and the package that names it."""
    from tests.peers.environments import RECIPES, Recipe

    newest = next(recipe for recipe in RECIPES if recipe.name == "zarr3")
    codecs = ("numcodecs[msgpack,crc32c,pcodec]<0.16", "zfpy", "fsspec", "pytest")
    # The last numcodecs that has the first forms of `json` and `msgpack`; there is no wheel of it.
    early = ("numcodecs==0.6.4", "--no-binary=numcodecs", "numpy<1.22", "msgpack<1")
    middle = ("zarr==2.6.1", "numcodecs==0.7.3", "numpy<1.22", "fsspec==2021.*")
    return {
        "zarr2": (Recipe("corpora-zarr2", {"zarr2": ("zarr==2.18.7", *codecs)}, ("3.11", "3.12")), "zarr"),
        "zarr2.1": (Recipe("corpora-zarr2.1", {"zarr2": ("zarr==2.1.4", *early)}, ("3.8",)), "zarr"),
        "zarr2.2": (Recipe("corpora-zarr2.2", {"zarr2": ("zarr==2.2.0", *early)}, ("3.8",)), "zarr"),
        "zarr2.6": (Recipe("corpora-zarr2.6", {"zarr2": middle}, ("3.8",)), "zarr"),
        "zarr3": (newest, "zarr"),
        "tensorstore": (newest, "tensorstore"),
        "gdal": (Recipe("corpora-gdal", {"gdal": ("rasterio",)}, ("3.12", "3.13", "3.11")), "rasterio"),
        "netcdf": (Recipe("corpora-netcdf", {"netcdf": ("netCDF4",)}, ("3.12", "3.13", "3.11")), "netCDF4"),
    }


def module(writer: str) -> str:
    """The file under `writers` that writes a part."""
    return "zarr2_old" if writer.startswith("zarr2.") else writer


def inside(writer: str, corpus: Corpus) -> None:
    """Runs in the environment of a writer."""
    importlib.import_module(f"tests.corpora.writers.{module(writer)}").write_all(corpus)


REMARKS = (
    "",
    "`gdal` is GDAL as it comes with rasterio, and `netcdf` is netCDF-C as it comes with netCDF4. Their chunk shapes,",
    "orders, fill values and attributes are noted as the documents say, because the programs do not tell them.",
)

if __name__ == "__main__":
    main("v2", __file__, {} if sys.argv[1:2] == ["--inside"] else writers(), inside, REMARKS)
