"""`omnizarr demo`, and what `omnizarr` prints without a command."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.terminal_runs import run_in_terminal

import omnizarr

Run = Callable[..., Result]


def test_every_claim_holds_and_the_data_are_kept(run: Run, tmp_path: Path) -> None:
    result = run("demo", tmp_path / "data")
    assert result.exit_code == 0, result.output
    assert "✗" not in result.stdout
    assert re.findall(r"^\d", result.stdout, re.MULTILINE) == list("123456")
    assert result.stdout.count("✓") == 7
    assert "40 rows, each exactly once" in result.stdout
    assert omnizarr.open(tmp_path / "data/old.zarr").zarr_format == 1
    assert f"omnizarr view {tmp_path}/data/weather.zarr" in result.stdout
    again = run("demo", tmp_path / "data")
    assert again.exit_code == 2
    assert "expected a new or empty folder" in again.stderr


def test_a_wrong_claim_is_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that loses data must not look fine."""
    from omnizarr.cli.commands import demo

    for step in ("_write", "_append", "_kill", "_open_old", "_look"):
        monkeypatch.setattr(demo, step, lambda demo: None)
    omnizarr.create_array(tmp_path / "data/weather.zarr/temperature", shape=(24, 180, 360), dtype="f4")
    monkeypatch.setattr(demo, "_write", lambda demo: (tmp_path / "other").rename(tmp_path / "data"))
    (tmp_path / "data").rename(tmp_path / "other")
    result = run("demo", tmp_path / "data")
    assert result.exit_code == 1
    assert "✗ this is wrong: a map" in result.stdout


def test_without_a_command_it_says_what_one_can_do(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run()
    assert result.exit_code == 0
    assert "omnizarr demo" in result.stdout
    assert "omnizarr info LOCATION" in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 96
    for name in ("with space.zarr", "b.zarr", "data.zarr.zip"):
        (tmp_path / name).mkdir()
    assert "omnizarr info b.zarr " in run().stdout


def test_the_start_page_fits_a_terminal() -> None:
    shown = run_in_terminal(columns=100)
    assert "See what it does" in shown.text
