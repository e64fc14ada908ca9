"""Creates the corpus `tests/corpora/v3`: small arrays and groups of version 3, as other implementations write them.

`python tests/corpora/make_v3.py` creates a temporary environment for each writer, runs this file there, and replaces
the corpus and its PROVENANCE.md. Names of writers on the command line select some, and keep the others as they are. The
elements of the array `<writer>/<name>` are in `expected/<name>.npy`, for all writers.
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve()
PLACE = HERE.parent / "v3"
WRITERS = {
    "zarr-3.0": ("zarr", ("zarr==3.0.*",)),
    "zarr-3.1": ("zarr", ("zarr==3.1.*",)),
    "zarr": ("zarr", ("zarr>=3.2",)),
    "tensorstore": ("tensorstore", ("tensorstore", "ml_dtypes")),
    "zarrista": ("zarrista", ("zarrista", "ml_dtypes")),
    "gdal": ("gdal", ("rasterio",)),
}
"""The writer of each part: a library, and its requirements for pip."""

# -- the arrays

NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
CORE = ("bool", *NUMBERS, "complex64", "complex128")
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
CRC32C = {"name": "crc32c"}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": True}}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
SWAPPED = {"name": "transpose", "configuration": {"order": [1, 0]}}
SOME = (slice(1, 3), slice(2, 8))


def sample(dtype: str, shape: tuple[int, ...] = (5, 9)) -> npt.NDArray[Any]:
    """Values from the whole range of a type."""
    values: npt.NDArray[Any]
    if dtype == "bool":
        values = np.array([True, False, False])
    elif np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        values = np.array([0, 1, limits.max, limits.min, 77, limits.max - 1], dtype)
    else:
        values = np.array([0.0, -0.0, 1.5, np.inf, np.nan, -np.inf, -2.25], dtype)
        if values.dtype.kind == "c":
            values.imag = values.real[::-1]
    count = int(np.prod(shape, dtype=int))
    return np.tile(values, count // len(values) + 1)[:count].reshape(shape)


def partly(dtype: str, fill: Any) -> npt.NDArray[Any]:
    """An array in which only `SOME` was written."""
    data = np.full((5, 9), fill, dtype)
    data[SOME] = sample(dtype)[SOME]
    return data


def blosc(cname: str, shuffle: str, typesize: int) -> dict[str, Any]:
    members = {"cname": cname, "clevel": 5, "shuffle": shuffle, "typesize": typesize, "blocksize": 0}
    return {"name": "blosc", "configuration": members}


def sharding(chunks: list[int], *codecs: dict[str, Any], at: str = "end") -> dict[str, Any]:
    members = {"chunk_shape": chunks, "codecs": list(codecs), "index_codecs": [LITTLE, CRC32C], "index_location": at}
    return {"name": "sharding_indexed", "configuration": members}


def described() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    """Arrays created from a document: a name, the elements, and arguments of `array_document`."""
    for dtype in CORE:
        data = sample(dtype)
        endless: list[Any] = [{"name": "bytes"} if data.itemsize == 1 else LITTLE]
        yield f"types/{dtype}", data, {"chunks": (4, 9), "codecs": [*endless, ZSTD]}
    data = sample("int32")
    chains: dict[str, list[Any]] = {
        "bytes": [LITTLE],
        "big": [BIG],
        "gzip": [LITTLE, GZIP],
        "crc32c": [LITTLE, CRC32C],
        "transpose": [SWAPPED, LITTLE],
        "everything": [SWAPPED, BIG, blosc("lz4", "bitshuffle", 4), GZIP, CRC32C],
        "shards": [sharding([2, 3], LITTLE, ZSTD)],
        "shards-index-first": [sharding([2, 3], BIG, CRC32C, at="start")],
        "shards-transposed-inside": [sharding([2, 3], SWAPPED, LITTLE)],
        "shards-transposed-outside": [SWAPPED, sharding([2, 2], LITTLE)],
        "shards-in-shards": [sharding([2, 6], sharding([2, 3], LITTLE, GZIP, at="start"))],
    }
    for name, codecs in chains.items():
        yield f"codecs/{name}", data, {"chunks": (4, 6), "codecs": codecs}
    shuffles = {"lz4": "noshuffle", "lz4hc": "shuffle", "blosclz": "shuffle", "zlib": "bitshuffle", "zstd": "shuffle"}
    for cname, shuffle in shuffles.items():
        codecs = [LITTLE, blosc(cname, shuffle, 4)]  # large enough for blosc to compress it
        yield f"blosc/{cname}-{shuffle}", sample("int32", (20, 30)), {"codecs": codecs}
    fills: dict[str, tuple[str, Any, Any]] = {
        "true": ("bool", True, True),
        "int64-least": ("int64", -(2**63), -(2**63)),
        "uint64-most": ("uint64", 2**64 - 1, 2**64 - 1),
        "float16-nan": ("float16", "NaN", np.nan),
        "float32-minus-zero": ("float32", -0.0, -0.0),
        "float64-infinity": ("float64", "Infinity", np.inf),
        "float64-minus-infinity": ("float64", "-Infinity", -np.inf),
        "float64-tenth": ("float64", 0.1, 0.1),
        "complex64": ("complex64", [-1.5, 0.25], -1.5 + 0.25j),
        "complex128-nan": ("complex128", ["NaN", "-Infinity"], complex(np.nan, -np.inf)),
    }
    for name, (dtype, written, fill) in fills.items():
        single = {"codecs": [{"name": "bytes"}]} if dtype == "bool" else {}
        yield f"fills/{name}", partly(dtype, fill), {"chunks": (4, 6), "fill_value": written, **single}
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        "0-d": ((), ()),
        "nothing": ((0, 3), (2, 2)),
        "overhang": ((3, 5, 4), (2, 4, 4)),
        "large-chunk": ((3,), (10,)),
    }
    for key in ("default", "v2"):
        for mark, separator in (("slash", "/"), ("dot", ".")):
            keys = {"name": key, "configuration": {"separator": separator}}
            for name, (shape, chunks) in shapes.items():
                data = sample("int16", shape)
                yield f"keys/{key}-{mark}/{name}", data, {"chunks": chunks, "chunk_key_encoding": keys}


# -- zarr-python with its own calls, so that the corpus contains its own choices, too


def by_zarr() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    """Arrays that `zarr.create_array` creates: a name, the elements, and its options."""
    for dtype in CORE:
        yield f"defaults/{dtype}", sample(dtype), {}
    for dtype in ("bool", "float64", "complex64"):
        yield f"defaults/{dtype}-shards", sample(dtype), {"chunks": (2, 3), "shards": (4, 6)}
    yield "defaults/columns-first", sample("int32"), {"order": "F"}
    yield "defaults/big-endian", sample("int32").astype(">i4"), {}
    yield "defaults/uncompressed", sample("int32"), {"compressors": None, "chunks": (4, 6)}
    yield (
        "defaults/named",
        sample("int16"),
        {"dimension_names": ["y", None], "attributes": {"unit": "K", "ü": [1, None]}},
    )
    yield "defaults/nan", np.full((2, 2), np.nan), {"fill_value": np.nan, "config": {"write_empty_chunks": True}}
    # Outside the core specification.
    yield "more/text", np.array([["", "a"], ["🦀", "omnizarr"]], object), {"dtype": str, "chunks": (1, 2)}
    yield "more/utf32", np.array(["a", "🦀x", ""], "<U3"), {}
    yield "more/bytes", np.array([b"a", b"\0\xff", b""], "S3"), {}
    yield "more/raw", np.array([b"\0\1\2", b"\3\4\5"], "V3"), {}
    yield "more/datetime", np.array(["2020-02-29T12:34:56", "NaT"], "M8[s]"), {}
    yield "more/timedelta", np.array([1, -5, "NaT"], "m8[ns]"), {}
    record = [("flag", "?"), ("count", "<i2"), ("value", "<f8")]
    yield "more/struct", np.array([(True, -2, 0.5), (False, 258, np.nan)], record), {}


def write_zarr(place: Path) -> dict[str, str]:
    """Writes what only zarr-python can write; returns what failed, and why."""
    import zarr

    missing = {}
    for name, data, options in by_zarr():
        options = {"shape": data.shape, "dtype": data.dtype, **options}
        try:
            zarr.create_array(str(place / name), **options)[...] = data
        except Exception as error:
            missing[name] = summary(error)
            shutil.rmtree(place / name, ignore_errors=True)
        else:
            expect(place, name, data)
    for kind in ("hierarchy", "consolidated"):
        root = zarr.create_group(str(place / kind), attributes={"title": "a hierarchy", "of": [1, 2.5, None]})
        root.create_group("empty")
        below = root.create_group("below", attributes={"deep": {"er": True}})
        below.create_group("further")
        for path, data in (("numbers", np.arange(12).reshape(3, 4)), ("below/further/values", sample("float32", (7,)))):
            parent, _, leaf = path.rpartition("/")
            group = root[parent] if parent else root
            group.create_array(leaf, shape=data.shape, dtype=data.dtype, attributes={"path": path})[...] = data
            expect(place, f"{kind}/{path}", data)
    zarr.consolidate_metadata(str(place / "consolidated"))
    return missing


def write_described(place: Path, library: str) -> dict[str, str]:
    """Writes all arrays that are created from documents; returns what failed, and why."""
    from tests.peers.documents import array_document

    module: Any = importlib.import_module(f"tests.peers.libraries.{library}")
    missing = {}
    for name, data, spec in described():
        try:
            module.write(place, name, data, array_document(data.shape, data.dtype, **spec))
            # If the writer cannot read its own array, the expected elements are unknown.
            again = np.asarray(module.read(place, name))
            if again.tobytes() != data.tobytes():
                raise ValueError("what it reads is not what it wrote")
        except Exception as error:
            missing[name] = summary(error)
            shutil.rmtree(place / name, ignore_errors=True)
        else:
            expect(place, name, data)
    return missing


def write_gdal(place: Path) -> dict[str, str]:
    """Writes the rasters of GDAL, each array in a group of the same name; returns what failed, and why."""
    from tests.corpora.writers.gdal import cases_v3, read, write

    missing = {}
    for name, data, options in cases_v3():
        try:
            write(place / name, data, 3, options)
            if read(place / name, data).tobytes() != data.tobytes():
                raise ValueError("what it reads is not what it wrote")
        except Exception as error:
            missing[name] = summary(error)
            shutil.rmtree(place / name, ignore_errors=True)
        else:
            expect(place, f"{name}/{name.rpartition('/')[2]}", data)
    return missing


def summary(error: Exception) -> str:
    text = (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
    return text if len(text) <= 120 else f"{text[:119]}…"


def expect(place: Path, name: str, data: npt.NDArray[Any]) -> None:
    target = place.parent / "expected" / f"{name}.npy"
    target.parent.mkdir(parents=True, exist_ok=True)
    plain = data.astype("U") if data.dtype == object else data
    np.save(target, plain.astype(plain.dtype.newbyteorder("=")), allow_pickle=False)


def inside(library: str, place: Path) -> None:
    """Runs in the environment of a writer."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HERE.parents[2]))
    version = None
    if library == "gdal":
        import rasterio

        missing, version = write_gdal(place), rasterio.__gdal_version__
    else:
        missing = write_described(place, library)
    if library == "zarr":
        missing |= write_zarr(place)
    (place / "missing.json").write_text(json.dumps([missing, version]))


# -- the environments, and PROVENANCE.md


def provenance(parts: list[tuple[str, str, dict[str, str], dict[str, str]]]) -> str:
    """The text of PROVENANCE.md; keeps the lines of parts that were not created anew."""
    today = datetime.datetime.now(datetime.UTC).date()
    rows, left_out = [], []
    for folder, python, versions, missing in parts:
        rows.append(
            f"| `{folder}` | {today} | {python} | {versions.get('numpy', '–')} | {versions.get('numcodecs', '–')} |"
        )
        left_out += [f"- `{folder}` `{name}`: {reason}" for name, reason in missing.items()]
    made = {folder for folder, *_ in parts}
    if (PLACE / "PROVENANCE.md").exists():
        for line in (PLACE / "PROVENANCE.md").read_text("utf-8").splitlines():
            if line.startswith(("| `", "- `")) and line.split("`")[1] not in made:
                (rows if line.startswith("|") else left_out).append(line)
    return "\n".join(
        [
            "# Where this corpus comes from",
            "",
            "Made by `tests/corpora/make_v3.py`, each part in an environment of its own by the library that its",
            "folder is named after; GDAL by way of rasterio.",
            "What an array holds lies under the same name in `expected`. The contents are invented for this purpose.",
            "",
            "| folder | made | Python | NumPy | numcodecs |",
            "|---|---|---|---|---|",
            *sorted(rows),
            "",
            "Arrays that a library does not write, or not so that it reads them itself, are left out:",
            "",
            *sorted(left_out),
            "",
        ]
    )


def main(chosen: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OMNIZARR_PEERS"] = folder
        sys.path.insert(0, str(HERE.parents[2]))
        from tests.peers.environments import Recipe, make

        made, parts = Path(folder) / "v3", []
        for name in chosen or WRITERS:
            library, packages = WRITERS[name]
            environment = make(Recipe(name, {library: packages}, ("3.12", "3.13", "3.11")))
            if environment.missing:
                print(f"{name}: left out, {environment.missing[library]}")
                continue
            part = made / name
            part.mkdir(parents=True)
            subprocess.run([environment.python, "-E", HERE, library, part], check=True)
            missing, version = json.loads((part / "missing.json").read_text())
            (part / "missing.json").unlink()
            part = part.rename(made / f"{library}-{version or environment.versions[library]}")
            asked = [str(environment.python), "-c", "import platform; print(platform.python_version())"]
            python = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
            parts.append((part.name, python, environment.versions, missing))
            print(f"{part.name}: {sum(1 for _ in part.rglob('zarr.json'))} nodes, without {list(missing)}")
        (made / "PROVENANCE.md").write_text(provenance(parts), "utf-8")
        # Git must treat chunks as binary even if they look like text.
        (made / ".gitattributes").write_text("* -text\n")
        if not chosen:
            shutil.rmtree(PLACE, ignore_errors=True)
        for part_name, *_ in parts:
            shutil.rmtree(PLACE / part_name, ignore_errors=True)
        shutil.copytree(made, PLACE, dirs_exist_ok=True)


if __name__ == "__main__":
    if len(sys.argv) == 3 and os.sep in sys.argv[2]:
        inside(sys.argv[1], Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
