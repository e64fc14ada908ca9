"""Creates the environments of other implementations under `.peers/`. Every package is optional.

`python tests/peers/environments.py` creates missing environments; `--again` creates all of them anew. It runs as a
file, with any supported Python, and therefore imports only the standard library.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["RECIPES", "ROOT", "Environment", "Recipe", "find", "make", "pythons"]

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("OMNIZARR_PEERS", ROOT / ".peers"))
INSTALL = ROOT / "packaging" / "install.py"

# Building these packages from source takes minutes and a compiler: install a wheel or nothing.
_ONLY_WHEELS = "--only-binary=" + ",".join(
    (
        *("numpy", "numcodecs", "tensorstore", "zarrs", "zarrista", "ml_dtypes", "rasterio", "netCDF4"),
        *("cast-value-rs", "pcodec", "zfpy", "icechunk", "zstandard", "isal", "deflate", "fastcrc", "z5py"),
    )
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to create an environment."""

    name: str
    libraries: dict[str, tuple[str, ...]]
    """The requirements of each library, as pip understands them."""
    pythons: tuple[str, ...]
    """The versions of Python to try, best first."""
    source: str = ""
    """A release that can no longer be built, as `name==version`: only its Python files are copied, into the folder
    `source`."""
    extras: tuple[str, ...] = ()
    """Packages that add codecs to the libraries; each may be missing."""


RECIPES = (
    Recipe(
        "zarr3",
        {
            "zarr": ("zarr>=3",),
            "tensorstore": ("tensorstore", "ml_dtypes"),
            "zarrs": ("zarr>=3", "zarrs"),
            "zarrista": ("zarrista", "ml_dtypes"),
        },
        # The newest zarr-python requires 3.12. For a new Python, wheels of all four appear only after months.
        ("3.13", "3.12", "3.14", "3.11"),
        # For zarr-python: `cast_value`, `n5_default`, `numcodecs.pcodec` and `numcodecs.zfpy`; and HTTP URLs.
        extras=("cast-value-rs>=0.4.2", "zarr-n5", "pcodec", "zfpy", "obstore"),
    ),
    # MessagePack is for the object codec of that name. zarr-python 2 needs pytest, because it imports one of its own
    # tests when it opens an array with shards.
    Recipe("zarr2", {"zarr2": ("zarr==2.18.7", "numcodecs<0.16", "msgpack", "pytest")}, ("3.11", "3.12", "3.13")),
    # Its planner is compared with ours. It does not work with zarr-python 3.
    Recipe("rechunker", {"rechunker": ("rechunker==0.5.4", "zarr==2.18.7", "numcodecs<0.16")}, ("3.11", "3.12")),
    # GDAL's reader, as rasterio's wheels contain it.
    Recipe("gdal", {"gdal": ("rasterio",)}, ("3.13", "3.12", "3.14", "3.11")),
    # omnizarr and zarr-python in one process: the requirements of omnizarr and of the tests are installed as well.
    Recipe(
        "together",
        {
            "together": (
                *("zarr>=3", "icechunk", "fsspec", "pytest", "pytest-timeout", "hypothesis"),
                *("numcodecs", "zstandard", "isal", "deflate", "fastcrc"),
            ),
        },
        ("3.13", "3.12", "3.14", "3.11"),
    ),
    # omnizarr, xarray and zarr-python in one process. 3.11 first, where the newest zarr-python is not available.
    Recipe(
        "xarray",
        {
            "xarray": (
                *("xarray", "dask[array]", "distributed", "zarr>=3", "icechunk", "cftime"),
                *("pytest", "pytest-asyncio", "pytest-xdist", "pytest-timeout", "hypothesis"),
                *("numcodecs", "zstandard", "isal", "deflate", "fastcrc", "click", "rich"),
            ),
        },
        ("3.11", "3.12", "3.13", "3.14"),
    ),
    Recipe("z5", {"z5py": ("z5py",)}, ("3.13", "3.12", "3.11", "3.14")),
    Recipe("zarr1", {"zarr1": ("numpy", "numcodecs", "fasteners")}, ("3.11", "3.12", "3.13", "3.14"), "zarr==1.1.0"),
)


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that exists."""

    name: str
    libraries: tuple[str, ...]
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """The libraries that could not be installed, and why."""
    recipe: str = ""
    """The recipe, to detect changes."""

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return _executable(PLACE / self.name)


def find(name: str) -> Environment | None:
    """The environment of this name; None if it does not exist."""
    try:
        stored = json.loads((PLACE / name / "peer.json").read_text())
    except FileNotFoundError:
        return None
    return Environment(**{**stored, "libraries": tuple(stored["libraries"])})


def make(recipe: Recipe) -> Environment:
    """Creates an environment: with all libraries on the first Python that has them, otherwise with as many as
    possible."""
    place = PLACE / recipe.name
    everything = sorted({package for packages in recipe.libraries.values() for package in packages})
    found = list(pythons(recipe.pythons))
    missing: dict[str, str] = {}
    for python in found:
        if _create(python, place) is None and _install(place, everything, recipe.source) is None:
            break
    else:
        problem = _create(found[0], place) if found else f"none of Python {', '.join(recipe.pythons)} was found"
        for library, packages in recipe.libraries.items():
            reason = problem or _install(place, packages, recipe.source)
            if reason is not None:
                missing[library] = reason
    if len(missing) < len(recipe.libraries):
        for extra in recipe.extras:
            _install(place, [extra])
    environment = Environment(
        name=recipe.name,
        libraries=tuple(recipe.libraries),
        versions=_versions(place, recipe.source) if len(missing) < len(recipe.libraries) else {},
        missing=missing,
        recipe=repr(recipe),
    )
    place.mkdir(parents=True, exist_ok=True)
    (place / "peer.json").write_text(json.dumps(asdict(environment), indent=2))
    return environment


def _executable(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(*command: str | Path) -> str | None:
    """Runs a command; None if it succeeds, otherwise the most telling line of its output."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode == 0:
        return None
    lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or [f"exit code {result.returncode}"])[-1]


def _create(python: str, place: Path) -> str | None:
    shutil.rmtree(place, ignore_errors=True)
    return _run(python, "-m", "venv", "--without-pip", place)


def _install(place: Path, packages: Sequence[str], source: str = "") -> str | None:
    problem = _run(sys.executable, INSTALL, _executable(place), _ONLY_WHEELS, *packages)
    return problem or (_take_source(place, source) if source else None)


def _take_source(place: Path, release: str) -> str | None:
    """Copies the Python files of a release into `place/source`. pip runs the setup script for the name and the
    requirements, which needs no compiler; nothing is built."""
    downloads = place / "downloads"
    options = ("--no-deps", "--no-binary", ":all:", "--dest", downloads)
    problem = _run(sys.executable, "-m", "pip", "--python", _executable(place), "download", *options, release)
    if problem is not None:
        return problem
    name, _, version = release.partition("==")
    target = place / "source" / name
    target.mkdir(parents=True)
    try:
        with tarfile.open(downloads / f"{name}-{version}.tar.gz") as archive:
            for member in archive:
                parts = Path(member.name).parts
                if parts[1:-1] == (name,) and parts[-1].endswith(".py") and (file := archive.extractfile(member)):
                    (target / parts[-1]).write_bytes(file.read())
    except (OSError, tarfile.TarError) as error:
        return str(error)
    return None


def _versions(place: Path, source: str) -> dict[str, str]:
    command = [sys.executable, "-m", "pip", "--python", str(_executable(place)), "list", "--format=json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    versions = {package["name"]: package["version"] for package in listed}
    return versions | dict([source.split("==")] if source else [])


def pythons(versions: Sequence[str]) -> Iterator[str]:
    """The interpreters of these versions that exist, in this order."""
    for version in versions:
        for candidate in _candidates(version):
            if _is(candidate, version):
                yield candidate
                break


def _candidates(version: str) -> Iterator[str]:
    """Possible interpreters of a version: this one, those on PATH, and those of pyenv, whose shims on PATH may not
    work."""
    yield sys.executable
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        yield on_path
    for root in _pyenv_roots():
        for python in sorted(root.glob(f"versions/*/bin/python{version}"), reverse=True):
            yield str(python)


def _pyenv_roots() -> Iterator[Path]:
    if os.environ.get("PYENV_ROOT"):
        yield Path(os.environ["PYENV_ROOT"])
    pyenv = shutil.which("pyenv")
    if pyenv is not None:
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True).stdout.strip()
        if root:
            yield Path(root)
    yield Path("~/.pyenv").expanduser()


def _is(python: str, version: str) -> bool:
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        result = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0 and result.stdout.strip() == version


def _report(environment: Environment) -> None:
    for library in environment.libraries:
        if library in environment.missing:
            print(f"   {library}: left out, {environment.missing[library]}")
        else:
            package = re.sub(r"^zarr[12]$", "zarr", library)
            print(f"   {library}: {environment.versions.get(package, 'installed')}")


def main(arguments: Sequence[str]) -> None:
    """Creates missing environments in parallel, and prints which exist."""
    wanted = []
    for recipe in RECIPES:
        found = find(recipe.name)
        if found is None or found.recipe != repr(recipe) or "--again" in arguments:
            wanted.append(recipe)
        for library, reason in (found.missing if found else {}).items():
            print(f"peers: {library} was left out before ({reason}); `--again` tries anew")
    for recipe in wanted:
        print(f"== peers: making the environment {recipe.name}", flush=True)
    with ThreadPoolExecutor(2) as pool:
        for environment in pool.map(make, wanted):
            print(f"== peers: {environment.name}")
            _report(environment)


if __name__ == "__main__":
    main(sys.argv[1:])
