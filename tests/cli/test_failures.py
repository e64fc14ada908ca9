"""Failures of the program: full disks, closed pipes, Ctrl-C, mistyped names, and `--debug`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]
PROGRAM = [sys.executable, "-m", "omnizarr"]
posix = pytest.mark.skipif(os.name == "nt", reason="a matter of POSIX")


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error_without_traceback(location: Path) -> None:
    for arguments in (("tree", location), ("info", location), ("cat", location / "temperature")):
        with open("/dev/full", "w") as full:
            result = subprocess.run([*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
        assert result.returncode == 3
        assert result.stderr == "error: No space left on device\n"


@posix
@pytest.mark.parametrize("command", [("info", "."), ("cat", "."), ("--help",)])
def test_a_closed_standard_output_is_an_error(tmp_path: Path, command: tuple[str, ...]) -> None:
    omnizarr.create_array(tmp_path, data=[1])
    line = f'exec "$0" -m omnizarr {" ".join(command)} >&-'
    result = subprocess.run(["sh", "-c", line, sys.executable], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (3, "error: standard output is closed\n")


@posix
def test_a_closed_pipe_ends_the_program_quietly(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", shape=200_000, dtype="int64", chunks=1000)
    with subprocess.Popen([*PROGRAM, "cat", tmp_path / "a"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@posix
def test_ctrl_c_exits_with_130(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", shape=50_000_000, dtype="int64", chunks=1000)
    with subprocess.Popen(
        [*PROGRAM, "cat", tmp_path / "a", "--csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate()  # a closed pipe would end it with 141
    assert process.returncode == 130
    assert b"Traceback" not in messages


def test_a_mistyped_command_gets_a_suggestion(run: Run) -> None:
    result = run("inof", "x")
    assert result.exit_code == 2
    assert "Did you mean 'info'?" in result.stderr
    assert "Did you mean 'omnizarr info data.zarr/a'?" in run("data.zarr/a").stderr


def test_mistyped_locations_get_a_suggestion(run: Run, location: Path) -> None:
    for wrong, hint in (
        (location / "temprature", f"did you mean `{location}/temperature`?"),
        (location / "inner/shardd", f"did you mean `{location}/inner/sharded`?"),
        (location.parent / "dta.zarr", f"did you mean `{location}`?"),
        (location.parent, f"it is a directory that contains `{location}`"),
        (location / "temperature/x", "is an array, which has no members"),
    ):
        for command in ("info", "validate"):
            result = run(command, wrong)
            assert result.exit_code == 1
            assert result.stderr.startswith(f"error: there is no Zarr array or group at `{wrong}`")
            assert hint in result.stderr


def test_debug_shows_the_traceback(run: Run, tmp_path: Path) -> None:
    for arguments in (("--debug", "info", tmp_path / "x"), ("info", tmp_path / "x", "--debug")):
        assert isinstance(run(*arguments).exception, omnizarr.errors.NodeNotFoundError)


def test_options_of_the_store_are_checked(run: Run, location: Path) -> None:
    assert run("info", location, "--anon").exit_code == 2
    assert run("info", "s3://b/x", "--option", "nonsense").exit_code == 2
    assert run("info", "s3://b/x", "--option", "no_such=1", "--anon").exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run: Run, shell: str) -> None:
    script = run("completion", shell).stdout
    assert f"{shell}_complete" in script
    assert "_OMNIZARR_COMPLETE" in script


@posix
def test_completion_of_commands_options_and_members(location: Path) -> None:
    for words, expected in (
        ("omnizarr in", {"info"}),
        ("omnizarr info --st", {"--stored", "--stats"}),
        (f"omnizarr info {location}/in", {f"{location}/inner"}),
        (f"omnizarr info {location}/inner/", {f"{location}/inner/broken", f"{location}/inner/sharded"}),
    ):
        variables = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_OMNIZARR_COMPLETE": "bash_complete"}
        # As the console script: `python -m` has another program name.
        code = "import sys; sys.argv = ['omnizarr']; from omnizarr.cli import main; main()"
        shown = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | variables, capture_output=True, text=True, check=False
        )
        assert {line.partition(",")[2] for line in shown.stdout.splitlines()} == expected, shown.stderr
