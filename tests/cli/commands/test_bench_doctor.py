"""`omnizarr bench` and `omnizarr doctor`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


def test_bench_measures_the_usual_patterns(run: Run, location: Path) -> None:
    result = run("bench", location / "temperature", "--seconds", "0.01", "--json")
    assert result.exit_code == 0, result.stderr
    patterns = {pattern["name"]: pattern for pattern in json.loads(result.stdout)}
    assert set(patterns) == {"whole array", "one chunk", "one element", "one index of y", "one index of x"}
    array = omnizarr.open_array(location / "temperature")
    for pattern in patterns.values():
        cost = array.explain[eval(f"numpy.s_[{pattern['selection']}]", {"numpy": np})]
        expected = (cost.amplification, cost.requests, cost.stored_bytes)
        assert (pattern["amplification"], pattern["requests"], pattern["stored_bytes"]) == expected
    assert all(pattern["rate"] > 0 and pattern["reads"] > 0 for pattern in patterns.values())


def test_doctor(run: Run, tmp_path: Path) -> None:
    result = run("doctor", tmp_path, "--json")
    checks = json.loads(result.stdout)
    assert {check["area"] for check in checks} == {"versions", "kernel", "codecs", "stores", "packages", "locks"}
    assert result.exit_code == any(check["state"] == "problem" for check in checks)
    assert list(tmp_path.iterdir()) == []
    assert "Locks\n" in run("doctor", tmp_path).stdout
