"""Runs the tests of other packages on `omnizarr.compat`, and prints how many pass: `make test-downstream`.

Each suite has an environment of its own in `.downstream`, without zarr-python, and the tests come from the package
itself: from its wheel, or from its source distribution. They are not changed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".downstream"

COMMON = ("pytest", "pytest-xdist", "pytest-asyncio", "pytest-mock", "hypothesis")
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
        ("xarray", "dask", "distributed", "pandas", "scipy", "netCDF4", "h5netcdf", "cftime", "fsspec", "aiohttp"),
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
    Suite("dask", ("dask[array,dataframe]", "distributed", "fsspec"), ("--pyargs", "dask.array.tests", "-k", "zarr")),
    Suite(
        "zarr-python",
        ("fsspec", "obstore", "packaging", "typing_extensions", "numcodecs"),
        tuple(
            f"{{source}}/tests/test_{name}"
            for name in (
                "array.py",
                "group.py",
                "indexing.py",
                "api.py",
                "attributes.py",
                "tree.py",
                "v2.py",
                "info.py",
                "codecs",
            )
        ),
        source="zarr",
    ),
    Suite("ome-zarr", ("ome-zarr",), ("{source}/tests",), source="ome-zarr"),
    Suite(
        "anndata",
        ("anndata[test]", "scikit-learn", "joblib", "filelock"),
        ("{source}/tests", "-k", "zarr"),
        source="anndata",
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
        run(sys.executable, "-m", "venv", folder / "venv")
        run(python, "-m", "pip", "install", "-q", ROOT, *COMMON, *suite.requirements)
        run(python, "-m", "pip", "uninstall", "-q", "-y", "zarr")
        if suite.source is not None:
            run(python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", folder, suite.source)
            with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
                archive.extractall(folder / "source", filter="data")
        (folder / "run").mkdir(exist_ok=True)
        (folder / "run" / "pytest.ini").write_text(PYTEST_INI)
        (folder / "run" / "install_compat.py").write_text("import omnizarr.compat\n\nomnizarr.compat.install()\n")
        (folder / ".made").touch()
    source = next(iter((folder / "source").iterdir())) if suite.source is not None else folder
    return python, source


def outcome(suite: Suite, jobs: int) -> str:
    """Runs a suite, and returns a row of the table. The report of pytest is in `.downstream/<suite>/report.txt`."""
    python, source = prepare(suite)
    folder = FOLDER / suite.name
    arguments = [argument.format(source=source) for argument in suite.arguments]
    command = [python, "-m", "pytest", "-q", "-n", jobs, "-p", "no:cacheprovider", "-p", "install_compat", "--tb=line"]
    command += ["-c", folder / "run" / "pytest.ini", *arguments]
    # The source tree first: the environment has the dependencies, and a build of the kernel.
    path = os.pathsep.join([str(ROOT / "src"), str(folder / "run")])
    result = subprocess.run(
        [str(part) for part in command],
        cwd=source if suite.source else folder / "run",
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    (folder / "report.txt").write_text(result.stdout + result.stderr)
    counts = {kind: int(number) for number, kind in re.findall(r"(\d+) (passed|failed|errors?|skipped)", result.stdout)}
    errors = counts.get("error", 0) + counts.get("errors", 0)
    total = counts.get("passed", 0) + counts.get("failed", 0) + errors
    return f"{suite.name:12} {counts.get('passed', 0):6} of {total:6}   ({counts.get('skipped', 0)} skipped)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=[suite.name for suite in SUITES])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows = [outcome(suite, options.jobs) for suite in SUITES if suite.name in options.suites]
    print("\n".join(["", "suite        passed of tests that ran", *rows]))


if __name__ == "__main__":
    main()
