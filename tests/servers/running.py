"""Starts servers, each on its own port, and ends them with the tests."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.servers.install import AZURITE, PYTHON_SERVERS, executable, reason

__all__ = ["RunningServer", "azurite", "moto", "rclone"]

_ACCOUNT = "devstoreaccount1"
# The key of the account that every Azurite has; its manual documents it.
_ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_NUMBERS = count()
# moto checks a condition and then writes, and another of its threads can write in between: two conditional writes could
# both succeed, which never happens on S3. So the lock makes it handle one request at a time.
_MOTO = """
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

moto, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

def one_at_a_time(environ, start_response):
    with lock:
        return moto(environ, start_response)

run_simple("127.0.0.1", int(sys.argv[1]), one_at_a_time, threaded=True)
"""


@dataclass(frozen=True)
class RunningServer:
    """The URL of a server, and the options to access it."""

    url: str
    endpoint: str
    options: dict[str, Any] = field(default_factory=dict)

    def new(self) -> str:
        """The URL of an empty location."""
        return f"{self.url}/{os.getpid()}-{next(_NUMBERS)}"

    def through(self, endpoint: str) -> dict[str, Any]:
        """The options to access it through a proxy."""
        return {**self.options, "endpoint": self.options["endpoint"].replace(self.endpoint, endpoint)}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(command: list[str | Path], port: int, cwd: Path) -> Iterator[None]:
    log = cwd / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=output, cwd=cwd)
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{command[0]} does not start: {log.read_text()[-500:]}")
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _put(url: str, headers: dict[str, str]) -> None:
    urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers), timeout=30).close()


@contextmanager
def moto(folder: Path) -> Iterator[RunningServer]:
    """S3, with conditional writes."""
    if (why := reason(PYTHON_SERVERS)) is not None:
        pytest.skip(f"moto: {why}")
    port = free_port()
    with running([executable("python"), "-c", _MOTO, str(port)], port, folder):
        endpoint = f"http://127.0.0.1:{port}"
        _put(f"{endpoint}/bucket", {})
        yield RunningServer(
            "s3://bucket",
            endpoint,
            {
                "endpoint": endpoint,
                "region": "us-east-1",
                "access_key_id": "test-key-id",
                "secret_access_key": "a-very-secret-key",
            },
        )


@contextmanager
def azurite(folder: Path) -> Iterator[RunningServer]:
    """Azure Blob Storage."""
    if (why := reason(AZURITE)) is not None:
        pytest.skip(f"azurite: {why}")
    node = shutil.which("node")
    if node is None:
        pytest.skip("azurite: node was not found")
    port = free_port()
    script = AZURITE / "node_modules/azurite/dist/src/blob/main.js"
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck"]
    with running([node, script, *options, "--silent"], port, folder):
        endpoint = f"http://127.0.0.1:{port}"
        _make_container(endpoint, "box")
        account = {"account_name": _ACCOUNT, "account_key": _ACCOUNT_KEY}
        yield RunningServer("az://box", endpoint, {"endpoint": f"{endpoint}/{_ACCOUNT}", **account})


def _make_container(endpoint: str, name: str) -> None:
    now = datetime.datetime.now(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    version = "2021-08-06"
    what = f"/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    signed = f"PUT{12 * chr(10)}x-ms-date:{now}\nx-ms-version:{version}\n{what}"
    digest = hmac.new(base64.b64decode(_ACCOUNT_KEY), signed.encode(), hashlib.sha256).digest()
    headers = {
        "x-ms-date": now,
        "x-ms-version": version,
        "Authorization": f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}",
        "Content-Length": "0",
    }
    _put(f"{endpoint}/{_ACCOUNT}/{name}?restype=container", headers)


@contextmanager
def rclone(folder: Path, files: Path) -> Iterator[RunningServer]:
    """A web server that supports ranges."""
    if (why := reason(PYTHON_SERVERS)) is not None:
        pytest.skip(f"rclone: {why}")
    port = free_port()
    with running(
        [executable("rclone"), "serve", "http", files, "--dir-cache-time", "0s", "--addr", f"127.0.0.1:{port}"],
        port,
        folder,
    ):
        yield RunningServer(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}")
