"""`install`, `uninstall` and `python -m omnizarr.compat`, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str, **variables: str) -> str:
    import os

    environment = {**os.environ, **variables}
    result = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.smoke
def test_install_makes_zarr_importable_and_uninstall_undoes_it() -> None:
    program = """
import sys, importlib.metadata, importlib.util
import omnizarr.compat
omnizarr.compat.install()
omnizarr.compat.install()
import zarr, zarr.core.sync, zarr.storage
from zarr.abc.store import Store
assert zarr.__name__ == "omnizarr.compat.zarr" and omnizarr.compat.installed()
assert issubclass(zarr.storage.LocalStore, Store)
assert importlib.util.find_spec("zarr") is not None
assert importlib.metadata.version("zarr") == zarr.__version__
z = zarr.array([1, 2, 3])
omnizarr.compat.uninstall()
assert "zarr" not in sys.modules and "zarr.storage" not in sys.modules and not omnizarr.compat.installed()
print(z[1:].tolist())
"""
    assert run("-c", program) == "[2, 3]"


def test_install_refuses_if_another_zarr_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "zarr.py").write_text("")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import zarr
import omnizarr.compat
try:
    omnizarr.compat.install()
except ImportError as error:
    assert "already loaded" in str(error)
    print("refused")
"""
    assert run("-c", program) == "refused"


def test_a_script_and_a_module_run_with_zarr_replaced(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import sys, zarr\nprint(zarr.__name__, sys.argv[1:])\n")
    expected = "omnizarr.compat.zarr ['a', '-b']"
    assert run("-m", "omnizarr.compat", str(script), "a", "-b") == expected
    assert run("-m", "omnizarr.compat", "-m", "program", "a", "-b", PYTHONPATH=_path(tmp_path)) == expected


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_child_processes_of_multiprocessing(tmp_path: Path, method: str) -> None:
    """They import the script again, and share only the path with their parent. A real `zarr` must not come first."""
    (tmp_path / "zarr.py").write_text("raise AssertionError")
    script = tmp_path / "program.py"
    script.write_text(
        f"""
import multiprocessing
import sys

import zarr.storage

def work(array):
    assert sys.modules["zarr"].__name__ == zarr.__name__ == "omnizarr.compat.zarr"
    return int(array[:].sum())

if __name__ == "__main__":
    array = zarr.create_array({str(tmp_path / "a")!r}, data=zarr.ones(4)[:])
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.map(work, [array]))
"""
    )
    assert run("-m", "omnizarr.compat", str(script)) == "[4]"


def _path(folder: Path) -> str:
    import os

    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_importing_omnizarr_loads_nothing_of_it() -> None:
    program = "import sys, omnizarr; omnizarr.open; print([n for n in sys.modules if n.startswith('omnizarr.compat')])"
    assert run("-c", program) == "[]"


def test_the_variable_installs_it_when_omnizarr_is_imported() -> None:
    assert run("-c", "import omnizarr, zarr; print(zarr.__name__)", OMNIZARR_COMPAT="1") == "omnizarr.compat.zarr"
