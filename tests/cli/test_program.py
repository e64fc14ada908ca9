"""The program: imports, start, and the output of errors and warnings of the library."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import omnizarr
from omnizarr.cli.program import COMMANDS

Run = Callable[..., Result]
NAMES = [name for section in COMMANDS.values() for name in section]


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a new interpreter."""
    command = [sys.executable, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def loaded_by(code: str) -> set[str]:
    """The modules that a new interpreter has imported after running `code`."""
    shown = python("-c", f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))")
    assert shown.returncode == 0, shown.stderr
    modules: list[str] = json.loads(shown.stdout.splitlines()[-1])
    return set(modules)


def test_help_and_version_load_nothing_but_click() -> None:
    """In addition to what `import omnizarr` loads: not rich, json, NumPy or other modules of omnizarr."""
    calls = "import omnizarr.cli\nfor option in ('--help', '--version'):\n"
    calls += "    try: omnizarr.cli.main([option])\n    except SystemExit: pass"
    extra = loaded_by(calls) - loaded_by("import omnizarr, click.shell_completion")
    own = {name.removeprefix("omnizarr.") for name in extra if name.startswith("omnizarr.")}
    assert own <= {"errors", "cli", "cli.program", "cli.exit_codes", "display", "display.terminal", "display.texts"}
    assert not {name for name in extra if name.partition(".")[0] in ("rich", "numpy", "json", "numcodecs")}


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_info_of_an_array_starts_no_thread(tmp_path: Path) -> None:
    """NumPy's pool for linear algebra takes 50 ms of the start."""
    omnizarr.create_array(tmp_path / "a.zarr", shape=3, dtype="i1")
    calls = f"import omnizarr.cli, os\ntry: omnizarr.cli.main(['info', {str(tmp_path / 'a.zarr')!r}])\n"
    shown = python("-c", f"{calls}except SystemExit: print(len(os.listdir('/proc/self/task')))")
    assert shown.stdout.splitlines()[-1] == "1", shown.stderr


@pytest.mark.smoke
def test_python_m_runs_the_same_program(tmp_path: Path) -> None:
    """A failure prints no traceback."""
    shown = python("-m", "omnizarr", "tree", tmp_path / "absent")
    assert shown.returncode == 1
    assert shown.stdout == ""
    assert shown.stderr.startswith("error: there is no Zarr array or group at ")
    assert "Traceback" not in shown.stderr


@pytest.mark.smoke
def test_the_version(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"omnizarr {omnizarr.__version__}\n")


@pytest.mark.smoke
def test_help_names_every_command(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    for title, commands in COMMANDS.items():
        assert f"\n{title}:\n" in result.output
        for name, summary in commands.items():
            assert f"\n  {name}" in result.output
            assert summary in result.output
            shown = run(name, "--help").output
            assert shown.startswith(f"Usage: omnizarr {name} ")
            assert "Examples:\n" in shown


def test_an_absent_node_is_one_message_and_exit_code_1(run: Run, tmp_path: Path) -> None:
    result = run("info", tmp_path / "absent")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: there is no Zarr array or group at `{tmp_path / 'absent'}`")
    assert "Traceback" not in result.stderr


def test_every_problem_of_a_document_is_in_the_message(run: Run, location: Path) -> None:
    result = run("info", location / "inner/broken")
    assert result.exit_code == 3
    assert "$.chunk_grid.name: unknown chunk grid `reguler` (did you mean `regular`?)" in result.stderr
    assert "unknown codec `zstt` (did you mean `zstd`?)" in result.stderr


def test_a_usage_error_is_exit_code_2(run: Run) -> None:
    assert run("tre").exit_code == 2
    assert run("tree").exit_code == 2
    assert run("tree", "x", "--level", "-1").exit_code == 2


def test_a_library_warning_is_one_line_and_exit_code_0(run: Run, tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", shape=2, dtype="int8")
    document = tmp_path / "a" / "zarr.json"
    members = json.loads(document.read_text())
    members["data_type"] = {"name": "int8"}  # readers accept it, writers must not write it
    document.write_text(json.dumps(members))
    result = run("info", tmp_path / "a")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: array `/` in ")
    assert "documents.py" not in result.stderr


def test_control_characters_in_messages_are_escaped(run: Run, tmp_path: Path) -> None:
    result = run("info", f"{tmp_path}/a\x1b[2Jb")
    assert result.exit_code == 1
    assert "\x1b" not in result.stderr
    assert "a\\x1b[2Jb" in result.stderr
