"""Fixtures: a hierarchy of several kinds of values, and a server for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import omnizarr
import omnizarr.serve
from omnizarr.serve.http_server import HttpServer


@pytest.fixture(scope="session")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group with the arrays `t` (chunks of 4 × 5), `inner/s` (sharded) and `names` (text); one chunk is absent."""
    place = tmp_path_factory.mktemp("serve") / "weather.zarr"
    group = omnizarr.create_group(place, attributes={"title": "for tests"})
    t = group.create_array("t", shape=(8, 10), chunks=(4, 5), dtype="float32", dimension_names=["y", "x"])
    t[:4] = np.arange(40, dtype="float32").reshape(4, 10)
    t[4:, :5] = 7
    group.create_array("inner/s", data=np.arange(64, dtype="uint16").reshape(8, 8), chunks=(2, 2), shards=(4, 4))
    group.create_array("names", data=np.array(["a", "<b>", "ü"], dtype=object), dtype="string")
    (place.parent / "secret.txt").write_text("outside of the location")
    (place / "link").symlink_to(place.parent / "secret.txt")
    (place / "page.html").write_text("<script>alert(1)</script>")
    time.sleep(0.15)  # a file that was just written gets another tag than later
    return place


@pytest.fixture(scope="session")
def server(weather: Path) -> Iterator[HttpServer]:
    with omnizarr.serve.start(str(weather), token="sesame") as running:
        yield running
