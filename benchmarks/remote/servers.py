"""The servers of the benchmark: nginx for files without delay, or a server of our own; and one that delays answers."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.environment import ROOT

_CONFIGURATION = """
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; keepalive_timeout 600;
  client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  open_file_cache max=20000 inactive=600s;
  server {{ listen 127.0.0.1:{port} backlog=1024; root {files}; }}
}}
"""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def fast_server(files: Path, home: Path) -> Iterator[tuple[str, str]]:
    """The name and the URL of a server for the files: nginx, if it is installed."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        with slow_server(files, 0.0) as url:
            yield "a server of our own (nginx is not installed)", url
        return
    port = _free_port()
    home.mkdir(parents=True, exist_ok=True)
    configuration = home / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(home=home, files=files, port=port))
    home.chmod(0o755)
    with subprocess.Popen([program, "-c", str(configuration), "-p", str(home)], stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield "nginx", f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


@contextmanager
def slow_server(files: Path, seconds: float, every: int = 0, late: float = 0.0) -> Iterator[str]:
    """The URL of a server that answers after `seconds`, and of `every` requests one `late` seconds later."""
    with _own_server("slow_server", files, seconds, every, late) as url:
        yield url


@contextmanager
def bucket_server(files: Path, seconds: float) -> Iterator[str]:
    """The address of an S3 server that answers after `seconds`. The objects of its bucket are the files."""
    with _own_server("bucket_server", files, seconds) as url:
        yield url


@contextmanager
def _own_server(module: str, files: Path, *numbers: float) -> Iterator[str]:
    command = [sys.executable, "-m", f"benchmarks.remote.{module}", str(files), *map(str, numbers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()
