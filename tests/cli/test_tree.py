"""`omnizarr tree`."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import omnizarr
from omnizarr.cli.terminal import echo
from omnizarr.cli.tree import command, draw

Run = Callable[..., Result]


@pytest.mark.smoke
def test_prints_the_tree_of_the_library(run: Run, location: Path) -> None:
    result = run("tree", location)
    assert result.exit_code == 0
    assert result.stdout == f"{omnizarr.tree(location)}\n"
    assert result.stderr == ""


def test_unreadable_members_are_shown_with_their_reason(run: Run, location: Path) -> None:
    shown = run("tree", location).stdout.splitlines()
    (line,) = (line for line in shown if "broken" in line)
    assert "unreadable" in line
    assert "unknown chunk grid `reguler`" in line
    assert "unknown codec `zstt`" in line


def test_level_and_path(run: Run, location: Path) -> None:
    assert run("tree", location, "--level", "0").stdout == "/\n"
    assert run("tree", location, "--level", "1").stdout == "/\n├── inner\n└── temperature (3, 4) float32\n"
    assert run("tree", location, "--path", "inner").stdout.startswith("inner\n├── broken (unreadable")
    assert run("tree", location, "--path", "inner/sharded").stdout == "sharded (8, 8) uint16\n"


def test_a_pipe_gets_no_colours(run: Run, location: Path) -> None:
    assert "\x1b" not in run("tree", location).stdout


class Terminal(io.StringIO):
    """A `sys.stdout` that claims to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.skipif(os.name == "nt", reason="colours go another way there")
def test_a_terminal_gets_colours_unless_no_color_is_set(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def printed() -> str:
        terminal = Terminal()
        monkeypatch.setattr("sys.stdout", terminal)
        command.main([str(location)], standalone_mode=False)
        return terminal.getvalue()

    plain = f"{omnizarr.tree(location)}\n"
    coloured = printed()
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed() == plain


def test_the_drawing_in_colours_has_the_text_of_the_tree(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lines are neither cut off nor wrapped."""
    page = io.StringIO()
    monkeypatch.setattr("sys.stdout", page)
    draw(omnizarr.tree(location))  # not a terminal, so rich prints no colours
    assert page.getvalue() == f"{omnizarr.tree(location)}\n"


def test_ascii_output(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    page = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    monkeypatch.setattr("sys.stdout", page)
    echo("├── ä")
    page.flush()
    assert raw.getvalue() == b"|-- \\xe4\n"
