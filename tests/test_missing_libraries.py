"""Optional libraries that are not installed: the error names the feature, the array and the install command, and other
nodes stay readable."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.pages import ROOT, read

TEXT = np.array(["a", "b", "c"], object)
CASES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "zfpy": [
        ("codec `numcodecs.zfpy`", {"data": [1.0, 2.0], "serializer": "numcodecs.zfpy", "compressors": None}),
        ("codec `zfp`", {"data": [1.0, 2.0], "serializer": "zfp", "compressors": None}),
    ],
    "pcodec": [
        ("codec `numcodecs.pcodec`", {"data": [1.0, 2.0], "serializer": "numcodecs.pcodec", "compressors": None}),
        (
            "codec `numcodecs.pcodec`",
            {"data": [1, 2], "serializer": "numcodecs.pcodec", "shards": (2,), "chunks": (1,)},
        ),
    ],
    "msgpack": [
        ("codec `numcodecs.msgpack2`", {"data": TEXT, "dtype": object, "filters": ["msgpack2"], "zarr_format": 2}),
    ],
    "ml_dtypes": [
        ("data type `bfloat16`", {"data": [1, 2], "dtype": "bfloat16"}),
        ("data type `int4`", {"data": [1, 2], "dtype": "int4"}),
        ("data type `float8_e5m2`", {"shape": 2, "dtype": "complex_float8_e5m2"}),
    ],
}
"""By extra: the feature that needs the library, and the options of an array that uses it."""

STORES = {
    "obstore": "s3://bucket/x",
    "pyarrow": str(ROOT / "tests/corpora/references/kerchunk-0.2.10/refs.parq"),
}
"""By extra: the address of a store that needs the library."""

CREATING = """
import json, sys
library, options = sys.argv[1], json.loads(sys.argv[2])
sys.modules[library] = None
import omnizarr

store = {}
try:
    omnizarr.create_array(store, name="deep/needy", shape=2, **options)
except omnizarr.errors.MissingDependencyError as error:
    print(json.dumps([str(error), sorted(store)]))
"""

PROGRAM = """
import json, sys
library, place = sys.argv[1:]
sys.modules[library] = None
import omnizarr

group = omnizarr.open_group(place)
print(json.dumps(group["plain"][...].tolist()))
print(json.dumps(sorted(name for name, _ in group.members())))
for act in ("read", "write"):
    try:
        z = group["deep/needy"]
        z[...] if act == "read" else z.__setitem__(0, "x" if z.dtype == object else 1)
    except omnizarr.errors.MissingDependencyError as error:
        print(json.dumps([str(error), error.install]))
"""


@pytest.mark.parametrize(
    ("extra", "needy", "options"),
    [
        ("zfpy", "codec `zfp`", {"dtype": "float32", "serializer": "zfp"}),
        ("zfpy", "codec `numcodecs.zfpy`", {"dtype": "float32", "serializer": "numcodecs.zfpy"}),
        ("pcodec", "codec `numcodecs.pcodec`", {"dtype": "int16", "serializer": "numcodecs.pcodec", "shards": [2]}),
        ("msgpack", "codec `numcodecs.msgpack2`", {"dtype": "O", "filters": ["msgpack2"], "zarr_format": 2}),
        ("ml_dtypes", "data type `int4`", {"dtype": "int4"}),
        (
            "ml_dtypes",
            "data type `int4`",
            {"dtype": "int8", "filters": [{"name": "cast_value", "configuration": {"data_type": "int4"}}]},
        ),
    ],
)
def test_an_array_that_needs_a_missing_library_is_not_created(extra: str, needy: str, options: dict[str, Any]) -> None:
    command = [sys.executable, "-W", "error", "-c", CREATING, extra, json.dumps(options)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    message, keys = json.loads(result.stdout)
    assert message.startswith("cannot create array `deep/needy` in MemoryStore")
    assert f"{needy} needs the package `{extra}`, which is not installed" in message
    assert keys == []


INTEGRATIONS = {
    "dask": ("dask.array", "omnizarr.create_array({}, data=[1, 2]).to_dask()"),
    "xarray": ("xarray", "import omnizarr.integrations.xarray"),
    "files": (
        "h5py",
        "from omnizarr.tools import export_file; export_file(omnizarr.create_array({}, data=[1, 2]), 'x.h5')",
    ),
}
"""By extra: the module that it needs, and a statement that uses it."""

ELSEWHERE = {
    "xxhash": "Python replaces it",
    "imagecodecs": "test_imagecodecs.py",
}
"""Extras without a case here: why, or where they are tested."""


@pytest.mark.parametrize("extra", INTEGRATIONS)
def test_an_integration_names_its_extra(tmp_path: Path, extra: str) -> None:
    module, statement = INTEGRATIONS[extra]
    program = f"import sys; sys.modules[{module!r}] = None\nimport omnizarr\n"
    program += f"try: {statement}\nexcept omnizarr.errors.MissingDependencyError as error: print(error)"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert not [*tmp_path.iterdir()]
    assert f'pip install "omnizarr[{extra}]"' in result.stdout


def test_there_is_a_case_for_every_extra() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    tested = {*CASES, *STORES, *INTEGRATIONS, "fsspec"}
    assert tested == set(extras) - {"all", "test", "dev", "docs", *ELSEWHERE}
    # Its libraries read files of other formats, and are large.
    assert set(re.findall(r"[\w]+", extras["all"][0])) == {"omnizarr", *tested, *ELSEWHERE} - {"files"}


@pytest.mark.parametrize(
    ("extra", "needy", "options"),
    [(extra, *case) for extra, cases in CASES.items() for case in cases],
    ids=[f"{extra}-{number}" for extra, cases in CASES.items() for number in range(len(cases))],
)
def test_the_error_names_feature_array_and_package(
    extra: str, needy: str, options: dict[str, Any], tmp_path: Path
) -> None:
    group = omnizarr.create_group(tmp_path, zarr_format=options.get("zarr_format", 3))
    group.create_array("plain", data=[1, 2, 3])
    options = {name: value for name, value in options.items() if name != "zarr_format"}
    group.create_array("deep/needy", write_empty_chunks=True, **options)
    command = [sys.executable, "-W", "error", "-c", PROGRAM, extra, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    plain, members, *errors = map(json.loads, result.stdout.splitlines())
    assert (plain, members) == ([1, 2, 3], ["deep", "plain"])
    assert len(errors) == 2
    for action, (message, install) in zip(("read", "write"), errors, strict=True):
        verb = "open" if needy.startswith("data type") else action
        assert message.startswith(f"cannot {verb} array `deep/needy`")
        assert f"{needy} needs the package `{extra}`, which is not installed" in message
        assert message.endswith(f"hint: run `{install}`")
        assert install == f"pip install {extra}"


LOCATING = """
import sys
library, place = sys.argv[1:]
sys.modules[library] = None
import omnizarr

try:
    print(list(omnizarr.open_group(place, mode="r")))
    print(omnizarr.open_group(place, mode="r")["temperature"][...])
except omnizarr.errors.MissingDependencyError as error:
    print(error)
"""


@pytest.mark.parametrize("extra", STORES)
def test_a_store_names_the_missing_package(extra: str) -> None:
    command = [sys.executable, "-W", "error", "-c", LOCATING, extra, STORES[extra]]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert re.search(rf"needs the package `(omnizarr\[)?{extra}\]?`, which is not installed", result.stdout)


@pytest.mark.parametrize(
    ("library", "place", "hint"),
    [
        ("obstore", "s3://bucket/x", 'hint: run `pip install "omnizarr[obstore]"`'),  # quoted for every shell
        ("fsspec", "ftp://server/x", 'hint: fsspec may know it: run `pip install "omnizarr[fsspec]"`; or a package'),
        ("sqlite3", "sqlite::x", "hint: it is a part of Python, but this build of Python lacks it"),
    ],
)
def test_the_hint_names_a_command_that_works(library: str, place: str, hint: str, tmp_path: Path) -> None:
    program = LOCATING.replace("errors.MissingDependencyError", "OmnizarrError")
    command = [sys.executable, "-W", "error", "-c", program, library, place]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert hint in result.stdout


def test_a_library_that_is_still_being_imported_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a signal handler that interrupts the import: here the module itself asks for it."""
    (tmp_path / "slowlib.py").write_text(
        "from omnizarr._imports import load_optional\nload_optional('a test', 'slowlib', 'slowlib.inner')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(omnizarr.errors.StoreError, match=r"`slowlib.inner`, which this thread is still importing"):
        importlib.import_module("slowlib")
