"""Processes that write the same chunks, shards and attributes in one bucket lose no update."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.servers.running import RunningServer

import omnizarr

WRITERS, EACH = 3, 8
PROGRAM = """
import json, sys
import omnizarr
url, options, number, writers, each = sys.argv[1], json.loads(sys.argv[2]), *map(int, sys.argv[3:])
group = omnizarr.open_group(url, mode="r+", storage_options=options)
for step in range(each):
    for name in ("chunk", "shard"):
        group[name][step * writers + number] = 1 + number
    group.attrs[f"{number}-{step}"] = step
"""


@pytest.mark.parametrize("server_name", ["s3", "azure"])
def test_processes_lose_no_update(server_name: str, request: pytest.FixtureRequest) -> None:
    server: RunningServer = request.getfixturevalue(server_name)
    url = server.new()
    group = omnizarr.create_group(url, storage_options=server.options)
    for name, options in (("chunk", {"chunks": 100}), ("shard", {"chunks": 5, "shards": 100})):
        group.create_array(name, shape=100, dtype="i4", **options)  # type: ignore[arg-type]
    numbers = [str(number) for number in (WRITERS, EACH)]
    command = [sys.executable, "-c", PROGRAM, url, json.dumps(server.options)]
    processes = [subprocess.Popen([*command, str(number), *numbers]) for number in range(WRITERS)]
    assert [process.wait(120) for process in processes] == [0] * WRITERS
    group = omnizarr.open_group(url, mode="r", storage_options=server.options)
    expected = [1 + number for _ in range(EACH) for number in range(WRITERS)]
    for name in ("chunk", "shard"):
        assert group[name][: WRITERS * EACH].tolist() == expected  # type: ignore[index, union-attr]
    assert len(group.attrs) == WRITERS * EACH
