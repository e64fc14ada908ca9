"""Servers for the tests of ObjectStore, started once per session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.proxy import Proxy, proxy
from tests.servers.running import RunningServer, azurite, moto, rclone


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with azurite(tmp_path_factory.mktemp("azurite")) as server:
        yield server


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the web server serves."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Iterator[RunningServer]:
    with rclone(tmp_path_factory.mktemp("rclone"), files) as server:
        yield server


@pytest.fixture
def faulty_s3(s3: RunningServer) -> Iterator[Proxy]:
    with proxy(s3.endpoint) as faulty:
        yield faulty


@pytest.fixture
def faulty_web(web: RunningServer) -> Iterator[Proxy]:
    with proxy(web.endpoint) as faulty:
        yield faulty
