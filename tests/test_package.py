"""The package as a whole: the cost of importing it, the content of the wheel, and rules for all files."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnizarr
import omnizarr.api

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = bool(os.environ.get("OMNIZARR_INSTALLED"))  # set when the tests run against the built wheel


def modules_after(statement: str) -> set[str]:
    """The modules that a new interpreter has imported after a statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout))


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules that omnizarr imports on first use, without those of NumPy, json and dataclasses."""
    return modules_after("import numpy, omnizarr; omnizarr.open") - modules_after("import numpy, json, dataclasses")


@pytest.mark.smoke
def test_importing_omnizarr_does_not_import_numpy() -> None:
    assert "numpy" not in modules_after("import omnizarr")


@pytest.mark.smoke
def test_the_public_names_are_these() -> None:
    """Pinned, so that this test notices a missing name before users do."""
    names = """
        Array Attributes CacheStore ChunkCache FsspecStore Group LazyView LocalStore MemoryStore ObjectStore
        OmnizarrError OmnizarrWarning ReferenceStore SQLiteStore SharedChunkCache Store UnreadableNode ZipStore
        __version__ aio array as_zarr_store codecs collect_garbage concat config consolidate_metadata create
        create_array create_group empty empty_like errors from_array from_dask full full_like group load loader ones
        ones_like open open_array open_group register_chunk_grid register_chunk_key_encoding
        register_chunk_memory_layout register_codec register_data_type register_extension register_metadata_encoding
        register_storage_transformer register_store save save_array save_group stack take timeout tree
        write_chunk_manifest zeros zeros_like
    """
    assert sorted(omnizarr.__all__) == sorted(names.split())
    assert dir(omnizarr) == sorted(names.split())
    for name in omnizarr.__all__:
        assert getattr(omnizarr, name) is not None


@pytest.mark.parametrize("name", ["codecs", "codecs.numcodecs_", "dtypes", "extending", "store", "testing"])
def test_dir_shows_names_that_are_imported_lazily(name: str) -> None:
    code = f"import json, omnizarr.{name} as module; print(json.dumps([module.__all__, dir(module)]))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    public, shown = map(set, json.loads(result.stdout))
    assert public <= shown


def test_no_module_has_the_name_of_a_function_of_its_package() -> None:
    """The import of such a module would replace the function: `omnizarr.stack` broke `omnizarr.concat`."""
    modules = {path.stem for path in Path(omnizarr.api.__file__).parent.glob("*.py")}
    assert not modules & set(omnizarr.api.__all__)


@pytest.mark.parametrize("order", [1, -1])
def test_public_functions_can_be_used_in_any_order(order: int) -> None:
    names = [name for name in sorted(omnizarr.__all__)[::order] if name not in ("aio", "codecs", "errors")]
    code = f"import omnizarr, types; [1 / (type(getattr(omnizarr, name)) is not types.ModuleType) for name in {names}]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.smoke
def test_first_use_imports_no_library_but_numpy(imported: set[str]) -> None:
    outsiders = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) - {"omnizarr", "numpy"}
    assert outsiders == set()


@pytest.mark.smoke
def test_first_use_imports_few_modules(imported: set[str]) -> None:
    """Bounds, so that a heavy import is noticed when it is added. Raise them only with a reason."""
    own = {name for name in imported if name.partition(".")[0] == "omnizarr"}
    others = imported - own
    # Packages count, too; `indexing` has one module per kind of key. Every read looks for a token (`engine.cancel`)
    # and for a time limit (`store.deadline`). Every dialect has a `formats.rule_table`, every array `_cached_property`.
    # Opening reads small values in one call (`store.local.small_values`) and parses equal documents once
    # (`nodes.metadata.model_cache`). The first import of a library postpones Ctrl-C (`_signals`).
    assert len(own) <= 141, sorted(own)
    assert len(others) <= 25, sorted(others)  # includes `logging` and `concurrent.futures` for `_fork`
    slow = {"argparse", "asyncio", "email", "http", "importlib.metadata"}
    assert others.isdisjoint(
        slow | {"multiprocessing", "pathlib", "socket", "subprocess", "tempfile", "urllib.request", "zipfile"}
    )


@pytest.mark.smoke
def test_the_distribution_is_complete() -> None:
    try:
        version = importlib.metadata.version("omnizarr")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is on the path and not installed")
    assert version == omnizarr.__version__
    assert importlib.resources.files(omnizarr).joinpath("py.typed").is_file()
    scripts = importlib.metadata.entry_points(group="console_scripts", name="omnizarr")
    assert [script.value for script in scripts] == ["omnizarr.cli:main"]


@pytest.mark.smoke
@pytest.mark.skipif(not INSTALLED, reason="runs against the built wheel only")
def test_the_wheel_is_what_is_tested() -> None:
    assert omnizarr.__file__ is not None
    assert ROOT / "src" not in Path(omnizarr.__file__).parents
    files = importlib.metadata.files("omnizarr")
    assert files is not None
    tops = {Path(file).parts[0] for file in files}
    assert {top for top in tops if not top.endswith(".dist-info") and top != ".."} == {"omnizarr"}


def test_the_recipe_of_conda_and_the_citation_agree_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{omnizarr.__version__}"' in recipe
    assert f"version: {omnizarr.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0].split("\n")
    needed = {requirement.removeprefix("    - ").removeprefix("python-").replace(" ", "") for requirement in run}
    assert needed == {"python", *project["dependencies"]}


def texts(*patterns: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the project's files that match the patterns."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


CODE = ("src/**/*.py", "tests/**/*.py", "examples/*.py", "benchmarks/**/*.py")
PROSE = ("*.md", "docs/**/*.md", "Makefile", "pyproject.toml", ".ci/*", ".gitignore")


def test_the_patterns_match_files() -> None:
    assert len(list(texts(*CODE))) > 50
    assert len(list(texts(*PROSE))) > 5


def test_no_file_contains_a_path_of_one_machine() -> None:
    places = "|".join(["work", "root", "home", "tmp", "Users"])
    pattern = re.compile(rf"(?<![\w.:/~*}}\])])/({places})/")
    assert [name for name, text in texts(*CODE, *PROSE) if pattern.search(text)] == []


def test_workflows_name_actions_by_their_commit() -> None:
    """A tag can be moved to other code; `.github/dependabot.yml` brings the new commits."""
    actions = [action for _, text in texts(".github/workflows/*.yml") for action in re.findall(r"uses: (.*)", text)]
    assert len(actions) > 10
    assert [action for action in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action)] == []


def test_the_makefile_defines_every_variable_it_uses() -> None:
    """`make soak` without `SECONDS=` once passed an empty number of seconds, which is an error."""
    text = (ROOT / "Makefile").read_text()
    used = set(re.findall(r"(?<!\$)\$\(([A-Z_]+)\)", text)) - {"MAKE", "MAKEFILE_LIST"}  # set by make
    assert used - set(re.findall(r"^([A-Z_]+) [?:]?=", text, re.MULTILINE)) == set()


def test_no_file_contains_a_to_do_mark() -> None:
    """Ruff checks the comments of Python files. Strings there may quote such a mark of another writer."""
    pattern = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]))
    assert [name for name, text in texts(*PROSE) if pattern.search(text)] == []
