"""`omnizarr serve`, run as a person would."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

from click.testing import Result


def test_serve_prints_its_address_and_ends_with_ctrl_c(location: Path) -> None:
    command = [sys.executable, "-m", "omnizarr", "serve", str(location), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/")
        with urllib.request.urlopen(f"{address}data/temperature/zarr.json") as reply:
            assert json.load(reply)["shape"] == [3, 4]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_failures_have_their_exit_codes(run: Callable[..., Result], location: Path) -> None:
    assert run("serve", location.parent / "nothing.zarr", "--port", "0").exit_code == 1
    assert run("serve", location, "--port", "70000").exit_code == 2
    assert run("serve").exit_code == 2
    refused = run("serve", location, "--bind", "256.0.0.1")
    assert refused.exit_code == 3
