"""`z.view()`, and the command `omnizarr view`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import omnizarr
from omnizarr.errors import ArgumentError
from omnizarr.serve import browser


def test_a_node_shows_itself_in_a_frame(weather: Path) -> None:
    array = omnizarr.open_array(weather, path="t", mode="r")
    frame = array.view(height=300)
    try:
        assert re.fullmatch(
            r'<iframe src="http://127\.0\.0\.1:\d+/\?token=[\w-]+" style="[^"]*300px[^"]*"></iframe>',
            frame._repr_html_(),
        )
        assert array.view().url == frame.url
        with urllib.request.urlopen(frame.url) as page:
            assert b"viewer.js" in page.read()
        with urllib.request.urlopen(frame.url.replace("?", "api/node?")) as reply:
            assert json.load(reply)["info"]["shape"] == [8, 10]
        assert repr(frame).startswith(frame.url)
    finally:
        frame.stop()
    with pytest.raises(ArgumentError):
        array.view(height=3)


def test_a_remote_shell_gets_the_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "x")
    assert (browser.tunnel_hint(8000) or "").startswith("ssh -L 8000:127.0.0.1:8000 ")


def test_view_prints_its_address_first(weather: Path) -> None:
    command = [sys.executable, "-m", "omnizarr", "view", str(weather), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", address)
        with urllib.request.urlopen(address) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
