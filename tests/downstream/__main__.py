"""Runs the tests of other packages on `omnizarr.compat`, and prints how many pass: `make test-downstream`.

Each suite has an environment of its own in `.downstream`, without zarr-python, and the tests come from the package
itself: from its wheel, or from its source distribution. They are not changed. `--reference` runs them on zarr-python.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.peers.environments import pythons

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".downstream"

COMMON = (
    *("pytest", "pytest-xdist", "pytest-asyncio", "pytest-mock", "pytest-timeout", "hypothesis"),
    *("fsspec", "donfig", "google-crc32c", "packaging", "typing_extensions", "msgspec"),  # zarr-python needs these
)
REFERENCE = "zarr==3.4.2"
PYTEST_INI = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"


@dataclass(frozen=True)
class Suite:
    """The tests of one package."""

    name: str
    requirements: tuple[str, ...]
    arguments: tuple[str, ...]
    """Arguments of pytest; `{source}` is the folder of the source distribution."""
    source: str | None = None
    """The package whose source distribution has the tests."""


SUITES = (
    Suite(
        "xarray",
        (
            *("xarray==2026.9.0", "dask[array]", "distributed", "pandas", "scipy", "netCDF4", "h5netcdf", "cftime"),
            *("aiohttp", "obstore", "icechunk"),
        ),
        (
            "--pyargs",
            "xarray.tests.test_backends",
            "xarray.tests.test_backends_datatree",
            "xarray.tests.test_backends_api",
            "xarray.tests.test_distributed",
            "-k",
            "zarr",
        ),
    ),
    Suite(
        "dask",
        ("dask[array,dataframe]==2026.8.0", "distributed"),
        # dask's own settings of pytest, which its wheel does not have, make warnings errors; one test needs that.
        (
            *("-W", "error::dask.array.core.PerformanceWarning"),
            *("--pyargs", "dask.array.tests.test_array_core", "dask.tests.test_distributed", "-k", "zarr"),
        ),
    ),
    Suite(
        "zarr-python",
        ("obstore", "numcodecs", "aiohttp"),
        tuple(
            f"{{source}}/tests/test_{name}"
            for name in (
                *("array.py", "group.py", "indexing.py", "api.py", "attributes.py", "tree.py", "v2.py", "info.py"),
                *("resize.py", "unified_chunk_grid.py", "codecs"),
            )
        ),
        source=REFERENCE,
    ),
    Suite("ome-zarr", ("ome-zarr==0.21.0",), ("{source}/tests",), source="ome-zarr==0.21.0"),
    Suite(
        "anndata",
        (
            *("anndata[dask,lazy]==0.13.4", "fast-array-utils", "jsonschema", "matplotlib", "scikit-learn", "openpyxl"),
            *("joblib", "boltons", "scanpy", "dask[distributed]", "awkward", "pyarrow", "pooch", "filelock"),
        ),
        ("{source}/tests", "-k", "zarr"),
        source="anndata==0.13.4",
    ),
)


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)


def prepare(suite: Suite) -> tuple[Path, Path]:
    """The interpreter and the source folder of a suite; both are made if they do not exist."""
    folder = FOLDER / suite.name
    python = folder / "venv" / "bin" / "python"
    if not (folder / ".made").exists():
        print(f"== environment of {suite.name}", flush=True)
        # The newest releases of these packages, as those of zarr-python, require 3.12.
        run(next(pythons(("3.13", "3.12", "3.14"))), "-m", "venv", folder / "venv")
        run(python, "-m", "pip", "install", "-q", ROOT, *COMMON, *suite.requirements)
        run(python, "-m", "pip", "uninstall", "-q", "-y", "zarr")
        run(python, "-m", "pip", "install", "-q", "--no-deps", "--target", folder / "reference", REFERENCE)
        if suite.source is not None:
            run(
                python,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--no-binary",
                suite.source.split("==")[0],
                "-d",
                folder,
                suite.source,
            )
            with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
                archive.extractall(folder / "source", filter="data")
        (folder / "run").mkdir(exist_ok=True)
        (folder / "run" / "pytest.ini").write_text(PYTEST_INI)
        (folder / "run" / "install_compat.py").write_text("import omnizarr.compat\n\nomnizarr.compat.install()\n")
        (folder / ".made").touch()
    source = next(iter((folder / "source").iterdir())) if suite.source is not None else folder
    return python, source


def outcome(suite: Suite, jobs: int, reference: bool) -> str:
    """Runs a suite, and returns a row of the table. The report of pytest is in `.downstream/<suite>/report.txt`."""
    python, source = prepare(suite)
    folder = FOLDER / suite.name
    arguments = [argument.format(source=source) for argument in suite.arguments]
    command = [python, "-m", "pytest", "-q", "-n", jobs, "-p", "no:cacheprovider", "--tb=short", "--timeout=300"]
    if not reference:
        command += ["-p", "install_compat"]
    command += ["-c", folder / "run" / "pytest.ini", *arguments]
    # The source tree first: the environment has the dependencies.
    path = os.pathsep.join(map(str, [folder / "reference"] if reference else [ROOT / "src", folder / "run"]))
    result = subprocess.run(
        [str(part) for part in command],
        cwd=source if suite.source else folder / "run",
        # anndata's parameters have the order of a set, which must be the same in all processes of pytest-xdist.
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    (folder / ("reference.txt" if reference else "report.txt")).write_text(result.stdout + result.stderr)
    last = result.stdout.rstrip().rpartition("\n")[2]
    counts = {kind: int(number) for number, kind in re.findall(r"(\d+) (passed|failed|errors?|skipped)", last)}
    errors = counts.get("error", 0) + counts.get("errors", 0)
    total = counts.get("passed", 0) + counts.get("failed", 0) + errors
    return f"{suite.name:12} {counts.get('passed', 0):6} of {total:6}   ({counts.get('skipped', 0)} skipped)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=[suite.name for suite in SUITES])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reference", action="store_true", help="run the tests on zarr-python instead")
    options = parser.parse_args()
    rows = [outcome(suite, options.jobs, options.reference) for suite in SUITES if suite.name in options.suites]
    print("\n".join(["", "suite        passed of tests that ran", *rows]))


if __name__ == "__main__":
    main()
