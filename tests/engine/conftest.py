"""Runs every test of the engine twice: with the kernel, and with the Python routes only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import omnizarr
from omnizarr import native
from omnizarr.engine.read.native import kernel_calls, reader, received
from omnizarr.engine.write import native as native_writing


@pytest.fixture(params=["native", "python"], autouse=True)
def loop(request: pytest.FixtureRequest) -> Iterator[str]:
    """`native` or `python`: what reads and writes local files. `python_loop` marks tests of internals of the latter."""
    if request.param == "native" and request.node.get_closest_marker("python_loop"):
        pytest.skip("tests internals of the Python routes")
    if request.param == "native" and native.kernel() is None:
        pytest.skip("there is no kernel")
    before = omnizarr.config.native
    omnizarr.config.set(native=int(request.param == "native"))
    yield request.param
    omnizarr.config.set(native=before)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, loop: str) -> list[str]:
    """The names of the kernel functions that are called to read or write."""
    if loop == "python":
        pytest.skip("the kernel is turned off")
    names: list[str] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            if name != "locate":
                names.append(name)
            return getattr(native.kernel(), name)

    monkeypatch.setattr(kernel_calls, "kernel", Watched)
    monkeypatch.setattr(reader, "kernel", Watched)
    monkeypatch.setattr(received, "kernel", Watched)
    monkeypatch.setattr(native_writing, "kernel", Watched)
    return names
