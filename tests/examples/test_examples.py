"""The examples: the notebooks contain the scripts, and run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
MOST_LINES = 100


def maker() -> ModuleType:
    specification = importlib.util.spec_from_file_location("make_notebooks", FOLDER / "make_notebooks.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


SCRIPTS: tuple[str, ...] = maker().NAMES
NAMES: tuple[str, ...] = (*SCRIPTS, *maker().PAGES)


def test_every_example_has_a_notebook() -> None:
    notebooks = {path.stem for path in FOLDER.glob("*.ipynb")}
    # A demo, a program that runs until it is stopped, and the maker of the notebooks are no notebooks.
    scripts = {path.stem for path in FOLDER.glob("*.py")} - {"weather", "slice_server", "make_notebooks"}
    assert set(NAMES) == notebooks
    assert set(SCRIPTS) == scripts


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_contains_its_script(name: str) -> None:
    """`make notebooks` writes the notebooks anew."""
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]] == maker().cells_of(name)
    if name in SCRIPTS:
        assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) < MOST_LINES
    text = json.dumps(notebook)
    assert "/tmp" not in text, "the name of a temporary folder"
    assert not any(output["output_type"] == "error" for cell in notebook["cells"] for output in cell.get("outputs", []))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient")
    if name == "climate":
        pytest.importorskip("xarray")
        pytest.importorskip("dask")
    if name == "machine_learning" and sys.platform == "win32":
        pytest.skip("Windows cannot fork")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # Kernels of Jupyter keep their files and settings in the home directory.
    monkeypatch.setenv("HOME", str(tmp_path))
    module = maker()
    module.execute(module.notebook_of(name), str(tmp_path))
