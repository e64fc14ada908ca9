"""Every test of the engine is run twice: with the compiled loop over chunks, and with Python's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import omnizarr
from omnizarr import native


@pytest.fixture(params=["native", "python"], autouse=True)
def loop(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which loop reads and writes chunks in files; `python_loop` marks tests that look into the one of Python."""
    if request.param == "native" and request.node.get_closest_marker("python_loop"):
        pytest.skip("it looks into the loop of Python")
    if request.param == "native" and native.kernel() is None:
        pytest.skip("there is no compiled loop here")
    before = omnizarr.config.native
    omnizarr.config.set(native=int(request.param == "native"))
    yield request.param
    omnizarr.config.set(native=before)
