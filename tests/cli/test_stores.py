"""The commands on every kind of store, and options for stores on the command line."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from tests.servers.running import RunningServer, moto

import omnizarr

Run = Callable[..., Result]
DATA = np.arange(12, dtype="int32").reshape(3, 4)


def fill(store: object, **options: object) -> None:
    group = omnizarr.create_group(store, **options)  # type: ignore[arg-type]
    group.create_array("a/b", data=DATA, chunks=(2, 2), attributes={"units": "K"})


def check(run: Run, location: str, *options: object) -> None:
    """All commands that look at a hierarchy, at a location in any store."""
    assert run("ls", "-R", location, *options).stdout.split() == ["a", "a/b"], run(
        "ls", "-R", location, *options
    ).stderr
    assert "└── b (3, 4) int32" in run("tree", location, *options).stdout
    facts = json.loads(run("info", f"{location}/a/b", "--json", *options).stdout)
    assert (facts["path"], facts["shape"]) == ("a/b", [3, 4])
    assert run("cat", f"{location}/a/b[1, 1:3]", *options).stdout == "5\n6\n"
    assert run("attrs", "get", f"{location}/a/b", "units", *options).stdout == "K\n"
    missing = run("info", f"{location}/a/c", *options)
    assert missing.exit_code == 1
    assert "hint:" in missing.stderr


@pytest.mark.parametrize("name", ["x.zip", "x.sqlite"])
def test_containers(run: Run, tmp_path: Path, name: str) -> None:
    with omnizarr.ZipStore(tmp_path / name) if name.endswith("zip") else omnizarr.SQLiteStore(tmp_path / name) as store:
        fill(store)
    check(run, str(tmp_path / name))


def test_references(run: Run, tmp_path: Path) -> None:
    fill(tmp_path / "x.zarr")
    keys = [path for path in (tmp_path / "x.zarr").rglob("*") if path.is_file()]
    references = {
        path.relative_to(tmp_path / "x.zarr").as_posix(): [f"x.zarr/{path.relative_to(tmp_path / 'x.zarr').as_posix()}"]
        for path in keys
    }
    (tmp_path / "refs.json").write_text(json.dumps({"version": 1, "refs": references}))
    check(run, str(tmp_path / "refs.json"))
    shown = run("info", tmp_path / "refs.json").stdout
    assert "\nkerchunk\n" in shown
    assert "refs.json" in shown


def test_file_urls(run: Run, tmp_path: Path) -> None:
    fill(tmp_path / "x.zarr")
    check(run, f"file://{tmp_path}/x.zarr")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of Python's own web server, which knows no ranges."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_web_server_without_ranges_is_no_reason_to_warn(run: Run, tmp_path: Path, web: str) -> None:
    fill(tmp_path / "x.zarr")
    omnizarr.consolidate_metadata(tmp_path / "x.zarr")
    check(run, f"{web}/x.zarr")
    result = run("info", f"{web}/x.zarr/a")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Group /a in " in result.stdout
    assert "2 nodes (1 array)" in result.stdout  # from the consolidated metadata of the root
    shutil.copytree(tmp_path / "x.zarr", tmp_path / "y.zarr")
    unknown = run("info", f"{web}/y.zarr", "--no-consolidated")
    assert unknown.exit_code == 0
    assert "members unknown (the store cannot list them)" in unknown.stdout


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


def test_buckets(run: Run, s3: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    place = s3.new()
    fill(place, storage_options=s3.options)
    endpoint, region = ("--endpoint", s3.options["endpoint"]), ("--region", s3.options["region"])
    keys = [f"--option={name}={s3.options[name]}" for name in ("access_key_id", "secret_access_key")]
    check(run, place, *endpoint, *region, *keys)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.options["endpoint"])  # MinIO and moto
    monkeypatch.setenv("AWS_REGION", s3.options["region"])
    check(run, place, *keys)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.options["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.options["secret_access_key"])
    check(run, place)


def test_a_server_that_cannot_be_reached_is_exit_code_3(run: Run) -> None:
    options = ("--anon", "--endpoint", "http://127.0.0.1:9", "--option", "max_retries=0")
    result = run("info", "s3://bucket/x.zarr", *options)
    assert result.exit_code == 3
    assert "Traceback" not in result.stderr
